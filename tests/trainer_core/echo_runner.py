"""A Runner around echo_worker.py, for tests of everything that starts processes."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

from trainer_core.runners.catalog import NATIVE, Runner

ECHO = Path(__file__).with_name("echo_worker.py")


def echo_runner(**options: object) -> Runner:
    """`options` are echo_worker's."""

    def command(run_dir: Path) -> list[str]:
        return [sys.executable, str(ECHO), str(run_dir), json.dumps(options)]

    return dataclasses.replace(NATIVE, id="echo", title="Echo", modules=(), command=command)
