"""Header of the run on show: name, state, success, sparkline, steps, time, time left, and the run's buttons."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui.features.header.buttons import SteadyButton
from gui.features.header.sparkline import Sparkline
from gui.features.header.watching import Watched
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry
from gui.kit.boxes import every, hbox, put, titlebar, vbox
from gui.kit.labels import ElidedLabel, ago, label
from gui.kit.painting import guarded
from gui.kit.words import number, tr
from gui.state.checkpoints import CheckpointCard
from gui.state.run_history import RunTelemetry
from gui.state.run_progress import (
    HELD_OUT,
    about,
    clock_text,
    since,
    success_of,
    target_of,
    time_left,
    time_limit_of,
    validation_words,
    validations,
)
from gui.state.run_words import Badge, reason_words, without_middle
from gui.state.session import Session
from gui.state.situation import Situation, Situations
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.run_record import RunRecord, RunState

HEIGHT, BAR = 72, 3
RENEW_MS = 500
TINY, NARROW, MIDDLE = 960, 1240, 1400
"""Widths in pixels below which steps and words are left out, sparkline and time too, and the sparkline is short."""
TASK_WIDTH, LONG_TASK = 112, 200
"""Width in pixels of the task's name in a narrow window, and the greatest elsewhere."""
STEPS_WIDTH, LEFT_WIDTH, REASON_WIDTH = 116, 124, 240
"""Widths in pixels of the steps and of the time left, and the greatest of both, for a reason why a run ended."""
LONGEST = 26
"""Most characters of a run's name."""
_WHILE = {
    "checkpoint": ("saveCheckpointButton", "mark"),
    "pause": (names.PAUSE_TRAINING_BUTTON, "pause"),
    "stop": (names.STOP_TRAINING_BUTTON, "stop"),
}
_AFTER = {
    "fixRun": ("fixRunButton", ""),
    "showError": ("showErrorButton", ""),
    "watchRun": ("watchRunButton", "play"),
    "resumeRun": ("resumeRunButton", ""),
    "openRunFolder": ("openRunFolderButton", "folder"),
}
_WATCHING = {"resumeRun": ("trainFurtherButton", "")}
"""objectName and icon of each button by its command: while a run is active, after its end, while a policy plays."""
_BEFORE = (RunState.QUEUED, RunState.PREFLIGHT, RunState.STARTING)


class Fact(QWidget):
    """Three short lines: what it is, its value, and a remark."""

    def __init__(self, object_name: str, width: int = 0) -> None:
        super().__init__()
        self.setObjectName(object_name)
        column = vbox(self, spacing=1)
        self.head, self.value, self.remark = label("", "caption"), ElidedLabel("", "title"), label("", "caption")
        column.addStretch(1)
        for each in (self.head, self.value, self.remark):
            column.addWidget(each)
        column.addStretch(1)
        if width:
            self.setFixedWidth(width)

    def write(self, head: str, value: str, remark: str = "") -> None:
        self.head.setText(head)
        self.value.setText(value)
        self.remark.setText(remark)
        self.setAccessibleName(f"{head}: {value} {remark}".strip())


class RunHeader(QWidget):
    def __init__(
        self,
        training: TrainingController,
        elapsed_s: Callable[[], float],
        watched: Watched,
        situations: Situations,
        telemetry: TelemetryModel,
        session: Session,
        actions: ActionRegistry,
    ) -> None:
        """Take the app's parts; `elapsed_s` returns the seconds that the run on show has trained."""
        super().__init__()
        self._training, self._elapsed_s, self._watched = training, elapsed_s, watched
        self._situations, self._telemetry, self._session = situations, telemetry, session
        self.setObjectName("runHeader")
        self.setAccessibleName(tr("The run shown"))
        titlebar(self)
        self.setFixedHeight(HEIGHT)
        self._every: list[SteadyButton] = []
        self._row = row = hbox(self, margins=(16, 0, 16, 0))
        put(row, self._identity(), self._success())
        self.line = Sparkline()
        row.addWidget(self.line)
        self.steps, self.ran, self.left = (
            Fact("headerSteps", STEPS_WIDTH),
            Fact("headerTime", 76),
            Fact("headerLeft", LEFT_WIDTH),
        )
        self.ran.value.setObjectName(names.ELAPSED_LABEL)
        for fact in (self.steps, self.ran, self.left):
            row.addWidget(fact)
        self._after = self._buttons(_AFTER, actions, row)
        self._deploy, self._actions = self._every[list(_AFTER).index("watchRun")], actions
        row.addStretch(1)
        self._watching = self._buttons(_WATCHING, actions, row, {"resumeRun": tr("Train further")})
        self._while = self._buttons(_WHILE, actions, row)
        self._clock = every(self, RENEW_MS, self._on_clock)
        for signal in (situations.changed, training.badge_changed, training.ready_changed, watched.changed):
            signal.connect(self.refresh)
        for signal in (telemetry.focus_changed, telemetry.pins_changed, telemetry.renamed):
            signal.connect(self.refresh)
        self.refresh()

    # -- building ---------------------------------------------------------------------------

    def _identity(self) -> QVBoxLayout:
        column = vbox(spacing=4)
        column.addStretch(1)
        first, second = QHBoxLayout(), QHBoxLayout()
        for line in (first, second):
            line.setSpacing(8)
            column.addLayout(line)
        self.name, self.id = label("", "title"), label("", "caption")
        self.badge, self.task = Badge(), ElidedLabel("", "muted")
        self.badge.setObjectName(names.STATUS_BADGE)
        self.task.setObjectName("headerTask")
        put(first, self.name, self.id, 1)
        put(second, self.badge, (self.task, 1))
        column.addStretch(1)
        return column

    def _success(self) -> QHBoxLayout:
        row = hbox(spacing=4)
        self.big, self.percent = label("", "heading"), label("%", "muted")
        self.big.setObjectName("successNow")
        self.big.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.told = Fact("headerSuccess", 148)
        self.told.value.hide()
        self.told.remark.setWordWrap(True)
        row.addWidget(self.big)
        row.addWidget(self.percent, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addSpacing(8)
        row.addWidget(self.told)
        return row

    def _buttons(
        self,
        wanted: Mapping[str, tuple[str, str]],
        actions: ActionRegistry,
        row: QHBoxLayout,
        words: Mapping[str, str] = {},
    ) -> QWidget:
        """Add a button for each command to the row, all in the widget that is returned."""
        group = QWidget()
        inner = hbox(group, spacing=8)
        for command, (name, symbol) in wanted.items():
            made = SteadyButton(actions[command], name, symbol, words.get(command, ""))
            self._every.append(made)
            inner.addWidget(made)
        row.addWidget(group)
        return group

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._row.setSpacing(14 if self.width() < MIDDLE else 24)
        self.line.setFixedWidth(88 if self.width() < MIDDLE else 140)
        self._fit()

    def _fit(self) -> None:
        """Leave out the sparkline, the time, and the words of buttons, as far as the window is too narrow for them."""
        width = self.width()
        self.steps.setHidden(width < TINY)
        self.told.setHidden(width < TINY)
        for cuts in range(3 if width < NARROW else 0, 4):
            self.line.setHidden(cuts > 0)
            self.ran.setHidden(cuts > 1)
            for each in self._every:
                each.set_compact(cuts > 2)
            if self._row.minimumSize().width() <= width:
                break

    # -- following --------------------------------------------------------------------------

    def _on_clock(self) -> None:
        if self.isVisible():
            self._write()

    def refresh(self, *_: object) -> None:
        """Show the header if there is something to say, and all of it anew."""
        now, run = self._situations.now, self._training.record
        is_starting = run is None and self._training.starting
        many = now is Situation.CURVES and len(self._telemetry.shown()) > 1
        is_away = now is Situation.FIRST or (
            now in (Situation.SETUP, Situation.PLAY) and not self._situations.is_training
        )
        self.setHidden(not (run is not None or is_starting) or many or is_away)
        watches, state = self._watches() is not None, self._training.state
        ended = run is not None and state.is_end and not self._training.starting
        self._while.setHidden(ended or watches)
        self._after.setVisible(ended and not watches)
        self._watching.setVisible(watches)
        self._deploy.setHidden(now is Situation.WATCH or not self._actions["watchRun"].isVisible())  # the dock has it
        self._write()
        self._fit()

    def _watches(self) -> CheckpointCard | None:
        """Return the checkpoint that plays while no run trains; the header is about that one."""
        is_watching = self._situations.now is Situation.WATCH and not self._situations.is_training
        return self._watched.card if is_watching else None

    def _write(self) -> None:
        card, run = self._watches(), self._training.record
        run_id = card.run_id if card is not None else run.run_id if run is not None else ""
        told = self._telemetry.runs.get(run_id)
        name = self._telemetry.label(run_id) if run_id else tr("New run")
        self.name.setText(without_middle(name, LONGEST))
        short = run_id.rsplit("-", 1)[-1][:8]
        self.id.setText(short if short != name else "")
        color = theme.curve_color(self._telemetry.slots.get(run_id, 0)).name()
        if card is not None:
            self._write_watched(card, told, color)
        else:
            self._write_run(run, told, color)
        self.update()

    def _write_task(self, task: str) -> None:
        title = self._session.task_title(task)
        room = TASK_WIDTH if self.width() < NARROW else LONG_TASK
        self.task.setMinimumWidth(min(room, max(TASK_WIDTH, self.task.fontMetrics().horizontalAdvance(title) + 2)))
        self.task.setText(title)

    # -- a run ------------------------------------------------------------------------------

    def _write_run(self, run: RunRecord | None, told: RunTelemetry | None, color: str) -> None:
        training, state = self._training, self._training.state
        self._write_task(run.task if run is not None else self._session.task)
        if silent := training.stalled_for():
            self.badge.set_state(state, tr("No data for {silent:.0f} s", silent=silent))
        else:
            self.badge.set_state(state, training.validating, is_warning=False)
        found = success_of(told) if told is not None else None
        if found is not None:
            at = "" if state.is_end or not found.at else f", {since(found.at)}"
            self._write_success(found.rate, f"{found.words}{at}", is_held_out=found.is_held_out)
        elif run is not None and run.best_success_rate:
            self._write_success(run.best_success_rate, tr("best so far"), is_held_out=True)
        else:
            self._write_success(None, tr("no validation yet"))
        self._draw(told, color)
        last = told.last_update if told is not None else None
        steps = last.env_steps if last is not None else run.env_steps if run is not None else 0
        is_still = state.is_end or state in _BEFORE
        rate = tr("{sps:,.0f} per second", sps=last.sps) if last is not None and not is_still else ""
        self.steps.setFixedWidth(STEPS_WIDTH)
        self.steps.write(tr("Steps"), number(steps), rate)
        self._write_time(run, told)

    def _write_time(self, run: RunRecord | None, told: RunTelemetry | None) -> None:
        training, state = self._training, self._training.state
        elapsed, limit = self._elapsed_s(), time_limit_of(told) if told is not None else 0.0
        remark = tr("limit {clock}", clock=clock_text(limit)) if limit else ""
        notice = training.notice
        ended = run is not None and state.is_end
        if run is not None and ended:
            has_trained = told is not None and told.last_update is not None
            self.ran.write(tr("Ran for"), clock_text(elapsed) if has_trained else "\u2013", remark)
            self.left.write(
                tr("Ended"),
                reason_words(run.reason) or ago(run.finished_at),
                ago(run.finished_at) if run.reason else "",
            )
            self._widen(self.left, LEFT_WIDTH)
            return
        if state in _BEFORE:
            waits = self._telemetry.waits.get(run.run_id, "") if run is not None else ""
            self.ran.write("", "")
            self.left.write(tr("Before the first update"), waits or (notice.detail if notice is not None else ""))
            self._widen(self.left, LEFT_WIDTH)
            return
        self.left.setFixedWidth(LEFT_WIDTH)
        self.ran.write(tr("Running for"), clock_text(elapsed), remark)
        if notice is not None and notice.force_at:
            wait = max(0.0, notice.force_at - time.monotonic())
            self.left.write(notice.detail.split(";")[0], tr("forced in {wait:.0f} s", wait=wait))
            return
        left = time_left(told, elapsed) if told is not None and state is RunState.RUNNING else None
        self.left.write(tr("Time left"), about(left), training.unconfirmed or (left.words if left is not None else ""))

    def _widen(self, fact: Fact, least: int) -> None:
        """Give a fact the room that its value needs, at least `least` pixels, where the window has it."""
        wide = fact.value.sizeHint().width() if self.width() >= MIDDLE else 0
        fact.setFixedWidth(min(max(least, wide), REASON_WIDTH))

    def _write_success(self, rate: float | None, words: str, *, is_held_out: bool = False) -> None:
        self.big.setText("\u2013" if rate is None else f"{rate * 100:.0f}")
        self.percent.setVisible(rate is not None)
        self.told.write(
            tr("Success on held-out starts") if is_held_out else tr("Success"),
            "" if rate is None else number(rate, ".0%"),
            words,
        )
        for each in (self.big, self.percent, self.told):
            each.setToolTip(tr(HELD_OUT) if is_held_out else "")

    def _draw(self, told: RunTelemetry | None, color: str, mark: float = -1.0) -> None:
        if told is None:
            self.line.show_line(np.empty(0), np.empty(0), (), 0.0, color)
            return
        x, y = told.curve("success_rate", "env_steps", self._telemetry.smoothing)
        dots = [(float(one.env_steps), one.success_rate) for one in validations(told)]
        self.line.show_line(x, y, dots, target_of(told), color, mark)

    # -- a checkpoint that plays ------------------------------------------------------------

    def _write_watched(self, card: CheckpointCard, told: RunTelemetry | None, color: str) -> None:
        watched, found = self._watched, self._watched.validation()
        self._write_task(watched.task)
        self.badge.set_state(RunState.RUNNING, tr("Watching"), is_warning=False)
        self._write_success(card.success_rate, validation_words(found) if found is not None else "", is_held_out=True)
        self._draw(told, color, float(card.env_steps))
        best = tr("best of {count}", count=watched.siblings()) if watched.is_best else ""
        self.steps.write(tr("Checkpoint"), tr("{count:,} steps", count=card.env_steps), best)
        self._widen(self.steps, STEPS_WIDTH)
        median = found.median_steps_to_goal if found is not None else 0
        self.ran.write(tr("To the goal"), f"{median:.0f}" if median else "\u2013", tr("median steps"))
        count = tr("{goals} of {episodes}", goals=watched.goals, episodes=watched.episodes)
        self.left.write(tr("This session"), count, tr("goals of episodes"))

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        with QPainter(self) as painter:
            run_id = self._telemetry.focus
            painter.fillRect(QRect(0, 0, BAR, HEIGHT - 1), theme.curve_color(self._telemetry.slots.get(run_id, 0)))
