"""Tables on standard output: columns as wide as what stands in them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from trainer_core.protocol.errors import shortened, visible

WIDEST = 70
"""Letters of a cell that `print_lists` shows: a hash has 64."""


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """The first row is the head."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    line = "  ".join(f"{{:<{width}}}" for width in widths).format
    sys.stdout.write("".join(f"{line(*row).rstrip()}\n" for row in shown))


def print_lists(result: Mapping[str, Any]) -> None:
    """Print the lists of a result as tables, for a person: JSON is for programs."""
    lists = {name: rows for name, rows in result.items() if isinstance(rows, list)}
    for number, (name, rows) in enumerate(lists.items()):
        if not rows:
            if number == 0:
                print(f"no {name}")
            continue
        texts = [{key: text for key, value in row.items() if (text := _cell(value)) is not None}
                 for row in rows]  # fmt: skip
        columns = list(dict.fromkeys(key for row in texts for key in row))
        print(f"\n{name}" if number else name)
        print_table([columns, *([row.get(key, "") for key in columns] for row in texts)])


def _cell(value: Any) -> str | None:
    """Return what stands in a cell; None for what has parts of its own."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shortened(str(value), WIDEST) if isinstance(value, str | int | float) else None
