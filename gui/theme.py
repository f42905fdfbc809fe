"""Palettes, type and the one style sheet. Quiet greys, one accent: the green of a Game Boy screen.

Fusion draws what the sheet leaves alone. Text and background pairs keep a contrast of 4.5 or more;
a test computes it.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from trainer_core.protocol.paths import ASSETS

GRID = 8
"""Pixels; margins and gaps are multiples of it, or half of it inside a group."""
FONT_FAMILIES = (
    "Inter", "Noto Sans", "Segoe UI", "SF Pro Text", "Cantarell", "Ubuntu", "Liberation Sans",
    "DejaVu Sans",
)  # fmt: skip
MONO_FAMILIES = ("JetBrains Mono", "Noto Sans Mono", "Cascadia Mono", "Menlo", "DejaVu Sans Mono")
SCREEN_GREEN = (0x9BBC0F, 0x8BAC0F, 0x306230, 0x0F380F)
SCREEN_GREY = (0xF8F8F8, 0xA8A8A8, 0x585858, 0x080808)
SCREEN_POCKET = (0xC4CFA1, 0x8B956D, 0x4D533C, 0x1F1F1F)
SCREEN_LIGHT = (0x00B581, 0x009A71, 0x00694A, 0x004F3B)
"""The colours of a Game Boy Pocket's and of a lit Game Boy Light's screen, as photographed."""


@dataclass(frozen=True, slots=True)
class Colors:
    """One theme; every colour the app paints with."""

    name: str
    window: str
    base: str
    raised: str
    border: str
    text: str
    muted: str
    disabled: str
    accent: str
    on_accent: str
    accent_soft: str
    good: str
    warn: str
    bad: str
    letterbox: str
    curves: tuple[str, ...]


DARK = Colors(
    name="dark", window="#1d1e20", base="#151618", raised="#292b2e", border="#393c40",
    text="#dfe0e2", muted="#a0a3a8", disabled="#676a70", accent="#9bbc0f", on_accent="#141a02",
    accent_soft="#2c3512", good="#7fc97a", warn="#e6b450", bad="#f07f6b", letterbox="#0e0f10",
    curves=("#56b4e9", "#e69f00", "#00b389", "#cc79a7", "#f0e442", "#e0743a", "#8fa3c7"),
)  # fmt: skip
LIGHT = Colors(
    name="light", window="#f4f4f2", base="#ffffff", raised="#e8e8e5", border="#cbcbc6",
    text="#1c1d1f", muted="#5a5d62", disabled="#9b9da1", accent="#4f6f00", on_accent="#ffffff",
    accent_soft="#e3ebc9", good="#2a6f2b", warn="#865400", bad="#b3261e", letterbox="#dcdcd8",
    curves=("#0072b2", "#d55e00", "#00805e", "#a8508a", "#b27c00", "#3a8fbf", "#5b6470"),
)  # fmt: skip
DASHES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DashDotLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotDotLine,
)


def system_theme() -> str:
    hints = QGuiApplication.styleHints()
    return "light" if hints.colorScheme() == Qt.ColorScheme.Light else "dark"


def colors(name: str) -> Colors:
    return LIGHT if name == "light" else DARK


_current = DARK


def current() -> Colors:
    """The theme that was applied last; painters ask while they paint."""
    return _current


def curve_color(slot: int) -> QColor:
    """Colour of the curve with that number: the theme's own, then hues far from the one before."""
    own = _current.curves
    if slot < len(own):
        return QColor(own[slot])
    lightness = 0.62 if _current.name == "dark" else 0.38
    return QColor.fromHslF(slot * 0.618034 % 1.0, 0.6, lightness)


_dressed: weakref.WeakSet[QWidget] = weakref.WeakSet()


def apply_theme(app: QApplication, name: str) -> Colors:
    """Give the whole app one theme; existing widgets follow at once."""
    global _current
    _current = colors(name)
    if app.style().objectName().lower() != "fusion":
        app.setStyle("Fusion")
    app.setFont(ui_font())
    app.setPalette(_palette(_current))
    for window in filter(shiboken6.isValid, list(_dressed)):
        window.setStyleSheet(_sheet(_current))
    return _current


def dress(window: QWidget) -> None:
    """Give a window the style sheet, now and with every theme to come; its dialogs inherit it.

    The application's own would do, but Qt polishes every widget several times for that one: a
    switch costs four times as much (docs/app.md).
    """
    _dressed.add(window)
    window.setStyleSheet(_sheet(_current))


def ui_font(points: float = 9.0) -> QFont:
    font = QFont(_installed(FONT_FAMILIES))
    font.setPointSizeF(points)
    return font


def mono_font(points: float = 8.5) -> QFont:
    font = QFont(_installed(MONO_FAMILIES))
    font.setPointSizeF(points)
    font.setStyleHint(QFont.StyleHint.Monospace)
    return font


def _installed(families: tuple[str, ...]) -> str:
    known = set(QFontDatabase.families())
    return next((family for family in families if family in known), families[-1])


def _palette(c: Colors) -> QPalette:
    palette = QPalette()
    role, group = QPalette.ColorRole, QPalette.ColorGroup
    pairs = {
        role.Window: c.window, role.WindowText: c.text, role.Base: c.base,
        role.AlternateBase: c.window, role.Text: c.text, role.Button: c.raised,
        role.ButtonText: c.text, role.BrightText: c.text, role.Highlight: c.accent_soft,
        role.HighlightedText: c.text, role.ToolTipBase: c.raised, role.ToolTipText: c.text,
        role.PlaceholderText: c.muted, role.Link: c.accent, role.Light: c.raised,
        role.Midlight: c.raised, role.Mid: c.border, role.Dark: c.border, role.Shadow: c.base,
        role.Accent: c.accent,
    }  # fmt: skip
    for which, value in pairs.items():
        palette.setColor(which, QColor(value))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(group.Disabled, which, QColor(c.disabled))
    return palette


def _icon(name: str, c: Colors) -> str:
    return (ASSETS / "icons" / f"{name}-{c.name}.svg").as_posix()


def _sheet(c: Colors) -> str:
    return f"""
QMainWindow::separator {{ background: {c.border}; width: 1px; height: 1px; }}
QMainWindow::separator:hover {{ background: {c.accent}; }}
QToolTip {{ background: {c.raised}; color: {c.text}; border: 1px solid {c.border}; padding: 4px; }}
QMenuBar {{ background: {c.window}; border-bottom: 1px solid {c.border}; padding: 2px 4px; }}
QMenuBar::item {{ padding: 4px 8px; border-radius: 3px; background: transparent; }}
QMenuBar::item:selected {{ background: {c.raised}; }}
QMenu {{ background: {c.window}; border: 1px solid {c.border}; padding: 4px; }}
QMenu::item {{ padding: 4px 24px 4px 16px; border-radius: 3px; }}
QMenu::item:selected {{ background: {c.accent_soft}; }}
QMenu::item:disabled {{ color: {c.disabled}; }}
QMenu::separator {{ height: 1px; background: {c.border}; margin: 4px 8px; }}
QStatusBar {{ background: {c.window}; border-top: 1px solid {c.border}; color: {c.muted}; }}
QStatusBar::item {{ border: none; }}
QStatusBar QLabel {{ color: {c.muted}; padding: 0 8px; }}

QPushButton, QToolButton {{
  background: {c.raised}; border: 1px solid {c.border}; border-radius: 4px;
  padding: 4px 10px; color: {c.text}; min-height: 16px; }}
QPushButton:hover, QToolButton:hover {{ border-color: {c.muted}; }}
QPushButton:pressed, QToolButton:pressed {{ background: {c.border}; }}
QPushButton:disabled, QToolButton:disabled {{ color: {c.disabled}; background: {c.window}; }}
QPushButton:focus, QToolButton:focus {{ border-color: {c.accent}; }}
QPushButton:checked, QToolButton:checked {{
  background: {c.accent_soft}; border-color: {c.accent}; color: {c.text}; }}
QPushButton[primary="true"] {{
  background: {c.accent}; border-color: {c.accent}; color: {c.on_accent}; font-weight: bold; }}
QPushButton[primary="true"]:hover {{ border-color: {c.text}; }}
QPushButton[primary="true"]:disabled {{
  background: {c.window}; border-color: {c.border}; color: {c.disabled}; }}
QPushButton[flat="true"], QToolButton[flat="true"] {{
  background: transparent; border-color: transparent; padding: 2px 4px; }}
QPushButton[flat="true"]:hover, QToolButton[flat="true"]:hover {{ background: {c.raised}; }}
QPushButton[flat="true"]:focus, QToolButton[flat="true"]:focus {{ border-color: {c.accent}; }}
QToolButton[transport="true"] {{ padding: 3px 6px; }}
QPushButton[segment="first"] {{ border-top-right-radius: 0; border-bottom-right-radius: 0; }}
QPushButton[segment="middle"] {{ border-radius: 0; border-left: none; }}
QPushButton[segment="last"] {{
  border-top-left-radius: 0; border-bottom-left-radius: 0; border-left: none; }}

QLineEdit, QComboBox, QPlainTextEdit, QTextEdit, QAbstractSpinBox {{
  background: {c.base}; border: 1px solid {c.border}; border-radius: 4px; padding: 2px 6px;
  color: {c.text}; selection-background-color: {c.accent}; selection-color: {c.on_accent}; }}
QLineEdit, QComboBox {{ min-height: 18px; }}
QLineEdit[compact="true"], QComboBox[compact="true"] {{ min-height: 16px; padding: 1px 6px; }}
QLineEdit:focus, QComboBox:focus, QPlainTextEdit:focus {{ border-color: {c.accent}; }}
QLineEdit:disabled, QComboBox:disabled {{ color: {c.disabled}; background: {c.window}; }}
QLineEdit[invalid="true"], QComboBox[invalid="true"] {{ border-color: {c.bad}; }}
QComboBox::drop-down {{ border: none; width: 18px; }}
QComboBox::down-arrow {{ image: url({_icon("chevron-down", c)}); width: 10px; height: 10px; }}
QComboBox QAbstractItemView {{
  background: {c.window}; border: 1px solid {c.border}; padding: 2px;
  selection-background-color: {c.accent_soft}; selection-color: {c.text}; outline: none; }}
QCheckBox {{ spacing: 8px; }}
QCheckBox::indicator {{
  width: 13px; height: 13px; border: 1px solid {c.muted}; border-radius: 3px;
  background: {c.base}; }}
QCheckBox::indicator:focus {{ border-color: {c.accent}; }}
QCheckBox::indicator:checked {{
  background: {c.accent}; border-color: {c.accent}; image: url({_icon("check", c)}); }}
QCheckBox::indicator:disabled {{ border-color: {c.border}; background: {c.window}; }}

QTabWidget::pane {{ border: none; border-top: 1px solid {c.border}; }}
QTabBar {{ background: transparent; }}
QTabBar::tab {{
  background: transparent; color: {c.muted}; padding: 6px 10px; border: none;
  border-bottom: 2px solid transparent; }}
#telemetryTabs QTabBar::tab {{ padding: 6px 8px; }}
QTabBar::tab:hover {{ color: {c.text}; }}
QTabBar::tab:selected {{ color: {c.text}; border-bottom: 2px solid {c.accent}; }}
QTabBar::tab:focus {{ color: {c.accent}; }}
QMainWindow > QTabBar::tab {{ border-bottom: none; border-top: 2px solid transparent; }}
QMainWindow > QTabBar::tab:selected {{ border-bottom: none; border-top: 2px solid {c.accent}; }}

QTableView, QListView, QTreeView {{
  background: {c.base}; border: none; gridline-color: transparent; outline: none;
  alternate-background-color: {c.window}; }}
QTableView::item, QListView::item {{ padding: 0 6px; border: none; }}
QTableView::item:selected, QListView::item:selected {{
  background: {c.accent_soft}; color: {c.text}; }}
QHeaderView {{ background: {c.window}; }}
QHeaderView::section {{
  background: {c.window}; color: {c.muted}; border: none; border-bottom: 1px solid {c.border};
  padding: 3px 6px; font-weight: normal; }}
QScrollArea {{ background: transparent; border: none; }}
QScrollArea > QWidget > QWidget#scrollBody {{ background: transparent; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar::handle {{
  background: {c.border}; border-radius: 3px; min-height: 24px; min-width: 24px; margin: 2px; }}
QScrollBar::handle:hover {{ background: {c.muted}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
QProgressBar {{
  background: {c.base}; border: 1px solid {c.border}; border-radius: 3px; max-height: 6px; }}
QProgressBar::chunk {{ background: {c.accent}; border-radius: 2px; }}
QSlider::groove:horizontal {{ height: 4px; background: {c.border}; border-radius: 2px; }}
QSlider::sub-page:horizontal {{ background: {c.accent}; border-radius: 2px; }}
QSlider::sub-page:horizontal:disabled {{ background: {c.border}; }}
QSlider::handle:horizontal {{
  width: 12px; margin: -4px 0; border-radius: 6px; background: {c.text}; }}
QSlider::handle:horizontal:focus {{ background: {c.accent}; }}
QSlider::handle:horizontal:disabled {{ background: {c.disabled}; }}
QSplitter::handle {{ background: {c.border}; }}

QLabel[role="muted"] {{ color: {c.muted}; }}
QLabel[role="title"] {{ color: {c.muted}; font-weight: bold; }}
QLabel[role="heading"] {{ font-size: 15pt; }}
QLabel[role="error"] {{ color: {c.bad}; }}
QLabel[role="warn"] {{ color: {c.warn}; }}
QLabel[role="good"] {{ color: {c.good}; }}
QWidget[role="titlebar"] {{ background: {c.window}; border-bottom: 1px solid {c.border}; }}
QFrame[role="card"] {{
  background: {c.window}; border: 1px solid {c.border}; border-radius: 6px; }}
QFrame[role="banner"] {{
  background: {c.raised}; border: 1px solid {c.border}; border-radius: 4px; }}
QFrame[role="rule"] {{ background: {c.border}; border: none; max-height: 1px; min-height: 1px; }}
"""
