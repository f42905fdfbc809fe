"""How far a job is: JSON lines for the program that started it, one counting line on a terminal."""

from __future__ import annotations

import json
import sys
from typing import TextIO

from trainer_core.protocol.errors import visible


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
