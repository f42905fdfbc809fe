"""Run commands in forks of this process, which has loaded all that commands load."""

from __future__ import annotations

import atexit
import importlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from tests.proofs import faults
from tests.proofs.kill_stage import Forked
from trainer_core.cli import main as cli
from trainer_core.host.process_start import begin_process
from trainer_core.wire.errors import LabError

LIMIT_S = 240.0
THEN = "--then"
FAR = "write:100000000:KILL"
"""A fault that never comes: calls are counted all the same."""


@dataclass(frozen=True)
class Ended:
    """One command that ran to its end."""

    words: list[str]
    code: int
    said: str
    seconds: float

    def check(self) -> None:
        """Raise LabError unless it went well."""
        if self.code:
            raise LabError(f"{' '.join(self.words)}: status {self.code}: {self.said[-600:]}")


def start(words: list[str], said: Path, fault: str = "", counts: Path | None = None) -> Forked:
    """Start `dmglab WORDS` in a session of its own; its output goes to the file `said`.

    `--then` between words begins another command, for cheap ones that are run together.
    """

    def body() -> int:
        os.setsid()
        target = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(target, 1)
        os.dup2(target, 2)
        faults.arm(fault or FAR)
        code = 0
        for command in _split(words):
            code = cli.main(command) or code
        if counts is not None:
            counts.write_text(json.dumps(faults.CALLED))
        atexit._run_exitfuncs()
        return code

    return Forked(body)


def _split(words: list[str]) -> list[list[str]]:
    commands: list[list[str]] = [[]]
    for word in words:
        if word == THEN:
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def run_forked(words: list[str], said: Path, counts: Path | None = None) -> Ended:
    """Run a command to its end. Raises LabError when it has none within LIMIT_S."""
    began = time.monotonic()
    process = start(words, said, counts=counts)
    while (code := process.poll()) is None:
        if time.monotonic() - began > LIMIT_S:
            os.killpg(process.pid, 9)
            raise LabError(f"{' '.join(words)}: no end within {LIMIT_S:g} s")
        time.sleep(0.005)
    return Ended(words, code, said.read_text(errors="replace"), time.monotonic() - began)


def load_all() -> None:
    """Import what commands import, so that no fork has to."""
    begin_process()
    for name in (
        "torch", "numpy", "PIL.Image", "matplotlib.pyplot", "safetensors.torch", "warp",
        "emulator.emulator", "trainer_core.host.run", "trainer_core.cli.local_run",
        "trainer_core.play.played_game", "trainer_core.play.rollout", "trainer_core.formats.plot",
        "trainer_core.runs.archive", "trainer_core.service", "trainer_core.play.league.table",
        "trainer_core.author.new_task", "trainer_core.sweeps.conductor",
    ):  # fmt: skip
        importlib.import_module(name)
    for path in sorted(Path(cli.__file__).parent.glob("*.py")):
        importlib.import_module(f"trainer_core.cli.{path.stem}")
