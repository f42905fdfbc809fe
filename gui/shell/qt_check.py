"""Checks before the start of Qt, which would abort otherwise: PySide6 version, missing display."""

from __future__ import annotations

import ctypes
import os
import re
import socket
import sys

SHELL = "`dmglab --help` has the same without a window"


def refusal(python: tuple[int, int], pyside: tuple[int, int]) -> str:
    """Return why these versions of Python and PySide6 cannot run the app, and the remedy; empty when they can.

    PySide6 6.12.0 drops one reference too many to None, True and False. Before Python 3.12 these are not immortal, so
    the process aborts after a few hundred signals.
    """
    if pyside >= (6, 12) and python < (3, 12):
        return (
            f"PySide6 {pyside[0]}.{pyside[1]} aborts on Python {python[0]}.{python[1]}: install "
            "'pyside6-essentials<6.12', or use Python 3.12 or newer"
        )
    if pyside < (6, 9):
        return f"PySide6 {pyside[0]}.{pyside[1]} is too old: install 'pyside6-essentials>=6.9,<6.12'"
    return ""


def check_qt() -> str:
    """Return why the installed PySide6 cannot run on this version of Python (`refusal`); empty when it can."""
    try:
        import PySide6
    except ImportError:
        return "PySide6 is not installed: pip install 'dmglab[gui]', or start with ./run"
    major, minor = (int(part) for part in PySide6.__version__.split(".")[:2])
    return refusal((sys.version_info[0], sys.version_info[1]), (major, minor))


def check_display() -> str:
    """Return why the app cannot open a window, with the remedy; empty where it can."""
    fault = display_fault()
    return f"{fault}; {SHELL}" if fault else ""


def display_fault() -> str:
    """Return why Qt would find no display server and abort; empty if it finds one, or that is unknown."""
    platform = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0]
    other = platform and platform not in ("xcb", "wayland")
    if not sys.platform.startswith("linux") or other or "WAYLAND_SOCKET" in os.environ:
        return ""
    wayland = "" if platform == "xcb" else os.environ.get("WAYLAND_DISPLAY", "")
    x11 = "" if platform == "wayland" else os.environ.get("DISPLAY", "")
    if not wayland and not x11:
        return "no display: DISPLAY and WAYLAND_DISPLAY are not set"
    if (wayland and _wayland_answers(wayland)) or (x11 and _x11_answers(x11)):
        return ""
    names = [f"WAYLAND_DISPLAY={wayland}"] * bool(wayland) + [f"DISPLAY={x11}"] * bool(x11)
    return f"{' and '.join(names)}: no display answers there"


def _wayland_answers(name: str) -> bool:
    """Return whether a server accepts connections at the socket of the name in WAYLAND_DISPLAY."""
    path = os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), name)
    return os.path.isabs(path) and _connects(path)


def _x11_answers(name: str) -> bool:
    """Return whether the X server of the name in DISPLAY accepts this process as a client."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:  # a machine without Qt's libraries yet
        return listens_for_x11(name)
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    failed = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return not failed


def listens_for_x11(name: str) -> bool:
    """Return whether a server accepts connections at this DISPLAY name; True for a name of unknown form."""
    found = re.fullmatch(r"(?:unix)?:(\d+)(?:\.\d+)?", name)
    if not found:
        return True
    path = f"/tmp/.X11-unix/X{found[1]}"
    return any(_connects(place) for place in (path, f"\0{path}"))


def _connects(place: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(5)
        try:
            caller.connect(place)
        except (OSError, ValueError):  # no listener, or no path of a socket
            return False
    return True
