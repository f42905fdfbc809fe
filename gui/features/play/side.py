"""Panel beside the game while a policy plays: its probabilities, value and distance over time, and its goal."""

from __future__ import annotations

from collections import deque

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from gui.features.play.controller import PlayController
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.boxes import hbox, put, vbox
from gui.kit.labels import label, rule
from gui.kit.painting import guarded
from gui.kit.screen import Palette, Screen
from gui.kit.words import number, tr
from gui.state.task_pictures import TaskPictures, read_task_pictures
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.buttons import ACTIONS, ALL_ACTIONS
from trainer_core.wire.records import PlayEvent, PolicyEvent

WIDTHS = ((1880, 304), (1400, 280), (0, 248))
"""(least width of the window, width of the panel) in pixels."""
ROW, LOW_ROW = 22, 14
"""Height in pixels of an action's row, and of one among more actions than the usual seven."""
NAME_WIDTH, SHARE_WIDTH = 72, 44
LONGEST = 150
"""Steps that a trace shows."""
GOAL_ROOM, SMALL_GOAL_ROOM = 560, 480
"""Heights of the panel in pixels from which there is room for the goal at its full size, and at half of it."""
TRUE_RETURN_SPEED = 4.0
"""Speed up to which the player reports every step, so that the rewards add up to the return."""


class PolicyBars(QWidget):
    """Row of a name, a bar and a percentage for each action; the chosen one in the accent colour."""

    def __init__(self) -> None:
        super().__init__()
        self.event_shown: PolicyEvent | None = None
        self._rows = len(ACTIONS)
        self.setObjectName(names.POLICY_BARS)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_thought(None)

    def sizeHint(self) -> QSize:
        return QSize(200, self._row * self._rows)

    @property
    def _row(self) -> int:
        return ROW if self._rows <= len(ACTIONS) else LOW_ROW

    def show_thought(self, event: PolicyEvent | None) -> None:
        """Show the probabilities of a step; None when no policy plays or it reports none."""
        self.event_shown = event
        if event is not None and len(event.probabilities) != self._rows:
            self._rows = len(event.probabilities)
            self.updateGeometry()
        self.setAccessibleName(self.words())
        self.setToolTip(self.words())
        self.update()

    def words(self) -> str:
        event = self.event_shown
        if event is None:
            return tr("No policy is playing")
        likely = ", ".join(
            f"{name} {number(share, '.0%')}" for name, share in zip(ALL_ACTIONS, event.probabilities, strict=False)
        )
        value = tr("no value") if event.value is None else tr("value {value:+.3f}", value=event.value)
        return tr("Step {step}: {likely}; {value_words}", step=event.step, likely=likely, value_words=value)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        told = self.event_shown
        if told is None:
            return
        with QPainter(self) as painter:
            colors, middle, high = theme.current(), Qt.AlignmentFlag.AlignVCenter, self._row
            painter.setFont(theme.small_font())
            length = self.width() - NAME_WIDTH - SHARE_WIDTH
            for row, (name, share) in enumerate(zip(ALL_ACTIONS, told.probabilities, strict=False)):
                y, is_chosen = row * high, row == told.action
                painter.setPen(QColor(colors.text if is_chosen else colors.muted))
                painter.drawText(QRectF(0, y, NAME_WIDTH, high), middle, name)
                right = QRectF(self.width() - SHARE_WIDTH, y, SHARE_WIDTH, high)
                painter.drawText(right, middle | Qt.AlignmentFlag.AlignRight, number(share, ".0%"))
                bar = QRectF(NAME_WIDTH, y + high / 2 - 3, length, 6)
                painter.fillRect(bar, QColor(colors.border))
                bar.setWidth(length * min(1.0, max(0.0, share)))
                painter.fillRect(bar, QColor(colors.accent if is_chosen else colors.muted))


class Trace(QWidget):
    """Line of a number over the last steps, with its least and greatest value at the left."""

    def __init__(self, accessible: str) -> None:
        super().__init__()
        self.values: deque[float] = deque(maxlen=LONGEST)
        self.setAccessibleName(accessible)
        self.setFixedHeight(48)

    def add(self, value: float) -> None:
        self.values.append(value)
        self.update()

    def clear(self) -> None:
        self.values.clear()
        self.update()

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.values:
            return
        colors, low, high = theme.current(), min(0.0, *self.values), max(*self.values, 1e-3)
        left, wide, top, tall = 36, self.width() - 44, 8, self.height() - 16
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(theme.small_font())
            for value, y in ((high, top), (low, top + tall)):
                painter.setPen(QColor(colors.border))
                painter.drawLine(QPointF(left, y), QPointF(self.width(), y))
                painter.setPen(QColor(colors.muted))
                box = QRectF(0, y - 8, left - 8, 16)
                painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, number(value, ".2g"))
            scale = tall / (high - low)
            points = [
                QPointF(left + wide * at / (LONGEST - 1), top + tall - (value - low) * scale)
                for at, value in enumerate(self.values)
            ]
            color = QColor(colors.curves[0])
            painter.setPen(QPen(color, 1.5))
            painter.drawPolyline(QPolygonF(points))
            painter.setBrush(color)
            painter.drawEllipse(points[-1], 2.5, 2.5)


class SidePanel(QWidget):
    def __init__(self, playing: PlayController, palette: Palette, home: HomePaths) -> None:
        super().__init__()
        self._playing, self._home = playing, home
        self._task, self._return = "", 0.0
        self._found: TaskPictures | None = None
        self.setObjectName("playPanel")
        self.setAccessibleName(tr("Policy: actions and value"))
        column = vbox(self, margins=(16, 8, 16, 8), spacing=4)
        head = QHBoxLayout()
        put(head, label(tr("Policy"), "title"), 1)
        self.who = label(tr("HUMAN"), "warn")
        self.who.setAccessibleName(tr("You play"))
        self.who.hide()
        head.addWidget(self.who)
        column.addLayout(head)
        self.thoughts = PolicyBars()
        column.addWidget(self.thoughts)
        self.value, self.value_trace = self._measure(column, tr("Value"), tr("expected return"))
        self.distance, self.distance_trace = self._measure(column, tr("Distance to goal"), "")
        put(column, rule(), self._goal_row(palette), 1)
        self.take_over = label(tr("Hold Tab to take over"), "caption")
        column.addWidget(self.take_over)
        playing.thought.connect(self._on_thought)
        playing.played.connect(self._on_played)
        playing.started.connect(self.begin)

    def _measure(self, column: QVBoxLayout, title: str, remark: str) -> tuple[QLabel, Trace]:
        """Add a heading with a value and the value's trace."""
        box, row = QWidget(), hbox(spacing=8)
        put(row, label(title, "title"), 1, label(remark, "caption"))
        value, trace = label("", "title"), Trace(title)
        row.addWidget(value)
        put(vbox(box, margins=(0, 4, 0, 0), spacing=4), rule(), row, trace)
        column.addWidget(box)
        return value, trace

    def _goal_row(self, palette: Palette) -> QWidget:
        self.goal = Screen(palette, "playGoal", tr("Goal picture"))
        self.goal.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.step, self.gain = label("", "title"), label("", "title")
        facts = vbox(spacing=2)
        self._goal_caption = label(tr("Goal picture"), "caption")
        facts.addWidget(self._goal_caption)
        facts.addSpacing(12)
        for head, value in ((tr("Step"), self.step), (tr("Return"), self.gain)):
            put(facts, label(head, "caption"), value)
            facts.addSpacing(8)
        facts.addStretch(1)
        self._goal = QWidget()
        row = hbox(self._goal, margins=(0, 8, 0, 0), spacing=12)
        put(row, self.goal, (facts, 1))
        return self._goal

    def fit(self, window_width: int) -> None:
        """Take the width that the table of window sizes has."""
        self.setFixedWidth(next(width for least, width in WIDTHS if window_width >= least))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_goal()

    def _show_goal(self) -> None:
        size = QSize(160, 144) if self.height() >= GOAL_ROOM else QSize(80, 72)
        self.goal.setFixedSize(size)
        self._goal.setVisible(self._found is not None and self.height() >= SMALL_GOAL_ROOM)

    def begin(self) -> None:
        """Clear the traces, and show the goal of the game that plays now."""
        request = self._playing.request
        self._return = 0.0
        for trace in (self.value_trace, self.distance_trace):
            trace.clear()
        task = request.task if request is not None else ""
        if task != self._task:
            self._task, self._found = task, read_task_pictures(task, self._home) if task else None
            picture = self._found.goal if self._found is not None else None
            has_goal = self._found is None or picture is not None
            self.goal.setVisible(picture is not None)
            self._goal_caption.setVisible(has_goal)
            if (measure := self.distance.parentWidget()) is not None:
                measure.setVisible(has_goal)
            if picture is not None:
                self.goal.show_picture(picture)
        self._show_goal()

    def forget(self) -> None:
        """Show no thought: the user has the buttons, or nothing plays."""
        if self.thoughts.event_shown is not None:
            self.thoughts.show_thought(None)

    def _on_thought(self, event: PolicyEvent) -> None:
        self.thoughts.show_thought(event)
        self.value.setText("" if event.value is None else number(event.value, "+.2f"))
        if event.value is not None:
            self.value_trace.add(event.value)

    def _on_played(self, event: PlayEvent) -> None:
        self._return = event.reward + (0.0 if event.step <= 1 else self._return)
        self.distance.setText(number(event.dist, ".2f"))
        self.distance_trace.add(event.dist)
        horizon = self._found.horizon if self._found is not None else 0
        self.step.setText(tr("{step} of {horizon}", step=event.step, horizon=horizon) if horizon else str(event.step))
        self.gain.setText(number(self._return, "+.2f") if event.speed <= TRUE_RETURN_SPEED else "\u2013")
