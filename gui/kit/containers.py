"""Docks with a flat title bar, foldable sections, tables, segmented buttons."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QDockWidget,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QTabWidget,
    QToolButton,
    QWidget,
)

from gui.kit.boxes import hbox, named, put, titlebar, vbox
from gui.kit.icons import icon
from gui.kit.labels import icon_button, label
from gui.kit.style_sheet import BAR, GAP, MARGIN
from gui.kit.theme import bold_font
from gui.kit.words import tr

SIDES = 22
"""Pixels left and right of the text of a button."""
WIDEST_TEXT = 440
"""Most pixels of a line on a page without contents."""


class Dock(QDockWidget):
    """Dock with a flat title bar; `head` is the layout of the widget `tools` at the right of the title."""

    def __init__(self, title: str, object_name: str) -> None:
        super().__init__(title)
        self.setObjectName(object_name)
        # A click on the dock's text, too, takes the keyboard focus from the game.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._bar = bar = QWidget()
        titlebar(bar)
        self._row = row = hbox(bar, margins=(12, 1, 4, 2), spacing=4)
        put(row, label(title, "title"), 1)
        self.tools = QWidget()
        self.head = hbox(self.tools, spacing=4)
        row.addWidget(self.tools)
        close = icon_button("close", tr("Close {title}", title=title), clicked=self.close)
        # The keyboard closes docks by their shortcuts; a Space after Start must not.
        close.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        row.addWidget(close)
        bar.setFixedHeight(BAR)
        self.setTitleBarWidget(bar)
        self._no_bar = QWidget()
        self.is_tab = False
        """True while the dock stands behind others or in front of them, so that its tab is its title."""

    @property
    def has_tools(self) -> bool:
        return self.head.count() > 0

    def set_tab(self, is_tab: bool, window: QWidget) -> None:
        """Hide the title bar in favour of a tab; `tools` then belongs to `window`, which shows it beside the tabs."""
        if is_tab == self.is_tab:
            return
        self.is_tab = is_tab
        if is_tab:
            self.tools.setParent(window)
            self.setTitleBarWidget(self._no_bar)
        else:
            self.setTitleBarWidget(self._bar)
            self._row.insertWidget(2, self.tools)
            self.tools.show()
        self._bar.setHidden(is_tab)


class Section(QWidget):
    """Foldable section; `body` is the layout of the contents, `note` the label at the right of the heading."""

    def __init__(self, title: str, *, is_open: bool) -> None:
        super().__init__()
        outer = vbox(self, spacing=4)
        self.head = head = hbox(spacing=8)
        self._toggle = QToolButton()
        self._toggle.setText(title)
        self._toggle.setAccessibleName(title)
        self._toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._toggle.setProperty("flat", True)
        self._toggle.setCheckable(False)
        self._toggle.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        self._toggle.clicked.connect(lambda: self.set_open(not self.is_open))
        self.note: QLabel = label("", "muted")
        put(head, self._toggle, 1, self.note)
        outer.addLayout(head)
        self._content = QWidget()
        self.body = vbox(self._content, margins=(4, 0, 0, 4), spacing=4)
        outer.addWidget(self._content)
        self.is_open = is_open
        self.set_open(is_open)

    def set_title(self, title: str) -> None:
        self._toggle.setText(title)
        self._toggle.setAccessibleName(title)

    def set_open(self, is_open: bool) -> None:
        self.is_open = is_open
        self._content.setVisible(is_open)
        self._toggle.setIcon(icon("down" if is_open else "right", "muted"))
        self._toggle.setAccessibleDescription(tr("open") if is_open else tr("closed"))


def empty_page(missing: QLabel | str, why: QLabel | str = "", offer: QWidget | None = None) -> QWidget:
    """Return a page for a view without contents: what is missing, why in small, and at most one button."""
    page = QWidget()
    column = vbox(page, margins=(MARGIN, GAP, MARGIN, GAP), spacing=GAP)
    column.addStretch(1)
    for text, role in ((missing, ""), (why, "caption")):
        if text:
            made = label(text, role) if isinstance(text, str) else text
            made.setWordWrap(True)
            made.setAlignment(Qt.AlignmentFlag.AlignCenter)
            made.setMaximumWidth(WIDEST_TEXT)
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(made, 100)  # the first to get room, up to its width
            row.addStretch(1)
            column.addLayout(row)
    if offer is not None:
        column.addWidget(offer, 0, Qt.AlignmentFlag.AlignHCenter)
    column.addStretch(1)
    return page


class PagePicker(QComboBox):
    """Choice of the page of a tab widget, in place of its tabs."""

    def __init__(self, tabs: QTabWidget, object_name: str, accessible: str) -> None:
        super().__init__()
        self._tabs = tabs
        tabs.tabBar().hide()
        self.setObjectName(object_name)
        self.setAccessibleName(accessible)
        self.setProperty("flat", True)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.activated.connect(lambda row: tabs.setCurrentIndex(self.itemData(row)))
        tabs.currentChanged.connect(lambda at: self.setCurrentIndex(self.findData(at)))

    def offer(self, page: QWidget, is_there: bool) -> None:
        """Offer a page, or leave it out."""
        self._tabs.setTabVisible(self._tabs.indexOf(page), is_there)
        self.refresh()

    def refresh(self) -> None:
        """Offer the pages that the tab widget has now."""
        tabs = self._tabs
        offered = [at for at in range(tabs.count()) if tabs.isTabVisible(at)]
        if offered != [self.itemData(row) for row in range(self.count())]:
            self.clear()
            for at in offered:
                self.addItem(tabs.tabText(at), at)
            self.setCurrentIndex(self.findData(tabs.currentIndex()))


class Segmented(QWidget):
    """Row of joined buttons of which one is chosen; `items` are (value, text, objectName)."""

    picked = Signal(str)

    def __init__(self, name: str, items: Sequence[tuple[str, str, str]], accessible: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(accessible)
        row = hbox(self, spacing=0)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QPushButton] = {}
        for index, (value, text, object_name) in enumerate(items):
            made = named(QPushButton(text), object_name, f"{accessible}: {text}")
            made.setCheckable(True)
            made.setAutoDefault(False)
            made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            made.setMinimumWidth(QFontMetrics(bold_font()).horizontalAdvance(text) + SIDES)  # nothing moves when chosen
            place = "first" if index == 0 else "last" if index == len(items) - 1 else "middle"
            made.setProperty("segment", place)
            made.clicked.connect(lambda _=False, value=value: self.picked.emit(value))
            self._group.addButton(made)
            self._buttons[value] = made
            row.addWidget(made)

    def set_value(self, value: str) -> None:
        """Select the button of `value` without emitting a signal."""
        self._buttons[value].setChecked(True)

    @property
    def value(self) -> str:
        """Value of the chosen button; "" before one is chosen."""
        return next((value for value, made in self._buttons.items() if made.isChecked()), "")

    def button(self, value: str) -> QPushButton:
        return self._buttons[value]
