"""Put the app into the desktop's menu: the desktop file and icons of this installation."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import platformdirs

from trainer_core.lab.paths import ASSETS
from trainer_core.wire.errors import LabError

ICONS = {"dmglab.svg": "scalable", "dmglab.png": "256x256"}


def install_desktop_file() -> list[str]:
    """Write the menu entry and its icons for this user; return the paths of the files.

    The entry names this installation's `dmglab-app` by its path, so it works outside PATH.
    Raises LabError where there is no such menu or no such program.
    """
    if not sys.platform.startswith("linux"):
        raise LabError(f"desktop files are for Linux, this is {sys.platform}: start dmglab-app")
    app = Path(sys.executable).with_name("dmglab-app")
    if not os.access(app, os.X_OK):
        raise LabError(f"{app}: not installed; install dmglab with pip, or start ./run once")
    data = platformdirs.user_data_path()
    entry = (ASSETS / "desktop" / "dmglab.desktop").read_text(encoding="utf-8")
    entry = entry.replace("Exec=dmglab-app", f"Exec={_exec_word(app)}")
    target = data / "applications" / "dmglab.desktop"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(entry, encoding="utf-8")
    written = [target]
    for name, size in ICONS.items():
        icon = data / "icons" / "hicolor" / size / "apps" / name
        icon.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ASSETS / "icons" / name, icon)
        written.append(icon)
    return [str(path) for path in written]


def remove_desktop_file() -> list[str]:
    """Remove the files of `install_desktop_file` for this user; return their paths."""
    data = platformdirs.user_data_path()
    places = [data / "applications" / "dmglab.desktop"]
    places += [data / "icons" / "hicolor" / size / "apps" / name for name, size in ICONS.items()]
    removed = [path for path in places if path.exists()]
    for path in removed:
        path.unlink()
    return [str(path) for path in removed]


def _exec_word(program: Path) -> str:
    """Quote a path for the Exec key of the Desktop Entry Specification, then escape it as a string value."""
    quoted = re.sub(r'(["`$\\])', r"\\\1", str(program)).replace("%", "%%")
    return '"' + quoted.replace("\\", "\\\\") + '"'
