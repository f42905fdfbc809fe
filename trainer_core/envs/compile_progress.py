"""Progress of compiling kernels in this process, as detail of a StateEvent or lines on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from emulator.launch.compile_watch import CompileWatch
from trainer_core.wire.records import COMPILING

SECONDS = {"launch.native": 41.0, "ppu.render_parallel": 6.0}
"""Seconds of the modules that a first native run on the CPU compiles, on two busy cores (docs/notebook/app.md);
progress is computed from their ratio. The times of other modules are unknown."""
Tell = Callable[[str, float], None]
"""Type of a listener, which receives the detail, and the progress from 0 to 1 or -1."""


LINE_AFTER_S, LINE_EVERY_S = 2.0, 10.0
"""Seconds after which compiling is reported, and between further lines."""


class _Lines:
    """Listener that reports modules which take long to compile, on standard error."""

    def __init__(self) -> None:
        self._under_way: set[str] = set()

    def __call__(self, detail: str, progress: float) -> None:
        part, took, _ = detail.partition(", took ")
        if took:
            self._under_way.discard(part)
        else:
            self._under_way.add(part)
            self._look_again(part, time.monotonic(), LINE_AFTER_S)

    def _look_again(self, part: str, began: float, wait_s: float) -> None:
        timer = threading.Timer(wait_s, self._say, (part, began))
        timer.daemon = True
        timer.start()

    def _say(self, part: str, began: float) -> None:
        if part not in self._under_way:
            return
        words = part.replace(COMPILING, f"{COMPILING} for this computer, once", 1)
        print(f"{words}: {time.monotonic() - began:.0f} s so far, usually 10 to 60 s", file=sys.stderr, flush=True)
        self._look_again(part, began, LINE_EVERY_S)


class _Story:
    """Describer of each compiled module in words, for the present listener."""

    def __init__(self) -> None:
        self.tell: Tell = _Lines()
        self._done: set[str] = set()
        self.watch = CompileWatch(self.on_part)

    def on_part(self, part: int, module: str, seconds: float) -> None:
        words = f"{COMPILING}: part {part}, {module}"
        if seconds >= 0:
            words += f", took {seconds:.0f} s"
            self._done.add(module)
        self.tell(words, self._progress(module))

    def _progress(self, module: str) -> float:
        if module not in SECONDS:
            return -1.0
        return sum(SECONDS.get(one, 0.0) for one in self._done) / sum(SECONDS.values())


_story = _Story()


def tell_on_stderr() -> None:
    """Report long compiling on standard error from now on, unless there is another listener."""
    _story.watch.install()


def tell_what_compiles(tell: Tell) -> None:
    """Report compiling to `tell` from now on, before and after each module, in place of the former listener."""
    _story.tell = tell
    _story.watch.install()
