"""Plot card: a header with the plot's title, line and values, above a canvas with its curves; mouse and keys."""

from __future__ import annotations

import math
import time
from collections.abc import Container
from types import ModuleType
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QMimeData, QPoint, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QDrag,
    QDragEnterEvent,
    QDropEvent,
    QEnterEvent,
    QFocusEvent,
    QFont,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.features.curves.card_moves import CardMoves, is_taken
from gui.features.curves.card_scenes import CardScenes
from gui.features.curves.card_tools import Acts, CardTools
from gui.features.curves.plots import PlotSpec
from gui.features.curves.scene import ALL, PlotLines, greedy_results
from gui.kit import theme
from gui.kit.labels import ElidedLabel, icon_button, label
from gui.kit.object_names import PLOT_PREFIX
from gui.kit.painting import PLACEHOLDER, guarded
from gui.kit.plot_shapes import CROWD, Scene, tick_rows, value_text
from gui.kit.words import number, tr
from gui.state.run_progress import HELD_OUT
from gui.state.telemetry import TelemetryModel

if TYPE_CHECKING:
    from gui.kit.plot_canvas import FilePlot, PlotCanvas

WAITING = "Waiting for the first update, usually 5 to 20 s"
NOTHING = "Start a run, or select one under Runs"
UNMEASURED = "No shown run has this metric"
NEAR_ALERT = 0.01
"""Distance from the crosshair, as a share of the x axis, within which an alert is named."""
PLOT_MIME = "application/x-dmglab-plot"
HEAD, ROOM_BELOW = 24, 28
"""Pixels of the header, and around the view below it."""
NAME_WIDTHS = {600: 176, 520: 168, 380: 136}
"""Pixels for names beside the plot, by the least width of the card; a narrower one has its values in the header."""


def load_plots() -> ModuleType:
    """Return the module of plots; the first call imports PyQtGraph."""
    from gui.kit import plot_canvas

    return plot_canvas


def why_empty(model: TelemetryModel) -> str:
    """Return the text of a plot without data."""
    if any(run.table.names for run in model.entries()):
        return tr(UNMEASURED)
    if model.is_loading(model.focus):
        return ""
    return (model.waits.get(model.focus) or tr(WAITING)) if model.focus else tr(NOTHING)


class PlotCard(QWidget):
    pointed = Signal(str)
    """Run whose curve or name is under the pointer; empty for none."""
    maximise_wanted = Signal()
    menu_wanted = Signal(QPoint)
    export_wanted = Signal(QPoint)
    line_chosen = Signal(str)
    """Metric of the line to show, or ALL."""
    log_wanted = Signal()
    dropped = Signal(str)
    """Metric of another plot that was dragged and dropped onto this one."""
    focused = Signal()

    def __init__(self, spec: PlotSpec, model: TelemetryModel, *, has_names: bool = False) -> None:
        super().__init__()
        self.spec, self.model = spec, model
        self.has_names = has_names
        """True if names and values stand beside the plot where it is wide enough, not in the header."""
        self.log_y = self.has_axis = self.can_move = False
        """Logarithmic y axis; labels below the x axis; the user may drag the title to move the plot."""
        self.redraws = 0
        self.drawn_at = 0.0
        """Time of `time.perf_counter` at the end of the last redraw."""
        self.canvas: PlotCanvas | None = None
        """Made by the first `redraw` with data, since it loads PyQtGraph."""
        self.tools: CardTools | None = None
        self._scenes = CardScenes(spec, model)
        self._moves = CardMoves(model, spec.metric)
        self._drawn: object = None
        self._pending: tuple[object, Scene] | None = None
        """Key of the state on show, and its scene, while that is painted in several calls; else None."""
        self._begun: object = None
        """Key of the state that the last `redraw` began to draw; `_shown_range` is its range of x."""
        self._shown_range = (0.0, 1.0)
        self._press: QPoint | None = None
        self.setObjectName(PLOT_PREFIX + spec.metric)
        self.setAccessibleName(tr("Plot of {title}", title=spec.title))
        self.setMinimumHeight(74)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAcceptDrops(True)
        self._build()

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        head = QWidget()
        head.setFixedHeight(HEAD)
        self.head = QHBoxLayout(head)
        self.head.setContentsMargins(12, 0, 8, 0)
        self.head.setSpacing(6)
        self._title = ElidedLabel(self.spec.title, mode=Qt.TextElideMode.ElideMiddle)
        font = QFont()
        font.setWeight(QFont.Weight.DemiBold)
        self._title.setFont(font)
        self._title.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.picker = icon_button("down", tr("Another line of the plot"))
        self.picker.setIconSize(QSize(12, 12))
        self.picker.setFixedSize(20, 20)
        self.picker.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.picker.clicked.connect(self._pick)
        self.picker.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.caption = label("", "muted")
        self.caption.setMinimumWidth(1)
        self.values = QLabel()
        self.values.setTextFormat(Qt.TextFormat.RichText)
        self.values.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for widget in (self._title, self.picker, self.caption):
            self.head.addWidget(widget)
        self.head.addStretch(1)
        self.head.addWidget(self.values)
        column.addWidget(head)
        self._stack = QStackedWidget()
        self._empty = ElidedLabel(why_empty(self.model), "muted")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack.addWidget(self._empty)
        column.addWidget(self._stack, 1)
        self._show_title()

    def _show_title(self) -> None:
        self._title.setText(self.spec.title)
        self._title.setToolTip(
            "\n".join(filter(None, (self.spec.title, self.spec.help, tr(HELD_OUT) if self.spec.evals else "")))
        )
        self.picker.setVisible(len(self.spec.lines) > 1)

    def _make_canvas(self) -> PlotCanvas:
        made = load_plots().PlotCanvas()
        made.hovered.connect(self._on_hovered)
        made.pointed.connect(self.pointed)
        made.more_clicked.connect(self._list_runs)
        made.view.asked.connect(self._on_asked)  # a function that holds the card would let the view delete it
        made.view.fitted.connect(self._moves.fit)
        self._stack.addWidget(made)
        return made

    @property
    def _lines(self) -> PlotLines:
        return self._scenes.lines

    def show_spec(self, spec: PlotSpec) -> None:
        """Replace the plot's list of metrics, for example when another run has other tasks."""
        if spec != self.spec:
            self.spec = spec
            self._scenes.show_spec(spec)
            self._show_title()
            self._drawn = None

    def show_choices(self, line: str, *, is_log: bool) -> None:
        """Show the chosen line of the plot (a metric, ALL, or "" for the usual one) on this kind of axis."""
        self._lines.picked, self.log_y = line, is_log

    def shows_any(self, measured: Container[str]) -> bool:
        """Return whether one of the card's metrics is in `measured`."""
        return any(metric in measured for metric, _ in self.spec.lines)

    def show_axis(self) -> None:
        """Show the labels of the x axis below this plot."""
        self.has_axis = True

    # -- drawing ----------------------------------------------------------------------------

    def is_stale(self) -> bool:
        return self._key() != self._drawn

    def _key(self) -> object:
        model = self.model
        view = (
            (model.x_axis, model.x_range, model.y_ranges.get(self.spec.metric), model.log_x, self.log_y),
            (model.smoothing, model.smoothing_kind, model.trims_outliers, self._lines.picked),
            (self._scenes.theme_name(), self.has_axis, self.spec),
        )
        size = (self._stack.width(), self._stack.height(), self.devicePixelRatioF())
        return model.state_shown(), view, model.waits.get(model.focus), size

    def names_width(self) -> int:
        """Return the pixels beside the plot for names and values; 0 where they do not fit."""
        return next((room for least, room in NAME_WIDTHS.items() if self.has_names and self.width() >= least), 0)

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
            if not self._lines.runs:
                self._show_nothing(key)
                return True
            if self.canvas is None:
                self.canvas = self._make_canvas()
                if time.perf_counter() > deadline:
                    return False
            self._stack.setCurrentWidget(self.canvas)
            scene = self.scene(self._stack.width(), self._stack.height(), deadline)
            if scene is None:
                return False
            self._pending = (key, scene)
        assert self.canvas is not None
        self.canvas.set_look(self.names_width(), has_axis=self.has_axis)
        if not self.canvas.show_scene(self._pending[1], deadline):
            return False
        self._drawn, self._pending = key, None
        self.redraws += 1
        self.drawn_at = time.perf_counter()
        if self.model.highlight:
            self.show_highlight()
        else:
            self.show_crosshair()
        return True

    def scene(self, width: int, height: int, deadline: float = math.inf) -> Scene | None:
        """Return what a canvas of this size shows; None when `deadline` passed before it was computed."""
        runs, x_range, columns = self._lines.runs, self._shown_range, self._columns(width)
        if not self._lines.compute(runs, *x_range, columns, deadline):
            return None
        rows = tick_rows(height - ROOM_BELOW)
        return self._scenes.make(runs, x_range, columns, rows, log_y=self.log_y)

    def _columns(self, width: int) -> int:
        """Return the columns to which curves are reduced: pixels, or pairs of them in a crowd on the screen."""
        is_crowd = self.canvas is not None and len(self._lines.runs) > CROWD
        return max(64, width - 60 - self.names_width()) // (1 + is_crowd)

    def file_plot(self, width: int, height: int, theme_name: str = "") -> FilePlot | None:
        """Return the plot of a new card, which is in no window, for a file in this theme; None without data."""
        self.resize(width, height)
        self._scenes.theme = theme_name
        if not (runs := self._lines.find_runs()):
            return None
        self._shown_range = self._scenes.x_range(runs)
        made = load_plots().FilePlot(self.names_width(), width, height - HEAD)
        scene = self.scene(width, height - HEAD)
        assert scene is not None
        made.show_scene(scene)
        return made

    def give_up(self) -> None:
        """Show a placeholder after an error in drawing, until the plot's data or size change."""
        self._show_words(self._key(), tr(PLACEHOLDER))

    def _show_nothing(self, key: object) -> None:
        self._scenes.forget()
        self._show_words(key, why_empty(self.model))

    def _show_words(self, key: object, words: str) -> None:
        self._drawn, self._pending = key, None
        self._empty.setText(words)
        self._stack.setCurrentWidget(self._empty)
        self.values.clear()
        self.caption.clear()

    def _on_asked(self, x: tuple[float, float] | None, y: tuple[float, float] | None) -> None:
        if self.canvas is not None:
            self._moves.ask(self.canvas.shown, x, y)

    # -- values, crosshair, highlight -------------------------------------------------------

    def _on_hovered(self, x: float | None) -> None:
        if x is None:
            self.model.set_crosshair(None)
        else:
            self.model.set_crosshair(self._lines.nearest_record(x), self._lines.pointed())

    def show_crosshair(self) -> None:
        """Put the crosshair where that of all plots is, with the value of each line there."""
        if self.canvas is not None:
            x, owners = self.model.crosshair, self.canvas.named()
            self.canvas.set_crosshair(x, {} if x is None else self._scenes.values_at(x, owners))
        self._write_values()

    def show_highlight(self) -> None:
        """Fade every curve but that of the run that the pointer or the keyboard is at."""
        if self.canvas is not None:
            run_id = self.model.highlight
            columns = self._columns(self._stack.width())
            self.canvas.set_highlight(run_id, self._scenes.raw_curves(run_id, columns) if run_id else ())
        self.show_crosshair()  # its name may have come, which needs its value

    def readout(self) -> dict[str, float]:
        """Return the first run's values by line name, at the crosshair or else at the ends of its lines."""
        runs = self._lines.runs
        found = {
            name: self.model.value_at(runs[0], metric, self.model.crosshair)
            for _, metric, name in (self._lines.shown_lines() if runs else ())
        }
        return {name: value for name, value in found.items() if value is not None}

    def _write_values(self) -> None:
        """Write what the line is into the caption, and the values into the header unless they stand beside the plot.

        Without a crosshair the success on held-out starts is the only number, since it is the one that counts.
        """
        found, lines, every = self.readout(), self._lines, self._lines.shown_lines()
        colors, parts = theme.current(), []
        results = greedy_results(lines.runs[0], every[0][1]) if self.spec.evals and lines.runs else []
        has_dots = bool(results) and not self.names_width()
        counts = has_dots and self.model.crosshair is None
        self.caption.setText(self._alert_here() or ("" if has_dots else self.line_words()))
        is_named = lines.is_every_line or has_dots
        for line, _, name in every if not self.names_width() else ():
            if name in found:
                text = value_text(found[name], is_percent=self.spec.is_fixed)
                if is_named:
                    color = self._scenes.color_of(lines.runs[0].run_id, 0, line).name()
                    parts.append(
                        _colored("\u25cf" if lines.is_every_line else "\u2501", color)
                        + _colored(f" {name} ", colors.muted)
                        + ("" if counts else f"<b>{text}</b>")
                    )
                else:
                    parts.append(f"<b>{text}</b>")
        if counts:
            color = self._scenes.color_of(lines.runs[0].run_id, 0, 0).name()
            text = value_text(results[-1].success_rate, is_percent=True)
            words = _colored(f" {tr('held-out starts')} ", colors.muted)
            parts.append(f"{_colored(chr(0x25CF), color)}{words}<b>{text}</b>")
        self.values.setText("&nbsp; ".join(parts))
        self.setAccessibleDescription(", ".join(f"{name} {number(value, '.4g')}" for name, value in found.items()))

    def line_words(self) -> str:
        """Return what the plot's line, band and dots are; empty where the title says it."""
        lines, every = self._lines, self._lines.shown_lines()
        if (edges := lines.edges()) is not None:
            return tr(edges[2])
        words = [tr("all lines")] if lines.is_every_line else [every[0][2]] if len(self.spec.lines) > 1 else []
        if self.spec.evals and any(greedy_results(run, every[0][1]) for run in lines.runs) and self.names_width():
            return tr("line: {name}, dots: held-out starts", name=every[0][2])
        return ", ".join(words)

    def _alert_here(self) -> str | None:
        """Return the title of an alert of the first run at the crosshair."""
        x, runs = self.model.crosshair, self._lines.runs
        if x is None or not runs or self.model.x_axis != "env_steps":
            return None
        near = NEAR_ALERT * (self._shown_range[1] - self._shown_range[0])
        return next((alert.title for alert in runs[0].alerts if abs(alert.env_steps - x) <= near), None)

    def _list_runs(self, place: QPoint) -> None:
        """List all runs of the plot with their values; one that is chosen is highlighted."""
        assert self.canvas is not None
        menu = QMenu(self)
        for name in self.canvas.shown.names:
            action = menu.addAction(f"{name.text}\t{value_text(name.y, is_percent=self.spec.is_fixed)}")
            action.hovered.connect(lambda owner=name.owner: self.model.set_highlight(owner))
            action.triggered.connect(lambda _=False, owner=name.owner: self.model.set_highlight(owner))
        menu.exec(place)

    def _pick(self) -> None:
        menu = QMenu(self)
        now = self._lines.shown_lines()
        for metric, name in self.spec.lines:
            action = menu.addAction(name, lambda metric=metric: self.line_chosen.emit(metric))
            action.setCheckable(True)
            action.setChecked(not self._lines.is_every_line and metric == now[0][1])
        every = menu.addAction(tr("All lines, when only one run is shown"), lambda: self.line_chosen.emit(ALL))
        every.setCheckable(True)
        every.setChecked(self._lines.is_every_line)
        menu.exec(self.picker.mapToGlobal(QPoint(0, self.picker.height())))

    def follow_axes(self) -> None:
        """Show the chosen ranges at once by stretching what is painted, until the plot is drawn anew."""
        if self.canvas is not None and self._stack.currentWidget() is self.canvas:
            self._moves.follow(self.canvas)

    # -- keys and the mouse on the card -----------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and is_taken(event):
            event.accept()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_F, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.maximise_wanted.emit()
        elif key == Qt.Key.Key_L:
            self._toggle_log(0 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif key == Qt.Key.Key_Escape and (self.model.highlight or self.model.crosshair is not None):
            self.model.set_highlight("")
            self.model.set_crosshair(None)
        elif key == Qt.Key.Key_Escape and not self.can_move:
            self.maximise_wanted.emit()
        elif self.canvas is None or not self._moves.press(event, self.canvas, self._lines):
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit()
        self._show_tools()
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._hide_tools()
        self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._show_tools()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hide_tools()

    def _show_tools(self) -> None:
        if self.canvas is not None and self._stack.currentWidget() is self.canvas:
            self.tools = self.tools or self._make_tools()
            self.tools.set_shown(True)

    def _make_tools(self) -> CardTools:
        acts = Acts(self._moves.fit, self.maximise_wanted.emit, self.export_wanted.emit, self.menu_wanted.emit)
        return CardTools(self, self.head, acts)

    def _toggle_log(self, axis: int) -> None:
        if axis == 0:
            self.model.set_log_x(not self.model.log_x)
        else:
            self.log_wanted.emit()

    def _hide_tools(self) -> None:
        if self.tools is not None and not self.hasFocus() and not self.underMouse():
            self.tools.set_shown(False)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the ground of plots."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), QColor(theme.current().base))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.maximise_wanted.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        is_left = event.button() == Qt.MouseButton.LeftButton
        self._press = event.position().toPoint() if is_left and self.can_move and event.position().y() < HEAD else None

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
