"""Notices to the user: one line of text with a tone and buttons."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

END_OF_RUN = "end of run"
"""Subject of the notice on the run that ended last; removed when another run begins."""
FILE_OPENED = "file opened"
"""Subject of the notice on the last file that was opened or dropped."""
KEPT = 100
"""Most notices in the list."""


@dataclass(frozen=True, slots=True)
class Notice:
    title: str
    text: str = ""
    tone: str = "info"
    """info, good, warn or error; determines how long the banner is shown."""
    action: str = ""
    act: Callable[[], object] | None = None
    """Function called by the button with the text `action`; None for no button."""
    command: str = ""
    """Id of a command that is offered as the button, with the command's text."""
    also: str = ""
    act_also: Callable[[], object] | None = None
    """Function called by the second button, with the text `also`; None for no button."""
    is_news: bool = False
    """True for an event that the user did not cause; it is also a desktop notification if the app is inactive."""
    subject: str = ""
    """Subject by which a newer notice replaces this one; if empty, the title is the subject."""

    @property
    def about(self) -> str:
        return self.subject or self.title


@dataclass(slots=True)
class Told:
    """Notice in the list, with its time."""

    notice: Notice
    at: float = field(default_factory=time.time)
    is_over: bool = False
    """True if the notice does not apply any more or a button was pressed; it then has no buttons."""


class Notices(QObject):
    """List of notices, added by controllers and shown by the window."""

    told = Signal(object)
    """A new Notice."""
    withdrawn = Signal(str)
    """Title or subject of notices that do not apply any more."""
    changed = Signal()
    """The list, or the number of unread notices, changed."""

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
        """Mark notices with this title or subject as over, and remove their banners."""
        for old in self.history:
            old.is_over |= about in (old.notice.title, old.notice.subject)
        self.withdrawn.emit(about)

    def note_done(self, notice: Notice) -> None:
        """Mark a notice as over, because the user pressed a button of it or closed the banner."""
        for old in self.history:
            if old.notice is notice and not old.is_over:
                old.is_over = True
                self.unseen = max(0, self.unseen - 1)
        self.changed.emit()

    def note_seen(self) -> None:
        """Mark all notices as read."""
        self.unseen = 0
        self.changed.emit()
