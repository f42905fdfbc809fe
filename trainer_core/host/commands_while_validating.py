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
    """Callback for every step of a validation, which obeys the commands that arrived: stop, pause, save.

    The learner is idle during a validation and can be saved.
    """

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

        `save` writes a checkpoint for the given reason; `hold` blocks until the run is unpaused; `tell` shows a text
        and the share of the validation that is done, 0 to 1, or -1 at the end; `wait` is called every TELL_S seconds.
        """
        self._control, self._save, self._hold, self._tell = control, save, hold, tell
        self._wait = wait
        self._saved, self._save_at, self._tell_at, self._told = False, 0.0, 0.0, False
        self.words = ""
        """Progress text that was sent last, or of the step at which a stop ended the validation."""

    def begin(self) -> None:
        now = time.monotonic()
        self._saved, self._told, self.words = False, False, ""
        self._save_at, self._tell_at = now + SAVE_AFTER_S, now + TELL_S

    def __call__(self, course: Course) -> None:
        """Obey the commands that arrived since the last step.

        Raises EvaluationStopped on a stop, and the errors of saving a checkpoint.
        """
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
        """Report that the validation is over, if any progress was reported."""
        if self._told and not self._control.stop_reason:
            self._tell("", -1.0)


def _words(course: Course) -> str:
    return f"{VALIDATING} {course.over()} of {course.episodes} episodes, {course.share:.0%} played"
