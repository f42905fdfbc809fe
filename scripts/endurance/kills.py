"""Kill every command that writes, at chosen calls and at random times; look at what is left."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from scripts.endurance.forked import THEN, run_forked, start
from scripts.endurance.verbs import VERBS, Verb, copy_home, make_template
from tests.proofs.kills import GONE_S, reap_within
from trainer_core.wire.errors import LabError

CALLS = ("fsync", "rename", "unlink", "write")
LISTS = (["runs"], ["queue", "list"], ["task", "list"], ["rom", "list"], ["runs", "--disk"])
HALF_MADE = re.compile(r"^\.|\.(tmp|part|partial|old|gone)$")
"""Names of what is not finished; none may be left once the command has run again."""
LOST = re.compile(r"^(training/runs/2|players/)[^/]+/|^(other/)?tasks/")
"""A run that was killed keeps its half-made checkpoint until it is resumed or removed, a recording
its half until the app recovers it, a task until a new one is made an hour later: only then is it
sure that nobody is at it."""
OFTEN_CHANGED = re.compile(r"/(lock|frames\.bin|.*\.lock|worker\.log.*|runs\.sqlite.*|queue\.json)$|^training/devices/")
MOST_TRIES = 6
"""Instants that may miss, for each that hits."""


@dataclass
class Found:
    """What became of one command's instants."""

    hits: int = 0
    missed: int = 0
    failures: list[str] = field(default_factory=list)
    slowest_end_s: float = 0.0


@dataclass(frozen=True)
class Alone:
    """A command that nobody killed: how long it takes, its calls, the files it leaves."""

    seconds: float
    calls: dict[str, int]
    half_made: frozenset[str]


def kill_all(folder: Path, least: int, seed: int, only: str) -> dict[str, Found]:
    """Kill each command at least `least` times. Returns what was found, by command."""
    template = make_template(folder / "template")
    rng, results = random.Random(seed), {}
    for verb in VERBS:
        if only not in verb.name:
            continue
        found = results[verb.name] = Found()
        try:
            alone = leave_alone(verb, template, folder)
        except LabError as error:
            found.failures.append(f"left alone: {error}")
            print(f"{verb.name}: {found.failures[-1]}", file=sys.stderr)
            continue
        while found.hits < least and found.missed < MOST_TRIES * least:
            kill_once(verb, alone, template, folder, rng, found)
        print(
            f"{verb.name:<18} {found.hits} hits, {found.missed} missed, "
            f"{len(found.failures)} failed, slowest end {found.slowest_end_s:.2f} s",
            file=sys.stderr,
        )
    return results


def leave_alone(verb: Verb, template: Path, folder: Path) -> Alone:
    """Run a command to its end, twice: the first time it may load and compile."""
    for number in range(2):
        home, out = _fresh(verb, template, folder)
        counts = folder / "counts.json"
        done = run_forked(verb.argv(home, out), folder / "said.txt", counts)
        reap_within(GONE_S)
        if number == 1:
            done.check()
            calls = json.loads(counts.read_text()) if verb.calls else {}
            return Alone(done.seconds, calls, frozenset(half_made(home, out)))
        shutil.rmtree(home.parent)
    raise AssertionError


def kill_once(verb: Verb, alone: Alone, template: Path, folder: Path, rng: random.Random, found: Found) -> None:
    """Kill a command at one instant and judge what is left, unless it had ended before."""
    home, out = _fresh(verb, template, folder)
    before = hashes(home)
    possible = [call for call in CALLS if alone.calls.get(call)]
    fault, wait_s = "", rng.uniform(0, alone.seconds)
    if possible and rng.random() < 0.6:
        call = rng.choice(possible)
        fault = f"{call}:{rng.randint(1, alone.calls[call])}:KILL"
    process = start(verb.argv(home, out), folder / "said.txt", fault)
    deadline = time.monotonic() + (wait_s if not fault else 240.0)
    while (code := process.poll()) is None and time.monotonic() < deadline:
        time.sleep(0.002)
    if code is None:
        os.kill(process.pid, signal.SIGKILL)
        code = process.wait()
    if code != -signal.SIGKILL:
        found.missed += 1
        reap_within(60.0)
        shutil.rmtree(home.parent)
        return
    found.hits += 1
    what = fault or f"KILL after {wait_s:.2f} s"
    end = reap_within(GONE_S)
    found.slowest_end_s = max(found.slowest_end_s, end.seconds - end.queued_s)
    wrong = [f"left behind: {end.left}"] if end.left else []
    wrong += judge(verb, home, out, before, alone, folder)
    if wrong:
        found.failures.append(f"{what}: {'; '.join(wrong)}")
        print(f"{verb.name}: {found.failures[-1]}", file=sys.stderr)
    shutil.rmtree(home.parent, ignore_errors=True)


def judge(verb: Verb, home: Path, out: Path, before: dict[str, str], alone: Alone, folder: Path) -> list[str]:
    """Return what does not hold after a kill, and after the command was given again."""
    said = folder / "said.txt"
    wrong = changed(verb, before, hashes(home))
    wrong += list_all(home, said)
    again = run_forked(verb.argv(home, out), said)
    end = reap_within(60.0)
    if end.left:
        wrong.append(f"left behind by the second one: {end.left}")
    right = verb.refused_again and verb.refused_again in again.said
    if "Traceback" in again.said or (again.code and not right):
        wrong.append(f"again: status {again.code}: {again.said[-400:]}")
    left = half_made(home, out) - alone.half_made
    if right:  # it named the folder, which is the user's own, and what to do about it
        left = {name for name in left if (home / name).exists()}
    if left:
        wrong.append(f"half made and left: {sorted(left)[:4]}")
    return wrong


def list_all(home: Path, said: Path) -> list[str]:
    """Return what is wrong with the lists of a home."""
    words = [word for each in LISTS for word in (*each, "--home", str(home), THEN)]
    done = run_forked(words[:-1], said)
    bad = done.code or "Traceback" in done.said
    return [f"lists: status {done.code}: {done.said[-300:]}"] if bad else []


def hashes(home: Path) -> dict[str, str]:
    """Return the SHA-256 of every file by its path; of logs and indices their bytes' beginning is compared."""
    found = {}
    for path in sorted(home.rglob("*")):
        if path.is_file() and not path.is_symlink():
            name = str(path.relative_to(home))
            data = path.read_bytes()
            found[name] = data.hex() if name.endswith(".jsonl") else hashlib.sha256(data).hexdigest()
    return found


def changed(verb: Verb, before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return which files of others are gone or changed. Logs and indices may grow."""
    wrong = []
    for name, was in before.items():
        if name.startswith(verb.changes) or OFTEN_CHANGED.search(name):
            continue
        now = after.get(name)
        if now is None:
            wrong.append(f"{name} is gone")
        elif not (now.startswith(was) if name.endswith(".jsonl") else now == was):
            wrong.append(f"{name} has changed")
    return wrong


def half_made(home: Path, out: Path) -> set[str]:
    """Return the paths of unfinished files and folders, from the home or the output folder."""
    found = set()
    for root in (home, out):
        for path in root.rglob("*"):
            name = str(path.relative_to(root))
            if HALF_MADE.search(path.name) and not LOST.search(name):
                found.add(name)
    return found


def _fresh(verb: Verb, template: Path, folder: Path) -> tuple[Path, Path]:
    instant = folder / "instant"
    shutil.rmtree(instant, ignore_errors=True)
    home, out = copy_home(template, instant / "lab"), instant / "out"
    out.mkdir()
    if verb.prepare:
        words = verb.prepare.format(home=home).split()
        run_forked(words, folder / "said.txt").check()
    os.environ["XDG_DATA_HOME"] = str(instant / "data")
    return home, out


def table(results: dict[str, Found]) -> str:
    """Return Markdown: one row a command."""
    lines = ["| killed | hits | held | slowest end, s |", "|---|---|---|---|"]
    total: Counter[str] = Counter()
    for name, found in results.items():
        held = found.hits - len(found.failures)
        total.update(hits=found.hits, held=held)
        lines.append(f"| `{name}` | {found.hits} | {held} | {found.slowest_end_s:.2f} |")
    lines.append(f"| together | {total['hits']} | {total['held']} | |")
    return "\n".join(lines)
