"""What compiles in this process, as the detail and progress of a StateEvent."""

from __future__ import annotations

from collections.abc import Callable

from emulator.launch.compiling import CompileWatch
from trainer_core.protocol.records import COMPILING

SECONDS = {"launch.native": 41.0, "ppu.picture": 6.0}
"""Of the modules that a first native run on the CPU compiles, on two busy cores (docs/app.md):
their ratio is the progress. Of others nothing is known beforehand."""
Tell = Callable[[str, float], None]
"""Gets the detail, and the progress from 0 to 1 or -1."""


class _Story:
    """Turns parts into words for whoever listens last."""

    def __init__(self) -> None:
        self.tell: Tell = lambda detail, progress: None
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


def tell_what_compiles(tell: Tell) -> None:
    """From now on `tell` hears of each module, before and after it; who listened hears no more."""
    _story.tell = tell
    _story.watch.install()
