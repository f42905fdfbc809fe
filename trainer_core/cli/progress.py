"""Progress line of a command at the bottom of a terminal.

It is written to standard error if that is a terminal, and only after the first two seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator

from trainer_core.cli.output import say
from trainer_core.envs.preparing import Preparing
from trainer_core.wire.environment import rank_place, tells_progress
from trainer_core.wire.errors import visible
from trainer_core.wire.standard_streams import SteadyStream

PATIENCE_S, TICK_S = 2.0, 0.25
WIDTH = 24
"""Letters of the bar."""


class ProgressLine(SteadyStream):
    """Standard error with a last line that is drawn again after each print."""

    def __init__(self, stream: SteadyStream, name: str) -> None:
        super().__init__(stream)  # type: ignore[arg-type]
        self._name, self._began, self._owner = name, time.monotonic(), os.getpid()
        self._share, self._detail = -1.0, ""
        self._shown, self._at_margin = "", True
        self._turn, self._done = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._keep_drawing, daemon=True)
        self._thread.start()

    def write(self, text: str) -> int:
        if os.getpid() != self._owner:  # in a forked process the lock may stay locked
            return super().write(text)
        with self._turn:
            self._erase()
            self._at_margin = text.endswith("\n") if text else self._at_margin
            return super().write(text)

    def update(self, share: float, detail: str) -> None:
        """Set the finished share of the work, 0 to 1; the next tick shows it."""
        self._share, self._detail = share, detail

    def close(self) -> None:
        self._done.set()
        self._thread.join()
        with self._turn:
            self._erase()

    def _keep_drawing(self) -> None:
        self._done.wait(PATIENCE_S)
        while not self._done.wait(TICK_S):
            with self._turn:
                if self._at_margin and (line := self._line()) != self._shown:
                    super().write(f"\r{line}\x1b[K")
                    self.flush()
                    self._shown = line

    def _line(self) -> str:
        parts = [self._name, f"{time.monotonic() - self._began:.0f} s", visible(self._detail)]
        if self._share >= 0:
            full = round(self._share * WIDTH)
            parts.insert(1, f"[{'#' * full}{'-' * (WIDTH - full)}] {self._share:4.0%}")
        return "  ".join(filter(None, parts))[: shutil.get_terminal_size().columns - 1]

    def _erase(self) -> None:
        if self._shown:
            super().write("\r\x1b[K")
            self.flush()
            self._shown = ""


@contextlib.contextmanager
def progress_line(name: str) -> Iterator[None]:
    """Show a line for the command `name` while the block runs, where standard error is a terminal."""
    plain = sys.stderr
    if not plain.isatty() or not rank_place().is_first:
        yield
        return
    line = ProgressLine(plain, name)  # type: ignore[arg-type]
    sys.stderr = line  # type: ignore[assignment]
    try:
        yield
    finally:
        line.close()
        sys.stderr = plain


def end_progress() -> None:
    """Remove the line for good."""
    if isinstance(sys.stderr, ProgressLine):
        sys.stderr.close()


def tell_progress(share: float, detail: str = "") -> None:
    """Report the finished `share` of the work, 0 to 1; `detail` names the current part.

    `run_job` receives it as a line of JSON.
    """
    share = min(1.0, max(0.0, share))
    if isinstance(sys.stderr, ProgressLine):
        sys.stderr.update(share, detail)
    elif tells_progress():
        print(json.dumps({"progress": round(share, 3), "detail": detail}), file=sys.stderr, flush=True)


class PreparingLine(Preparing):
    """Reporter of preparations: in the progress line of a terminal, elsewhere as separate lines."""

    def __init__(self) -> None:
        super().__init__(say)

    def __call__(self, what: str, done: int, of: int) -> None:
        tell_progress(done / max(1, of), what)
        if not isinstance(sys.stderr, ProgressLine):
            super().__call__(what, done, of)


class Limits:
    """Time and number of steps after which a run ends; 0 = no limit."""

    def __init__(self, seconds: float = 0.0, env_steps: int = 0) -> None:
        self._seconds, self._env_steps, self._began = seconds, env_steps, time.monotonic()

    def tell(self, env_steps: int) -> None:
        """Report the progress of a run after `env_steps`; nothing for a run without a limit."""
        of_time = (time.monotonic() - self._began) / self._seconds if self._seconds else 0.0
        of_steps = env_steps / self._env_steps if self._env_steps else 0.0
        if self._seconds or self._env_steps:
            tell_progress(max(of_time, of_steps))
