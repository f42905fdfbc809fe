"""Main function of the programs that export a run: progress is printed as JSON lines, at last the written folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from pathlib import Path

from trainer_core.lab.paths import RunPaths
from trainer_core.wire.errors import LabError

Export = Callable[[RunPaths, Path], Generator[float, None, Path]]
"""Type of a function that writes a run's curves below a folder, yields the share done and returns the written folder.

Raises LabError if there is nothing to write, or it cannot be written.
"""


def run_export(argv: list[str], name: str, export: Export, below: str) -> int:
    """Run `export` as the program `name`; return the exit status.

    `argv` is RUN_DIR [OUT]; OUT defaults to the run's folder `below`.
    """
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
