"""Themes and fonts: grey surfaces, one accent colour, the green of a Game Boy screen.

Qt's Fusion style draws what the style sheet does not define. Texts have a contrast of at least 4.5 to their background,
edges that are the only cue at least 3, which a test computes.
"""

from __future__ import annotations

import functools
import logging
import time
import weakref
from collections.abc import Iterator
from functools import partial

import shiboken6
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from gui.kit.style_sheet import BODY_PX, DARK, LIGHT, SMALL_PX, Colors, style_sheet
from trainer_core.lab.paths import ASSETS

FONTS = ASSETS / "fonts"
FONT_FAMILIES = ("Inter", "Noto Sans", "Segoe UI", "SF Pro Text", "Cantarell", "Ubuntu", "DejaVu Sans")
MONO_FAMILIES = ("JetBrains Mono", "Noto Sans Mono", "Cascadia Mono", "Menlo", "DejaVu Sans Mono")
"""Families in the order of preference: the first of each comes with the app, the others stand in for a lost file."""
EQUAL_FIGURES = QFont.Tag("tnum")
"""Font feature: all figures are equally wide, so that a number which counts does not move."""
log = logging.getLogger(__name__)

_current = DARK
_dressed: weakref.WeakSet[QWidget] = weakref.WeakSet()
_waiting: list[tuple[QWidget, QWidget]] = []
"""(window, widget) pairs that still have the previous theme's style; most of them are not visible."""
REST_S = 0.004
"""Most seconds of one event loop turn spent on applying the new theme to widgets that are not visible."""
REST_AFTER_MS = 30
"""Milliseconds until that begins, so that visible widgets are painted first."""
_switch = 0
"""Number of theme changes so far; a pending task of an earlier change stops."""


def system_theme() -> str:
    hints = QGuiApplication.styleHints()
    return "light" if hints.colorScheme() == Qt.ColorScheme.Light else "dark"


def colors(name: str) -> Colors:
    return LIGHT if name == "light" else DARK


def current() -> Colors:
    """Return the colours of the current theme; called at each paint."""
    return _current


def curve_color(slot: int, theme: str = "") -> QColor:
    """Return the colour of run number `slot`, in the current theme or that of a name.

    After the theme's own colours come the same ones a third lighter, then two thirds.
    """
    own = (colors(theme) if theme else _current).curves
    color, lighter = QColor(own[slot % len(own)]), slot // len(own) % 3 / 3
    parts = (part + (255 - part) * lighter for part in (color.red(), color.green(), color.blue()))
    return QColor(*map(round, parts))


def apply_theme(app: QApplication, name: str) -> Colors:
    """Set the theme of the whole app: visible widgets at once, the rest in later event loop turns.

    Qt caches the resolved style of a widget until it is polished again. To polish all at once takes 0.1 s for a
    thousand widgets, of which five in six are hidden, scrolled away or covered (docs/notebook/app.md).
    """
    global _current, _switch
    _current = colors(name)
    _switch += 1
    if app.style().objectName().lower() != "fusion":
        app.setStyle("Fusion")
    app.setFont(ui_font())
    app.setPalette(_palette(_current))
    windows = list(filter(shiboken6.isValid, _dressed))
    for window in windows:
        window.setProperty("theme", _current.name)
        for widget in _in_sight(window):
            _polish(window, widget)
    _waiting[:] = [(window, window) for window in windows]
    if windows:  # a window that gets its style sheet from now on has this theme
        QTimer.singleShot(REST_AFTER_MS, partial(_begin_rest, _switch, windows))
    return _current


def _in_sight(widget: QWidget) -> Iterator[QWidget]:
    """Yield the widget and its descendants that are at least partly visible."""
    if not widget.visibleRegion().isEmpty():
        yield widget
    for child in widget.children():  # a covered one may contain visible ones
        if isinstance(child, QWidget) and child.isVisible():
            yield from _in_sight(child)


def _polish(window: QWidget, widget: QWidget) -> None:
    """Apply the window's style to a widget; a Qt menu's own `style()` may be one that was deleted."""
    window.style().polish(widget)
    widget.update()


def _begin_rest(switch: int, windows: list[QWidget]) -> None:
    """Begin to apply the new theme to all widgets of `windows` in later turns.

    `switch` is the number of the theme change that this belongs to.
    """
    if switch != _switch:
        return
    _waiting.clear()
    for window in filter(shiboken6.isValid, windows):
        made = filter(shiboken6.createdByPython, (window, *window.findChildren(QWidget)))
        _waiting.extend((window, widget) for widget in made)
    # Taken from the end: widgets that scrolling may bring in sight come before hidden ones.
    _waiting.sort(key=lambda pair: pair[1].isVisible())
    _polish_rest(switch)


def _polish_rest(switch: int) -> None:
    if switch != _switch:
        return
    deadline = time.perf_counter() + REST_S
    while _waiting:
        window, widget = _waiting.pop()
        if shiboken6.isValid(window) and shiboken6.isValid(widget):
            for part in (widget, *_parts_of_qt(widget)):  # it may have become visible meanwhile
                _polish(window, part)
        if time.perf_counter() > deadline:
            QTimer.singleShot(0, partial(_polish_rest, switch))
            return


def _parts_of_qt(widget: QWidget) -> Iterator[QWidget]:
    """Yield the widgets that Qt created inside a widget, such as a combo box's list; they may be deleted soon."""
    for part in widget.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if not shiboken6.createdByPython(part):
            yield part
            yield from _parts_of_qt(part)


def dress(window: QWidget) -> None:
    """Apply the style sheet of the current and of each later theme to a window; its dialogs inherit it."""
    _dressed.add(window)
    window.setProperty("theme", _current.name)
    window.setStyleSheet(style_sheet((DARK, LIGHT)))


def ui_font() -> QFont:
    return _font(FONT_FAMILIES, BODY_PX)


def small_font(weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the font of captions, axes and units."""
    return _font(FONT_FAMILIES, SMALL_PX, weight)


def bold_font() -> QFont:
    """Return the font of names, values and titles."""
    return _font(FONT_FAMILIES, BODY_PX, QFont.Weight.DemiBold)


def mono_font() -> QFont:
    font = _font(MONO_FAMILIES, SMALL_PX)
    font.setStyleHint(QFont.StyleHint.Monospace)
    return font


@functools.cache
def _font(families: tuple[str, ...], pixels: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    _load_fonts()
    known = set(QFontDatabase.families())
    font = QFont(next((family for family in families if family in known), families[-1]))
    font.setPixelSize(pixels)
    font.setWeight(weight)
    font.setFeature(EQUAL_FIGURES, 1)
    return font


@functools.cache
def _load_fonts() -> None:
    """Load the fonts that come with the app; for a missing or damaged file the system's fonts stand in."""
    files = sorted(path for path in FONTS.iterdir() if path.suffix in (".otf", ".ttf")) if FONTS.is_dir() else []
    bad = [path.name for path in files if QFontDatabase.addApplicationFont(str(path)) < 0]
    if bad or not files:
        log.warning("no font in %s: the system's fonts stand in", ", ".join(bad) or FONTS)


def _palette(c: Colors) -> QPalette:
    """Return Qt's palette; roles that no style sheet needs have other colours, as `style_sheet` explains."""
    palette = QPalette()
    role, group = QPalette.ColorRole, QPalette.ColorGroup
    pairs = {
        role.Window: c.window, role.WindowText: c.text, role.Base: c.field,
        role.AlternateBase: c.zebra, role.Text: c.text, role.Button: c.raised,
        role.ButtonText: c.text, role.BrightText: c.text, role.Highlight: c.accent_soft,
        role.HighlightedText: c.text, role.ToolTipBase: c.raised, role.ToolTipText: c.text,
        role.PlaceholderText: c.muted, role.Link: c.accent, role.Light: c.hover,
        role.Midlight: c.pressed, role.Mid: c.border, role.Dark: c.ctl, role.Shadow: c.edge,
        role.Accent: c.accent_fill,
    }  # fmt: skip
    for which, value in pairs.items():
        palette.setColor(which, QColor(value))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(group.Disabled, which, QColor(c.disabled))
    return palette
