"""`dmglab-app [--home DIR] [--theme dark|light]`, or `python -m gui`, opens the app."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from gui.shell.qt_check import check_display, check_qt
from trainer_core.lab.paths import default_home
from trainer_core.wire.errors import visible
from trainer_core.wire.standard_streams import fill_standard_streams, finish_stdout, watch_stdout

HOME_HELP = "data folder (default: DMGLAB_HOME, var/ of a checkout, or the platform's for data)"


def main() -> int:
    """Open the app; return the exit status, 1 after a one-line error on stderr when Qt cannot start."""
    watch_stdout(closed="stdout" in fill_standard_streams())
    try:
        return finish_stdout(_open())
    except SystemExit as end:  # --help, or an argument that argparse refused
        return finish_stdout(end.code if isinstance(end.code, int) else 1)


def _open() -> int:
    parser = argparse.ArgumentParser(prog="dmglab-app", description="Opens the DMG Lab app.")
    parser.add_argument("--home", type=Path, help=HOME_HELP)
    parser.add_argument("--theme", choices=("dark", "light"), help="instead of the remembered one")
    options = parser.parse_args()
    reason = check_qt() or check_display()
    if reason:
        print(f"dmglab: {reason}", file=sys.stderr)
        return 1
    try:
        home = (options.home or default_home()).expanduser().resolve()
        (home / "settings").mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, an unknown `~user`, a NUL
        reason = error.strerror if isinstance(error, OSError) else str(error)
        place = visible(str(options.home or os.environ.get("DMGLAB_HOME") or "the data folder"))
        print(f"dmglab: {place} cannot be written: {visible(reason or '')}; use --home", file=sys.stderr)
        return 1
    os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")  # before SDL looks for a gamepad
    os.environ.setdefault("SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS", "1")
    from gui.app import run_app

    return run_app(home, options.theme or "")


if __name__ == "__main__":
    sys.exit(main())
