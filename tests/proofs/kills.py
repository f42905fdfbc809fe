"""`python -m tests.proofs.kills --instants 300`: end processes at every kind of moment.

Each instant is a short run of `tiny_goal` of which one process is ended: by TERM, KILL, or STOP and
then KILL, at a random time or at its k-th fsync, rename or unlink; or whose disk is full from its
k-th write on. Afterwards
- no process of it is left within three seconds, in which the time is not counted that it stood
  in the queue for a core (/proc/PID/schedstat; the table has the slowest end with and without),
- every line that was announced is in the log, the log is one that `dmglab validate` accepts,
- every checkpoint that is there is whole, the announced ones that should be there are,
- the index says what became of the run and no less than what was announced,
- the run resumes from its last announced checkpoint, or a newer one, and finishes.

docs/notebook/robustness.md has the table that this prints. All roles are forked from this process, which has
loaded torch once; those named "own" load it themselves and may be ended meanwhile.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import tyro

from trainer_core.host.process_start import begin_process

if __name__ == "__main__":
    begin_process()  # before torch is loaded, and everything is forked from this process

from tests.proofs import kill_stage
from tests.proofs.kill_stage import Stage
from trainer_core.host import checkpoint as ckpt
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_reader import read_history
from trainer_core.wire import records
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunState

GONE_S = 3.0
SLOWEST, OWN_TIME = "slowest end, s", "without the queue, s"
TIMES = (SLOWEST, OWN_TIME)
LIMIT_S = 90.0
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Scenario:
    """Who is started, who of it is ended, and how often of a hundred instants."""

    name: str
    role: Callable[[Stage], int]
    victim: str
    share: int
    ranks: int = 1
    call: str = ""
    """fsync, rename, unlink or write; empty for a random time."""


SCENARIOS = (
    Scenario("worker", kill_stage.app, "worker", 25),
    Scenario("worker at an fsync", kill_stage.app, "worker", 12, call="fsync"),
    Scenario("worker at a rename", kill_stage.app, "worker", 9, call="rename"),
    Scenario("worker at an unlink", kill_stage.app, "worker", 9, call="unlink"),
    Scenario("worker, disk full", kill_stage.app, "worker", 11, call="write"),
    Scenario("worker's parent", kill_stage.app, "stage", 10),
    Scenario("rank 0 of 2", kill_stage.launcher, "rank 0", 5, ranks=2),
    Scenario("rank 1 of 2", kill_stage.launcher, "rank 1", 4, ranks=2),
    Scenario("rank 0 of 2 at an fsync", kill_stage.launcher, "rank 0", 3, 2, "fsync"),
    Scenario("rank 0 of 2 at an unlink", kill_stage.launcher, "rank 0", 2, 2, "unlink"),
    Scenario("launcher of 2", kill_stage.launcher, "launcher", 4, ranks=2),
    Scenario("app's service, own worker", kill_stage.service, "service", 2),
    Scenario("worker, own", kill_stage.service, "worker", 2),
    Scenario("launcher of 2, own", kill_stage.own_launcher, "launcher", 2, ranks=2),
)
STYLES = ("TERM", "KILL", "STOP")


@dataclass(frozen=True)
class Options:
    instants: int = 300
    seed: int = 1
    only: str = ""
    """Scenarios whose name contains this."""
    home: Path | None = None
    """Where the runs go; default a temporary folder that is removed."""


@dataclass(frozen=True)
class Measured:
    """A run that is left alone: how long it takes and how often it makes each call."""

    seconds: float
    calls: dict[str, int]


def main() -> int:
    options = tyro.cli(Options, prog="python -m tests.proofs.kills")
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphans come to us, to be counted
    folder = Path(options.home or tempfile.mkdtemp(prefix="kills-"))
    rows, failures = prove(options, folder)
    if options.home is None:
        shutil.rmtree(folder, ignore_errors=True)
    print(table(rows))
    instants = sum(row["instants"] for row in rows.values())
    held = sum(row["held"] for row in rows.values())
    print(json.dumps({"ok": not failures, "instants": instants, "held": held, "failures": failures}))
    return 0 if not failures else 1


def prove(options: Options, folder: Path) -> tuple[dict[str, collections.Counter[str]], list[dict[str, Any]]]:
    """(counts by scenario, what did not hold)."""
    rng = random.Random(options.seed)
    rows: dict[str, collections.Counter[str]] = {}
    failures: list[dict[str, Any]] = []
    measured: dict[Callable[[Stage], int], Measured] = {}
    for scenario in SCENARIOS:
        if options.only not in scenario.name:
            continue
        if scenario.role not in measured:
            left_alone(scenario, folder / "alone")  # once more with everything loaded
            measured[scenario.role] = left_alone(scenario, folder / "alone")
        row = rows[scenario.name] = collections.Counter()
        for _ in range(max(1, round(scenario.share * options.instants / 100))):
            found, what = one_instant(scenario, measured[scenario.role], folder, rng)
            times = {name: found["counts"].pop(name) for name in TIMES}
            row.update({"instants": 1, "held": int(not found["wrong"]), **found["counts"]})
            row |= collections.Counter(times)  # the greater of both
            if found["wrong"]:
                failures.append({"scenario": scenario.name, "what": what, "wrong": found["wrong"]})
            print(f"{scenario.name}: {what}: {found['wrong'] or 'held'}", file=sys.stderr)
    return rows, failures


def left_alone(scenario: Scenario, folder: Path) -> Measured:
    """Loads what it loaded, for all forks after it. Raises LabError when it does not finish."""
    stage = Stage(home=HomePaths(folder), fault="write:1000000:KILL")
    began = time.monotonic()
    code = kill_stage.stage_process(scenario.role, stage).wait()
    seconds = time.monotonic() - began
    counts = folder / "counts.json"
    found = json.loads(counts.read_text()) if counts.exists() else {"calls": {}, "modules": []}
    for name in found["modules"]:
        if name != "__main__":
            with contextlib.suppress(Exception):  # some only load from within others
                importlib.import_module(name)
    said = (folder / "said.txt").read_text()
    shutil.rmtree(folder)
    reap()
    if code:
        raise LabError(f"{scenario.name}: the run that was left alone failed: {said}")
    return Measured(seconds, found["calls"])


def one_instant(scenario: Scenario, measured: Measured, folder: Path, rng: random.Random) -> tuple[dict[str, Any], str]:
    """({"wrong": what did not hold, "counts": columns of the table}, the instant in words)."""
    while True:
        home = HomePaths(Path(tempfile.mkdtemp(prefix="instant-", dir=made(folder))))
        style, k = rng.choice(STYLES), 0
        if scenario.call == "write":
            style = "ENOSPC"
        elif scenario.call:
            style = rng.choice(STYLES[1:])
        if scenario.call:
            k = rng.randint(1, measured.calls[scenario.call])
        fault = f"{scenario.call}:{k}:{style}" if scenario.call else ""
        wait_s = rng.uniform(0, measured.seconds)
        stage = Stage(home=home, fault=fault)
        what = fault or f"{style} after {wait_s:.2f} s"
        if end_one(scenario, stage, style, wait_s):
            wrong, counts = judge(scenario, stage, style)
            if not wrong:
                shutil.rmtree(home.root, ignore_errors=True)
            return {"wrong": wrong, "counts": counts}, what
        shutil.rmtree(home.root, ignore_errors=True)  # it was over before: another instant


def made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def end_one(scenario: Scenario, stage: Stage, style: str, wait_s: float) -> bool:
    """Start, end the victim; False when the run ended by itself first."""
    process = kill_stage.stage_process(scenario.role, stage)
    deadline = time.monotonic() + wait_s
    if scenario.call:
        return _await_fault(process, stage, scenario.victim, style)
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return False
        time.sleep(0.005)
    victim = process.pid if scenario.victim == "stage" else _victim(stage, scenario.victim, process)
    try:
        if not victim:
            return False
        if style == "STOP":
            os.kill(victim, signal.SIGSTOP)
            time.sleep(0.05)
        os.kill(victim, signal.SIGTERM if style == "TERM" else signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _victim(stage: Stage, name: str, process: kill_stage.Forked) -> int:
    """Its number, once it is there; 0 when the run ended first."""
    path = stage.home.root / f"{name}.pid"
    while not path.exists():
        if process.poll() is not None:
            return 0
        time.sleep(0.005)
    return int(path.read_text())


def _await_fault(process: kill_stage.Forked, stage: Stage, victim: str, style: str) -> bool:
    """Wait for the end that a fault brings; one that only stops is killed."""
    deadline = time.monotonic() + LIMIT_S
    while process.poll() is None and time.monotonic() < deadline:
        if style == "STOP":
            try:
                stopped = psutil.Process(_victim(stage, victim, process))
                if stopped.status() == psutil.STATUS_STOPPED:
                    stopped.kill()
                    return True
            except (psutil.Error, ValueError):
                pass
        time.sleep(0.01)
    return not (stage.home.root / "counts.json").exists() or style == "ENOSPC"


def judge(scenario: Scenario, stage: Stage, style: str) -> tuple[list[str], dict[str, float]]:
    """(what does not hold, columns of the table)."""
    wrong = []
    end = reap_within(LIMIT_S if style in ("TERM", "ENOSPC") else GONE_S)
    if end.left:
        wrong.append(f"left behind: {end}")
    times = {SLOWEST: end.seconds, OWN_TIME: end.seconds - end.queued_s}
    paths = stage.paths()
    if paths is None:
        return wrong, {"before the first line": 1, **times}
    before = whole_lines(paths.train_log)
    wrong += _log_faults(stage, before, paths, full=style == "ENOSPC")
    checkpoints, last = _checkpoint_faults(paths, before, scenario.ranks)
    wrong += checkpoints
    wrong += _index_faults(stage, paths.run_id, last)
    if style == "ENOSPC":
        said = (stage.home.root / "said.txt").read_text()
        if said.count("No space left") != 1:
            wrong.append(f"a full disk was told as: {said!r}")
    wrong += _resume_faults(scenario, stage, paths, before, last)
    counts = {"lines": before.count(b"\n"), "before the first line": int(not before)}
    counts["before the first checkpoint"] = int(bool(before) and not last)
    return wrong, counts | times


def _log_faults(stage: Stage, before: bytes, paths: RunPaths, *, full: bool) -> list[str]:
    """A full disk cannot keep the record of itself."""
    if not before:
        return []
    wrong = [f"log: {text}" for text in check_log(paths.train_log).errors]
    logged = set(before.splitlines())
    unlogged = {"state", "heartbeat", "ack"} | ({"error"} if full else set())
    for line in _announced(stage):
        kind = json.loads(line)["type"]
        if kind not in unlogged and line not in logged:
            wrong.append(f"announced and lost: {line[:120]!r}")
    return wrong


def _announced(stage: Stage) -> list[bytes]:
    return whole_lines(stage.announced).splitlines()


def whole_lines(path: Path) -> bytes:
    data = path.read_bytes() if path.exists() else b""
    return data[: data.rfind(b"\n") + 1]


def _checkpoint_faults(paths: RunPaths, log: bytes, ranks: int) -> tuple[list[str], int]:
    """(what does not hold, steps of the last announced checkpoint)."""
    told = [record for line in log.splitlines() if (record := json.loads(line))["type"] == "checkpoint"]
    wrong = []
    for folder in list_checkpoints(paths):
        try:
            for rank in range(ranks):
                ckpt.load_trainer_state(folder, rank)
            ckpt.load_policy(folder)
        except LabError as error:
            wrong.append(str(error))
    if told and not (paths.root / told[-1]["path"] / "meta.json").exists():
        hidden = sorted(path.name for path in paths.checkpoints.glob(".*"))
        wrong.append(f"{told[-1]['path']} was announced and is gone; hidden: {hidden}")
    there = len(list_checkpoints(paths))
    if there < min(len(told), 3):
        wrong.append(f"{len(told)} checkpoints were announced, {there} are left")
    return wrong, told[-1]["env_steps"] if told else 0


def _index_faults(stage: Stage, run_id: str, last: int) -> list[str]:
    record = RunRegistry(stage.home).reconcile().get(run_id)
    if record is None:
        return ["the index does not know the run"] if last else []
    wrong = [] if record.state.is_end else [f"the index says {record.state}"]
    if record.env_steps < last:
        wrong.append(f"the index says {record.env_steps} steps, {last} were announced")
    return wrong


def _resume_faults(scenario: Scenario, stage: Stage, paths: RunPaths, before: bytes, last: int) -> list[str]:
    role = kill_stage.launcher if scenario.ranks > 1 else kill_stage.app
    if scenario.role is kill_stage.service:
        role = kill_stage.ranks_of_one
    code = kill_stage.resumed(stage, role)
    end = reap_within(GONE_S)
    wrong = [f"left behind after the resumed run: {end}"] if end.left else []
    after = whole_lines(paths.train_log)
    if code or not after.startswith(before):
        return [*wrong, f"resumed with {code}: {(stage.home.root / 'said.txt').read_text()[-400:]}"]
    wrong += [f"resumed log: {text}" for text in check_log(paths.train_log).errors]
    events = read_history(paths.train_log).events
    resumes = [event for event in events if isinstance(event, records.ResumeRecord)]
    if before and (not resumes or resumes[-1].env_steps < last):
        wrong.append(f"resumed at {resumes[-1:]}, {last} steps were announced")
    total = kill_stage.UPDATES * kill_stage.NUM_ENVS * kill_stage.NUM_STEPS * scenario.ranks
    record = RunRegistry(stage.home).load()[paths.run_id]
    if (record.state, record.env_steps) not in {(RunState.FINISHED, total)}:
        wrong.append(f"in the end the index says {record.state}, {record.env_steps} steps")
    return wrong


@dataclass(frozen=True)
class Ending:
    """How the processes of an instant ended."""

    left: list[str]
    """Those that had to be ended in the end, with what they were doing."""
    seconds: float
    queued_s: float
    """Of `seconds`, how long the one that queued longest for a core did so."""


def reap_within(limit_s: float) -> Ending:
    """Wait for all; what is still there after `limit_s` without its time in the queue is ended."""
    began, queue = time.monotonic(), QueueTime()
    while not reap():
        spent = time.monotonic() - began
        if spent > limit_s and spent - queue.longest() > limit_s:
            left = psutil.Process().children(recursive=True)
            names = [f"{process.pid} {process.status()}" for process in left]
            for process in left:
                process.kill()
            while not reap():
                time.sleep(0.01)
            return Ending(names, spent, queue.longest())
        queue.look()
        time.sleep(0.02)
    return Ending([], time.monotonic() - began, queue.longest())


class QueueTime:
    """How long our children's threads have been runnable without a core since this was made.

    Second field of /proc/PID/task/TID/schedstat, nanoseconds
    (https://docs.kernel.org/scheduler/sched-stats.html); 0 where the kernel does not tell.
    """

    def __init__(self) -> None:
        self._first: dict[Path, int] = {}
        self._last: dict[Path, int] = {}
        self.look()

    def look(self) -> None:
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(FileNotFoundError):  # it ended while its threads were listed
                for path in Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
                    with contextlib.suppress(OSError, ValueError, IndexError):
                        self._last[path] = int(path.read_text().split()[1])
                        self._first.setdefault(path, self._last[path])

    def longest(self) -> float:
        """Seconds, of the thread that queued longest."""
        waits = (self._last[path] - first for path, first in self._first.items())
        return max(waits, default=0) * 1e-9


def reap() -> bool:
    """Collect children that have ended, orphans that came to us too; True when none is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def table(rows: dict[str, collections.Counter[str]]) -> str:
    """Markdown."""
    columns = ("instants", "held", "lines", "before the first line", "before the first checkpoint")
    columns += TIMES
    lines = [f"| ended | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, row in rows.items():
        lines.append(f"| {name} | {' | '.join(f'{row[column]:.4g}' for column in columns)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
