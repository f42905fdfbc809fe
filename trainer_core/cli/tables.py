"""Tables on standard output: columns as wide as what stands in them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from trainer_core.protocol.errors import visible


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """The first row is the head."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    line = "  ".join(f"{{:<{width}}}" for width in widths).format
    sys.stdout.write("".join(f"{line(*row).rstrip()}\n" for row in shown))
