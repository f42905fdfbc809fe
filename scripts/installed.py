"""Say what of the lock is not installed in this interpreter's environment, for scripts/setup.sh.

    python scripts/installed.py exact LOCK...  print the pins, and torch, that are not installed
    python scripts/installed.py usable LOCK... print what even pyproject.toml's ranges miss
    python scripts/installed.py torch          print cpu, cuda or nothing: the build of torch

No output means that nothing is missing. Reads metadata only; needs pip beside it, imports no torch.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement

CHECKOUT = Path(__file__).resolve().parents[1]
TORCH = "torch"


def unmet(lines: list[str]) -> list[str]:
    """Return those requirements that hold for this machine and are not installed."""
    missing = []
    for line in lines:
        wanted = Requirement(line)
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(wanted.name)
        except metadata.PackageNotFoundError:
            version = ""
        if not version or not wanted.specifier.contains(version, prereleases=True):
            missing.append(f"{wanted.name}{wanted.specifier}")
    return missing


def exact(locks: list[str]) -> list[str]:
    """Return what `locks`, scripts/constraints.txt and the installed torch ask for in vain."""
    texts = [Path(lock).read_text(encoding="utf-8") for lock in locks]
    pins = re.findall(r"^([A-Za-z0-9].*?) *\\?$", "\n".join(texts), re.MULTILINE)
    torch = (CHECKOUT / "scripts" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    missing = unmet([*pins, *(line for line in torch if line.startswith(TORCH))])
    try:
        return missing + unmet(metadata.requires(TORCH) or [])
    except metadata.PackageNotFoundError:
        return missing


def usable(locks: list[str]) -> list[str]:
    """Return what pyproject.toml asks for, as ranges, in vain; a second lock is for the tests."""
    pyproject = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    lines = list(project["dependencies"])
    for extra in ("emulator", "train", "play", "gui"):
        lines += project["optional-dependencies"][extra]
    if len(locks) > 1:
        lines += pyproject["dependency-groups"]["dev"]
    return unmet([line for line in lines if not line.startswith(project["name"])])


def torch_build() -> str:
    """Return what the installed torch was built for, read without importing it."""
    found = importlib.util.find_spec(TORCH)
    if found is None or found.origin is None:
        return ""
    return build_said(Path(found.origin).with_name("version.py").read_text(encoding="utf-8"))


def build_said(text: str) -> str:
    """Return cuda where torch's version.py, `text`, names a release of CUDA, else cpu."""
    return "cuda" if re.search(r"^cuda\b.*= *'", text, re.MULTILINE) else "cpu"


def main() -> None:
    """Print the answer to the question that the first argument names."""
    question, *locks = sys.argv[1:] or [""]
    if question == "torch":
        print(torch_build())
    elif question in ("exact", "usable"):
        print(" ".join(exact(locks) if question == "exact" else usable(locks)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
