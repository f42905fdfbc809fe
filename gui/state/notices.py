"""What a person should be told now: one line with a tone and ways to go on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

END_OF_RUN = "end of run"
"""Subject of what the last run that ended came to; over when another one begins."""
FILE_OPENED = "file opened"
"""Subject of what became of the last file that was opened or dropped."""
KEPT = 100
"""Notices that can be read again."""


@dataclass(frozen=True, slots=True)
class Notice:
    title: str
    text: str = ""
    tone: str = "info"
    """info, good, warn or error; how long one stays follows from it."""
    action: str = ""
    act: Callable[[], object] | None = None
    """What the button named `action` does; no button without it."""
    command: str = ""
    """Id of a command that is the button instead, with its own words."""
    also: str = ""
    act_also: Callable[[], object] | None = None
    """A second button, the same way."""
    is_news: bool = False
    """It happened by itself: the desktop is told too while nobody looks at the window."""
    subject: str = ""
    """What it is about; a newer one about the same takes its place. Empty: its title says so."""

    @property
    def about(self) -> str:
        return self.subject or self.title


@dataclass(slots=True)
class Told:
    """A notice in the list of those that were told."""

    notice: Notice
    at: float = field(default_factory=time.time)
    is_over: bool = False
    """It is true no more, or was acted on: it offers nothing."""


class Notices(QObject):
    """Controllers tell, the window shows."""

    told = Signal(object)
    """A Notice."""
    withdrawn = Signal(str)
    """Title or subject of notices that are true no more."""
    changed = Signal()
    """The list, or how many of it were not seen."""

    def __init__(self) -> None:
        super().__init__()
        self.history: deque[Told] = deque(maxlen=KEPT)
        self.unseen = 0

    def tell(
        self,
        title: str,
        text: str = "",
        tone: str = "info",
        action: str = "",
        act: Callable[[], object] | None = None,
        command: str = "",
        also: str = "",
        act_also: Callable[[], object] | None = None,
        *,
        is_news: bool = False,
        subject: str = "",
    ) -> None:
        notice = Notice(title, text, tone, action, act, command, also, act_also, is_news, subject)
        for old in self.history:
            old.is_over |= old.notice.about == notice.about
        self.history.append(Told(notice))
        self.unseen = min(KEPT, self.unseen + 1)
        self.changed.emit()
        self.told.emit(notice)

    def withdraw(self, about: str) -> None:
        """End what was told under this title or subject: nobody has to dismiss it by hand."""
        for old in self.history:
            old.is_over |= about in (old.notice.title, old.notice.subject)
        self.withdrawn.emit(about)

    def note_done(self, notice: Notice) -> None:
        """Note that a person took what it offered, or sent it away."""
        for old in self.history:
            if old.notice is notice and not old.is_over:
                old.is_over = True
                self.unseen = max(0, self.unseen - 1)
        self.changed.emit()

    def note_seen(self) -> None:
        """Note that the list was looked at."""
        self.unseen = 0
        self.changed.emit()
