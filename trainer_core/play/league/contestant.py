"""Agent of any runner in that runner's own interpreter, connected by two pipes.

`python -m trainer_core.play.league.contestant PLAYER_MODULE CHECKPOINT MODE SEED` reads letters: B begins an episode
and S is a step, each followed by its picture u8[H, W] as the checkpoint takes it; A is answered with one byte, the
action. It ends with its standard input.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from trainer_core.host.agent import agent_class
from trainer_core.lab.paths import child_folder
from trainer_core.lab.trust import require_own_environment
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import CheckpointError, FailureError, LabError
from trainer_core.wire.process_guard import family, hear

PROCESS = "trainer_core.play.league.contestant_process"
LAST_WORDS = 4096
"""Bytes of a process's standard error searched for its last line."""
LOAD_S, ANSWER_S, END_S = 600.0, 120.0, 20.0
"""Timeouts of the process in seconds: for loading, for an action, and for its end once its input is closed."""
BEGIN, SEE, ACT, READY = b"B", b"S", b"A", b"R"


class Contestant:
    """League player whose actions come from another process: the lab's side of the pipes."""

    def __init__(self, python: str, module: str, checkpoint: Path, *, mode: str, seed: int) -> None:
        """Start the process; raises CheckpointError with its last line of output if it cannot open the checkpoint."""
        require_own_environment(python)
        # A runner's environment links our packages; our own interpreter finds them from here.
        isolated = [] if python == sys.executable else ["-P"]
        argv = [python, *isolated, "-m", PROCESS, module, str(checkpoint), mode, str(seed)]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # a pipe would fill up unread
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            cwd=child_folder(),
            env=child_environment(python, **family()),
        )
        assert self._process.stdin is not None
        self._to = self._process.stdin
        try:
            ready = self._answer(LOAD_S)
        except LabError as error:
            self.close()
            raise CheckpointError(f"{checkpoint}: {error}") from None
        except BaseException:  # Ctrl-C while it loads its library, for example
            self._process.kill()
            self.close()
            raise
        if ready != READY:
            self._process.communicate()
            self._said.seek(max(0, self._said.tell() - LAST_WORDS))
            said = self._said.read().decode(errors="replace").strip()
            last = (said or "it said nothing").splitlines()[-1]
            raise CheckpointError(f"{checkpoint}: {last}")

    def begin(self, observation: np.ndarray) -> None:
        self._tell(BEGIN, observation)

    def see(self, observation: np.ndarray) -> None:
        self._tell(SEE, observation)

    def act(self) -> int:
        """Return the next action; raises LabError when the process has ended, or does not answer."""
        self._tell(ACT, None)
        answer = self._answer(ANSWER_S)
        if not answer:
            raise FailureError("its process has ended")
        return answer[0]

    def close(self) -> None:
        """Close its input so that it ends; kill it after END_S."""
        try:
            self._process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._said.close()

    def _answer(self, patience_s: float) -> bytes:
        """Return one byte of the process's answer, or b"" if it ended; after a timeout kill it and raise LabError."""
        return hear(self._process, patience_s).read(1)

    def _tell(self, letter: bytes, observation: np.ndarray | None) -> None:
        try:
            self._to.write(letter + (observation.tobytes() if observation is not None else b""))
            self._to.flush()
        except OSError:
            raise FailureError("its process has ended") from None


def main(argv: list[str]) -> int:
    """Run the process's side; print one line and return 1 if the checkpoint cannot be opened."""
    module, checkpoint, mode, seed = argv
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # library messages must not mix with answers
    try:
        agent = agent_class(module)(Path(checkpoint), mode=mode, seed=int(seed))
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    answers.write(READY)
    asked, shape = sys.stdin.buffer, agent.meta.obs_shape[1:]
    while letter := asked.read(1):
        if letter == ACT:
            answers.write(bytes((agent.act(),)))
            continue
        seen = np.frombuffer(asked.read(math.prod(shape)), np.uint8).reshape(shape)
        (agent.begin if letter == BEGIN else agent.see)(seen)
    return 0
