"""An export of a run as a program: progress as JSON lines, the folder last."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from pathlib import Path

from trainer_core.lab.paths import RunPaths
from trainer_core.wire.errors import LabError

Export = Callable[[RunPaths, Path], Generator[float, None, Path]]
"""Writes a run's curves below a folder; yields the share done, returns the folder that holds them.

Raises LabError where there is nothing to write or nowhere to."""


def run_export(argv: list[str], name: str, export: Export, below: str) -> int:
    """The exit status. `argv` is RUN_DIR [OUT]; without OUT it is the run's folder `below`."""
    if len(argv) not in (1, 2):
        print(f"usage: python -m trainer_core.formats.{name} RUN_DIR [OUT]", file=sys.stderr)
        return 2
    run = RunPaths(Path(argv[0]).resolve())
    shares = export(run, Path(argv[1]) if len(argv) == 2 else run.root / below)
    while True:
        try:
            print(json.dumps({"progress": round(next(shares), 3)}), flush=True)
        except StopIteration as done:
            print(json.dumps({"ok": True, "folder": str(done.value)}), flush=True)
            return 0
        except LabError as error:
            print(f"export: {error}", file=sys.stderr)
            return 1
