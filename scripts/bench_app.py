"""How the app keeps up: start to window, then 60 Hz pictures, 20 records/s, 8 long curves at once.

    python scripts/bench_app.py [--seconds 10]    one JSON object; offscreen without a display

Gaps are what a 1 ms timer on the UI thread sees; paints are the live view's.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
if not os.environ.get("DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
BEGUN = time.perf_counter()

POINTS = 100_000
RECORDS_PER_S = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds

    from PySide6.QtCore import QTimer
    from PySide6.QtTest import QTest

    from gui.app import create_application, create_window

    app = create_application()
    home = Path(tempfile.mkdtemp(prefix="dmglab-bench-"))
    window = create_window(home, "dark")
    window.show()
    app.processEvents()
    start_s = time.perf_counter() - BEGUN

    import numpy as np

    from tests.trainer_core.echo_worker import update_record
    from trainer_core.protocol.frames import FrameInfo, FrameShape, FrameWriter

    writer = FrameWriter(home / "frames.bin", FrameShape(160, 144))
    pictures = np.random.default_rng(1).integers(0, 4, (60, 144, 160), np.uint8)
    run = window.telemetry.run("bench")
    run.take(update_record("bench", 0, 1, 1.0))
    table = run.table
    table._data = np.random.default_rng(2).normal(size=(table._data.shape[0], 2 * POINTS))
    table._length = POINTS
    table.column("env_steps")[:] = np.arange(POINTS) * 2048
    window.telemetry.set_focus("bench")
    window.telemetry_dock.tabs.setCurrentIndex(1)  # eight plots
    window.live.welcome_wanted = False
    window.live.source.open(home / "frames.bin")
    window.live.refresh()
    QTest.qWait(1500)  # pyqtgraph loads with the first curve

    gaps: list[float] = []
    last = [time.perf_counter()]
    frame, seq = [0], [POINTS]

    def probe() -> None:
        now = time.perf_counter()
        gaps.append(now - last[0])
        last[0] = now

    def publish() -> None:
        frame[0] += 1
        picture = pictures[frame[0] % 60].tobytes()
        writer.publish(picture, FrameInfo(frame=frame[0]))

    def record() -> None:
        seq[0] += 1
        window.telemetry.take("bench", update_record("bench", seq[0], seq[0], 1.0))

    timers = []
    for interval, slot in ((1, probe), (16, publish), (1000 // RECORDS_PER_S, record)):
        timer = QTimer(interval=interval)
        timer.timeout.connect(slot)
        timer.start()
        timers.append(timer)
    window.live.screen_view.paints = 0
    redraws = sum(card.redraws for card in window.telemetry_dock.cards.values())
    cpu, wall = time.process_time(), time.perf_counter()
    last[0] = wall
    QTest.qWait(int(seconds * 1000))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    redraws = sum(card.redraws for card in window.telemetry_dock.cards.values()) - redraws
    gaps.sort()
    print(json.dumps({
        "ok": True,
        "start_to_window_s": round(start_s, 2),
        "gap_p99_ms": round(gaps[int(len(gaps) * 0.99)] * 1000, 1),
        "gap_worst_ms": round(gaps[-1] * 1000, 1),
        "paints_per_s": round(window.live.screen_view.paints / wall, 1),
        "pictures_per_s": round(frame[0] / wall, 1),
        "plot_redraws_per_s": round(redraws / wall, 1),
        "cpu_share": round(cpu / wall, 3),
        "load_average": os.getloadavg()[0],
    }))  # fmt: skip
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
