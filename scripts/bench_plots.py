"""Time one plot of 250 runs by our canvas and by pyqtgraph, the same decimated points (ADR 12).

pip install --target /tmp/pg pyqtgraph colorama
python scripts/bench_plots.py /tmp/pg        one JSON object, CPU milliseconds
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from PySide6.QtWidgets import QApplication

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
from gui.app import create_application
from gui.kit import theme
from gui.kit.plot_canvas import PlotCanvas
from gui.kit.plot_shapes import Curve, Scene
from gui.state.metric_series import decimate

RUNS, POINTS, WIDTH, HEIGHT, REFRESHES = 250, 2000, 900, 480, 10
X_RANGE = (0.0, POINTS * 2048.0)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    create_application()
    values = np.random.default_rng(1).normal(size=(RUNS, POINTS)).cumsum(axis=1)
    steps = np.arange(POINTS, dtype=np.float64) * 2048
    y_range = (float(values.min()), float(values.max()))

    def points(run: int) -> Any:
        return decimate(steps, values[run], *X_RANGE, WIDTH)

    found = {"ours": _ours(points, y_range)}
    sys.path.append(sys.argv[1])
    begun = time.process_time()
    import pyqtgraph  # type: ignore[import-not-found]

    found["pyqtgraph"] = {"import_ms": _ms(time.process_time() - begun)}
    found["pyqtgraph"] |= _theirs(pyqtgraph, points, y_range)
    print(json.dumps({"ok": True, **found, "load_average": round(os.getloadavg()[0], 1)}))
    sys.stdout.flush()
    os._exit(0)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _cost(act: Callable[[], object]) -> float:
    begun = time.process_time()
    act()
    return time.process_time() - begun


def _ours(points: Callable[[int], Any], y_range: tuple[float, float]) -> dict[str, float]:
    canvas = PlotCanvas()
    canvas.resize(WIDTH, HEIGHT)
    canvas.show()
    QApplication.processEvents()
    curves: list[Curve] = []

    def show() -> None:
        canvas.show_scene(Scene(tuple(curves), X_RANGE, y_range))
        canvas.repaint()
        QApplication.processEvents()

    def draw() -> None:
        curves[:] = [
            Curve(run, "", x, y, theme.curve_color(run)) for run, (x, y) in enumerate(map(points, range(RUNS)))
        ]
        show()

    def refresh() -> None:
        x, y = points(0)
        curves[0] = Curve(0, "", x, y, curves[0].color)
        show()

    first = _cost(draw)
    return {"first_ms": _ms(first), "refresh_ms": _ms(median(_cost(refresh) for _ in range(REFRESHES)))}


def _theirs(pg: Any, points: Callable[[int], Any], y_range: tuple[float, float]) -> dict[str, float]:
    plot = pg.PlotWidget()
    plot.resize(WIDTH, HEIGHT)
    plot.show()
    QApplication.processEvents()
    curves: list[Any] = []

    def draw() -> None:
        for run in range(RUNS):
            pen = pg.mkPen(theme.curve_color(run), width=1)
            curves.append(pg.PlotCurveItem(*points(run), pen=pen))
            plot.addItem(curves[-1])
        plot.setXRange(*X_RANGE, padding=0)
        plot.setYRange(*y_range, padding=0)
        plot.viewport().repaint()
        QApplication.processEvents()

    def refresh() -> None:
        curves[0].setData(*points(0))
        plot.viewport().repaint()
        QApplication.processEvents()

    first = _cost(draw)
    return {"first_ms": _ms(first), "refresh_ms": _ms(median(_cost(refresh) for _ in range(REFRESHES)))}


if __name__ == "__main__":
    sys.exit(main())
