"""Tables on standard output: columns as wide as what stands in them."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """The first row is the head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip(), file=sys.stdout)
