"""What our modules import, read from their source."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from emulator import WITH_WARP

CHECKOUT = Path(__file__).resolve().parents[2]
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of a node that hold statements: an import stands nowhere else."""
LATE = {f"emulator.{name}": module for name, module in WITH_WARP.items()}
"""Names that a package loads when they are asked for."""
INDENTED = re.compile(r"^[ \t]+(from|import) ", re.MULTILINE)
Statement = ast.Import | ast.ImportFrom


@functools.cache  # several tests ask for the same files
def imported_modules(path: Path) -> frozenset[str]:
    found = set()
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module and node.level == 0:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def import_statements(path: Path) -> list[Statement]:
    """Return all of a file, those within functions too."""
    return [node for nodes in _by_place(path).values() for node in nodes]


def imported_in_functions(path: Path) -> set[str]:
    """Return the modules that the functions of a file import."""
    if not INDENTED.search(path.read_text(encoding="utf-8")):  # most files: parsing takes longer
        return set()
    return {name for node in _by_place(path)["function"] for name in _modules(node)}


@functools.cache
def loaded_by(module: str) -> frozenset[str]:
    """Return what importing a module loads, as far as our files say: modules and their packages."""
    found: set[str] = set()
    waiting = {module}
    while waiting:
        name = waiting.pop()
        if name and name not in found:
            found.add(name)
            waiting.add(name.rpartition(".")[0])
            if path := module_file(name):
                waiting.update(*map(_modules, _by_place(path)["module"]))
    return frozenset(found)


@functools.cache
def module_file(name: str) -> Path | None:
    """Return the file of a module of ours, None for another's."""
    path = CHECKOUT.joinpath(*name.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


@functools.cache
def sources(package: str) -> list[Path]:
    return sorted((CHECKOUT / package).rglob("*.py"))


def pictured_rooms(package: str) -> dict[str, str]:
    """Return what ARCHITECTURE.md's picture says of each room of a package, the highest first."""
    page = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    blocks = page.split("\n## Rooms")[1].split("```")[1].split("\n\n")
    rows = next(block for block in blocks if block.split()[0] == package)
    return dict(re.findall(r"^  (\w+) +(\S.*(?:\n {3,}.*)*)", rows, flags=re.MULTILINE))


def _modules(node: Statement) -> set[str]:
    """Return the modules that a statement loads, a name of a package by its own module if it has one."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if not node.module or node.level:
        return set()
    names = (f"{node.module}.{alias.name}" for alias in node.names)
    found = (LATE.get(name, name) for name in names)
    return {name if module_file(name) else node.module for name in found}


@functools.cache
def _by_place(path: Path) -> dict[str, list[Statement]]:
    """Return the import statements of a file that run with the module, inside its functions, and
    for type checkers only."""
    found: dict[str, list[Statement]] = {"module": [], "function": [], "checker": []}
    waiting: list[tuple[ast.AST, str]] = [(ast.parse(path.read_text(encoding="utf-8")), "module")]
    while waiting:
        node, place = waiting.pop()
        if isinstance(node, Statement):
            found[place].append(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            place = "function"
        for name in BLOCKS:
            inner = getattr(node, name, None)
            if isinstance(inner, list):  # a lambda's body is an expression
                is_checker = name == "body" and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
                waiting += [(child, "checker" if is_checker else place) for child in inner]
    return found
