"""Pairs of Python and PySide6 that cannot work, refused in words instead of an abort."""

from __future__ import annotations

import sys


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
