"""Apply one wrong line at a time to a copy of the checkout, and see whether tests notice.

    python scripts/mutate.py [NAME...] [--only TEXT]
    python scripts/mutate.py --draw 60 --seed 31     # writes scripts/mutations/drawn_60_31.json
    python scripts/mutate.py --drawn scripts/mutations/drawn_60_31.json [--only TEXT] [--again]
                             [--files 16]

Every scripts/mutations/NAME.py has a list MUTATIONS of (path, old, new, pytest arguments): `old`
stands exactly once in `path`. A selection of tests has to pass before its patch counts, and the
patch is caught when it then fails. Minutes, so no part of ./test. The last line is one JSON object;
exit status 0 when everything was caught.

Drawn mutants are chosen by chance (draw_mutants.py), so nobody wrote a test for them beforehand.
Their tests are chosen by imports (nearest_tests.py), nearest first, to the last file of the room.
The verdict goes into the list: caught and by which test (which passes without the mutant),
survived, or stale. Who proves that a mutant changes nothing writes "equivalent" there, and why.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from draw_mutants import draw
from nearest_tests import nearest_tests

CHECKOUT = Path(__file__).resolve().parents[1]
LIMIT_S = 900
"""Of one run of pytest. One that needs longer judges nothing: the machine may be busy."""
CPU_LIMIT_S = 600
"""Of one process in a run of pytest: a mutant that never ends is one that somebody notices."""
FILES_AT_ONCE = 8
PASSED, FAILED, NO_END = 0, 1, 1000
"""What pytest ends with, and that it did not."""
Mutation = tuple[str, str, str, str]


def read_mutations(names: list[str], text: str) -> list[tuple[str, Mutation]]:
    """Return (file's name, mutation) of the named files, or of all."""
    found = []
    for path in sorted((CHECKOUT / "scripts" / "mutations").glob("*.py")):
        if not names or path.stem in names:
            rows = runpy.run_path(str(path))["MUTATIONS"]
            found += [(path.stem, row) for row in rows if text in " ".join(row)]
    return found


def copy_checkout(target: Path) -> None:
    """Copy every file of the checkout that git knows or would take."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=CHECKOUT, check=True, capture_output=True, text=True)
    for name in filter(None, names.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, target / name)


def run_tests(folder: Path, selection: str) -> tuple[int, str]:
    """Return pytest's status in `folder`, one process, and the end of what it said."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "QT_QPA_PLATFORM": "offscreen",
    }
    try:
        done = subprocess.run(
            [*command, *shlex.split(selection)],
            cwd=folder,
            env=environment,
            text=True,
            timeout=LIMIT_S,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S)),
        )
    except subprocess.TimeoutExpired:
        return NO_END, f"no end within {LIMIT_S} s"
    return done.returncode, done.stdout[-2000:]


def judge(folder: Path, mutation: Mutation) -> str:
    """Return caught, survived, stale (the text is gone) or broken (the tests could not run)."""
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


def judge_drawn(folder: Path, row: dict[str, str], most: int) -> tuple[str, str]:
    """Return the verdict on a drawn mutant, and what caught it or how many files did not."""
    path, old, new = row["path"], row["old"], row["new"]
    whole = (folder / path).read_text(encoding="utf-8") if (folder / path).is_file() else ""
    if whole.count(old) != 1:
        return "stale", ""
    files = nearest_tests(folder, path)[:most]
    for start in range(0, len(files), FILES_AT_ONCE):
        (folder / path).write_text(whole.replace(old, new), encoding="utf-8")
        try:
            status, said = run_tests(folder, " ".join(files[start : start + FILES_AT_ONCE]))
        finally:
            (folder / path).write_text(whole, encoding="utf-8")
        if status == PASSED:
            continue
        if status == NO_END:
            return "broken", said
        if status not in (FAILED, 2) and status >= 0:
            return "broken", f"pytest ended with {status}: {said[-300:]}"
        found = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
        test = found[1] if found else files[start]
        status, said = run_tests(folder, shlex.quote(test))
        if status != PASSED:
            return "broken", f"{test} fails without the mutant too: {said[-300:]}"
        return "caught", test
    return "survived", f"{len(files)} files"


def run_drawn(path: Path, text: str, again: bool, most: int) -> int:
    """Judge the rows of a drawn list that have no verdict yet; each is written as it is known."""
    listed = json.loads(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="mutate-") as name:
        copy_checkout(Path(name))
        for row in listed["mutants"]:
            if text not in " ".join(map(str, row.values())):
                continue
            if row["verdict"] in ("caught", "equivalent") or (row["verdict"] and not again):
                continue
            row["verdict"], row["by"] = judge_drawn(Path(name), row, most)
            path.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
            print(f"{row['verdict']:<9} {row['path']}:{row['line']} {row['by']}", flush=True)
    verdicts = [row["verdict"] or "waits" for row in listed["mutants"]]
    counts = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    judged = len(verdicts) - counts.get("equivalent", 0)
    score = counts.get("caught", 0) / max(1, judged)
    print(json.dumps({"ok": counts.get("caught", 0) == judged, **counts, "score": round(score, 3)}))
    return 0 if counts.get("caught", 0) == judged else 1


def write_drawn(count: int, seed: int) -> Path:
    """Draw mutants of this checkout and write them down, not judged yet."""
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=CHECKOUT, check=True, capture_output=True, text=True
    ).stdout.strip()
    rows = [one._asdict() | {"verdict": "", "by": ""} for one in draw(CHECKOUT, count, seed)]
    path = CHECKOUT / "scripts" / "mutations" / f"drawn_{count}_{seed}.json"
    listed = {"seed": seed, "commit": head, "mutants": rows}
    path.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="files of scripts/mutations, without .py")
    parser.add_argument("--only", default="", help="mutations in whose text this stands")
    parser.add_argument("--draw", type=int, metavar="COUNT", help="draw so many and write the list")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drawn", type=Path, metavar="FILE", help="judge a list that was drawn")
    parser.add_argument("--again", action="store_true", help="those too that were not caught")
    parser.add_argument("--files", type=int, default=1000, help="so many of the nearest, at most")
    options = parser.parse_args()
    if options.draw:
        print(write_drawn(options.draw, options.seed))
        return 0
    if options.drawn:
        return run_drawn(options.drawn, options.only, options.again, options.files)
    return run_written(options.names, options.only)


def run_written(names: list[str], text: str) -> int:
    """Judge the mutants that somebody wrote; each names its tests."""
    began, verdicts = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="mutate-") as name:
        folder = Path(name)
        copy_checkout(folder)
        sound: dict[str, bool] = {}
        for origin, mutation in read_mutations(names, text):
            path, old, _, selection = mutation
            if selection not in sound:
                status, said = run_tests(folder, selection)
                sound[selection] = status == PASSED
                if status != PASSED:
                    print(said, file=sys.stderr)
            verdict = judge(folder, mutation) if sound[selection] else "broken"
            verdicts.append(verdict)
            print(f"{verdict:<9} {origin:<9} {path}: {old.strip().splitlines()[0][:70]}", flush=True)
    counts = {verdict: verdicts.count(verdict) for verdict in ("caught", "survived", "stale", "broken")}
    whole = counts["caught"] == len(verdicts) > 0
    score = counts["caught"] / max(1, len(verdicts))
    print(json.dumps({"ok": whole, **counts, "score": round(score, 3), "seconds": round(time.monotonic() - began)}))
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
