"""Bug report of a run: technical data without anything personal, without ROM or weights."""

from __future__ import annotations

import json
import os
import platform
import sys
import zipfile
from pathlib import Path

from trainer_core.lab.paths import HomePaths
from trainer_core.wire.addresses import without_secrets
from trainer_core.wire.errors import LabError

MOST_BYTES = 2 << 20
"""Maximum bytes of each file in the report; only the end of a longer file is taken."""
TEXTS = ("config.json", "train_log.jsonl", "worker.log")
PACKAGES = ("dmglab", "torch", "warp-lang", "numpy", "PySide6-Essentials", "msgspec")


def write_report(home: HomePaths, run_id: str, path: Path, app_log: list[str]) -> list[str]:
    """Write a bug report as a zip file at `path`; return the names of the files in it. Raises LabError.

    For `run_id`, if not empty: the run's configuration, the end of its log, the end of the worker's output, its
    failures' receipts without pictures. Always: versions, the platform, the app's own log. The home's path is written
    as `HOME`, the user's as `~`; passwords in addresses and the keys of this environment are left out.
    """
    files = {"versions.json": json.dumps(_versions(), indent=1), "app.log": "\n".join(app_log)}
    if run_id:
        root = home.run(run_id).root
        wanted = [root / name for name in TEXTS]
        wanted += sorted(root.glob("failures/*/*.json"))
        files |= {str(file.relative_to(root)): _end_of(file) for file in wanted if file.is_file()}
    partial = path.with_name(f".{path.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, text in files.items():
                bundle.writestr(name, _anonymous(text, home))
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise LabError(f"{path}: {error.strerror}: the report was not written") from None
    return list(files)


def _end_of(file: Path) -> str:
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - MOST_BYTES))
        return opened.read().decode("utf-8", "replace")


def _anonymous(text: str, home: HomePaths) -> str:
    for path, name in ((str(home.root), "HOME"), (str(Path.home()), "~")):
        if len(path) > 1:
            text = text.replace(path, name)
    return without_secrets(text)


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version  # imports all of `email`, and few users write a report

    found = {"python": sys.version.split()[0], "platform": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found
