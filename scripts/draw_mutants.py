"""Draw wrong lines by chance: which a test suite should notice, chosen by nobody.

Every place in the three packages where one small change makes a program that still parses is a
site. `draw` goes round the packages, takes one kind of change at random, then one site of that
kind, so that rare kinds and small packages are drawn as often as frequent ones. The same seed on
the same sources gives the same list.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("emulator", "trainer_core", "gui")
COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "//"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
}


class Mutant(NamedTuple):
    path: str
    line: int
    kind: str
    old: str
    """Whole lines, as many as make them unique in their file."""
    new: str


class Edit(NamedTuple):
    kind: str
    start: int
    end: int
    text: str
    """What stands from `start` to `end`, both bytes of the file, instead."""


def draw(checkout: Path, count: int, seed: int) -> list[Mutant]:
    """Return `count` different mutants of the sources below `checkout`."""
    rng, found = random.Random(seed), []
    sites = {package: _by_kind(checkout, package) for package in PACKAGES}
    while len(found) < count:
        kinds = sites[PACKAGES[len(found) % len(PACKAGES)]]
        kind = rng.choice(sorted(kinds))
        path, edit = rng.choice(kinds[kind])
        mutant = _mutant(checkout, path, edit)
        if mutant is not None and all(mutant[:3] != other[:3] for other in found):
            found.append(mutant)
    return found


def _by_kind(checkout: Path, package: str) -> dict[str, list[tuple[Path, Edit]]]:
    kinds: dict[str, list[tuple[Path, Edit]]] = {}
    for path in sorted((checkout / package).rglob("*.py")):
        for edit in edits(path.read_bytes()):
            kinds.setdefault(edit.kind, []).append((path, edit))
    return kinds


def _mutant(checkout: Path, path: Path, edit: Edit) -> Mutant | None:
    """Return the edit as lines that stand once in their file; nothing if it does not parse."""
    source = path.read_bytes()
    changed = source[: edit.start] + edit.text.encode() + source[edit.end :]
    try:
        ast.parse(changed)
    except SyntaxError:
        return None
    begin, end = source.rfind(b"\n", 0, edit.start) + 1, source.find(b"\n", edit.end)
    line = source.count(b"\n", 0, edit.start) + 1
    tail = len(source) - end
    while source.count(source[begin:end]) > 1 and begin:
        begin = source.rfind(b"\n", 0, begin - 1) + 1
    old, new = source[begin:end].decode(), changed[begin : len(changed) - tail].decode()
    return Mutant(str(path.relative_to(checkout)), line, edit.kind, old, new)


def edits(source: bytes) -> Iterator[Edit]:
    """Yield every single change of a file that this module knows."""
    starts = [0]
    for row in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset)

    def between(left: ast.expr, right: ast.expr, kind: str, words: tuple[str, str]) -> Iterator[Edit]:
        """Replace the operator in the gap between two operands."""
        low, high = span(left)[1], span(right)[0]
        gap = source[low:high].decode()
        hits = list(re.finditer(re.escape(words[0]).replace(r"\ ", r"\s+"), gap))
        if len(hits) == 1 and "#" not in gap:
            yield Edit(kind, low + hits[0].start(), low + hits[0].end(), words[1])

    tree = ast.parse(source)
    for node in _walk_code(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            words = COMPARISONS[type(node.ops[0])]
            yield from between(node.left, node.comparators[0], "comparison", words)
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            yield from between(node.left, node.right, "arithmetic", ARITHMETIC[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, "and-or", words)
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            low, high = span(node.test)
            yield Edit("condition", low, high, f"not ({source[low:high].decode()})")
        elif isinstance(node, ast.Return) and not _is_nothing(node.value):
            yield Edit("return", *span(node), "return None")
        elif isinstance(node, ast.stmt) and _may_be_dropped(node):
            yield Edit("statement", *span(node), "pass")
        for number in _counts(node):
            assert isinstance(number.value, int)
            yield Edit("off-by-one", *span(number), str(number.value + 1))


def _walk_code(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node that runs: no annotation, no `if TYPE_CHECKING`, no `if __name__`."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST):
                continue
            if isinstance(node, ast.If) and re.search("TYPE_CHECKING|__name__", ast.unparse(node.test)):
                continue
            yield node
            yield from _walk_code(node)


def _counts(node: ast.AST) -> list[ast.Constant]:
    """Return the whole numbers that count or index: in sums, comparisons, subscripts, ranges."""
    if isinstance(node, ast.Compare):
        inside = [node.left, *node.comparators]
    elif isinstance(node, ast.BinOp):
        inside = [node.left, node.right]
    elif isinstance(node, ast.Slice):
        inside = [node.lower, node.upper]
    elif isinstance(node, ast.Subscript):
        inside = [node.slice]
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "range":
        inside = list(node.args)
    else:
        return []
    return [one for one in inside if isinstance(one, ast.Constant) and type(one.value) is int]


def _is_nothing(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _may_be_dropped(node: ast.stmt) -> bool:
    """Say whether the program goes on without it: a call, a sum kept, an attribute set; no name."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, (ast.Constant, ast.Yield))
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Attribute)
    return isinstance(node, (ast.AugAssign, ast.Delete))
