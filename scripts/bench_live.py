"""Time *Deploy* to the first picture, then count a game's paints while a training streams.

    python scripts/bench_live.py --home HOME [--seconds 10] [--cold 5]    one JSON object; needs a checkpoint

With --cold, no player has loaded ahead; that many turns are timed, before the training and beside it.
The player and the trainer are real processes on the same cores; offscreen without a display. The
worst gap is what a 1 ms timer on the UI thread sees while both run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from bench_first_point import until

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
if not os.environ.get("DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtCore import QTimer

from gui.app import App, create_application, open_app
from gui.features.checkpoints.controller import CheckpointsController
from gui.features.play.ahead import PLAYER_AHEAD, PlayAhead
from gui.features.play.controller import PlayController
from gui.features.play.live import LiveView
from gui.features.train.controller import TrainingController
from gui.kit.settings import Settings
from gui.shell.shutdown import Shutdown
from gui.state.checkpoints import CheckpointList
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.run_record import RunState


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--cold", type=int, default=0)
    options = parser.parse_args()
    create_application()
    app = open_app(options.home, "dark")
    playing, cards = app[PlayController], app[CheckpointList]
    view = app[LiveView].screen_view
    until(lambda: any(card.integrity == "verified" for card in cards.cards))
    cards.select(max(cards.cards, key=lambda card: card.created_at).folder)
    until(lambda: playing.player.ahead.is_waiting)
    until(lambda: app[CheckpointsController].refusal() == "")
    waiting = playing.player.ahead
    until(lambda: has_loaded(waiting))
    begun = time.monotonic()
    app.actions["deploy"].trigger()
    until(lambda: playing.picture is not None and view.paints)
    found: dict[str, object] = {"deploy_s": round(time.monotonic() - begun, 2)}
    if options.cold:
        found["cold_deploy_s"] = cold_turns(app, options.cold)
    training = app[TrainingController]
    training.prepare_demo()
    until(lambda: training.checks and not training.checking)
    training.start_demo()
    until(lambda: training.state is RunState.RUNNING)
    records = app[TelemetryModel]
    until(lambda: records.focus)
    if options.cold:
        found["cold_deploy_beside_training_s"] = cold_turns(app, options.cold)
    gaps, last = [], [time.monotonic()]

    def tick() -> None:
        now = time.monotonic()
        gaps.append(now - last[0])
        last[0] = now

    probe = QTimer(app, interval=1)
    probe.timeout.connect(tick)
    for name, is_on in (("with training", False), ("with training and saliency", True)):
        if is_on:
            app.actions["saliency"].trigger()
            until(lambda: view._overlay is not None)
        gaps.clear()
        last[0] = time.monotonic()
        probe.start()
        first, paints, frame = time.monotonic(), view.paints, app[LiveView].source.seq
        until(lambda first=first: time.monotonic() - first >= options.seconds)
        elapsed = time.monotonic() - first
        probe.stop()
        found[name] = {
            "paints_a_second": round((view.paints - paints) / elapsed, 1),
            "frames_a_second": round((app[LiveView].source.seq - frame) / elapsed, 1),
            "worst_gap_ms": round(max(gaps) * 1000, 1),
        }
    print(json.dumps({**found, "load": round(os.getloadavg()[0], 1)}), flush=True)
    app.bridge.spawn(app.bridge.service.stop(training.run_id))
    until(lambda: training.state.is_end)
    app[Shutdown].begin()
    until(lambda: app[Shutdown].has_ended)
    os._exit(0)


def cold_turns(app: App, turns: int) -> list[float]:
    """Return the seconds from Deploy to the painted picture, each turn without a player and without one ahead."""
    playing, view, taken = app[PlayController], app[LiveView].screen_view, []
    app[Settings].set(PLAYER_AHEAD, False)
    app[PlayAhead].end()
    for _ in range(turns):
        playing.stop()
        until(lambda: not playing.is_active and playing.picture is None and not playing.player.ahead.is_waiting)
        begun = time.monotonic()
        app.actions["deploy"].trigger()
        until(lambda: playing.picture is not None)
        paints = view.paints
        until(lambda paints=paints: view.paints > paints)
        taken.append(round(time.monotonic() - begun, 2))
        until(lambda: playing.is_active and not playing.busy)
    app[Settings].set(PLAYER_AHEAD, True)
    return taken


def has_loaded(ahead) -> bool:
    """Return whether the waiting player has burnt the seconds that torch and the kernels take."""
    process = psutil.Process(ahead._child.pid)
    before = sum(process.cpu_times()[:2])
    time.sleep(0.5)
    return before > 1.0 and sum(process.cpu_times()[:2]) - before < 0.02


if __name__ == "__main__":
    main()
