"""Colours of both themes, and the Qt style sheet made from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QDir

from trainer_core.lab.paths import ASSETS

ICONS = "dmglabicons"
"""Placeholder in `url(...)` for the folder of icons, since a path with a space would invalidate the sheet."""


@dataclass(frozen=True, slots=True)
class Colors:
    """All colours that the app paints with in one theme."""

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
    curves=("#56b4e9", "#e69f00", "#00b389", "#cc79a7", "#f0e442", "#a98bf5", "#8fa3c7"),
)  # fmt: skip
LIGHT = Colors(
    name="light", window="#f4f4f2", base="#ffffff", raised="#e8e8e5", border="#cbcbc6",
    text="#1c1d1f", muted="#5a5d62", disabled="#9b9da1", accent="#4f6f00", on_accent="#ffffff",
    accent_soft="#e3ebc9", good="#2a6f2b", warn="#865400", bad="#b3261e", letterbox="#dcdcd8",
    curves=("#0072b2", "#d55e00", "#00805e", "#a8508a", "#6a4fc3", "#7a4a1c", "#5b6470"),
)  # fmt: skip


def style_sheet(themes: Iterable[Colors]) -> str:
    """Return the style sheet of all windows, with the rules of all given themes."""
    QDir.setSearchPaths(ICONS, [str(ASSETS / "icons")])
    return "".join([_SHAPES, *map(_own_colors, themes)])


def _icon(name: str, c: Colors) -> str:
    return f"{ICONS}:{name}-{c.name}.svg"


def _own_colors(c: Colors) -> str:
    """Return the rules for windows of one theme, which have precedence over those of `_SHAPES`."""
    window = f'*[theme="{c.name}"]'
    disabled = ("QMenu::item", "QPushButton", "QToolButton", "QLineEdit", "QComboBox")
    fields = ("QLineEdit", "QComboBox", "QPlainTextEdit", "QTextEdit", "QAbstractSpinBox")
    return f"""
{_each(window, disabled, ":disabled")} {{ color: {c.disabled}; }}
{_each(window, fields)} {{ selection-color: {c.on_accent}; }}
{window} QPushButton[primary="true"] {{ color: {c.on_accent}; }}
{window} QPushButton[primary="true"]:disabled {{ color: {c.disabled}; }}
{_each(window, fields[:2], '[invalid="true"]')} {{ border-color: {c.bad}; }}
{window} QComboBox::down-arrow {{ image: url({_icon("chevron-down", c)}); }}
{window} QAbstractSpinBox::down-arrow {{ image: url({_icon("chevron-down", c)}); }}
{window} QAbstractSpinBox::up-arrow {{ image: url({_icon("chevron-up", c)}); }}
{window} QCheckBox::indicator:checked {{ image: url({_icon("check", c)}); }}
{window} QSlider::handle:horizontal:disabled {{ background: {c.disabled}; }}
{window} QLabel[role="error"] {{ color: {c.bad}; }}
{window} QLabel[role="warn"] {{ color: {c.warn}; }}
{window} QLabel[role="good"] {{ color: {c.good}; }}
"""


def _each(window: str, kinds: Iterable[str], suffix: str = "") -> str:
    return ", ".join(f"{window} {kind}{suffix}" for kind in kinds)


_SHAPES = """
QMainWindow::separator { background: palette(mid); width: 1px; height: 1px; }
QMainWindow::separator:hover { background: palette(link); }
QToolTip {
  background: palette(button); color: palette(text); border: 1px solid palette(mid);
  padding: 4px; }
QMenuBar { background: palette(window); border-bottom: 1px solid palette(mid); padding: 2px 4px; }
QMenuBar::item { padding: 4px 8px; border-radius: 3px; background: transparent; }
QMenuBar::item:selected { background: palette(button); }
QMenu { background: palette(window); border: 1px solid palette(mid); padding: 4px; }
QMenu::item { padding: 4px 24px 4px 16px; border-radius: 3px; }
QMenu::item:selected { background: palette(highlight); }
QMenu::separator { height: 1px; background: palette(mid); margin: 4px 8px; }
QStatusBar {
  background: palette(window); border-top: 1px solid palette(mid);
  color: palette(placeholder-text); }
QStatusBar::item { border: none; }
QStatusBar QLabel { color: palette(placeholder-text); padding: 0 8px; }

QPushButton, QToolButton {
  background: palette(button); border: 1px solid palette(mid); border-radius: 4px;
  padding: 4px 10px; color: palette(text); min-height: 16px; }
QPushButton:hover, QToolButton:hover { border-color: palette(placeholder-text); }
QPushButton:pressed, QToolButton:pressed { background: palette(mid); }
QPushButton:disabled, QToolButton:disabled { background: palette(window); }
QPushButton:focus, QToolButton:focus { border-color: palette(link); }
QPushButton:checked, QToolButton:checked {
  background: palette(highlight); border-color: palette(link); color: palette(text); }
QPushButton[narrow="true"] { padding: 4px 2px; }
QStatusBar QPushButton, QStatusBar QPushButton[role="small"] {
  padding: 0 6px; min-height: 0; }
QStatusBar QToolButton[flat="true"] { padding: 0 4px; min-height: 0; }
QFileDialog QToolButton { padding: 2px; min-height: 0; }
QTableCornerButton::section { background: palette(window); border: none; }
QPushButton[role="small"] { padding: 1px 6px; min-height: 16px; }
QPushButton[primary="true"] {
  background: palette(link); border-color: palette(link); font-weight: bold; }
QPushButton[primary="true"]:hover { border-color: palette(text); }
QPushButton[primary="true"]:disabled {
  background: palette(window); border-color: palette(mid); }
QPushButton[flat="true"], QToolButton[flat="true"] {
  background: transparent; border-color: transparent; padding: 2px 4px; }
QPushButton[flat="true"]:hover, QToolButton[flat="true"]:hover { background: palette(button); }
QPushButton[flat="true"]:focus, QToolButton[flat="true"]:focus { border-color: palette(link); }
QToolButton[transport="true"] { padding: 3px 6px; }
QPushButton[segment="first"] { border-top-right-radius: 0; border-bottom-right-radius: 0; }
QPushButton[segment="middle"] { border-radius: 0; border-left: none; }
QPushButton[segment="last"] {
  border-top-left-radius: 0; border-bottom-left-radius: 0; border-left: none; }

QLineEdit, QComboBox, QPlainTextEdit, QTextEdit, QAbstractSpinBox {
  background: palette(base); border: 1px solid palette(mid); border-radius: 4px; padding: 2px 6px;
  color: palette(text); selection-background-color: palette(link); }
QLineEdit, QComboBox { min-height: 18px; }
QLineEdit[compact="true"], QComboBox[compact="true"] { min-height: 16px; padding: 1px 6px; }
QLineEdit:focus, QComboBox:focus, QPlainTextEdit:focus { border-color: palette(link); }
QLineEdit:disabled, QComboBox:disabled { background: palette(window); }
QComboBox[flat="true"] { background: transparent; border-color: transparent; }
QComboBox::drop-down { border: none; width: 18px; }
QComboBox::down-arrow { width: 10px; height: 10px; }
QAbstractSpinBox { min-height: 18px; }
QAbstractSpinBox:focus { border-color: palette(link); }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: none; width: 16px; }
QAbstractSpinBox::up-arrow, QAbstractSpinBox::down-arrow { width: 8px; height: 8px; }
QComboBox QAbstractItemView {
  background: palette(window); border: 1px solid palette(mid); padding: 2px;
  selection-background-color: palette(highlight); selection-color: palette(text); outline: none; }
QCheckBox { spacing: 8px; }
QCheckBox::indicator {
  width: 13px; height: 13px; border: 1px solid palette(placeholder-text); border-radius: 3px;
  background: palette(base); }
QCheckBox::indicator:focus { border-color: palette(link); }
QCheckBox::indicator:checked {
  background: palette(link); border-color: palette(link); }
QCheckBox::indicator:disabled { border-color: palette(mid); background: palette(window); }

QTabWidget::pane { border: none; border-top: 1px solid palette(mid); }
QTabBar { background: transparent; }
QTabBar::tab {
  background: transparent; color: palette(placeholder-text); padding: 6px 10px; border: none;
  border-bottom: 2px solid transparent; }
#telemetryTabs QTabBar::tab { padding: 6px 8px; }
QTabBar QToolButton { padding: 0; min-height: 0; border-radius: 0; }
QTabBar::tab:hover { color: palette(text); }
QTabBar::tab:selected { color: palette(text); border-bottom: 2px solid palette(link); }
QTabBar::tab:focus { color: palette(link); }

QTableView, QListView, QTreeView {
  background: palette(base); border: none; gridline-color: transparent; outline: none;
  alternate-background-color: palette(window); }
#gameList { padding: 12px 4px 0 4px; }
QTableView::item, QListView::item { padding: 0 6px; border: none; }
QTableView::item:selected, QListView::item:selected {
  background: palette(highlight); color: palette(text); }
QHeaderView { background: palette(window); }
QHeaderView::section {
  background: palette(window); color: palette(placeholder-text); border: none;
  border-bottom: 1px solid palette(mid); padding: 3px 6px; font-weight: normal; }
QScrollArea { background: transparent; border: none; }
QScrollArea > QWidget > QWidget#scrollBody { background: transparent; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle {
  background: palette(mid); border-radius: 3px; min-height: 24px; min-width: 24px; margin: 2px; }
QScrollBar::handle:hover { background: palette(placeholder-text); }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QProgressBar {
  background: palette(base); border: 1px solid palette(mid); border-radius: 3px; max-height: 6px; }
QProgressBar::chunk { background: palette(link); border-radius: 2px; }
QSlider::groove:horizontal { height: 4px; background: palette(mid); border-radius: 2px; }
QSlider::sub-page:horizontal { background: palette(link); border-radius: 2px; }
QSlider::sub-page:horizontal:disabled { background: palette(mid); }
QSlider::handle:horizontal {
  width: 12px; margin: -4px 0; border-radius: 6px; background: palette(text); }
QSlider::handle:horizontal:focus { background: palette(link); }
QSplitter::handle { background: palette(mid); }

QLabel[role="muted"] { color: palette(placeholder-text); }
QLabel[role="title"], QToolButton[role="title"] {
    color: palette(placeholder-text); font-weight: bold; }
QLabel[role="heading"] { font-size: 15pt; }
QWidget[role="titlebar"] { background: palette(window); border-bottom: 1px solid palette(mid); }
QFrame[role="card"] {
  background: palette(window); border: 1px solid palette(mid); border-radius: 6px; }
QFrame[role="banner"] {
  background: palette(button); border: 1px solid palette(mid); border-radius: 4px; }
QFrame[role="upright"] { background: palette(mid); border: none; }
QFrame[role="rule"] { background: palette(mid); border: none; max-height: 1px; min-height: 1px; }
"""
