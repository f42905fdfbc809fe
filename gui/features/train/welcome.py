"""Welcome page: one button starts a minute of training and shows the result.

Compiling the kernels on a new computer takes longer than the demo, so the minute starts at the first update. A run that
has learned too little by then may train for another minute.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from gui.features.train.checks import ChecksView
from gui.features.train.controller import DEMO, DEMO_S, TrainingController
from gui.kit import theme
from gui.kit.actions import ActionRegistry
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.labels import button, label
from gui.kit.painting import guarded
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.notices import END_OF_RUN, Notices
from gui.state.session import Navigation
from gui.state.task_preview import GAP, TaskPreview
from trainer_core.service import RunChanged
from trainer_core.wire import records
from trainer_core.wire.run_record import RunState

PICTURE, CAPTION = (288, 320), 32
"""Size (height, width) of each picture on the card, and the pixels below them."""
CARD_WIDTH = 2 * PICTURE[1] + GAP
MARGIN = 40
LOW = 640
"""Height of the page in pixels below which the pictures are half as large."""


class Welcome(QWidget):
    """Welcome page with two states: an invitation, then the command to which the user agrees."""

    def __init__(
        self, training: TrainingController, navigation: Navigation, actions: ActionRegistry, preview: TaskPreview
    ) -> None:
        """Build the page; `preview` shows the start and the goal of the demo's task."""
        super().__init__()
        self._training, self._actions = training, actions
        self._preview = preview
        self.setObjectName("welcomePage")
        outer = QVBoxLayout(self)
        outer.addStretch(1)
        self._faces = (self._invitation(), self._agreement())
        card = QFrame()
        card.setProperty("role", "card")
        self._inner = inner = QVBoxLayout(card)
        for face in self._faces:
            inner.addWidget(face)
        self._show_face(0)
        row = QHBoxLayout()
        put(row, 1, card, 1)
        put(outer, row, 1)
        training.checks_changed.connect(self._refresh)
        training.plan_changed.connect(self._refresh)
        training.ready_changed.connect(self._refresh)
        navigation.welcome_changed.connect(self._on_welcome)
        self._refresh()

    def _invitation(self) -> QWidget:
        face = QWidget()
        column = vbox(face, spacing=8)
        column.addWidget(self._preview)
        column.addSpacing(8)
        column.addWidget(label(tr("Train an agent on a Game Boy"), "heading", wrap=True))
        column.addWidget(
            label(
                tr(
                    "Many Game Boys run side by side, and one policy learns from their screens how to get from the "
                    "first picture to the second. Then you watch it play."
                ),
                "muted",
                wrap=True,
            )
        )
        column.addSpacing(8)
        self.start = button(tr("Start the demo"), "startDemoButton", primary=True, clicked=self._on_start)
        self.start.setDefault(True)
        play, rom = self._actions["playGame"].trigger, self._actions["openRom"].trigger
        others = (
            button(tr("Play it yourself"), "playYourselfButton", clicked=play),
            button(tr("Open a ROM..."), "openOwnRomButton", clicked=rom),
        )
        for other in others:
            other.setProperty("flat", True)
        row = hbox(spacing=8)
        put(row, self.start, label(tr("about 30 seconds"), "caption"), 1, *others)
        column.addLayout(row)
        return face

    def _agreement(self) -> QWidget:
        face = QWidget()
        column = vbox(face, spacing=8)
        column.addWidget(label(tr("The demo runs this command"), "heading", wrap=True))
        self.command = named(QPlainTextEdit(), "demoCommand", tr("The demo's exact command"))
        self.command.setReadOnly(True)
        self.command.setTabChangesFocus(True)
        self.command.setFont(theme.mono_font())
        self.command.setFixedHeight(64)
        column.addWidget(self.command)
        self.where = label("", "muted", wrap=True)
        column.addWidget(self.where)
        self.checks = ChecksView("demoChecks", self._training.task_title)
        self.checks.remedy_chosen.connect(self._training.apply_remedy)
        column.addWidget(self.checks)
        column.addSpacing(8)
        row = hbox(spacing=8)
        self.agree = button(tr("Start the demo"), "runDemoButton", primary=True, clicked=self._training.start_demo)
        put(row, self.agree, button(tr("Back"), "demoBackButton", clicked=self._on_back), 1)
        put(column, row, 1)
        return face

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Choose the size of the pictures, and the heights of wrapped texts, which nested Qt layouts do not set."""
        super().resizeEvent(event)
        is_low = self.height() < LOW or self.width() < CARD_WIDTH + 4 * MARGIN
        parts = 2 if is_low else 1
        margin = MARGIN // parts
        width = max(CARD_WIDTH // 2, min(CARD_WIDTH, self.width() - 3 * margin))
        self._inner.setContentsMargins(margin, margin, margin, margin)
        self._preview.setFixedSize(width, (PICTURE[0] * 3 // 4 if is_low else PICTURE[0]) + CAPTION)
        for face in self._faces:
            face.setFixedWidth(width)
        for text in self.findChildren(QLabel):
            if text.wordWrap():
                text.setMinimumHeight(0)  # else the height of a narrow window would remain
                text.setMinimumHeight(text.heightForWidth(width))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.window().focusWidget() is None:
            self.start.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press the button with the focus at Return, as in a dialog."""
        focused = self.focusWidget()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(focused, QPushButton):
            focused.click()
        else:
            super().keyPressEvent(event)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), QColor(theme.current().letterbox))

    def _show_face(self, shown: int) -> None:
        for index, face in enumerate(self._faces):
            face.setVisible(index == shown)

    def _on_start(self) -> None:
        self._show_face(1)
        self._training.prepare_demo()
        self.agree.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_back(self) -> None:
        self._show_face(0)
        self._training.give_form_back()

    def _on_welcome(self, is_shown: bool) -> None:
        if is_shown:
            self._on_back()
            self.start.setFocus(Qt.FocusReason.OtherFocusReason)
        elif (focused := self.focusWidget()) is not None:
            focused.clearFocus()  # else Qt gives the focus to some field of a dock

    def _refresh(self) -> None:
        training = self._training
        plan = training.plan
        self.start.setToolTip(training.demo_words)
        self.command.setPlainText(plan.command_line if plan else "")
        folder = plan.run_dir.parent if plan else ""
        self.where.setText(
            tr("The demo saves only into {folder} and stops a minute after its first update.", folder=folder)
        )
        self.checks.show_checks(training.checks, training.checking)
        failed = any(check.status == "fail" for check in training.checks)
        idle = training.state in (RunState.IDLE,) or training.state.is_end
        was_enabled = self.agree.isEnabled()
        self.agree.setEnabled(plan is not None and not failed and idle and not training.starting)
        if self.agree.isEnabled() and not was_enabled and self.agree.isVisible():
            self.agree.setFocus(Qt.FocusReason.OtherFocusReason)
        self.agree.setText(tr("Starting...") if training.starting else tr("Start the demo"))


class Demo(QObject):
    def __init__(
        self, bridge: Bridge, training: TrainingController, notices: Notices, watch: Callable[[], object]
    ) -> None:
        """Take the app's parts; `watch` lets the selected checkpoint play."""
        super().__init__()
        self._bridge, self._training, self._notices, self._watch = bridge, training, notices, watch
        self.run_id = ""
        """Id of the active demo run; empty when there is none."""
        self.clock = QTimer(self, singleShot=True, interval=round(DEMO_S * 1000))
        self.clock.timeout.connect(self._on_time_up)
        self._again = ""
        self._is_over = False
        training.started.connect(self._on_started)
        training.queued.connect(self._on_started)
        bridge.event_received.connect(self._on_event)
        bridge.run_changed.connect(self._on_run_changed)

    def train_more(self) -> None:
        """Resume the demo run from its last checkpoint for another minute."""
        self._again = self.run_id
        self._training.resume(self.run_id)

    def _on_started(self, run_id: str) -> None:
        if run_id in (self._training.demo_run_id, self._again):
            self.run_id, self._again, self._is_over = run_id, "", False
            self.clock.stop()

    def _on_event(self, run_id: str, event: records.Event) -> None:
        is_first = isinstance(event, records.UpdateRecord) and not self._is_over
        if run_id == self.run_id and is_first and not self.clock.isActive():
            self.clock.start()

    def _on_time_up(self) -> None:
        self._is_over = True
        self._bridge.spawn(self._bridge.service.stop(self.run_id, "the demo's minute is over"), title=tr("Stop"))

    def _on_run_changed(self, notice: RunChanged) -> None:
        run = notice.record
        if run.run_id != self.run_id or not run.state.is_end:
            return
        self.clock.stop()
        if not self._is_over or self._bridge.closing:
            return
        if run.best_success_rate >= DEMO.fields["target_success"]:
            self._notices.tell(
                tr("The agent has learned it"),
                tr("{best_success_rate:.0%} success", best_success_rate=run.best_success_rate),
                "good",
                tr("Deploy"),
                self._watch,
                subject=END_OF_RUN,
            )
        else:
            self._notices.tell(
                tr("Not yet learned"),
                tr(
                    "{best_success_rate:.0%} success after {demo_s:g} s of training",
                    best_success_rate=run.best_success_rate,
                    demo_s=DEMO_S,
                ),
                "warn",
                tr("Train {demo_s:g} s more", demo_s=DEMO_S),
                self.train_more,
                subject=END_OF_RUN,
            )
