"""Do the tests notice? Applies one wrong line at a time to a copy of the checkout and runs tests.

    python scripts/mutate.py [NAME...] [--only TEXT]

Every scripts/mutations/NAME.py has a list MUTATIONS of (path, old, new, pytest arguments): `old`
stands exactly once in `path`. A selection of tests has to pass before its patch counts, and the
patch is caught when it then fails. Minutes, so no part of ./test. The last line is one JSON object;
exit status 0 when everything was caught.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
LIMIT_S = 900
"""Of one run of pytest. One that needs longer judges nothing: the machine may be busy."""
PASSED, FAILED, NO_END = 0, 1, 1000
"""What pytest ends with, and that it did not."""
Mutation = tuple[str, str, str, str]


def read_mutations(names: list[str], text: str) -> list[tuple[str, Mutation]]:
    """(file's name, mutation) of the named files, or of all."""
    found = []
    for path in sorted((CHECKOUT / "scripts" / "mutations").glob("*.py")):
        if not names or path.stem in names:
            rows = runpy.run_path(str(path))["MUTATIONS"]
            found += [(path.stem, row) for row in rows if text in " ".join(row)]
    return found


def copy_checkout(target: Path) -> None:
    """Every file of the checkout that git knows or would take."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=CHECKOUT, check=True, capture_output=True, text=True)
    for name in filter(None, names.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, target / name)


def run_tests(folder: Path, selection: str) -> tuple[int, str]:
    """pytest's status in `folder`, one process, and the end of what it said."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    environment = os.environ | {
        "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "QT_QPA_PLATFORM": "offscreen",
    }  # fmt: skip
    try:
        done = subprocess.run(
            [*command, *shlex.split(selection)], cwd=folder, env=environment, text=True,
            timeout=LIMIT_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return NO_END, f"no end within {LIMIT_S} s"
    return done.returncode, done.stdout[-2000:]


def judge(folder: Path, mutation: Mutation) -> str:
    """caught, survived, stale (the text is gone) or broken (the tests could not run)."""
    path, old, new, selection = mutation
    whole = (folder / path).read_text(encoding="utf-8") if (folder / path).is_file() else ""
    if whole.count(old) != 1:
        return "stale"
    (folder / path).write_text(whole.replace(old, new), encoding="utf-8")
    try:
        status, said = run_tests(folder, selection)
    finally:
        (folder / path).write_text(whole, encoding="utf-8")
    if status not in (PASSED, FAILED):
        print(said, file=sys.stderr)
    if status < 0:  # a signal: native code crashed
        return "caught"
    return {PASSED: "survived", FAILED: "caught"}.get(status, "broken")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="files of scripts/mutations, without .py")
    parser.add_argument("--only", default="", help="mutations in whose text this stands")
    options = parser.parse_args()
    began, verdicts = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="mutate-") as name:
        folder = Path(name)
        copy_checkout(folder)
        sound: dict[str, bool] = {}
        for origin, mutation in read_mutations(options.names, options.only):
            path, old, _, selection = mutation
            if selection not in sound:
                status, said = run_tests(folder, selection)
                sound[selection] = status == PASSED
                if status != PASSED:
                    print(said, file=sys.stderr)
            verdict = judge(folder, mutation) if sound[selection] else "broken"
            verdicts.append(verdict)
            print(
                f"{verdict:<9} {origin:<9} {path}: {old.strip().splitlines()[0][:70]}", flush=True
            )
    counts = {
        verdict: verdicts.count(verdict) for verdict in ("caught", "survived", "stale", "broken")
    }
    whole = counts["caught"] == len(verdicts) > 0
    score = counts["caught"] / max(1, len(verdicts))
    print(json.dumps({"ok": whole, **counts, "score": round(score, 3),
                      "seconds": round(time.monotonic() - began)}))  # fmt: skip
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
