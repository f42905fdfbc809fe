"""A line that tells what happened and what to do, inside the window: never a modal box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from gui.actions import ActionRegistry, Command
from gui.models.notices import Notice
from gui.widgets.labels import button, icon_button, label, set_role
from gui.words import tr

ONE_LINE = 48
"""Characters of title and text that stand side by side; more, and the text lies below."""
LONGEST = 200
"""Characters of a text on show."""
ZERO_WIDTH_SPACE = "\u200b"
WIDTH = 560
BOTTOM = 64
"""Pixels left free under the banners: the status bar and the tabs of the bottom docks."""
LIFE_MS = {"info": 6000, "good": 6000, "warn": 15000, "error": 0}
"""How long a banner stays that only tells; 0, and every one that offers something, until closed."""
MOST = 3
ROLES = {"info": "", "good": "good", "warn": "warn"}


class Banner(QFrame):
    dismissed = Signal(object)

    def __init__(self, notice: Notice) -> None:
        super().__init__()
        self.title = notice.title
        self.setProperty("role", "banner")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 4, 4)
        row.setSpacing(8)
        head = label(notice.title)
        set_role(head, "role", ROLES.get(notice.tone, "error"))
        is_short = len(notice.title) + len(notice.text) < ONE_LINE
        words = QHBoxLayout() if is_short else QVBoxLayout()
        words.setSpacing(8 if is_short else 0)
        words.addWidget(head)
        words.addWidget(_text(notice.text), 1)
        row.addLayout(words, 1)
        self.button: QPushButton | None = None
        if notice.act is not None:
            self.button = button(notice.action, clicked=partial(self._on_act, notice.act))
            row.addWidget(self.button)
        if notice.act_also is not None:
            row.addWidget(button(notice.also, clicked=partial(self._on_act, notice.act_also)))
        row.addWidget(icon_button("close", tr("Dismiss"), clicked=self._dismiss))
        self.setAccessibleName(f"{notice.title}: {notice.text}")
        if LIFE_MS.get(notice.tone) and notice.act is None:
            QTimer.singleShot(LIFE_MS[notice.tone], self, self._dismiss)

    def _on_act(self, act: Callable[[], object]) -> None:
        self._dismiss()
        act()

    def _dismiss(self) -> None:
        self.dismissed.emit(self)


def _text(text: str) -> QLabel:
    """As many lines as it needs, a path broken after any of its folders; the tooltip has it all."""
    short = text if len(text) <= LONGEST else text[:LONGEST].rstrip() + "..."
    made = label(short.replace("/", f"/{ZERO_WIDTH_SPACE}"), "muted", wrap=True)
    made.setToolTip(text)
    return made


def _height(banner: Banner, width: int) -> int:
    layout = banner.layout()
    assert layout is not None
    return max(36, layout.heightForWidth(width), banner.sizeHint().height())


class BannerArea(QWidget):
    """Shows the newest three banners over the foot of `host`, centred on `over`.

    Nothing is pushed aside, and the game's picture stays free.
    """

    def __init__(self, host: QWidget, over: QWidget, actions: ActionRegistry) -> None:
        super().__init__(host)
        self._host, self._over, self._actions = host, over, actions
        self.banners: list[Banner] = []
        self.setObjectName("bannerArea")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        host.installEventFilter(self)
        over.installEventFilter(self)
        self.hide()

    def show_notice(self, notice: Notice) -> None:
        """A newer notice takes the place of one with the same title."""
        for old in [old for old in self.banners if old.title == notice.title]:
            self._remove(old)
        while len(self.banners) >= MOST:
            self._remove(self.banners[0])
        if notice.command:
            action = self._actions[notice.command]
            if isinstance(action, Command):
                action.refresh()  # what it is about may have failed just now
            if action.isEnabled():
                notice = replace(notice, action=action.iconText(), act=action.trigger)
        banner = Banner(notice)
        banner.dismissed.connect(self._remove)
        self.banners.append(banner)
        self._column.addWidget(banner)
        self._place()

    def withdraw(self, title: str) -> None:
        """What was told under this title is true no more."""
        for banner in [banner for banner in self.banners if banner.title == title]:
            self._remove(banner)

    def _remove(self, banner: Banner) -> None:
        if banner in self.banners:
            self.banners.remove(banner)
            self._column.removeWidget(banner)
            banner.hide()
            banner.deleteLater()
            self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        self.setVisible(bool(self.banners))
        self.ensurePolished()
        width = min(WIDTH, self._over.width() - 16)
        foot = self._over.mapTo(self._host, QPoint(0, self._over.height())).y()
        height = self._show_what_fits(width, self._host.height() - BOTTOM - foot)
        left = self._over.mapTo(self._host, QPoint(0, 0)).x()
        self.setGeometry(
            left + (self._over.width() - width) // 2,
            self._host.height() - BOTTOM - height,
            width,
            height,
        )
        self.raise_()

    def _show_what_fits(self, width: int, room: int) -> int:
        """The newest, and of the others those that leave what is above free; their height."""
        used = 0
        for banner in reversed(self.banners):
            height = _height(banner, width) + 4
            fits = not used or used + height <= room
            banner.setVisible(fits)
            used += height if fits else 0
        return used
