"""Commands that come while a validation runs in the trainer's own process.

They are looked at before every step of it, so that stopping, pausing and saving wait for one step
and not for the whole validation, which may take minutes on a busy computer.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from trainer_core.host.control import Control
from trainer_core.host.evaluate import Course, EvaluationStopped
from trainer_core.wire.records import VALIDATING

SAVE_AFTER_S = 2.0
"""A validation that takes longer has a checkpoint written within it: a kill then loses nothing that
was learned, and short validations cost no more than before."""
TELL_S = 1.0
"""Between two words about how far it is; a validation that is over sooner says none."""


class Attending:
    """What a validator calls before each step. The learner rests meanwhile and can be saved."""

    def __init__(
        self,
        control: Control,
        *,
        save: Callable[[str], None],
        hold: Callable[[], None],
        tell: Callable[[str, float], None],
        wait: Callable[[], None],
    ) -> None:
        """`save` gets the reason, `hold` returns when the pause is over, `tell` gets words and a
        share from 0 to 1, or -1 when it is over; `wait` is called every second."""
        self._control, self._save, self._hold, self._tell = control, save, hold, tell
        self._wait = wait
        self._saved, self._save_at, self._tell_at, self._told = False, 0.0, 0.0, False
        self.words = ""
        """How far the validation is, of the last step before which that was told."""

    def begin(self) -> None:
        now = time.monotonic()
        self._saved, self._told, self.words = False, False, ""
        self._save_at, self._tell_at = now + SAVE_AFTER_S, now + TELL_S

    def __call__(self, course: Course) -> None:
        """Raises EvaluationStopped, and what saving raises."""
        control, now = self._control, time.monotonic()
        if control.stop_reason:
            self.words = _words(course)
            raise EvaluationStopped
        if control.take_checkpoint_request():
            self._save("request")
            self._saved = True
        elif not self._saved and now >= self._save_at:
            self._saved = True
            self._save("periodic")
        if control.paused:
            self._hold()
            self._tell_at = 0.0  # what is on show says that it is paused
        if now >= self._tell_at:
            self._tell_at = now + TELL_S
            self._told, self.words = True, _words(course)
            self._tell(self.words, course.share)
            self._wait()

    def end(self) -> None:
        """Say that it is over, where it was said that it goes on."""
        if self._told and not self._control.stop_reason:
            self._tell("", -1.0)


def _words(course: Course) -> str:
    return f"{VALIDATING} {course.over()} of {course.episodes} episodes, {course.share:.0%} played"
