"""Plot card: a header with the plot's title and current values, above a canvas with its curves."""

from __future__ import annotations

import math
import time
from collections.abc import Container

from PySide6.QtCore import QMimeData, QPoint, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QDrag,
    QDragEnterEvent,
    QDropEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from gui.features.curves.card_scenes import CardScenes, eval_color
from gui.features.curves.plots import PlotSpec
from gui.features.curves.scene import PlotLines, greedy_results
from gui.kit import theme
from gui.kit.labels import ElidedLabel
from gui.kit.object_names import PLOT_PREFIX
from gui.kit.painting import PLACEHOLDER, guarded
from gui.kit.plot_canvas import LEFT, RIGHT, PlotCanvas
from gui.kit.plot_shapes import Scene, short_number
from gui.kit.words import tr
from gui.state.metric_series import CLOCK
from gui.state.run_words import without_middle
from gui.state.telemetry import TelemetryModel

WAITING = "Waiting for the first update, usually 5 to 20 s"
NOTHING = "Start a run, or pick one under Runs"
UNMEASURED = "No run on show measures this"
LONGEST = 36
"""Most characters of a run's name beside the crosshair."""
ROOM_A_VALUE = 96
"""Header width in pixels per line of the plot, below which names are shown without values."""
NEAR_ALERT = 0.01
"""Distance from the crosshair, as a share of the x axis, within which an alert is named."""
MOST_NAMED = 8
"""Most runs named beside the title in an exported picture."""
WIDEST_TITLE = 0.6
"""Largest share of the header's width for the title; the values get the rest."""
PLOT_MIME = "application/x-dmglab-plot"

STEPS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1)}


class PlotCard(QWidget):
    hovered = Signal(object)
    """x value under the pointer; None after the pointer left the plot."""
    zoomed = Signal(float, float)
    maximise_wanted = Signal()
    menu_wanted = Signal(QPoint)
    dropped = Signal(str)
    """Metric of another plot that was dragged and dropped onto this one."""
    focused = Signal()
    stepped = Signal(int, int)  # plots across and down, by an arrow key

    def __init__(self, spec: PlotSpec, model: TelemetryModel) -> None:
        super().__init__()
        self.spec, self.model = spec, model
        self.log_y = False
        self.can_move = False
        """True if the user may drag the title to move the plot."""
        self.redraws = 0
        self._scenes = CardScenes(spec, model)
        self._drawn: object = None
        self._pending: tuple[object, Scene] | None = None
        """Key of the state on show, and its scene, while that is painted in several calls; else None."""
        self._begun: object = None
        """Key of the state that the last `redraw` began to draw; `_shown_range` is its range of x."""
        self._shown_range = (0.0, 1.0)
        self._hover: float | None = None
        self._press: QPoint | None = None
        self.setObjectName(PLOT_PREFIX + spec.metric)
        self.setAccessibleName(tr("Plot of {title}", title=spec.title))
        self.setMinimumHeight(74)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAcceptDrops(True)
        self._build()

    def _build(self) -> None:
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(12, 0, 12, 0)
        self._title = ElidedLabel(self.spec.title, mode=Qt.TextElideMode.ElideMiddle)
        self._title.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self._title.setToolTip("\n".join(filter(None, (self.spec.title, self.spec.help))))
        self.values = QLabel()
        self.values.setTextFormat(Qt.TextFormat.RichText)
        self.values.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.values.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        head.addWidget(self._title)
        head.addWidget(self.values, 1)
        column.addLayout(head)
        self._stack = QStackedWidget()
        self._empty = ElidedLabel(tr(NOTHING), "muted")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.canvas = PlotCanvas()
        self.canvas.hovered.connect(self.hovered)
        self.canvas.zoomed.connect(self.zoomed)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.canvas)
        column.addWidget(self._stack, 1)

    @property
    def _lines(self) -> PlotLines:
        return self._scenes.lines

    def show_spec(self, spec: PlotSpec) -> None:
        """Replace the plot's list of metrics, for example when another run has other tasks."""
        if spec != self.spec:
            self.spec = spec
            self._scenes.show_spec(spec)
            self._drawn = None

    def shows_any(self, measured: Container[str]) -> bool:
        """Return whether one of the card's metrics is in `measured`."""
        return any(metric in measured for metric, _ in self.spec.lines)

    def set_file_size(self, width: int, height: int) -> None:
        """Resize a card that is not in a window, for painting it into a file of `width` x `height` pixels."""
        self.resize(width, height)
        self._column.activate()
        # Qt lays out only the visible page of a stack.
        self.canvas.setGeometry(self._stack.rect())

    def show_axis(self) -> None:
        """Show the labels of the x axis below this plot."""
        self.canvas.has_axis = True

    # -- drawing ----------------------------------------------------------------------------

    def is_stale(self) -> bool:
        return self._key() != self._drawn

    def _key(self) -> object:
        model = self.model
        view = (
            model.x_axis,
            model.smoothing,
            model.smoothing_kind,
            model.x_range,
            model.trims_outliers,
            theme.current().name,
            self.log_y,
        )
        size = (self._stack.width(), self._stack.height(), self.devicePixelRatioF())
        return model.state_shown(), view, model.waits.get(model.focus), size

    def redraw(self, deadline: float = math.inf) -> bool:
        """Draw the current records of the runs on show.

        Return False when `deadline`, a time of `time.perf_counter`, passed before the end; the next call continues.
        """
        key = self._key()
        if self._pending is None or self._pending[0] != key:
            self._pending = None
            if self._begun != key:  # else this call continues the same attempt
                self._begun = key
                runs = self._lines.find_runs()
                self._shown_range = self._scenes.x_range(runs) if runs else (0.0, 1.0)
            runs, x_range = self._lines.runs, self._shown_range
            if not runs:
                self._show_nothing(key)
                return True
            self._stack.setCurrentWidget(self.canvas)
            columns = max(64, self._stack.width() - LEFT - RIGHT)
            if not self._lines.compute(runs, *x_range, columns, deadline):
                return False
            scene = self._scenes.make(runs, x_range, self._stack.width(), log_y=self.log_y)
            self._pending = (key, scene)
        if not self.canvas.show_scene(self._pending[1], deadline):
            return False
        self._drawn, self._pending = key, None
        self.redraws += 1
        self._write_values()
        return True

    def give_up(self) -> None:
        """Show a placeholder after an error in drawing, until the plot's data or size change."""
        self._drawn, self._pending = self._key(), None
        self._empty.setText(tr(PLACEHOLDER))
        self._stack.setCurrentWidget(self._empty)
        self.values.clear()

    def _show_nothing(self, key: object) -> None:
        self._scenes.forget()
        self._drawn = key
        waiting = self.model.waits.get(self.model.focus) or tr(WAITING)
        if any(run.table.names for run in self.model.entries()):
            waiting = tr(UNMEASURED)
        self._empty.setText(waiting if self.model.focus else tr(NOTHING))
        self._stack.setCurrentWidget(self._empty)
        self.values.clear()

    # -- values and crosshair ---------------------------------------------------------------

    def set_hover(self, x: float | None, *, tell: bool = False) -> None:
        """Put the crosshair at x, or remove it for None.

        With `tell`, list each run's value beside it.
        """
        if x is None and self._hover is None:
            return
        self._hover = x
        self.canvas.set_hover(x, self._legend_at(x) if tell and x is not None else ())
        self._write_values()

    def _legend_at(self, x: float) -> tuple[tuple[QColor, str], ...]:
        muted = QColor(theme.current().muted)
        unit = {"env_steps": tr("step"), "update": tr("update")}.get(self.model.x_axis, tr("second"))
        place = self._place(x)
        head = (muted, place if self.model.x_axis == CLOCK else f"{unit} {place}")
        rows = self._lines.rows_at(x)
        first, last = self._scenes.x_range(self._lines.runs)
        near = (last - first or 1.0) * NEAR_ALERT
        alerts = self._lines.runs[0].alerts if self._lines.runs else []
        told = (
            tuple(
                (QColor(theme.current().bad), f"{alert.title}, {alert.text}")
                for alert in alerts
                if abs(alert.env_steps - x) < near
            )
            if self.model.x_axis == "env_steps"
            else ()
        )
        return (
            head,
            *told,
            *(
                (
                    self._scenes.color_of(run, line),
                    f"{without_middle(name, LONGEST)}  {short_number(value)}{_edges(band)}",
                )
                for run, line, name, value, band in rows
            ),
            *self._ended_before(x),
        )

    def _ended_before(self, x: float) -> list[tuple[QColor, str]]:
        """Return (colour, text) for each run that ended before x, with its last value; empty for a plot of one run."""
        lines, found = self._lines, []
        _, metric, line = lines.shown_lines()[0]
        for run in lines.runs if len(lines.runs) > 1 else ():
            if (last := lines.last_before(run, metric, x)) is not None:
                name = self.model.label(run.run_id)
                name = without_middle(f"{name} {line}" if self.spec.lines[1:] else name, LONGEST)
                words = tr(
                    "{name}  {value}, until {place}", name=name, value=short_number(last[1]), place=self._place(last[0])
                )
                found.append((QColor(theme.current().muted), words))
        return found

    def _place(self, x: float) -> str:
        if self.model.x_axis == CLOCK:
            return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(x))
        return f"{x:,.0f}"

    def readout(self) -> dict[str, float]:
        """Return the first run's values by line name, at the crosshair or else the newest ones."""
        return {name: value for _, name, value in self._measured()}

    def _measured(self) -> list[tuple[int, str, float]]:
        """Return (index of the line in the plot, line name, value) for each value of `readout`."""
        runs = self._lines.runs
        found = [
            (place, name, self._lines.value_at(runs[0], metric, self._hover))
            for place, metric, name in (self._lines.shown_lines() if runs else ())
        ]
        return [(place, name, value) for place, name, value in found if value is not None]

    def _write_values(self) -> None:
        found, runs = self._measured(), self._lines.runs
        metrics, wanted = self.values.fontMetrics(), self._title.sizeHint().width()
        title = min(wanted, round(self.width() * WIDEST_TITLE))
        room = left = self.width() - 32 - title
        if len(found) == 1:
            room = ROOM_A_VALUE  # one value always fits
        parts: list[str] = []
        first = next(iter(self.spec.lines))[0]
        if self.spec.evals and any(greedy_results(run, first) for run in runs):
            is_one = self._lines.is_alone and "/" not in first
            color = eval_color() if is_one else QColor(theme.current().muted)
            words = f"\u25cf {tr('validation')}"
            if metrics.horizontalAdvance(words) > left - ROOM_A_VALUE * len(found):
                words = "\u25cf"  # the dots in the plot have this colour
            parts.append(_colored(words, color.name()))
            left -= metrics.horizontalAdvance(words) + 10
        names = len(parts)
        for line, name, value in found:
            color = theme.current().text
            if self._lines.is_alone and len(self.spec.lines) > 1:
                color = self._scenes.color_of(0, line).name()
            words = [name] if len(self.spec.lines) > 1 else []
            words += [short_number(value)] if room >= ROOM_A_VALUE * len(found) else []
            left -= metrics.horizontalAdvance(" ".join(words)) + 10
            if left < 0 and len(parts) > names:  # the crosshair names them all
                parts.append("&#8230;")
                break
            parts.append(_colored(" ".join(words), color))
        used = min(self.width() - 32 - title - left, ROOM_A_VALUE)
        needed = used if title < wanted and parts else 0
        if self.values.minimumWidth() != needed:  # a very long title would take the whole header
            self.values.setMinimumWidth(needed)
        self.values.setText("&nbsp; ".join(parts))

    def recolor(self) -> None:
        """Mark the plot for a redraw in the colours of the new theme."""
        self.canvas.update()

    # -- files ------------------------------------------------------------------------------

    def legend(self) -> list[tuple[QColor, str]]:
        """Return (colour, name) of the first MOST_NAMED runs of the plot, for an exported picture."""
        runs = self._lines.runs
        return [
            (self._scenes.color_of(index, 0), self.model.label(run.run_id))
            for index, run in enumerate(runs[:MOST_NAMED])
        ]

    def to_csv(self) -> str:
        """Return every point of the plot's curves as CSV, including points that are not drawn."""
        return self._lines.to_csv()

    # -- keys and the mouse on the card -----------------------------------------------------

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit()
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint a bar beside the title while the card has the keyboard focus."""
        if self.hasFocus():
            with QPainter(self) as painter:
                painter.fillRect(5, 6, 3, self._title.height() - 3, QColor(theme.current().accent))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if step := STEPS.get(Qt.Key(event.key())):
            self.stepped.emit(*step)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or (
            event.key() == Qt.Key.Key_Escape and not self.can_move
        ):
            self.maximise_wanted.emit()
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.maximise_wanted.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        is_left = event.button() == Qt.MouseButton.LeftButton
        self._press = event.position().toPoint() if is_left and self.can_move else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None:
            return
        distance = (event.position().toPoint() - self._press).manhattanLength()
        if distance >= QApplication.startDragDistance():
            self._press = None
            drag, carried = QDrag(self), QMimeData()
            carried.setData(PLOT_MIME, self.spec.metric.encode())
            drag.setMimeData(carried)
            drag.setPixmap(self.grab().scaledToWidth(160))
            drag.exec(Qt.DropAction.MoveAction)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self.can_move and event.mimeData().hasFormat(PLOT_MIME):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.dropped.emit(bytes(event.mimeData().data(PLOT_MIME).data()).decode())
        event.acceptProposedAction()


def _colored(words: str, color: str) -> str:
    """Return rich text (HTML) that shows `words` in `color`, without line breaks."""
    return f'<span style="color:{color}">{words.replace(" ", "&nbsp;")}</span>'


def _edges(band: tuple[float, float] | None) -> str:
    if band is None:
        return ""
    return "  " + tr("{low} to {high}", low=short_number(band[0]), high=short_number(band[1]))
