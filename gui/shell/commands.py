"""Commands that show a dock, tab or dialog, and the palette that lists all commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QAction, QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QDockWidget,
    QListWidget,
    QListWidgetItem,
    QMainWindow,
    QStyle,
    QStyledItemDelegate,
    QTabWidget,
    QWidget,
)

from gui.kit import theme
from gui.kit.actions import NATIVE, ActionRegistry, plain_words
from gui.kit.boxes import put
from gui.kit.dialogs import CheatSheet, show_file
from gui.kit.labels import rule, search_field
from gui.kit.painting import guarded_item, paint_keys
from gui.kit.popover import SHADOW, Popover
from gui.kit.style_sheet import BAR, GAP, MARGIN, ROW
from gui.kit.words import tr
from gui.shell.layout import Layout
from gui.shell.menus import MENUS, command_ids
from gui.shell.settings_dialog import SettingsDialog
from gui.state.context import Choice, Context, Feature
from gui.state.telemetry import TelemetryModel

WIDTH, MOST_ROWS = 480, 12
MENU_ROLE = Qt.ItemDataRole.UserRole + 1
"""Title of the menu that has the command of a row."""
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
TAB_KEYS = {"telemetry": "Ctrl", "center": "Alt"}
"""Modifier key that, with a digit, shows a tab of a tab widget."""


def define_places(
    registry: ActionRegistry,
    docks: Mapping[QDockWidget, str],
    tabs: Mapping[str, QTabWidget],
    telemetry: TelemetryModel,
    layout: Layout,
) -> None:
    """Define commands that show a dock or a tab.

    `docks` are shortcuts by dock; `tabs` are tab widgets by a key of TAB_KEYS. A page of curves is hidden while the
    runs on show have none of its metrics.
    """

    def refusal(shown: QTabWidget, index: int) -> str:
        return "" if shown.isTabVisible(index) else tr("Nothing to show there yet")

    for dock, keys in docks.items():
        registry.add(
            f"dock.{dock.objectName()}",
            dock.windowTitle(),
            partial(layout.toggle, dock),
            keys,
            is_on=lambda dock=dock: not dock.isHidden(),
            follows=(dock.visibilityChanged,),
        )
    for name, shown in tabs.items():
        for index in range(shown.count()):
            registry.add(
                f"{name}.{index}",
                f"{tr(name.capitalize())}: {shown.tabText(index)}",
                partial(shown.setCurrentIndex, index),
                f"{TAB_KEYS[name]}+{index + 1}",
                refusal=partial(refusal, shown, index),
                follows=(telemetry.focus_changed, telemetry.pins_changed, telemetry.run_told),
            )


def define_views(context: Context, layout: Layout) -> None:
    window, appearance = context.window, context.appearance
    add = context.actions.add
    themes, screens = (appearance.theme_changed,), (appearance.screen_changed,)
    for name, text in (("dark", tr("Dark")), ("light", tr("Light"))):
        add(
            f"theme{name.capitalize()}",
            text,
            partial(appearance.set_theme, name),
            is_on=lambda name=name: appearance.theme == name,
            follows=themes,
        )
    screen_words = (
        ("dmg", tr("greens")),
        ("grey", tr("greys")),
        ("pocket", tr("greys of the Game Boy Pocket")),
        ("light", tr("greens of the Game Boy Light")),
    )
    for name, text in screen_words:
        add(
            f"screen{name.capitalize()}",
            tr("Screen colours: {what}", what=text),
            partial(appearance.set_screen, name),
            is_on=lambda name=name: appearance.screen == name,
            follows=screens,
        )
    add(
        "screenLcd",
        tr("LCD effect"),
        appearance.toggle_lcd,
        tip=tr("Lines between the pixels, and slow pixels like those of the Game Boy"),
        is_on=lambda: appearance.is_lcd,
        follows=screens,
    )
    add(
        "wholePixels",
        tr("Whole pixels only"),
        appearance.toggle_whole,
        tip=tr("All pixels of the game have the same size; off: only where that leaves little room empty"),
        is_on=lambda: appearance.is_whole,
        follows=screens,
    )
    add("fullScreen", tr("Full screen"), lambda: _toggle_full_screen(window), "F11")
    add(
        "onlyCenter",
        tr("Focus mode"),
        layout.toggle_only_center,
        "Ctrl+F11",
        tip=tr("Hide all docks to make the centre as large as possible; press again to show them"),
        is_on=lambda: layout.is_only_center,
        follows=(layout.changed,),
    )
    add("resetLayout", tr("Reset layout"), layout.reset, "Ctrl+0")
    add("openHome", tr("Open data folder"), lambda: show_file(context.home.root))
    add("quit", tr("Quit"), window.close, "Ctrl+Q")


def define_dialogs(context: Context, features: Sequence[Feature], choices: Sequence[Choice]) -> None:
    """Define the commands that open dialogs; called after all others, as some dialogs list all commands."""
    registry, window = context.actions, context.window

    def show_keys() -> None:
        CheatSheet(window, registry.cheat_sheet() + [keys for feature in features for keys in feature.keys]).show()

    def open_settings() -> None:
        dialog = SettingsDialog(window, context.settings, choices, registry)
        for feature in features:
            for title, make in feature.settings_pages:
                dialog.add_page(make(), title)
        dialog.open()

    registry.add("shortcuts", tr("Keyboard"), show_keys, "F12")
    registry.add("commandPalette", tr("Find a command..."), lambda: CommandPalette(window, registry), "Ctrl+Shift+P")
    registry.add("settings", tr("Settings..."), open_settings, "Ctrl+,")


def _toggle_full_screen(window: QMainWindow) -> None:
    window.setWindowState(window.windowState() ^ Qt.WindowState.WindowFullScreen)


def rank(wanted: str, words: str) -> int:
    """Return how well `words` match the typed letters: 0 is best, -1 means that the letters do not occur in order."""
    wanted, words = wanted.lower().strip(), words.lower()
    if wanted in words:
        return 0 if words.startswith(wanted) else 1
    place = 0
    for letter in wanted.replace(" ", ""):
        place = words.find(letter, place) + 1
        if not place:
            return -1
    return 2


class CommandPalette(Popover):
    """List of all commands, filtered by the typed text; Enter runs the selected command."""

    def __init__(self, window: QWidget, registry: ActionRegistry) -> None:
        super().__init__(window, "commandPalette", tr("Commands"))
        self._finders = registry.finders
        self._actions = [
            action for name, action in registry.all().items() if action.isVisible() and name != "commandPalette"
        ]
        self._menus = {name: title for title, entries in MENUS.items() for name in command_ids(entries)}
        self.box = search_field("commandPaletteBox", tr("Command"), tr("Type a few letters of a command"))
        self.box.installEventFilter(self)
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Commands"))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setItemDelegate(_CommandDelegate(self.list))
        put(self.body, self.box, rule(), self.list)
        self.box.textChanged.connect(self._filter)
        self.box.returnPressed.connect(self._do)
        self.list.itemClicked.connect(lambda item: self._do())
        self._filter("")
        self.open_at(QPoint((window.width() - WIDTH) // 2, 2 * BAR), WIDTH, self._height())
        self.box.setFocus(Qt.FocusReason.PopupFocusReason)

    def _height(self) -> int:
        return self.box.sizeHint().height() + max(1, min(MOST_ROWS, self.list.count())) * ROW + 2 * 4 + 3

    def _filter(self, text: str) -> None:
        further = [action for find in self._finders for action in find(text)]
        ranked = [(rank(text, plain_words(action)), action) for action in (*self._actions, *further)]
        found = sorted((row for row in ranked if row[0] >= 0), key=lambda row: (row[0], not row[1].isEnabled()))
        self.list.clear()
        for _, action in found:
            item = QListWidgetItem(plain_words(action))
            item.setData(Qt.ItemDataRole.UserRole, action)
            item.setData(MENU_ROLE, tr(self._menus.get(action.objectName(), "")).replace("&", ""))
            item.setToolTip(action.toolTip())
            if not action.isEnabled():
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
            self.list.addItem(item)
        if not found:
            none = QListWidgetItem(tr("No command matches"))
            none.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(none)
        self.list.setCurrentRow(0)
        self.resize(self.width(), self._height() + 2 * SHADOW)

    def _do(self) -> None:
        item = self.list.currentItem()
        action = item.data(Qt.ItemDataRole.UserRole) if item else None
        if isinstance(action, QAction) and action.isEnabled():
            self.close()
            action.trigger()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move the selection of the list by the arrow keys while the text field has the focus."""
        is_press = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress
        if is_press and watched is self.box and Qt.Key(event.key()) in _MOVES:  # type: ignore[attr-defined]
            self.list.event(event)
            return True
        return super().eventFilter(watched, event)


class _CommandDelegate(QStyledItemDelegate):
    """Row of the palette: the command, and at the right its menu and its keys."""

    def sizeHint(self, option, index) -> QSize:  # type: ignore[no-untyped-def]
        return QSize(0, ROW)

    @guarded_item
    def paint(self, painter: QPainter, option, index) -> None:  # type: ignore[no-untyped-def]
        colors, action, rect = theme.current(), index.data(Qt.ItemDataRole.UserRole), option.rect
        middle, right = Qt.AlignmentFlag.AlignVCenter, Qt.AlignmentFlag.AlignRight
        is_enabled = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, QColor(colors.accent_soft))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, QColor(colors.hover))
        room = rect.adjusted(MARGIN - 4, 0, GAP - MARGIN, 0)
        painter.setFont(theme.small_font())
        if keys := action.shortcut().toString(NATIVE) if isinstance(action, QAction) else "":
            room.setRight(paint_keys(painter, room, keys) - GAP)
        painter.setPen(QColor(colors.muted if is_enabled else colors.disabled))
        menu = index.data(MENU_ROLE) or ""
        painter.drawText(room, middle | right, menu)
        room.setRight(room.right() - painter.fontMetrics().horizontalAdvance(menu) - GAP)
        painter.setFont(theme.ui_font())
        painter.setPen(QColor(colors.text if is_enabled else colors.disabled))
        words = painter.fontMetrics().elidedText(index.data(), Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, middle, words)
