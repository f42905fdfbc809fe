"""Check types with pyright, unless it was content with these very sources before.

    python scripts/check_types.py [--again]

pyright keeps a core busy for a minute and remembers nothing. What it was content with is
noted in the environment: the sources, its settings and the packages that are installed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
NOTE = Path(sys.prefix) / ".types-checked"


def fingerprint() -> str:
    """Return a hash of all that pyright's verdict depends on."""
    settings = (CHECKOUT / "pyproject.toml").read_bytes()
    digest = hashlib.sha256(settings)
    pyright = tomllib.loads(settings.decode())["tool"]["pyright"]
    for folder in (*pyright["include"], *pyright["extraPaths"]):
        place = CHECKOUT / folder
        for path in sorted(place.rglob("*.py*")) if place.is_dir() else [place]:
            if path.suffix in (".py", ".pyi"):
                digest.update(f"{path.relative_to(CHECKOUT)}\n".encode() + path.read_bytes())
    for folder in filter(None, map(Path, sys.path)):
        if folder.name == "site-packages":  # a folder's name has the package's version
            names = sorted(path.name for path in folder.glob("*.dist-info"))
            digest.update("\n".join(names).encode())
    return digest.hexdigest()


def main() -> int:
    found = fingerprint()
    if "--again" not in sys.argv and NOTE.is_file() and NOTE.read_text() == found:
        return 0
    # Named, since pyright would take a pyrightconfig.json of any folder above.
    command = [sys.executable, "-m", "pyright", "--project", "pyproject.toml", "--pythonpath", sys.executable]
    status = subprocess.run(command, cwd=CHECKOUT, check=False).returncode
    if status == 0:
        NOTE.write_text(found)
    return status


if __name__ == "__main__":
    sys.exit(main())
