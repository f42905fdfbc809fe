"""What a person should be told now: one line with a tone and ways to go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal


@dataclass(frozen=True, slots=True)
class Notice:
    title: str
    text: str = ""
    tone: str = "info"
    """info, good, warn or error; how long one stays that offers nothing follows from it."""
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


class Notices(QObject):
    """Controllers tell, the window shows."""

    told = Signal(object)
    """A Notice."""
    withdrawn = Signal(str)
    """Title of notices that are true no more."""

    def tell(
        self, title: str, text: str = "", tone: str = "info",
        action: str = "", act: Callable[[], object] | None = None, command: str = "",
        also: str = "", act_also: Callable[[], object] | None = None, *, is_news: bool = False,
    ) -> None:  # fmt: skip
        self.told.emit(Notice(title, text, tone, action, act, command, also, act_also, is_news))

    def withdraw(self, title: str) -> None:
        """What was told under this title is over: it need not be dismissed by hand."""
        self.withdrawn.emit(title)
