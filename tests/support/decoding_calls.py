"""Where our code decodes bytes, by its source: which function calls which parser."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.imports import CHECKOUT, sources

PARSERS = {
    "json.load", "json.loads", "json.JSONDecoder", "msgspec.json.decode", "msgspec.msgpack.decode",
    "tomllib.load", "tomllib.loads", "np.load", "numpy.load", "np.fromfile", "np.memmap",
    "np.loadtxt", "np.genfromtxt", "zipfile.ZipFile", "tarfile.open", "zlib.decompress",
    "zlib.decompressobj", "gzip.open", "gzip.decompress", "bz2.decompress", "lzma.decompress",
    "Image.open", "torch.load", "safetensors.torch.load", "safetensors.torch.load_file",
    "safe_open", "csv.reader", "csv.DictReader", "base64.b64decode", "configparser.ConfigParser",
    "ElementTree.parse", "ElementTree.fromstring", "struct.unpack", "struct.unpack_from",
    "struct.iter_unpack", "sqlite3.connect", "plistlib.load", "plistlib.loads", "ast.literal_eval",
    "read_arrays", "read_json", "read_loose_json", "open_zip",
}  # fmt: skip
"""Calls that decode, as they are written: the last two parts of a dotted name count."""
METHODS = {"unpack", "unpack_from", "iter_unpack", "raw_decode"}
"""Of a struct.Struct or a decoder that was made before."""
PICKLING = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml", "jsonpickle"}
"""Modules whose loaders run what they load."""
FORBIDDING = {
    "np.load": ("allow_pickle", False),
    "numpy.load": ("allow_pickle", False),
    "torch.load": ("weights_only", True),
}
"""The argument without which these unpickle, or may one day."""


def decoding_functions() -> dict[tuple[str, str], str]:
    """(file, qualified name of a function) to the parser that it calls."""
    found = {}
    for package in ("emulator", "trainer_core", "gui"):
        for path in sources(package):
            file, text = str(path.relative_to(CHECKOUT)), path.read_text(encoding="utf-8")
            if not any(word in text for word in _SIGNS):  # parsing all of them takes seconds
                continue
            tree = ast.parse(text)
            made = _made_decoders(tree)
            for name, call in _calls(tree, made, ""):
                found[file, name] = call
    return found


_SIGNS = PARSERS | {f".{name}(" for name in METHODS} | {"json.Decoder("}


def _made_decoders(tree: ast.Module) -> set[str]:
    """Names of the module that are decoders of msgspec."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and _dotted(node.value.func).endswith("json.Decoder")
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _calls(node: ast.AST, made: set[str], inside: str) -> Iterator[tuple[str, str]]:
    """Functions that use a parser; one in a function is named after the outer one."""
    for child in ast.iter_child_nodes(node):
        name = inside
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            is_outer = not inside or isinstance(node, ast.ClassDef)
            name = f"{inside}.{child.name}".strip(".") if is_outer else inside
        if isinstance(child, ast.Call) and (call := _parser(child.func)):
            yield inside, call
        elif isinstance(child, ast.Attribute) and _dotted(child) in {
            f"{decoder}.{method}" for decoder in made for method in ("decode", "decode_lines")
        }:
            yield inside, _dotted(child)
        yield from _calls(child, made, name)


def _parser(called: ast.expr) -> str:
    dotted = _dotted(called)
    for name in PARSERS:
        if dotted == name or dotted.endswith(f".{name}"):
            return name
    return dotted if isinstance(called, ast.Attribute) and called.attr in METHODS else ""


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def unpickling(path: Path) -> list[str]:
    """What in a file loads pickles: imports, and calls without the argument that forbids them."""
    text = path.read_text(encoding="utf-8")
    signs = (*PICKLING, *FORBIDDING, "QSettings", "import_module", "__import__")
    if not any(sign in text for sign in signs):
        return []
    wrong = []
    for node in ast.walk(ast.parse(text)):
        names = _imported(node)
        wrong += [f"imports {name}" for name in names if name.split(".")[0] in PICKLING]
        wrong += [f"imports {name}: it unpickles values" for name in names if "QSettings" in name]
        if isinstance(node, ast.Call):
            dotted = _dotted(node.func)
            for name, (argument, safe) in FORBIDDING.items():
                value = next((word.value for word in node.keywords if word.arg == argument), None)
                is_safe = isinstance(value, ast.Constant) and value.value is safe
                if dotted == name and not is_safe:
                    wrong.append(f"line {node.lineno}: {name} without {argument}={safe}")
    return wrong


def _imported(node: ast.AST) -> set[str]:
    """Modules and names that a statement, or a call with a constant, imports."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {f"{node.module}.{alias.name}" for alias in node.names}
    if isinstance(node, ast.Call) and _dotted(node.func).endswith(("import_module", "__import__")):
        return {str(word.value) for word in node.args if isinstance(word, ast.Constant)}
    return set()
