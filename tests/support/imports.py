"""What our modules import, read from their source."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of a node that hold statements: an import stands nowhere else."""


@functools.cache  # several tests ask for the same files
def imported_modules(path: Path) -> frozenset[str]:
    found = set()
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module and node.level == 0:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def import_statements(path: Path) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield all of a file, those within functions too."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        for name in BLOCKS:
            inner = getattr(node, name, None)
            if isinstance(inner, list):  # a lambda's body is an expression
                waiting += inner


@functools.cache
def sources(package: str) -> list[Path]:
    return sorted((CHECKOUT / package).rglob("*.py"))


def pictured_rooms(package: str) -> dict[str, str]:
    """Return what ARCHITECTURE.md's picture says of each room of a package, the highest first."""
    page = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    blocks = page.split("\n## Rooms")[1].split("```")[1].split("\n\n")
    rows = next(block for block in blocks if block.split()[0] == package)
    return dict(re.findall(r"^  (\w+) +(\S.*(?:\n {3,}.*)*)", rows, flags=re.MULTILINE))
