"""Print for a person or for the program that started us: lines, tables, progress.

Names, reasons and titles may hold escape sequences that a terminal obeys; here they are shown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from trainer_core.wire import records
from trainer_core.wire.errors import shortened, visible


def in_words(event: records.Event) -> str:
    """Return what a validation or a checkpoint of a run is told as, "" for any other event."""
    match event:
        case records.EvalRecord():
            of = f"{event.task}, " if event.is_part else ""
            steps = f", median {event.median_steps_to_goal:g} steps to the goal"
            return (
                f"{event.env_steps:>12,} steps  validation ({of}{event.mode}): "
                f"{event.success_rate:.3f} of {event.episodes} episodes"
                f"{steps if event.success_rate else ''}"
            )
        case records.CheckpointRecord():
            return f"{event.env_steps:>12,} steps  saved {event.path} ({event.reason})"
    return ""


def say(text: str, to: TextIO | None = None) -> None:
    """Print lines on standard error, or `to` another stream, at once."""
    lines = "\n".join(map(visible, text.split("\n")))
    print(lines, file=to or sys.stderr, flush=True)


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
        texts = [{key: text for key, value in row.items() if (text := _cell(value)) is not None} for row in rows]
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


def standard_output() -> TextIO:
    """Return standard output, also while what libraries print goes to standard error."""
    redirected = sys.stdout is sys.stderr and sys.__stdout__ is not None
    return sys.__stdout__ if redirected else sys.stdout  # type: ignore[return-value]


def on_terminal() -> bool:
    """Return whether a person reads standard output; false while it is a pipe or a file."""
    return standard_output().isatty()


def tell_progress(share: float, detail: str = "") -> None:
    """Tell that `share` of a job, 0 to 1, is done; `detail` says what is worked on."""
    share = min(1.0, share)
    if on_terminal():
        # What is printed next, overwrites it.
        print(f"{share:4.0%} {visible(detail)}\x1b[K", end="\r", file=sys.stderr, flush=True)
        return
    said = {"progress": round(share, 3)} | ({"detail": detail} if detail else {})
    print(json.dumps(said), file=standard_output(), flush=True)
