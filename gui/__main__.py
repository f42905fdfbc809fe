"""`python -m gui [--home DIR] [--theme dark|light]` opens the app."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gui.environment import check_environment
from trainer_core.protocol.paths import default_home


def main() -> int:
    parser = argparse.ArgumentParser(prog="dmglab", description="Opens the DMG Lab app.")
    parser.add_argument("--home", type=Path, help="data folder (default: DMGLAB_HOME or var/)")
    parser.add_argument("--theme", choices=("dark", "light"), help="instead of the remembered one")
    options = parser.parse_args()
    reason = check_environment()
    if reason:
        print(f"dmglab: {reason}", file=sys.stderr)
        return 1
    home = (options.home or default_home()).expanduser().resolve()
    try:
        (home / "settings").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"dmglab: {home} cannot be written: {error.strerror}; use --home", file=sys.stderr)
        return 1
    from gui.app import run_app

    return run_app(home, options.theme or "")


if __name__ == "__main__":
    sys.exit(main())
