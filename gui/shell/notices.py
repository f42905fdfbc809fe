"""Display of notices: banner in the status bar, list behind the bell button, desktop notifications."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, QProcess, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QIcon
from PySide6.QtWidgets import QApplication, QPushButton, QSizePolicy, QSystemTrayIcon, QToolButton, QWidget

from gui.kit.actions import ActionRegistry
from gui.kit.boxes import hbox, named, put, scrolling, vbox
from gui.kit.containers import empty_page
from gui.kit.icons import icon
from gui.kit.labels import ElidedLabel, Icon, ago, button, icon_button, label
from gui.kit.popover import Popover
from gui.kit.settings import Settings
from gui.kit.style_sheet import GAP, SMALL_BUTTON
from gui.kit.words import tr
from gui.state.notices import Notice, Notices, Told
from trainer_core.lab.paths import ASSETS

DESKTOP_SETTING = "desktop/notices"
ICON = ASSETS / "icons" / "dmglab.png"
MOST_CHARACTERS = 400
"""Most characters of a notice's text in the list."""
ZERO_WIDTH_SPACE = "\u200b"
LIFE_MS = {"info": 6000, "good": 6000}
"""Milliseconds that a banner is shown, by tone; one of another tone stays until it is closed, replaced or moot."""
MOST_BANNERS = 8
ICONS = {"info": ("info", "muted"), "good": ("check", "good"), "warn": ("warn", "warn")}
FAILED = ("close", "bad")
"""(name, theme colour) of the icon before a notice, by tone."""
LIST_WIDTH, LIST_HEIGHT = 368, 400


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


class Banner(QWidget):
    """Icon, sentence, at most one button and a cross; the list behind the bell has a notice's further buttons."""

    dismissed = Signal(object)
    """The notice, after the user closed the banner or pressed its button."""
    faded = Signal(object)

    def __init__(self, notice: Notice) -> None:
        super().__init__()
        self.notice = notice
        self.title = notice.title
        row = hbox(self, spacing=GAP)
        row.addWidget(Icon(*ICONS.get(notice.tone, FAILED)))
        text = ElidedLabel(": ".join(filter(None, (notice.title, notice.text))), "notice")
        text.setTextFormat(Qt.TextFormat.PlainText)
        text.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        row.addWidget(text)
        offers = _offers(notice, self._on_act)
        self.button: QPushButton | None = offers[0] if offers else None
        if self.button is not None:
            row.addWidget(self.button)
        put(row, icon_button("close", tr("Close"), clicked=self._dismiss), 1)
        self.setAccessibleName(f"{notice.title}: {notice.text}")
        self.setToolTip(f"{notice.title}\n{notice.text}".strip())
        self._life = QTimer(self, singleShot=True, interval=LIFE_MS.get(notice.tone, 0))
        self._life.timeout.connect(self._on_time_up)
        if self._life.interval():
            self._life.start()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._life.stop()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        if self._life.interval():
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

    is_taken = Signal(bool)
    """Whether there is a banner now."""

    def __init__(self, notices: Notices, actions: ActionRegistry) -> None:
        super().__init__()
        self._notices, self._actions = notices, actions
        self.banners: list[Banner] = []
        self.setObjectName("bannerArea")
        self.setFixedHeight(SMALL_BUTTON)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._row = hbox(self, margins=(GAP, 0, 0, 0))
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
        self.is_taken.emit(bool(self.banners))


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
        self.setFixedHeight(SMALL_BUTTON)
        self.list: NoticeList | None = None
        self.clicked.connect(self.open_list)
        notices.changed.connect(self._on_changed)
        self._on_changed()

    def _on_changed(self) -> None:
        count = self._notices.unseen
        self.setText(str(count) if count else "")
        words = tr("Notices, {count} new", count=count) if count else tr("Notices")
        self.setToolTip(words)
        self.setAccessibleName(words)

    def open_list(self) -> None:
        """Open the list of notices, the newest first, above the button; close it if it is open."""
        if self.list is not None and shiboken6.isValid(self.list) and self.list.isVisible():
            self.list.close()
            return
        self.list = NoticeList(self, self._notices, self._actions)
        self._notices.note_seen()


class NoticeList(Popover):
    """Panel with the list of notices."""

    def __init__(self, bell: QWidget, notices: Notices, actions: ActionRegistry) -> None:
        window = bell.window()
        super().__init__(window, "noticeList", tr("Notices"), bell)
        self._notices, self._actions = notices, actions
        page = named(QWidget(), "scrollBody")
        column = vbox(page, margins=(GAP, GAP, GAP, GAP), spacing=0)
        for told in reversed(notices.history):
            column.addWidget(self._row(told))
        if not notices.history:
            column.addWidget(
                empty_page(tr("No notices yet"), tr("Finished and failed runs and saved files are listed here."))
            )
        column.addStretch(1)
        self.body.addWidget(scrolling(page))
        column.activate()
        height = min(LIST_HEIGHT, page.heightForWidth(LIST_WIDTH - 2) + 2)
        corner = QPoint(window.width() - LIST_WIDTH - GAP, bell.mapTo(window, QPoint()).y() - height - GAP)
        self.open_at(corner, LIST_WIDTH, height)

    def _row(self, told: Told) -> QWidget:
        notice = told.notice if told.is_over else with_command(told.notice, self._actions)
        made = QWidget()
        row = hbox(made, margins=(GAP, 6, GAP, 6), spacing=GAP)
        row.addWidget(Icon(*ICONS.get(notice.tone, FAILED)), 0, Qt.AlignmentFlag.AlignTop)
        column = vbox(spacing=2)
        column.addWidget(label(notice.title, wrap=True))
        if notice.text:
            column.addWidget(_whole(notice.text))
        offers = [] if told.is_over else _offers(notice, partial(self._on_act, told.notice))
        if offers:
            buttons = hbox(margins=(0, 4, 0, 0), spacing=GAP)
            for offer in offers:
                buttons.addWidget(offer)
            buttons.addStretch(1)
            column.addLayout(buttons)
        row.addLayout(column, 1)
        age = label(ago(told.at), "caption")
        age.setToolTip(time.strftime("%H:%M:%S", time.localtime(told.at)))
        row.addWidget(age, 0, Qt.AlignmentFlag.AlignTop)
        return made

    def _on_act(self, notice: Notice, act: Callable[[], object]) -> None:
        self.close()
        self._notices.note_done(notice)
        self._notices.withdraw(notice.about)
        act()


def _whole(text: str) -> QWidget:
    """Return a label that shows the whole text in several lines, with line breaks allowed in paths."""
    short = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS].rstrip() + "..."
    made = label(short.replace("/", f"/{ZERO_WIDTH_SPACE}"), "caption", wrap=True)
    made.setToolTip(text)
    return made
