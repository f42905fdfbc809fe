"""Measure how the app keeps up: start to window, then 60 Hz pictures, 20 records/s, 8 long curves at once.

    python scripts/bench_app.py [--seconds 10]    one JSON object; offscreen without a display
    python scripts/bench_app.py --runs 10000      a home of so many runs with long logs
    python scripts/bench_app.py --overlay 250     so many runs of 2,000 points in eight plots: a table

Gaps are what a 1 ms timer on the UI thread sees; paints are the live view's.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
if not os.environ.get("DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
BEGUN = time.perf_counter()

if TYPE_CHECKING:
    from collections.abc import Callable

    from gui.app import App
    from gui.features.curves.card import PlotCard

POINTS = 100_000
RECORDS_PER_S = 20


def main() -> NoReturn:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--overlay", type=int, default=0)
    options = parser.parse_args()
    for room in ("gui", "trainer_core"):  # as pip leaves them, whatever this shell says of .pyc files
        compileall.compile_dir(Path(__file__).resolve().parents[1] / room, quiet=2)
    if options.overlay:
        print(overlay(options.overlay))
    else:
        found = many_runs(options.runs) if options.runs else live(options.seconds)
        print(json.dumps({"ok": True, **found, "load_average": round(os.getloadavg()[0], 1)}))
    sys.stdout.flush()
    os._exit(0)


class Gaps:
    """How long the UI thread was away from its loop, as a 1 ms timer sees it.

    And how much processor time the whole process spent meanwhile: on a loaded computer the gap is
    mostly a queue for a core, on a quiet one it is no longer than that.
    """

    def __init__(self) -> None:
        from PySide6.QtCore import QTimer

        self.found: list[tuple[float, float]] = []
        self._last = self._now()
        self._timer = QTimer(interval=1)
        self._timer.timeout.connect(self._probe)
        self._timer.start()

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    def _probe(self) -> None:
        now = self._now()
        self.found.append((now[0] - self._last[0], now[1] - self._last[1]))
        self._last = now

    def worst(self) -> tuple[float, float]:
        """Return the longest gap since the last call, and the most processor time in one, in seconds."""
        wall, spent = (max(column) for column in zip((0.0, 0.0), *self.found, strict=True))
        self.found, self._last = [], self._now()
        return wall, spent

    def worst_ms(self) -> tuple[float, float]:
        """Return `worst` in milliseconds."""
        wall, spent = self.worst()
        return round(wall * 1000, 1), round(spent * 1000, 1)

    def p99_ms(self) -> float:
        """Return the gap that one of a hundred since the last `worst_ms` was longer than."""
        walls = sorted(wall for wall, _ in self.found)
        return round(walls[int(len(walls) * 0.99)] * 1000, 1)


def many_runs(count: int) -> dict[str, float]:
    """Open a home of `count` runs whose logs are 20 MB each, look around, filter."""
    import psutil

    from tests.support.made_homes import make_home

    home = make_home(Path(tempfile.mkdtemp(prefix="dmglab-bench-")), count, 25_000, 1)
    log_mb = home.run("run-00000").train_log.stat().st_size / 1e6
    begun, spent = time.perf_counter(), time.process_time()

    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    from gui.app import create_application, open_app
    from gui.features.runs.dock import RunsDock
    from gui.state.telemetry import TelemetryModel

    application = create_application()
    app = open_app(home.root, "dark")
    application.processEvents()
    shown, shown_cpu = time.perf_counter() - begun, time.process_time() - spent
    gaps = Gaps()
    QTest.qWait(8000)  # the log in focus is read, every folder is looked through
    settle_ms, settle_cpu_ms = gaps.worst_ms()
    table, box = app[RunsDock].table, app[RunsDock].filter
    for _ in range(10):
        QTest.keyClick(table, Qt.Key.Key_Down)
        QTest.qWait(1000)
    browse_ms, browse_cpu_ms = gaps.worst_ms()
    spent = []
    for text in ("run-0", "run-00", "run-009", "run-0099", "", "finished t"):
        begun = time.perf_counter()
        box.setText(text)
        application.processEvents()
        spent.append(time.perf_counter() - begun)
    return {
        "runs": count,
        "log_mb": round(log_mb, 1),
        "start_to_window_s": round(shown, 2),
        "start_to_window_cpu_s": round(shown_cpu, 2),
        "gap_worst_settling_ms": settle_ms,
        "gap_worst_settling_cpu_ms": settle_cpu_ms,
        "gap_worst_browsing_ms": browse_ms,
        "gap_worst_browsing_cpu_ms": browse_cpu_ms,
        "filter_worst_ms": round(max(spent) * 1000, 1),
        "memory_mb": round(psutil.Process().memory_info().rss / 1e6),
        "runs_in_memory": len(app[TelemetryModel].runs),
    }


def overlay(count: int, points: int = 2000) -> str:
    """Return a table of times for `count` runs in eight plots, of which one grows, and 10,000 in the table of runs."""
    import numpy as np
    from PySide6.QtTest import QTest

    from gui.app import create_application, open_app
    from gui.features.curves.page import load_once
    from gui.features.curves.view import CurvesView
    from gui.features.runs.dock import RunsDock
    from gui.features.runs.model import RunList
    from gui.state.appearance import Appearance
    from gui.state.session import Navigation, Place
    from gui.state.telemetry import TelemetryModel
    from tests.support.made_records import run_record, update_record

    application = create_application()
    app = open_app(Path(tempfile.mkdtemp(prefix="dmglab-bench-")), "dark")
    app.window.resize(1920, 900)
    app[Navigation].leave_welcome()
    app[Navigation].show(Place.CURVES)
    QTest.qWait(500)
    telemetry, names = app[TelemetryModel], [f"run-{number:04}" for number in range(count)]
    rng = np.random.default_rng(1)
    for name in names:
        run = telemetry.run(name)
        run.take(update_record(name, 0, 1, 1.0))
        table = run.table
        table._data = rng.normal(size=(table._data.shape[0], points)).cumsum(axis=1)
        table._length = points
        table.column("env_steps")[:] = np.arange(points) * 2048
        run.next_seq = points
    view, rows = app[CurvesView], []

    def tell(what: str, wanted: str, spent: list[tuple[float, float]], unit: str = "ms", digits: int = 1) -> None:
        """Add a row: the best, and the median, of (wall, processor) times in seconds."""
        scale = 1000 if unit == "ms" else 1
        columns = [[round(scale * value, digits) for value in column] for column in zip(*spent, strict=True)]
        cells = [f"{min(column)} {unit}; {round(median(column), digits)} {unit}" for column in columns]
        rows.append(f"| {what} | {wanted} | {' | '.join(cells)} |")

    def timed(act: Callable[[], object]) -> tuple[float, float]:
        begun, cpu = time.perf_counter(), time.thread_time()
        act()
        return time.perf_counter() - begun, time.thread_time() - cpu

    def seen() -> list:
        return [c for c in view.cards_in_front() if not c.visibleRegion().isEmpty()]

    def until_drawn() -> None:
        QTest.qWait(1)
        while not seen() or any(card.is_stale() for card in seen()):
            QTest.qWait(10)
        application.processEvents()

    def paint(act: Callable[[PlotCard], object]) -> tuple[float, float]:
        """Return the times for each plot in sight to do this and be painted."""

        def every() -> None:
            for card in cards:
                act(card)
                card.canvas.viewport().repaint()

        cards = seen()
        wall, cpu = timed(every)
        return wall / len(cards), cpu / len(cards)

    def switch(name: str) -> None:
        app[Appearance].set_theme(name)
        application.processEvents()

    def grow(step: int) -> None:
        telemetry.take(names[0], update_record(names[0], points + step, points + step, 1.0))
        telemetry.runs[names[0]].table._data[1, points + step] = points * 2048.0  # within the room to grow

    tell("import of PyQtGraph, once", "", [timed(load_once)])
    gaps = Gaps()
    telemetry.set_focus(names[0])
    telemetry.set_pinned(names)
    tell("all plots drawn", "1 s", [timed(until_drawn)], "s", 2)
    tell("longest turn of the loop meanwhile", "33 ms", [gaps.worst()])
    refresh = []
    for step in range(20):
        grow(step)
        refresh.append(paint(lambda card: card.redraw()))
    tell("one run grew, a plot", "8 ms", refresh)
    pictures, turns = sum(card.canvas.pictures for card in seen()), []
    for step in range(20, 40):
        grow(step)
        gaps.worst()
        until_drawn()
        turns.append(gaps.worst())
    tell("longest turn of the loop meanwhile", "33 ms", turns)
    pictures = sum(card.canvas.pictures for card in seen()) - pictures
    moves, sharp, turns = [], [], []
    for step in range(1, 9):
        telemetry.set_x_range((0.0, (points - 20 * step) * 2048.0))
        moves.append(paint(lambda card: None))
        gaps.worst()
        sharp.append(timed(until_drawn))
        turns.append(gaps.worst())
    tell("a move of an axis, a plot", "", moves)
    tell("sharp after a move, all visible plots", "0.3 s", sharp, "s", 2)
    tell("longest turn of the loop meanwhile", "33 ms", turns)
    cross = [paint(lambda card, x=x: telemetry.set_crosshair(2048.0 * x)) for x in range(0, points // 2, 50)]
    tell("a move of the crosshair, a plot", "", cross)
    tell(
        "a run highlighted, a plot", "", [paint(lambda card, n=name: telemetry.set_highlight(n)) for name in names[:10]]
    )
    telemetry.set_highlight("")
    themes = []
    for name in ("light", "dark") * 4:
        themes.append(timed(lambda name=name: switch(name)))
        until_drawn()
    tell("theme switch", "100 ms", themes)
    app[RunList].put_all([run_record(f"run-{number:05}") for number in range(10_000)])
    QTest.qWait(1000)
    texts = ("run-0", "run-00", "run-009", "run-0099", "", "finished t")
    box = app[RunsDock].filter
    tell(
        "10,000 runs filtered",
        "150 ms",
        [timed(lambda t=t: (box.setText(t), application.processEvents())) for t in texts],
    )
    line = lines()
    head = f"{count} runs of {points} points, {len(seen())} plots in sight, pictures made while one grew: {pictures}"
    return "\n".join([
        f"{head}; a line of 1,200 points stroked by Qt {line['stroked']} ms, painted here {line['painted']} ms; "
        f"load {os.getloadavg()[0]:.1f}",
        "| best; median | wanted | wall | processor time of the thread |",
        "|---|---|---|---|",
        *rows,
    ])  # fmt: skip


def lines(points: int = 1200, width: int = 600) -> dict[str, float]:
    """Measure one antialiased line of 1.5 pixels, stroked by Qt and as the app paints it, in ms of processor time."""
    import numpy as np
    from PySide6.QtGui import QColor, QImage, QPainter

    from gui.kit.plot_picture import stroke

    walk = np.random.default_rng(2).normal(size=points).cumsum() * 60 / points**0.5
    places = np.stack([np.linspace(0, width, points), 110 + walk], axis=1)
    image, found = QImage(width, 220, QImage.Format.Format_ARGB32_Premultiplied), {}
    with QPainter(image) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for name, is_file in (("stroked", True), ("painted", False)):
            cpu = time.process_time()
            for _ in range(20):
                stroke(painter, places, QColor("white"), 1.5, is_file=is_file)
            found[name] = round((time.process_time() - cpu) * 50, 2)
    return found


def live(seconds: float) -> dict[str, float]:
    """Measure with 60 pictures and 20 records a second beside eight long curves."""
    from PySide6.QtTest import QTest

    from gui.app import create_app, create_application
    from gui.features.curves.dock import TelemetryDock
    from gui.features.play.live import LiveView

    application = create_application()
    home = Path(tempfile.mkdtemp(prefix="dmglab-bench-"))
    app = create_app(home, "dark")
    app.window.show()
    application.processEvents()
    start_s = time.perf_counter() - BEGUN
    stream = Stream(app, home / "frames.bin")
    QTest.qWait(1000)
    cards, screen = app[TelemetryDock].cards.values(), app[LiveView].screen_view
    screen.paints, redraws = 0, sum(card.redraws for card in cards)
    stream.start()
    gaps, cpu, wall = Gaps(), time.process_time(), time.perf_counter()
    QTest.qWait(int(seconds * 1000))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    p99_ms, (worst_ms, _) = gaps.p99_ms(), gaps.worst_ms()
    return {
        "start_to_window_s": round(start_s, 2),
        "gap_p99_ms": p99_ms,
        "gap_worst_ms": worst_ms,
        "paints_per_s": round(screen.paints / wall, 1),
        "pictures_per_s": round(stream.pictures / wall, 1),
        "plot_redraws_per_s": round((sum(card.redraws for card in cards) - redraws) / wall, 1),
        "cpu_share": round(cpu / wall, 3),
    }


class Stream:
    """A run with eight long curves, and a game: once started, 20 records and 60 pictures a second."""

    def __init__(self, app: App, frames: Path) -> None:
        import numpy as np
        from PySide6.QtCore import QTimer

        from gui.features.curves.dock import TelemetryDock
        from gui.features.play.live import LiveView
        from gui.state.session import Mode, Navigation, Session
        from gui.state.telemetry import TelemetryModel
        from tests.support.made_records import update_record
        from trainer_core.wire.frames import FrameShape, FrameWriter

        self.pictures, self._records = 0, POINTS
        self._shades = np.random.default_rng(1).integers(0, 4, (60, 144, 160), np.uint8)
        self._writer = FrameWriter(frames, FrameShape(160, 144))
        self._telemetry = app[TelemetryModel]
        run = self._telemetry.run("bench")
        run.take(update_record("bench", 0, 1, 1.0))
        table = run.table
        table._data = np.random.default_rng(2).normal(size=(table._data.shape[0], 2 * POINTS))
        table._length = POINTS
        table.column("env_steps")[:] = np.arange(POINTS) * 2048
        self._telemetry.set_focus("bench")
        app[TelemetryDock].tabs.setCurrentIndex(1)  # eight plots
        app[Session].set_mode(Mode.HUMAN)  # the place of the game, not a preview of the next run
        app[Navigation].leave_welcome()
        app[Navigation].show_dock("telemetryDock")
        app[LiveView].source.open(frames)
        app[LiveView].refresh()
        self._timers = [QTimer(interval=16), QTimer(interval=1000 // RECORDS_PER_S)]
        self._timers[0].timeout.connect(self._publish)
        self._timers[1].timeout.connect(self._record)

    def start(self) -> None:
        for timer in self._timers:
            timer.start()

    def _publish(self) -> None:
        from trainer_core.wire.frames import FrameInfo

        self.pictures += 1
        self._writer.publish(self._shades[self.pictures % 60].tobytes(), FrameInfo(frame=self.pictures))

    def _record(self) -> None:
        from tests.support.made_records import update_record

        self._records += 1
        self._telemetry.take("bench", update_record("bench", self._records, self._records, 1.0))


if __name__ == "__main__":
    main()
