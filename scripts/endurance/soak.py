"""Run app, training, player and queue side by side for a while and see whether anything grows.

    python -m scripts.endurance.soak 30     minutes; exit status 0 when all is flat

The app is real (offscreen), trains Pocket Quest with its own worker, keeps a second run in the
queue, plays a checkpoint, and turns to another tab every few seconds, as a person would. Every ten
seconds the memory of its own, the descriptors and the threads of each process are read.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import psutil

WARM_UP = 0.3
"""Share of the time in which caches and pools may still grow."""
GROWTH, GROWTH_MIB = 0.03, 4.0
"""What the last third may have above the one before: allocators return memory in no order."""
EVERY_S, TURN_S = 10.0, 15.0
OWN = ("Private_Dirty", "Private_Hugetlb", "Swap")


@dataclass(frozen=True)
class Sample:
    minute: float
    own_mib: float
    """What it wrote, in memory or swap. The unique set size (USS) says nothing of growth: it counts
    unchanged pages of libraries too, once the last other process that has them mapped ends."""
    descriptors: int
    threads: int


def soak(minutes: float) -> tuple[dict[str, list[Sample]], list[str]]:
    """Let everything run. Returns samples by process, and what has grown."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from gui.app import create_app, create_application
    from tests.gui.conftest import QtBot, close

    create_application()
    qtbot = QtBot()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        app = create_app(Path(folder) / "home", "dark")
        app.window.show()
        try:
            _begin(app, qtbot)
            rows = _watch(app, qtbot, minutes)
        finally:
            close(qtbot, app)
    return rows, grown(rows, minutes)


def _begin(app, qtbot) -> None:
    """Train, keep a second run waiting, play the first checkpoint."""
    from gui.features.checkpoints.controller import CheckpointsController
    from gui.features.play.controller import PlayController
    from gui.features.train.controller import TrainingController
    from gui.state.checkpoints import CheckpointList

    training = app[TrainingController]
    training.draft.set_values(
        {
            "task": "pocket_quest/leave_bedroom",
            "num_envs": 32,
            "threads": 1,
            "checkpoint_every": 10,
            "eval_every": 20,
            "target_success": 0.0,
            "seconds": 0.0,
        }
    )
    waiting = app.bridge.service.queue.entries
    for begun in (lambda: training.run_id and not training.starting, lambda: len(waiting()) == 1):
        training.set_consent(True)
        training.start()
        qtbot.waitUntil(begun, timeout=120_000)
    checkpoints = app[CheckpointList]
    qtbot.waitUntil(lambda: checkpoints.cards, timeout=600_000)
    app[CheckpointsController].watch_run(checkpoints.cards[0].run_id)
    qtbot.waitUntil(lambda: app[PlayController].frame > 0, timeout=120_000)


def _watch(app, qtbot, minutes: float) -> dict[str, list[Sample]]:
    from gui.state.session import Navigation, Place

    rows: dict[str, list[Sample]] = defaultdict(list)
    began, places = time.monotonic(), list(Place)
    turns = 0
    next_turn = next_sample = began
    while (now := time.monotonic()) - began < 60 * minutes:
        if now >= next_turn:
            app[Navigation].show(places[turns % len(places)])
            turns, next_turn = turns + 1, now + TURN_S
        if now >= next_sample:
            take(rows, (now - began) / 60)
            next_sample = now + EVERY_S
        qtbot.wait(50)
    return rows


def take(rows: dict[str, list[Sample]], minute: float) -> None:
    """Add a sample of this process and its children, by what they are: of several (a guard, one
    that waits for the next order) that with the most memory."""
    me, found = psutil.Process(), dict[str, Sample]()
    for process in (me, *me.children(recursive=True)):
        try:
            name = "app" if process == me else _name(process.cmdline())
            own = own_mib(process.pid) if name else 0.0
            if name and own > (found[name].own_mib if name in found else 0.0):
                found[name] = Sample(minute, own, process.num_fds(), process.num_threads())
        except psutil.Error:
            continue
    for name, sample in found.items():
        rows[name].append(sample)


def own_mib(pid: int) -> float:
    """Return the MiB that a process wrote and shares with nobody. Raises psutil.Error."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it ended this moment
        raise psutil.NoSuchProcess(pid) from None
    counts = dict(line.split()[:2] for line in lines[1:])
    return sum(int(counts.get(f"{name}:", 0)) for name in OWN) / 1024


def _name(words: list[str]) -> str:
    """Return worker or player; empty for what comes and goes."""
    for name in ("worker", "player"):
        if f"trainer_core.{name}" in words:
            return name
    return ""


def grown(rows: dict[str, list[Sample]], minutes: float) -> list[str]:
    """Return what is higher in the last third after the warm-up than in the one before."""
    wrong = [] if {"app", "worker", "player"} <= set(rows) else [f"only {sorted(rows)} ran"]
    for name, samples in rows.items():
        warm = [sample for sample in samples if sample.minute > WARM_UP * minutes]
        if len(warm) < 6:
            wrong.append(f"{name}: {len(warm)} samples only")
            continue
        earlier, later = warm[: len(warm) // 2], warm[len(warm) // 2 :]
        was = statistics.median(sample.own_mib for sample in earlier)
        now = statistics.median(sample.own_mib for sample in later)
        if now > was * (1 + GROWTH) + GROWTH_MIB:
            wrong.append(f"{name}: {was:.0f} to {now:.0f} MiB")
        for what in ("descriptors", "threads"):
            most = max(getattr(sample, what) for sample in earlier)
            last = max(getattr(sample, what) for sample in later)
            if last > most:
                wrong.append(f"{name}: {most} to {last} {what}")
    return wrong


def table(rows: dict[str, list[Sample]]) -> str:
    """Return Markdown: what each process had at a few times."""
    lines = ["| process | minute | own memory, MiB | descriptors | threads |", "|---|---|---|---|---|"]
    for name, samples in rows.items():
        step = max(1, len(samples) // 6)
        for sample in [*samples[::step], samples[-1]]:
            lines.append(
                f"| {name} | {sample.minute:.1f} | {sample.own_mib:.0f} | {sample.descriptors} | {sample.threads} |"
            )
    return "\n".join(lines)


def main(words: list[str]) -> int:
    """Print the table and what has grown; return the exit status."""
    try:
        minutes = float(words[0]) if words else 30.0
    except ValueError:
        print("usage: python -m scripts.endurance.soak [MINUTES]", file=sys.stderr)
        return 2
    rows, wrong = soak(minutes)
    print(table(rows))
    print("; ".join(wrong) or "flat")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
