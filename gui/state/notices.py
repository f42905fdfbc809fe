"""Notices to the user: one line with a tone and buttons."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

END_OF_RUN = "end of run"
"""Subject of the result of the last run that ended; withdrawn when another begins."""
FILE_OPENED = "file opened"
"""Subject of the result of the last file opened or dropped."""
KEPT = 100
"""Number of notices in the list."""


@dataclass(frozen=True, slots=True)
class Notice:
    title: str
    text: str = ""
    tone: str = "info"
    """info, good, warn or error; sets how long the banner stays."""
    action: str = ""
    act: Callable[[], object] | None = None
    """Function of the button `action`; None for no button."""
    command: str = ""
    """Id of a command that becomes the button, with its own text."""
    also: str = ""
    act_also: Callable[[], object] | None = None
    """Function of a second button; None for none."""
    is_news: bool = False
    """True for an event without the user's action: also a desktop notification while the window is inactive."""
    subject: str = ""
    """Subject of the notice; a newer one on the same replaces it. Empty: the title is the subject."""

    @property
    def about(self) -> str:
        return self.subject or self.title


@dataclass(slots=True)
class Told:
    """Notice in the list."""

    notice: Notice
    at: float = field(default_factory=time.time)
    is_over: bool = False
    """True once it no longer applies or was acted on: it has no buttons any more."""


class Notices(QObject):
    """List of notices, filled by controllers and shown by the window."""

    told = Signal(object)
    """A Notice."""
    withdrawn = Signal(str)
    """Title or subject of notices that no longer apply."""
    changed = Signal()
    """The list or its number of unread notices changed."""

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
        """Withdraw notices with this title or subject, so that nobody has to dismiss them."""
        for old in self.history:
            old.is_over |= about in (old.notice.title, old.notice.subject)
        self.withdrawn.emit(about)

    def note_done(self, notice: Notice) -> None:
        """Note that the user pressed its button or dismissed it."""
        for old in self.history:
            if old.notice is notice and not old.is_over:
                old.is_over = True
                self.unseen = max(0, self.unseen - 1)
        self.changed.emit()

    def note_seen(self) -> None:
        """Mark the list as read."""
        self.unseen = 0
        self.changed.emit()
