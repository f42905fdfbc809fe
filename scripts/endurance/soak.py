"""App, training, player and queue side by side for a while: does anything grow?

The app is real (offscreen), trains Pocket Quest with its own worker, keeps a second run in the
queue, plays a checkpoint, and turns to another tab every few seconds, as a person would. Every ten
seconds the memory of its own (USS), the descriptors and the threads of each process are read.
"""

from __future__ import annotations

import os
import statistics
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


@dataclass(frozen=True)
class Sample:
    minute: float
    uss_mib: float
    descriptors: int
    threads: int


def soak(minutes: float) -> tuple[dict[str, list[Sample]], list[str]]:
    """Let everything run. Returns samples by process, and what has grown."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from gui.app import create_app, create_application
    from tests.gui.conftest import close, until

    application = create_application()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        app = create_app(Path(folder) / "home", "dark")
        app.window.show()
        try:
            _begin(app, until)
            rows = _watch(app, application, minutes)
        finally:
            close(app)
    return rows, grown(rows, minutes)


def _begin(app, until) -> None:  # type: ignore[no-untyped-def]
    """Train, keep a second run waiting, play the first checkpoint."""
    training = app.controllers.training
    training.draft.set_values({
        "task": "pocket_quest/leave_bedroom", "num_envs": 32, "threads": 1,
        "checkpoint_every": 10, "eval_every": 20, "target_success": 0.0, "seconds": 0.0,
    })  # fmt: skip
    waiting = app.bridge.service.queue.entries
    for begun in (lambda: training.run_id and not training.starting, lambda: len(waiting()) == 1):
        training.set_consent(True)
        training.start()
        until(begun, 120.0)
    checkpoints = app.models.checkpoints
    until(lambda: checkpoints.cards, 600.0)
    app.controllers.checkpoints.watch_run(checkpoints.cards[0].run_id)
    until(lambda: app.controllers.playing.frame > 0, 120.0)


def _watch(app, application, minutes: float) -> dict[str, list[Sample]]:  # type: ignore[no-untyped-def]
    from PySide6.QtTest import QTest

    from gui.models.navigation import Place

    rows: dict[str, list[Sample]] = defaultdict(list)
    began, places = time.monotonic(), list(Place)
    turns = 0
    next_turn = next_sample = began
    while (now := time.monotonic()) - began < 60 * minutes:
        if now >= next_turn:
            app.models.navigation.show(places[turns % len(places)])
            turns, next_turn = turns + 1, now + TURN_S
        if now >= next_sample:
            take(rows, (now - began) / 60)
            next_sample = now + EVERY_S
        QTest.qWait(50)
    return rows


def take(rows: dict[str, list[Sample]], minute: float) -> None:
    """Add a sample of this process and each of its children, by what they are."""
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            name = "app" if process == me else _name(process.cmdline())
            if name:
                rows[name].append(Sample(
                    minute, process.memory_full_info().uss / 2**20, process.num_fds(),
                    process.num_threads(),
                ))  # fmt: skip
        except psutil.Error:
            continue


def _name(words: list[str]) -> str:
    """worker or player; empty for what comes and goes."""
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
        was = statistics.median(sample.uss_mib for sample in earlier)
        now = statistics.median(sample.uss_mib for sample in later)
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
    lines = ["| process | minute | USS, MiB | descriptors | threads |", "|---|---|---|---|---|"]
    for name, samples in rows.items():
        step = max(1, len(samples) // 6)
        for sample in [*samples[::step], samples[-1]]:
            lines.append(f"| {name} | {sample.minute:.1f} | {sample.uss_mib:.0f} | "
                         f"{sample.descriptors} | {sample.threads} |")  # fmt: skip
    return "\n".join(lines)
