"""Colours of both themes, measures, and the Qt style sheet made from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QDir

from trainer_core.lab.paths import ASSETS

ICONS = "dmglabicons"
"""Placeholder in `url(...)` for the folder of icons, since a path with a space would invalidate the sheet."""
BODY_PX, SMALL_PX, BIG_PX = 13, 11, 32
"""Heights of text in pixels: everything; captions, table heads, axes, units and mono; the one big number or title."""
BOLD = 600
GAP, MARGIN = 8, 16
"""Pixels between two groups, and from a page's edge to its contents; within a group it is half a gap."""
BAR, ROW, TABLE_HEAD, CARD_ROW = 32, 28, 24, 88
"""Heights in pixels: menu bar, tabs, dock titles and status bar; table rows; table heads; rows with a picture."""
BUTTON, SMALL_BUTTON, ICON, MARK = 28, 24, 16, 8
"""Sizes in pixels: buttons and fields, small buttons, icons, marks of states and runs."""
RADIUS, CHIP_RADIUS = 6, 4


@dataclass(frozen=True, slots=True)
class Colors:
    """All colours that the app paints with in one theme."""

    name: str
    letterbox: str
    """Ground behind games and walls; `base` is that behind curves, `window` that of all else."""
    base: str
    window: str
    raised: str
    """Buttons and popovers; `hover` under the pointer, `pressed` while held."""
    hover: str
    pressed: str
    zebra: str
    """Every other row of a table."""
    field: str
    """Ground of text fields and unticked boxes."""
    trough: str
    """Ground of sliders and bars."""
    border: str
    """Separators and grid lines; never the only cue."""
    ctl: str
    """Edge of buttons, which carry text, and base line of plots."""
    edge: str
    """Edge of fields and unticked boxes, where it is the only cue."""
    text: str
    """Labels, values, names, and the ring of the keyboard focus."""
    muted: str
    disabled: str
    accent: str
    """Text and lines of what is chosen or runs; `accent_soft` is its ground, `accent_fill` the primary button's."""
    accent_soft: str
    accent_fill: str
    fill_edge: str
    fill_hover: str
    fill_pressed: str
    on_accent: str
    """Text on `accent_fill`."""
    good: str
    warn: str
    bad: str
    curves: tuple[str, ...]
    """Colours of runs by slot; as far apart as may be for normal and for colour-blind eyes."""


DARK = Colors(
    name="dark", letterbox="#0d0e0e", base="#121313", window="#18191a", raised="#232526", hover="#2c2e30",
    pressed="#383b3d", zebra="#1c1d1e", field="#101111", trough="#383b3d", border="#2c2e30", ctl="#45494c",
    edge="#6a6f73", text="#e6e7e8", muted="#a3a7aa", disabled="#6d7175", accent="#9bbc0f",
    accent_soft="#272e12", accent_fill="#9bbc0f", fill_edge="#9bbc0f", fill_hover="#abcb2a",
    fill_pressed="#86a30d", on_accent="#12160a", good="#7fc97a", warn="#e6b450", bad="#f07f6b",
    curves=("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#d55e00", "#b9bfc4"),
)  # fmt: skip
LIGHT = Colors(
    name="light", letterbox="#dfe0dd", base="#ffffff", window="#f6f6f4", raised="#ffffff", hover="#ecedea",
    pressed="#dddfdb", zebra="#f0f0ed", field="#ffffff", trough="#c3c6c1", border="#d9dad7", ctl="#b3b6b2",
    edge="#868b87", text="#1b1c1d", muted="#575b5e", disabled="#92969a", accent="#4f6d00",
    accent_soft="#e4ecc9", accent_fill="#9bbc0f", fill_edge="#7d980c", fill_hover="#abcb2a",
    fill_pressed="#86a30d", on_accent="#12160a", good="#2a6f2b", warn="#865400", bad="#b3261e",
    curves=("#0072b2", "#cf8200", "#00a070", "#9a4580", "#1b1c1d", "#b83200", "#868d93"),
)  # fmt: skip


def style_sheet(themes: Iterable[Colors]) -> str:
    """Return the style sheet of all windows, with the rules of all given themes."""
    QDir.setSearchPaths(ICONS, [str(ASSETS / "icons")])
    return "".join([_SHAPES, *map(_own_colors, themes)])


def _icon(name: str, c: Colors) -> str:
    return f"url({ICONS}:{name}-{c.name}.svg)"


def _own_colors(c: Colors) -> str:
    """Return the rules for windows of one theme, which have precedence over those of `_SHAPES`."""
    window = f'*[theme="{c.name}"]'
    disabled = ("QMenu::item", "QPushButton", "QToolButton", "QLineEdit", "QComboBox", "QAbstractSpinBox", "QCheckBox")
    fields = ("QLineEdit", "QComboBox", "QPlainTextEdit", "QTextEdit", "QAbstractSpinBox")
    primary = f'{window} QPushButton[primary="true"]'
    return f"""
{_each(window, disabled, ":disabled")} {{ color: {c.disabled}; }}
{_each(window, fields)} {{ selection-color: {c.on_accent}; }}
{_each(window, fields, '[invalid="true"]')} {{ border-color: {c.bad}; }}
{primary} {{ color: {c.on_accent}; border-color: {c.fill_edge}; }}
{primary}:hover {{ background: {c.fill_hover}; }}
{primary}:pressed {{ background: {c.fill_pressed}; }}
{primary}:disabled {{ color: {c.disabled}; border-color: {c.border}; }}
{window} QCheckBox::indicator:checked {{ border-color: {c.fill_edge}; }}
{window} QComboBox::down-arrow, {window} QAbstractSpinBox::down-arrow,
{window} QPushButton::menu-indicator, {window} QToolButton::menu-indicator {{ image: {_icon("chevron-down", c)}; }}
{window} QAbstractSpinBox::up-arrow {{ image: {_icon("chevron-up", c)}; }}
{window} QFileDialog {{
  filedialog-parent-directory-icon: {_icon("chevron-up", c)}; backward-icon: {_icon("chevron-left", c)};
  forward-icon: {_icon("chevron-right", c)}; }}
{window} QSlider::groove:horizontal, {window} QProgressBar {{ background: {c.trough}; }}
{window} QSlider::handle:horizontal:disabled, {window} QSlider::sub-page:horizontal:disabled {{
  background: {c.disabled}; }}
{window} QLabel[role="error"] {{ color: {c.bad}; }}
{window} QLabel[role="warn"] {{ color: {c.warn}; }}
{window} QLabel[role="good"] {{ color: {c.good}; }}
"""


def _each(window: str, kinds: Iterable[str], suffix: str = "") -> str:
    return ", ".join(f"{window} {kind}{suffix}" for kind in kinds)


# Beside its usual meaning, palette() is: light = hover, midlight = pressed, mid = border, dark = ctl, shadow = edge,
# base = field, accent = accent_fill, link = accent, placeholder-text = muted. `gui.kit.theme` fills the palette so.
# A height is that of the contents: with padding and edge a button, a field and a segment have 28 pixels.
_SHAPES = f"""
QMainWindow::separator {{ background: palette(mid); width: 1px; height: 1px; }}
QMainWindow::separator:hover {{ background: palette(shadow); }}
QToolTip {{
  background: palette(button); color: palette(text); border: 1px solid palette(dark); padding: 4px 6px; }}
QMenuBar {{ background: palette(window); border-bottom: 1px solid palette(mid); padding: 0 {GAP}px; }}
QMenuBar::item {{ padding: 7px 8px 8px 8px; background: transparent; }}
QMenuBar::item:selected {{ background: palette(light); }}
QMenuBar::item:pressed {{ background: palette(midlight); }}
QMenu {{ background: palette(button); border: 1px solid palette(dark); padding: 4px; }}
QMenu::item {{ padding: 5px 24px 5px 16px; border-radius: {CHIP_RADIUS}px; }}
QMenu::item:selected {{ background: palette(light); }}
QMenu::separator {{ height: 1px; background: palette(mid); margin: 4px 8px; }}
QStatusBar {{
  background: palette(window); border-top: 1px solid palette(mid); color: palette(placeholder-text);
  min-height: {BAR - 1}px; }}
QStatusBar::item {{ border: none; }}
QStatusBar QLabel, QStatusBar QToolButton {{ color: palette(placeholder-text); font-size: {SMALL_PX}px; }}
QStatusBar > QLabel {{ padding: 0 {GAP}px; }}
QStatusBar QLabel[role="notice"] {{ color: palette(text); }}

QPushButton, QToolButton {{
  background: palette(button); border: 1px solid palette(dark); border-radius: {RADIUS}px;
  padding: 5px 10px; color: palette(text); min-height: 16px; }}
QPushButton:hover, QToolButton:hover {{ background: palette(light); }}
QPushButton:pressed, QToolButton:pressed {{ background: palette(midlight); }}
QPushButton:disabled, QToolButton:disabled {{ background: palette(window); border-color: palette(mid); }}
QPushButton:checked, QToolButton:checked {{
  background: palette(highlight); color: palette(link); font-weight: {BOLD}; }}
QPushButton[keys="true"] {{ text-align: left; }}
QPushButton[narrow="true"] {{ padding: 5px 4px; }}
QPushButton[role="small"], QToolButton[role="small"] {{ padding: 3px 8px; }}
QStatusBar QPushButton {{ padding: 3px 8px; font-size: {SMALL_PX}px; }}
QPushButton[primary="true"] {{ background: palette(accent); font-weight: {BOLD}; }}
QPushButton[primary="true"]:disabled {{ background: palette(window); }}
QPushButton[flat="true"], QToolButton[flat="true"] {{
  background: transparent; border-color: transparent; padding: 3px; }}
QPushButton[flat="true"]:hover, QToolButton[flat="true"]:hover {{ background: palette(light); }}
QPushButton[flat="true"]:pressed, QToolButton[flat="true"]:pressed {{ background: palette(midlight); }}
QToolButton[transport="true"] {{ padding: 5px 6px; }}
QPushButton[segment] {{ color: palette(placeholder-text); background: transparent; }}
QPushButton[segment]:hover {{ color: palette(text); background: palette(light); }}
QPushButton[segment]:pressed {{ background: palette(midlight); }}
QPushButton[segment]:checked {{ color: palette(link); background: palette(highlight); }}
QPushButton[segment="first"] {{ border-top-right-radius: 0; border-bottom-right-radius: 0; border-right: none; }}
QPushButton[segment="middle"] {{ border-radius: 0; border-left-color: palette(mid); border-right: none; }}
QPushButton[segment="last"] {{
  border-top-left-radius: 0; border-bottom-left-radius: 0; border-left-color: palette(mid); }}
QPushButton::menu-indicator, QToolButton::menu-indicator {{
  width: 10px; height: 10px; subcontrol-origin: padding; subcontrol-position: right center; right: 6px; }}
QToolButton[popupMode="2"] {{ padding-right: 22px; }}
QMessageBox QLabel#qt_msgbox_label, QMessageBox QLabel#qt_msgbox_informativelabel {{ min-width: 320px; }}
QMessageBox QLabel#qt_msgbox_label {{ font-weight: {BOLD}; }}
QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
QFileDialog QToolButton {{ padding: 3px; }}
QFileDialog QListView#sidebar {{ min-width: 112px; }}
QTableCornerButton::section {{ background: palette(window); border: none; }}

QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox {{
  background: palette(base); border: 1px solid palette(shadow); border-radius: {RADIUS}px;
  color: palette(text); selection-background-color: palette(accent); }}
QLineEdit, QAbstractSpinBox, QComboBox {{ min-height: 16px; padding: 5px 7px; }}
QAbstractSpinBox {{ padding: 5px 4px; }}
QPlainTextEdit, QTextEdit {{ padding: 3px 5px; }}
QLineEdit:hover, QAbstractSpinBox:hover, QLineEdit:focus, QAbstractSpinBox:focus, QPlainTextEdit:focus,
QTextEdit:focus {{ border-color: palette(placeholder-text); }}
QLineEdit QToolButton {{ background: transparent; border: none; padding: 0; min-height: 0; }}
QLineEdit:read-only:hover {{ border-color: palette(shadow); }}
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled, QPlainTextEdit:disabled {{
  background: palette(window); border-color: palette(mid); }}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ border: none; width: 16px; }}
QAbstractSpinBox::up-arrow, QAbstractSpinBox::down-arrow {{ width: 10px; height: 10px; }}
QComboBox {{
  background: palette(button); border: 1px solid palette(dark); border-radius: {RADIUS}px; color: palette(text);
  padding-right: 1px; combobox-popup: 0; }}
QComboBox[flat="true"] {{ background: transparent; border-color: transparent; }}
QComboBox QLineEdit {{ background: transparent; border: none; padding: 0; }}
QComboBox:hover {{ background: palette(light); }}
QComboBox:on {{ background: palette(midlight); }}
QComboBox::drop-down {{ border: none; width: 22px; }}
QComboBox::down-arrow {{ width: 12px; height: 12px; }}
QComboBox QAbstractItemView {{
  background: palette(button); border: 1px solid palette(dark); padding: 4px; outline: none; }}
QComboBox QAbstractItemView::item {{ min-height: {SMALL_BUTTON}px; padding: 0 4px; }}
QCheckBox {{ spacing: {GAP}px; min-height: 16px; }}
QCheckBox::indicator {{
  width: 14px; height: 14px; border: 1px solid palette(shadow); border-radius: {CHIP_RADIUS}px;
  background: palette(base); }}
QCheckBox::indicator:hover {{ border-color: palette(placeholder-text); }}
QCheckBox::indicator:checked {{ background: palette(accent); image: url({ICONS}:check.svg); }}
QCheckBox::indicator:disabled {{ border-color: palette(mid); background: palette(window); }}

QTabWidget::pane {{ border: none; }}
QTabWidget > QStackedWidget {{ border-top: 1px solid palette(mid); }}
QTabWidget > QStackedWidget[bare="true"] {{ border-top-color: palette(window); }}
QTabBar {{ background: transparent; qproperty-drawBase: 0; }}
QTabBar::tab {{
  background: transparent; color: palette(placeholder-text); padding: 6px 12px 7px 12px; border: none;
  border-bottom: 2px solid transparent; }}
QTabBar QToolButton {{ padding: 0; min-height: 0; border-radius: 0; }}
QTabBar::tab:hover {{ color: palette(text); }}
QTabBar::tab:selected {{ color: palette(text); font-weight: {BOLD}; border-bottom: 2px solid palette(link); }}
QTabBar::tab:disabled {{ color: palette(mid); }}

QTableView, QListView, QTreeView {{
  background: palette(window); border: none; gridline-color: transparent; outline: none;
  alternate-background-color: palette(alternate-base); selection-background-color: palette(highlight);
  selection-color: palette(text); }}
#runInfo {{ border: none; border-radius: 0; background: palette(window); padding: 0; }}
#gameList {{ padding: 12px 4px 0 4px; }}
QTableView::item {{ padding: 0 {GAP}px; border: none; }}
QListView::item, QTreeView::item {{ padding: 0 6px; border: none; }}
QListView::item:hover, QTreeView::item:hover {{ background: palette(light); }}
QTableView::item:selected, QListView::item:selected, QTreeView::item:selected {{
  background: palette(highlight); color: palette(text); }}
QHeaderView {{ background: palette(window); border: none; }}
QHeaderView::section {{
  background: palette(window); color: palette(placeholder-text); border: none;
  border-bottom: 1px solid palette(mid); padding: 0 {GAP}px; min-height: {TABLE_HEAD - 1}px;
  font-size: {SMALL_PX}px; font-weight: 400; }}
QHeaderView::section:vertical {{ border-bottom: none; }}
QScrollArea {{ background: transparent; border: none; }}
QScrollArea > QWidget > QWidget#scrollBody {{ background: transparent; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar::handle {{
  background: palette(dark); border-radius: 3px; min-height: 24px; min-width: 24px; margin: 2px; }}
QScrollBar::handle:hover {{ background: palette(shadow); }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
QProgressBar {{ border: none; border-radius: 2px; max-height: 4px; }}
QProgressBar::chunk {{ background: palette(link); border-radius: 2px; }}
QSlider::groove:horizontal {{ height: 4px; border-radius: 2px; }}
QSlider::sub-page:horizontal {{ background: palette(link); border-radius: 2px; }}
QSlider::handle:horizontal {{
  width: 12px; margin: -4px 0; border-radius: {RADIUS}px; background: palette(text); }}
QSplitter::handle {{ background: palette(mid); }}

QLabel[role="muted"], QLabel[role="caption"] {{ color: palette(placeholder-text); }}
QLabel[role="caption"] {{ font-size: {SMALL_PX}px; }}
QLabel[role="title"], QToolButton[role="title"] {{ font-weight: {BOLD}; }}
QLabel[role="heading"] {{ font-size: {BIG_PX}px; font-weight: {BOLD}; }}
QWidget[role="titlebar"] {{ background: palette(window); border-bottom: 1px solid palette(mid); }}
QFrame[role="card"] {{
  background: palette(window); border: 1px solid palette(mid); border-radius: {RADIUS}px; }}
QFrame[role="popover"] {{
  background: palette(button); border: 1px solid palette(dark); border-radius: {RADIUS}px; }}
QFrame[role="popover"] QListWidget {{ background: transparent; padding: 4px 0; }}
QFrame[role="popover"] > QLineEdit {{ background: transparent; border: none; padding: 10px 8px; }}
QFrame[role="upright"] {{ background: palette(mid); border: none; max-width: 1px; min-width: 1px; }}
QFrame[role="rule"] {{ background: palette(mid); border: none; max-height: 1px; min-height: 1px; }}
"""
