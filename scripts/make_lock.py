"""Pin what ./run, ./test and `make docs` install: write scripts/lock.txt, scripts/lock-dev.txt, docs/requirements.txt.

    python3 scripts/make_lock.py            keep the pins that pyproject.toml still allows
    python3 scripts/make_lock.py --upgrade  take the newest releases

Needs a network. uv, in an environment below /tmp, resolves pyproject.toml together with the torch
of scripts/constraints.txt, for every platform and from Python 3.11 on, and installs nothing. torch
and CUDA's libraries stay out: which build of torch is right depends on the machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
SCRIPTS = CHECKOUT / "scripts"
RUN, DEV = SCRIPTS / "lock.txt", SCRIPTS / "lock-dev.txt"
DOCS = CHECKOUT / "docs" / "requirements.txt"
UV = "uv==0.13.9"
TORCH_BRINGS = re.compile(r"(torch|triton|cuda-[a-z-]+|nvidia-[a-z0-9-]+)==")
"""What the installed torch asks for by exact versions of its own."""
HEAD = """# {what}
# Made by `python3 scripts/make_lock.py`; do not edit.
"""


def resolve(uv: Path, folder: Path, name: str, *what: str, upgrade: bool, alone: bool = False) -> list[str]:
    """Return the pins, each with its marker and hashes, that satisfy `what` of pyproject.toml.

    Unless it is `alone`, the package itself, its build and torch are resolved with it.
    """
    pyproject = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    more = folder / "more.in"
    torch = (SCRIPTS / "constraints.txt").read_text(encoding="utf-8")
    more.write_text("\n".join([*pyproject["build-system"]["requires"], torch]), encoding="utf-8")
    out = folder / name
    old = [path.read_text(encoding="utf-8") for path in (RUN, DEV, DOCS) if path.exists()]
    out.write_text("" if upgrade else "".join(old), encoding="utf-8")
    command = [
        uv, "pip", "compile", "--quiet", "--no-config", "--universal", "--python-version", "3.11",
        "--generate-hashes", "--no-header", "--no-annotate", "--output-file", out, *what,
        *(() if alone else (CHECKOUT / "pyproject.toml", more)),
    ]  # fmt: skip
    environment = {key: text for key, text in os.environ.items() if not key.startswith("UV_")}
    subprocess.run(command, check=True, cwd=CHECKOUT, env=environment)
    pins = re.split(r"\n(?=\S)", out.read_text(encoding="utf-8").strip())
    return [pin for pin in pins if not TORCH_BRINGS.match(pin)]


def main() -> None:
    """Write the lists."""
    upgrade = sys.argv[1:] == ["--upgrade"]
    if sys.argv[1:] and not upgrade:
        sys.exit(__doc__)
    extras = ("--extra", "train", "--extra", "gui")
    with tempfile.TemporaryDirectory(prefix="dmglab-lock-") as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / "bin" / "python"
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, UV], check=True)
        uv = python.with_name("uv")
        group = f"{CHECKOUT / 'pyproject.toml'}:"
        dev = resolve(uv, folder, "dev.txt", *extras, "--group", f"{group}dev", upgrade=upgrade)
        docs = resolve(uv, folder, "docs.txt", "--group", f"{group}docs", upgrade=upgrade, alone=True)
        needed = resolve(uv, folder, "run.txt", *extras, upgrade=upgrade)
    # One resolution gives the pins of both, so that ./run and ./test never undo each other's.
    names = {pin.split("==")[0] for pin in needed}
    run = [pin for pin in dev if pin.split("==")[0] in names]
    rest = [pin for pin in dev if pin not in run]
    for path, pins, what in (
        (RUN, run, "What ./run installs. Beside it: torch by scripts/constraints.txt."),
        (DEV, rest, "What ./test installs beside scripts/lock.txt. Beside it: torch by scripts/constraints.txt."),
        (DOCS, docs, "What `make docs` installs in an environment of its own."),
    ):
        path.write_text(HEAD.format(what=what) + "\n".join(pins) + "\n", encoding="utf-8")
        print(f"{path.relative_to(CHECKOUT)}: {len(pins)} pins")


if __name__ == "__main__":
    main()
