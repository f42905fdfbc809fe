"""`python -m tests.proofs.kill_service --instants 300`: end who keeps runs, or follows them.

Each instant is a home with an app that keeps a run and has ordered two more, a second app that
follows, in some rows a shell or a detached host; one of them, or the worker, is ended in a given
state by TERM, KILL, STOP (then asked to stop from outside, then KILL), or FULL: nothing that it
writes fits on the disk any more (a worker ends of itself then, others by KILL). Afterwards
- what the victim kept has no process left within three seconds (after TERM: once it has saved),
  nor a child that the worker has in another session; its own end changes nothing,
- every line that was announced is in its log, every announced checkpoint is there,
- what waits still waits, in order, and is finished by whoever comes next, in that order,
- a run that was lost or stopped goes on from its last checkpoint to the same end as one left alone,
- two services opened then say of every run what is true, and the same.

docs/notebook/service.md has the table that this prints.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import tyro

from tests.proofs import kill_service_stage as stage
from tests.proofs.hallway import COMPILING, HALLWAY, HELPER, chain, last_state
from tests.proofs.kill_service_stage import RUNS, UPDATES, Cast
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.device_lock import DeviceLock
from trainer_core.runs.index import RunRegistry, is_held
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_reader import read_history
from trainer_core.runs.queue import RunQueue
from trainer_core.service import TrainerService
from trainer_core.wire import records
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunState

GONE_S = 3.0
LIMIT_S = 120.0
SAVES_S = 30.0
"""For a process that was told to end and saves first."""
_PR_SET_CHILD_SUBREAPER = 36
STYLES = ("TERM", "KILL", "STOP", "FULL")
BUSY = ("starting", "compiling", "training", "checkpointing", "stopping")
KEEPERS = ("app", "shell", "keeper")
FULL_S = 0.5
"""How long somebody lives on with a full disk."""
ROWS = (
    *(("app", state) for state in ("idle", "queued", *BUSY, "detached")),
    *(("second app", state) for state in ("queued", "training", "stopping")),
    *(("shell", state) for state in ("training", "stopping")),
    *(("keeper", state) for state in BUSY),
    *(("worker", state) for state in BUSY),
    *(("child of worker", state) for state in ("training", "checkpointing", "stopping")),
)


@dataclass(frozen=True)
class Options:
    instants: int = 300
    seed: int = 1
    only: str = ""
    """Rows whose `victim, state` contains this."""
    results: str = ""
    """Append each instant to this file, a JSON line, and print the table of all that is in it: the
    proof can be made in pieces, each with a seed of its own."""


def main() -> int:
    options = tyro.cli(Options, prog="python -m tests.proofs.kill_service")
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphans come to us, to be counted
    rng = random.Random(options.seed)
    chosen = [row for row in ROWS if options.only in f"{row[0]}, {row[1]}"]
    done = _read_results(options.results)
    for number in range(options.instants):
        row = chosen[(number + options.seed) % len(chosen)]
        style, jitter_s = rng.choice(styles_of(*row)), rng.uniform(0, 0.05)
        began = time.monotonic()
        wrong, hit = one_instant(*row, style, jitter_s)
        done.append(
            {
                "victim": row[0],
                "state": row[1],
                "style": style,
                "jitter_ms": round(1000 * jitter_s),
                "hit": hit,
                "wrong": wrong,
                "seconds": round(time.monotonic() - began, 1),
            }
        )
        if options.results:
            with Path(options.results).open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
        print(f"{number + 1}: {done[-1]}", file=sys.stderr, flush=True)
    print(table(done))
    failures = [one for one in done if one["wrong"]]
    print(
        json.dumps(
            {
                "ok": not failures,
                "instants": len(done),
                "held": len(done) - len(failures),
                "seconds": round(sum(one["seconds"] for one in done)),
                "failures": failures,
            }
        )
    )
    return 0 if not failures else 1


def styles_of(victim: str, state: str) -> tuple[str, ...]:
    """A disk is only full for who has something to write."""
    writes = victim in (*KEEPERS, "worker") and state in BUSY
    return STYLES if writes else STYLES[:-1]


def _read_results(path: str) -> list[dict[str, Any]]:
    if not path or not Path(path).is_file():
        return []
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def one_instant(victim: str, state: str, style: str, jitter_s: float) -> tuple[list[str], bool]:
    """(what did not hold, whether the victim was there to be ended)."""
    home = HomePaths(Path(tempfile.mkdtemp(prefix="kill-service-")))
    cast, hit = Cast(home), True
    try:
        first = _set_up(cast, victim, state)
        time.sleep(jitter_s)
        pid = _pid_of(cast, victim, first)
        hit = _there(pid)  # else it was over before; what follows is judged all the same
        wrong = _end(cast, pid, victim, state, style, first) if hit else []
        wrong += _judge(cast)
    except LabError as error:
        wrong = [str(error)]
    finally:
        left = cast.end_all(GONE_S)
    if left:
        wrong.append(f"left in the end: {left}")
    if not wrong:
        shutil.rmtree(home.root, ignore_errors=True)
    return wrong, hit


# -- one instant -----------------------------------------------------------------------------


def _end(cast: Cast, pid: int, victim: str, state: str, style: str, first: str) -> list[str]:
    """End the victim and see that nothing of it stays."""
    aside = victim in ("second app", "child of worker")
    kept = [] if aside or state in ("idle", "detached", "queued") else [first]
    worker = RunRegistry(cast.home).load()[first].pid if kept and first else 0
    helper = _helper_of(cast, first) if kept else 0
    with contextlib.suppress(ProcessLookupError):
        if style == "STOP":
            os.kill(pid, signal.SIGSTOP)
            wrong = _stop_from_outside(cast, first) if kept else []
            os.kill(pid, signal.SIGKILL)
            if wrong:
                return wrong
        elif style == "FULL":
            os.kill(pid, signal.SIGUSR2)
            if victim != "worker":
                cast.until(lambda: False, FULL_S)
                os.kill(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM if style == "TERM" else signal.SIGKILL)
    saves = style == "TERM" or (style == "FULL" and victim == "worker")
    patience_s = SAVES_S if saves else GONE_S
    gone = [number for number in {pid, worker, helper} if number]
    if victim == "child of worker" and _pid_of(cast, "worker", first) == pid:
        return ["the worker's child is the worker"]
    if not cast.until(lambda: not any(_there(number) for number in gone), patience_s):
        return [f"still there {patience_s:g} s after {style}: {[number for number in gone if _there(number)]}"]
    return []


def _set_up(cast: Cast, victim: str, state: str) -> str:
    """Start everybody, wait for the state; the run that is in it."""
    if state == "idle":
        cast.start("app", stage.app, orders=0)
        cast.start("second app", stage.follower)
        return ""
    if state == "queued":
        cast.blocker = DeviceLock.take(cast.home, "cpu", "elsewhere")
        assert cast.blocker is not None
    detached = state == "detached" or victim == "keeper"
    if victim == "shell":
        cast.start("shell", stage.shell)
        cast.must(lambda: bool(cast.announced()), "the shell's run")
    cast.start("app", stage.app, orders=RUNS if victim != "shell" else RUNS - 1, detach=detached)
    cast.start("second app", stage.follower)
    cast.must(lambda: len(cast.announced()) == RUNS, "all runs are announced")
    first = cast.announced()[0]
    if cast.blocker is not None:
        return first
    goal = {
        "starting": lambda: _state(cast, first) not in (RunState.QUEUED, RunState.PREFLIGHT),
        "compiling": lambda: cast.said_state(first, COMPILING),
        "checkpointing": lambda: any(cast.home.run(first).checkpoints.glob(".*.tmp")),
    }.get(state, lambda: _updates(cast, first) > 2)
    cast.must(lambda: goal() or _state(cast, first).is_end, state)
    if state == "stopping":
        cast.order_stop(first, by="second app" if victim == "second app" else "")
        cast.must(lambda: _state(cast, first) is RunState.STOPPING or _state(cast, first).is_end, state)
    return first


def _pid_of(cast: Cast, victim: str, first: str) -> int:
    if victim == "child of worker":
        return _helper_of(cast, first)
    if victim == "worker":
        return RunRegistry(cast.home).load()[first].pid
    return cast.pids.get(victim, 0)


def _helper_of(cast: Cast, run_id: str) -> int:
    """The worker's child, 0 before there is one."""
    with contextlib.suppress(OSError, ValueError):
        return int((cast.home.run(run_id).root / HELPER).read_text())
    return 0


def _state(cast: Cast, run_id: str) -> RunState:
    return RunRegistry(cast.home).load()[run_id].state


def _updates(cast: Cast, run_id: str) -> int:
    events = read_history(cast.home.run(run_id).train_log).events
    return sum(isinstance(event, records.UpdateRecord) for event in events)


def _stop_from_outside(cast: Cast, run_id: str) -> list[str]:
    """Whoever is stopped does not answer, and must not have to."""

    async def stop() -> list[str]:
        service = TrainerService(cast.home, runners=(HALLWAY,), ladder=stage.LADDER, works_queue=False)
        service.open()
        await asyncio.wait_for(service.stop(run_id), LIMIT_S)
        state = service.runs[run_id].state
        await service.close()
        return [] if state.is_end else [f"stopped from outside it is {state}"]

    return asyncio.run(stop())


def _there(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


# -- what must hold --------------------------------------------------------------------------


def _judge(cast: Cast) -> list[str]:
    wrong = _queue_faults(cast)
    if cast.blocker is not None:
        cast.blocker.release()
    cast.start("next keeper", stage.keeper)
    drained = cast.until(lambda: not RunQueue(cast.home).entries() and not _going_on(cast), LIMIT_S)
    if not drained:
        return [*wrong, f"not finished by who came next: {_states(cast)}"]
    wrong += _order_faults(cast)
    for run_id in cast.announced():
        wrong += _log_faults(cast, run_id)
        wrong += asyncio.run(_resume_faults(cast, run_id))
    return wrong + asyncio.run(_view_faults(cast))


def _states(cast: Cast) -> dict[str, str]:
    return {run_id: run.state.value for run_id, run in RunRegistry(cast.home).load().items()}


def _going_on(cast: Cast) -> bool:
    runs = RunRegistry(cast.home).reconcile().values()
    return any(not run.state.is_end for run in runs)


def _queue_faults(cast: Cast) -> list[str]:
    """Every announced run waits or was taken up; those that wait stand in their order."""
    waiting = [entry.run_id for entry in RunQueue(cast.home).entries()]
    announced = cast.announced()
    runs = RunRegistry(cast.home).reconcile()
    wrong = []
    if [run_id for run_id in announced if run_id in waiting] != waiting:
        wrong.append(f"the queue's order is {waiting}, announced was {announced}")
    for run_id in announced:
        if run_id not in runs:
            wrong.append(f"{run_id} was announced and is not in the index")
        elif runs[run_id].state is RunState.QUEUED and run_id not in waiting:
            wrong.append(f"{run_id} is queued and not in the queue")
    return wrong


def _order_faults(cast: Cast) -> list[str]:
    began = []
    for run_id in cast.announced():
        events = read_history(cast.home.run(run_id).train_log).events
        if events:
            began.append((events[0].time, run_id))
    in_order = [run_id for _, run_id in sorted(began)]
    announced = [run_id for run_id in cast.announced() if run_id in in_order]
    return [] if in_order == announced else [f"started in the order {in_order}, not {announced}"]


def _log_faults(cast: Cast, run_id: str) -> list[str]:
    log = cast.home.run(run_id).train_log
    data = log.read_bytes() if log.exists() else b""
    # A run that was ended before it said anything has no log, or an empty one.
    wrong = [f"log: {text}" for text in check_log(log).errors] if data else []
    seqs = [event.seq for event in read_history(log).events]
    told = cast.told(run_id)
    if told and (not seqs or max(told) > max(seqs)):
        wrong.append(f"{run_id}: record {max(told)} was announced, the log ends at {max(seqs)}")
    for event in read_history(log).events:
        saved = isinstance(event, records.CheckpointRecord) and event.path
        if saved and not (cast.home.run(run_id).root / saved / "state.json").is_file():
            wrong.append(f"{run_id}: {saved} was announced and is gone")
    if data and not data.endswith(b"\n") and not _going_on(cast):
        tail = data[data.rfind(b"\n") + 1 :]
        if b'"type"' in tail and tail.endswith(b"}"):
            wrong.append(f"{run_id}: a whole last line without its end")
    return wrong


async def _resume_faults(cast: Cast, run_id: str) -> list[str]:
    """To the end that a run left alone comes to; one without a checkpoint cannot go on."""
    service = TrainerService(cast.home, runners=(HALLWAY,))
    service.open()
    try:
        run = service.runs[run_id]
        if run.state is not RunState.FINISHED:
            if not HALLWAY.find_checkpoints(cast.home.run(run_id).root):
                return []
            await service.resume(run_id)
            deadline = time.monotonic() + LIMIT_S
            while not service.runs[run_id].state.is_end and time.monotonic() < deadline:
                await asyncio.sleep(0.02)
        run = service.runs[run_id]
        digest = ""
        for update in range(1, UPDATES + 1):
            digest = chain(digest, update)
        if run.state is not RunState.FINISHED:
            return [f"{run_id}: resumed, it ended as {run.state}: {run.reason}"]
        if last_state(cast.home.run(run_id).root) != (UPDATES, digest):
            return [f"{run_id}: it came to another end"]
        return [f"resumed log: {text}" for text in check_log(cast.home.run(run_id).train_log).errors]
    finally:
        await service.close()


async def _view_faults(cast: Cast) -> list[str]:
    """Two services see the same, and it is true."""
    views = []
    for _ in range(2):
        service = TrainerService(cast.home, runners=(HALLWAY,), works_queue=False)
        service.open()
        views.append(dict(service.runs))
        await service.close()
    if views[0] != views[1]:
        return ["two services see different things"]
    wrong = []
    for run_id, run in views[0].items():
        lives = is_held(run, cast.home.run(run_id))
        if run.state.is_end == lives:
            wrong.append(f"{run_id} is {run.state}, its process is {'there' if lives else 'gone'}")
    return wrong


def table(done: list[dict[str, Any]]) -> str:
    """Of instants whose victim was there; those that came too late are counted in the last line."""
    lines = [f"| ended | while | instants | {' | '.join(STYLES)} | held |", "|---" * 8 + "|"]
    hit = [one for one in done if one["hit"]]
    for victim, state in ROWS:
        row = [one for one in hit if (one["victim"], one["state"]) == (victim, state)]
        styles = collections.Counter(one["style"] for one in row)
        cells = [len(row), *(styles[style] for style in STYLES), sum(not r["wrong"] for r in row)]
        lines.append(f"| {victim} | {state} | {' | '.join(map(str, cells))} |")
    cells = [len(hit), *(sum(o["style"] == s for o in hit) for s in STYLES), sum(not o["wrong"] for o in hit)]
    lines.append(f"| all | | {' | '.join(map(str, cells))} |")
    late = [one for one in done if not one["hit"]]
    lines += [
        "",
        f"{len(late)} more came after their victim had ended, {sum(not one['wrong'] for one in late)} of them held.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
