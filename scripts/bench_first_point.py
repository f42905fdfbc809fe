"""Time the way from *Start training* to the first point of a curve: the demo's form, a fresh home.

    python scripts/bench_first_point.py [--ahead]    one JSON object; offscreen without a display

With `--ahead` a worker has loaded while the form was open. Seconds since the click.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
if not os.environ.get("DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
from PySide6.QtTest import QTest

from gui.app import create_app, create_application
from gui.features.curves.dock import TelemetryDock
from gui.features.train.ahead import WORKER_AHEAD
from gui.features.train.controller import TrainingController
from gui.kit.settings import Settings

LONGEST_S = 300.0


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONGEST_S
    while not condition():
        assert time.monotonic() < deadline
        QTest.qWait(2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ahead", action="store_true")
    is_ahead = parser.parse_args().ahead
    application = create_application()
    app = create_app(Path(tempfile.mkdtemp(prefix="dmglab-bench-")), "dark")
    app[Settings].set(WORKER_AHEAD, is_ahead)
    app.window.show()
    training, waiting = app[TrainingController], app.bridge.service.ahead
    training.prepare_demo()
    until(lambda: training.checks and not training.checking)
    if is_ahead:
        until(lambda: waiting._said is not None and waiting._said.detail == "loaded")
    application.processEvents()
    marks: dict[str, float] = {}
    begun = time.monotonic()

    def mark(run_id: str, event: object) -> None:
        name = " ".join([type(event).__name__, str(getattr(event, "detail", ""))]).strip()
        marks.setdefault(name, round(time.monotonic() - begun, 2))

    app.bridge.event_received.connect(mark)
    training.start_demo()
    card = app[TelemetryDock].cards["reward_mean"]
    until(lambda: card.redraws and card._stack.currentWidget() is card.canvas)
    marks["first point"] = round(time.monotonic() - begun, 2)
    load = round(os.getloadavg()[0], 1)
    print(json.dumps({"ok": True, "ahead": is_ahead, **marks, "load_average": load}), flush=True)
    app.bridge.spawn(app.bridge.service.stop(training.run_id))
    until(lambda: training.state.is_end)
    os._exit(0)


if __name__ == "__main__":
    main()
