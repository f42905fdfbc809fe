"""What Qt cannot work with, refused in words instead of an abort: its version, no display."""

from __future__ import annotations

import ctypes
import os
import sys

SHELL = "`dmglab --help` has the same without a window"


def refusal(python: tuple[int, int], pyside: tuple[int, int]) -> str:
    """Why this pair cannot run the app and what to do; empty when it can.

    PySide6 6.12.0 drops one reference too many to None, True and False. Before Python 3.12 these
    are not immortal, so the process aborts after a few hundred signals.
    """
    if pyside >= (6, 12) and python < (3, 12):
        return (
            f"PySide6 {pyside[0]}.{pyside[1]} aborts on Python {python[0]}.{python[1]}: install "
            "'pyside6-essentials<6.12', or use Python 3.12 or newer"
        )
    if pyside < (6, 9):
        return (
            f"PySide6 {pyside[0]}.{pyside[1]} is too old: install 'pyside6-essentials>=6.9,<6.12'"
        )
    return ""


def check_qt() -> str:
    """`refusal` of the interpreter and the PySide6 that are installed."""
    try:
        import PySide6
    except ImportError:
        return "PySide6 is not installed: pip install 'dmglab[gui]', or start with ./run"
    major, minor = (int(part) for part in PySide6.__version__.split(".")[:2])
    return refusal((sys.version_info[0], sys.version_info[1]), (major, minor))


def check_display() -> str:
    """Why Qt would find no display and abort; empty where it has one, or nobody can tell."""
    chosen = os.environ.get("QT_QPA_PLATFORM") or os.environ.get("WAYLAND_DISPLAY")
    if not sys.platform.startswith("linux") or chosen:
        return ""
    name = os.environ.get("DISPLAY", "")
    if not name:
        return f"no display: DISPLAY and WAYLAND_DISPLAY are not set; {SHELL}"
    if not _answers():
        return f"display {name} does not answer; {SHELL}"
    return ""


def _answers() -> bool:
    """Whether there is an X server at DISPLAY; True where libxcb is not there to ask."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    failed = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return not failed
