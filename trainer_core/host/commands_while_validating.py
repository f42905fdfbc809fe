"""Commands that arrive while a validation runs in the trainer's own process.

They are checked before every step of the validation, so that stop, pause and save wait for one step and not for the
whole validation, which may take minutes on a busy computer.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from trainer_core.host.control import Control
from trainer_core.host.evaluate import Course, EvaluationStopped
from trainer_core.wire.records import VALIDATING

SAVE_AFTER_S = 2.0
"""Validation time after which a checkpoint is written within it, so that a kill loses no learned update; short
validations cost nothing extra."""
TELL_S = 1.0
"""Seconds between two progress messages; a shorter validation sends none."""


class Attending:
    """Callback that a validator calls before each step, while the learner is idle and can be saved."""

    def __init__(
        self,
        control: Control,
        *,
        save: Callable[[str], None],
        hold: Callable[[], None],
        tell: Callable[[str, float], None],
        wait: Callable[[], None],
    ) -> None:
        """Set the callbacks.

        `save` gets the reason; `hold` returns when the pause is over; `tell` gets a text and a share from 0 to 1, -1 at
        the end; `wait` is called every second.
        """
        self._control, self._save, self._hold, self._tell = control, save, hold, tell
        self._wait = wait
        self._saved, self._save_at, self._tell_at, self._told = False, 0.0, 0.0, False
        self.words = ""
        """Progress text last sent, or that of the step at which the validation was stopped."""

    def begin(self) -> None:
        now = time.monotonic()
        self._saved, self._told, self.words = False, False, ""
        self._save_at, self._tell_at = now + SAVE_AFTER_S, now + TELL_S

    def __call__(self, course: Course) -> None:
        """Obey pending commands; raises EvaluationStopped on a stop, and what saving raises."""
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
            self._tell_at = 0.0  # replace the message that the run is paused
        if now >= self._tell_at:
            self._tell_at = now + TELL_S
            self._told, self.words = True, _words(course)
            self._tell(self.words, course.share)
            self._wait()

    def end(self) -> None:
        """Send the end of the progress if any was sent."""
        if self._told and not self._control.stop_reason:
            self._tell("", -1.0)


def _words(course: Course) -> str:
    return f"{VALIDATING} {course.over()} of {course.episodes} episodes, {course.share:.0%} played"
