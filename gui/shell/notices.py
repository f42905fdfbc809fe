"""Display of notices: banner in the status bar, list behind the bell button, desktop notifications."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QPoint, QProcess, Qt, QTimer, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSystemTrayIcon,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.kit.actions import ActionRegistry
from gui.kit.icons import icon
from gui.kit.labels import ElidedLabel, button, icon_button, label, set_role
from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.state.notices import Notice, Notices, Told
from trainer_core.lab.paths import ASSETS

DESKTOP_SETTING = "desktop/notices"
ICON = ASSETS / "icons" / "dmglab.png"
BAR_HEIGHT = 20
"""Height of the status bar in pixels, the same with and without a banner."""
MOST_CHARACTERS = 400
"""Most characters of a notice's text in the list."""
ZERO_WIDTH_SPACE = "\u200b"
LIFE_MS = {"info": 6000, "good": 6000, "warn": 30_000, "error": 60_000}
"""Milliseconds that a banner without buttons is shown, by tone."""
OFFER_MS = {"info": 60_000, "good": 60_000, "warn": 300_000, "error": 300_000}
"""Milliseconds that a banner with buttons is shown, by tone."""
MOST_BANNERS = 8
ROLES = {"info": "", "good": "good", "warn": "warn"}
LIST_WIDTH, LIST_HEIGHT = 440, 360


class DesktopNotices(QObject):
    """Desktop notifications for notices marked as news, while the window does not have the focus."""

    def __init__(self, notices: Notices, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._window: QWidget | None = None
        self._tray: QSystemTrayIcon | None = None
        notices.told.connect(self._on_told)

    def watch(self, window: QWidget) -> None:
        self._window = window

    def _on_told(self, notice: Notice) -> None:
        window = self._window
        if not notice.is_news or window is None or window.isActiveWindow():
            return
        if not self._settings.flag(DESKTOP_SETTING, True):
            return
        QApplication.alert(window)
        if tool := shutil.which("notify-send"):
            urgency = "critical" if notice.tone == "error" else "normal"
            words = ["--app-name=DMG Lab", f"--icon={ICON}", f"--urgency={urgency}", "--"]
            QProcess.startDetached(tool, [*words, notice.title, notice.text])
        elif QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages():
            if self._tray is None:
                self._tray = QSystemTrayIcon(QIcon(str(ICON)), self)
                self._tray.show()
            self._tray.showMessage(notice.title, notice.text, QIcon(str(ICON)))


class Banner(QFrame):
    dismissed = Signal(object)
    """The notice, after the user closed the banner or pressed one of its buttons."""
    faded = Signal(object)

    def __init__(self, notice: Notice) -> None:
        super().__init__()
        self.notice = notice
        self.title = notice.title
        self.setProperty("role", "banner")
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 2, 0)
        row.setSpacing(6)
        head = label(notice.title)
        set_role(head, "role", ROLES.get(notice.tone, "error"))
        row.addWidget(head)
        text = ElidedLabel(notice.text, "muted")
        text.setTextFormat(Qt.TextFormat.PlainText)
        row.addWidget(text, 1)
        self.button: QPushButton | None = None
        offers = _offers(notice, self._on_act)
        for offer in offers:
            row.addWidget(offer)
        if offers:
            self.button = offers[0]
        close = icon_button("close", tr("Dismiss"), clicked=self._dismiss)
        close.setFixedHeight(BAR_HEIGHT - 2)
        row.addWidget(close)
        self.setAccessibleName(f"{notice.title}: {notice.text}")
        self.setToolTip(f"{notice.title}\n{notice.text}".strip())
        life = (OFFER_MS if offers else LIFE_MS).get(notice.tone, 0)
        self._life = QTimer(self, singleShot=True, interval=life)
        self._life.timeout.connect(self._on_time_up)
        if life:
            self._life.start()

    def _on_time_up(self) -> None:
        """Hide the banner at the end of its time; a notice marked as news waits until the window is active."""
        if self.notice.is_news and not self.window().isActiveWindow():
            self._life.start()
        else:
            self.faded.emit(self)

    def _on_act(self, act: Callable[[], object]) -> None:
        self._dismiss()
        act()

    def _dismiss(self) -> None:
        self.dismissed.emit(self)


def _offers(notice: Notice, take: Callable[[Callable[[], object]], None]) -> list[QPushButton]:
    """Return the buttons of a notice; pressing one calls `take` with the button's function."""
    pairs = [(notice.action, notice.act), (notice.also, notice.act_also)]
    made = [button(words, clicked=partial(take, act)) for words, act in pairs if act is not None]
    for each in made:
        each.setProperty("role", "small")
    return made


class BannerArea(QWidget):
    """Area that shows the newest active notice as a banner, and after it the previous one."""

    def __init__(self, notices: Notices, actions: ActionRegistry) -> None:
        super().__init__()
        self._notices, self._actions = notices, actions
        self.banners: list[Banner] = []
        self.setObjectName("bannerArea")
        self.setFixedHeight(BAR_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        notices.told.connect(self.show_notice)
        notices.withdrawn.connect(self.withdraw)

    def show_notice(self, notice: Notice) -> None:
        """Show a notice; one with the same subject is removed."""
        for old in [old for old in self.banners if old.notice.about == notice.about]:
            self._remove(old)
        while len(self.banners) >= MOST_BANNERS:
            self._remove(self.banners[0])
        banner = Banner(with_command(notice, self._actions))
        banner.dismissed.connect(partial(self._on_dismissed, notice))
        banner.faded.connect(self._remove)
        self.banners.append(banner)
        self._row.addWidget(banner)
        self._show_newest()

    def withdraw(self, about: str) -> None:
        """Remove notices with this title or subject, which no longer apply."""
        for banner in list(self.banners):
            if about in (banner.title, banner.notice.subject):
                self._remove(banner)

    def _on_dismissed(self, notice: Notice, banner: Banner) -> None:
        self._remove(banner)
        self._notices.note_done(notice)

    def _remove(self, banner: Banner) -> None:
        if banner in self.banners:
            self.banners.remove(banner)
            self._row.removeWidget(banner)
            banner.hide()
            banner.deleteLater()
            self._show_newest()

    def _show_newest(self) -> None:
        for banner in self.banners:
            banner.setVisible(banner is self.banners[-1])


def with_command(notice: Notice, actions: ActionRegistry) -> Notice:
    """Return the notice with a button for its command, if that command is enabled."""
    if not notice.command:
        return notice
    action = actions[notice.command]
    action.refresh()  # its subject may have failed just now
    if not action.isEnabled():
        return notice
    return replace(notice, action=action.iconText(), act=action.trigger)


class NoticesButton(QToolButton):
    """Bell button with the number of unread notices; a click opens the list of all notices."""

    def __init__(self, notices: Notices, actions: ActionRegistry) -> None:
        super().__init__()
        self._notices, self._actions = notices, actions
        self.setObjectName("noticesButton")
        self.setProperty("flat", True)
        self.setIcon(icon("bell"))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setFixedHeight(BAR_HEIGHT)
        self.list: NoticeList | None = None
        self.clicked.connect(self.open_list)
        notices.changed.connect(self._on_changed)
        self._on_changed()

    def _on_changed(self) -> None:
        count = self._notices.unseen
        self.setText(str(count) if count else "")
        words = tr("Notices, {count} not looked at", count=count) if count else tr("Notices")
        self.setToolTip(words)
        self.setAccessibleName(words)

    def open_list(self) -> None:
        """Open the list of notices, the newest first, above the button."""
        self.list = NoticeList(self.window(), self._notices, self._actions)
        corner = self.mapToGlobal(QPoint(self.width(), 0))
        self.list.move(corner - QPoint(self.list.width(), self.list.height()))
        self.list.show()
        self._notices.note_seen()


class NoticeList(QFrame):
    """Popup with the list of notices; Escape or a click outside closes it."""

    def __init__(self, parent: QWidget, notices: Notices, actions: ActionRegistry) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("noticeList")
        self.setAccessibleName(tr("Notices"))
        self.setProperty("role", "card")
        self._notices, self._actions = notices, actions
        body = QWidget()
        body.setObjectName("scrollBody")
        column = QVBoxLayout(body)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        for told in reversed(notices.history):
            column.addWidget(self._row(told))
        if not notices.history:
            column.addWidget(label(tr("Nothing was told yet"), "muted"))
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, 1, 1, 1)
        outer.addWidget(scroll)
        body.setFixedWidth(LIST_WIDTH - 14)
        column.activate()
        self.resize(LIST_WIDTH, min(LIST_HEIGHT, body.heightForWidth(LIST_WIDTH - 14) + 4))

    def _row(self, told: Told) -> QWidget:
        notice = told.notice if told.is_over else with_command(told.notice, self._actions)
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        head = QHBoxLayout()
        title = label(notice.title, wrap=True)
        set_role(title, "role", ROLES.get(notice.tone, "error"))
        head.addWidget(title, 1)
        head.addWidget(label(time.strftime("%H:%M:%S", time.localtime(told.at)), "muted"))
        column.addLayout(head)
        if notice.text:
            column.addWidget(_whole(notice.text))
        offers = [] if told.is_over else _offers(notice, partial(self._on_act, told.notice))
        if offers:
            row = QHBoxLayout()
            for offer in offers:
                row.addWidget(offer)
            row.addStretch(1)
            column.addLayout(row)
        return made

    def _on_act(self, notice: Notice, act: Callable[[], object]) -> None:
        self.close()
        self._notices.note_done(notice)
        self._notices.withdraw(notice.about)
        act()


def _whole(text: str) -> QWidget:
    """Return a label that shows the whole text in several lines, with line breaks allowed in paths."""
    short = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS].rstrip() + "..."
    made = label(short.replace("/", f"/{ZERO_WIDTH_SPACE}"), "muted", wrap=True)
    made.setToolTip(text)
    return made
