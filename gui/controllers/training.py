"""Train new, from a draft to a process: preflight, plan, consent, start, pause, stop."""

from __future__ import annotations

import asyncio
import time

from PySide6.QtCore import QObject, QTimer, Signal

from gui import object_names as names
from gui.bridge import Bridge
from gui.models.config_draft import ConfigDraft
from gui.models.navigation import Navigation
from gui.models.presets import DEMO
from gui.models.run_words import unconfirmed_words, validating_words
from gui.models.session import FIRST_TASK, Session
from gui.words import tr
from trainer_core.preflight.checks import Check, run_checks
from trainer_core.protocol import commands, records
from trainer_core.protocol.capabilities import RunnerCapabilities
from trainer_core.protocol.runs import RunRecord, RunState
from trainer_core.protocol.spec import NATIVE_ID
from trainer_core.runners.catalog import AgentRunner
from trainer_core.service import LaunchPlan, RunChanged

_CHECKED_FIELDS = {
    "", "task", "device", "algo", "num_envs", "num_steps", "num_minibatches", "stack_k",
}  # fmt: skip
DEBOUNCE_MS = 500
STALL_S = 30.0
"""Heartbeats come every two seconds; half a minute without one is worth saying."""
_STOPPABLE = {
    RunState.QUEUED, RunState.STARTING, RunState.RUNNING, RunState.PAUSING, RunState.PAUSED,
    RunState.STOPPING,
}  # fmt: skip


class TrainingController(QObject):
    """The state behind the training dock. Widgets read it and call it; it knows none of them."""

    checks_changed = Signal()
    plan_changed = Signal()
    ready_changed = Signal()
    badge_changed = Signal()
    started = Signal(str)

    def __init__(self, bridge: Bridge, session: Session, navigation: Navigation) -> None:
        super().__init__()
        self._bridge, self._session, self._navigation = bridge, session, navigation
        self.draft = ConfigDraft(session.runner)
        self.checks: list[Check] = []
        self.checking = False
        self.checked_once = False
        self.consent = False
        self.plan: LaunchPlan | None = None
        self.starting = False
        self.detach = False
        """The next run is started by a keeper and goes on when the app is closed."""
        self.run_id = ""
        """The run that the badge and the buttons are about."""
        self.notice: RunChanged | None = None
        self.last_record_at = 0.0
        self._generation = 0
        self._preflight: asyncio.Task[None] | None = None
        self._debounce = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._debounce.timeout.connect(self.check)
        self.draft.changed.connect(self._on_draft_changed)
        session.task_changed.connect(lambda task: self.draft.set_text("task", task))
        session.runner_changed.connect(self._on_runner)
        bridge.run_changed.connect(self._on_run_changed)
        bridge.event_received.connect(self._on_event)
        self.draft.set_text("task", session.task)
        self._renew_plan()

    # -- before the start -------------------------------------------------------------------

    def train_new(self) -> None:
        """Turn to the form, and check what is in it."""
        self._session.turn_to_training()
        self.check()
        self._navigation.show_dock(names.TRAINING_DOCK)

    def prepare_demo(self) -> None:
        """Fill the form with the demo and check it."""
        self._session.turn_to_training()
        self.turn_to_runner(NATIVE_ID)
        tasks = self._session.task_titles()
        task = FIRST_TASK if FIRST_TASK in tasks else next(iter(tasks))
        self.draft.set_values({**DEMO.fields, "task": task})
        self.check()

    def turn_to_runner(self, runner_id: str) -> None:
        """Let the form write an order to this runner; unknown ones change nothing."""
        self._session.set_runner(runner_id)

    def agree_and_start(self) -> None:
        """Start the plan that a person has just agreed to."""
        self.set_consent(True)
        self.start()

    def reason(self) -> str:
        """Why Start is disabled, for a person; empty when it is not."""
        if self.draft.spec is None:
            return self.draft.reason
        if self.starting:
            return tr("Starting")
        failed = next((check for check in self.checks if check.status == "fail"), None)
        if failed is not None:
            return f"{failed.name}: {failed.detail}"
        if not self.consent:
            return tr("Tick the box under the command first")
        return ""

    def set_consent(self, given: bool) -> None:
        if given != self.consent:
            self.consent = given
            self.ready_changed.emit()

    def check(self) -> None:
        """Run the preflight for the draft as it is now; an older one under way is forgotten."""
        if self.draft.spec is None:
            return
        self._forget_preflight()
        self.checks, self.checking, self.checked_once = [], True, True
        self.checks_changed.emit()
        self._preflight = self._bridge.spawn(self._check(self._generation), title=tr("Preflight"))

    def _forget_preflight(self) -> None:
        """End the one under way with its probe, which a busy computer lets live for long."""
        self._generation += 1
        if self._preflight is not None:
            self._preflight.cancel()
            self._preflight = None

    async def _check(self, generation: int) -> None:
        spec, runner = self.draft.spec, self._session.runner
        if spec is None:
            return
        async for check in run_checks(spec, self._bridge.home, runner):
            if generation != self._generation:
                return
            self.checks = [*self.checks, check]
            self.checks_changed.emit()
        if generation == self._generation:
            self.checking = False
            self.checks_changed.emit()
            self.ready_changed.emit()

    def apply_remedy(self, check: Check) -> None:
        """Make the change that a failed check proposes."""
        self.draft.set_values(check.remedy)

    def _on_draft_changed(self, name: str) -> None:
        task = self.draft.text("task")
        is_new = name in ("", "task") and task != self._session.task
        if is_new and task in self._session.task_titles():  # not each letter of one being typed
            self._session.set_task(task)
        self._renew_plan()
        if name in _CHECKED_FIELDS or self.draft.runner.id != NATIVE_ID:
            self._forget_preflight()
            self.checks, self.checking = [], False
            self.checks_changed.emit()
            if self.checked_once:
                self._debounce.start()
        self.ready_changed.emit()

    def _on_runner(self, runner: AgentRunner) -> None:
        self.draft.set_runner(runner)
        self.badge_changed.emit()

    def _renew_plan(self) -> None:
        spec, service = self.draft.spec, self._bridge.service
        reserved = service.ahead.run_id if self._session.runner.waits else ""
        self.plan = service.plan(spec, run_id=reserved) if spec else None
        self.plan_changed.emit()

    def set_detach(self, detach: bool) -> None:
        self.detach = detach
        self.plan_changed.emit()

    # -- the start --------------------------------------------------------------------------

    def start(self) -> None:
        """Preflight if the draft was not checked yet, then start exactly the plan on show."""
        if self.reason():
            return
        self.starting = True
        self.run_id, self.notice = "", None
        self.badge_changed.emit()
        self.ready_changed.emit()
        self._bridge.spawn(self._start(), title=tr("The run could not be started"))

    async def _start(self) -> None:
        try:
            if not self.checks or self.checking:
                self._debounce.stop()
                self._forget_preflight()
                self.checks, self.checking, self.checked_once = [], True, True
                await self._check(self._generation)
            plan = self.plan
            if plan is None or any(check.status == "fail" for check in self.checks):
                return
            self.run_id = plan.run_id
            await self._bridge.service.start(plan, detach=self.detach)
            self.started.emit(plan.run_id)
        finally:
            self.starting = False
            self.set_consent(False)
            self._renew_plan()
            self.ready_changed.emit()
            self.badge_changed.emit()

    # -- while it runs ----------------------------------------------------------------------

    @property
    def record(self) -> RunRecord | None:
        return self._bridge.service.runs.get(self.run_id)

    @property
    def missed(self) -> int:
        """Records of the run on show that came too fast for the app and were read from its log."""
        return self._bridge.service.missed.get(self.run_id, 0)

    @property
    def waiting_words(self) -> str:
        """That a worker is up for the next run, and what it takes; empty without one."""
        ahead = self._bridge.service.ahead
        if ahead.compiling is not None:
            return tr("A worker for the next run compiles the Game Boy, once")
        held = ahead.memory_bytes()
        return (
            tr("A worker is up for the next run, {value:.0f} MB", value=held / 1000000.0)
            if held
            else ""
        )

    @property
    def capabilities(self) -> RunnerCapabilities:
        """What the runner can do that the buttons are about: the shown run's, else the form's."""
        if self.record is not None and not self.record.state.is_end:
            for runner in self._bridge.service.runners:
                if runner.id == self.record.runner:
                    return runner.capabilities
        return self._session.runner.capabilities

    @property
    def state(self) -> RunState:
        if self.record is not None:
            return self.record.state
        return RunState.PREFLIGHT if self.starting else RunState.IDLE

    # What is possible now: the reason why not, for a person; empty when it is.

    def pause_refusal(self) -> str:
        possible = self.state in (RunState.RUNNING, RunState.PAUSED)
        return "" if possible else tr("Only a running training can be paused")

    def stop_refusal(self) -> str:
        return "" if self.state in _STOPPABLE else tr("Nothing is training")

    def checkpoint_refusal(self) -> str:
        possible = self.state is RunState.RUNNING
        return "" if possible else tr("Only a running training can write a checkpoint")

    def show(self, run_id: str) -> None:
        """Make the badge and the buttons speak of this run."""
        if run_id != self.run_id:
            self.run_id, self.notice = run_id, None
            self.badge_changed.emit()

    def toggle_pause(self) -> None:
        service = self._bridge.service
        if self.state is RunState.PAUSED:
            self._bridge.spawn(service.unpause(self.run_id), title=tr("Resume"))
        elif self.state is RunState.RUNNING:
            self._bridge.spawn(service.pause(self.run_id), title=tr("Pause"))

    def stop(self) -> None:
        """Stop the run; a second call takes the ladder's next step at once."""
        if self.record is not None:
            self._bridge.spawn(self._bridge.service.stop(self.run_id), title=tr("Stop"))

    def save_checkpoint(self) -> None:
        if self.state is RunState.RUNNING:
            request = self._bridge.service.request(self.run_id, commands.SaveCheckpoint)
            self._bridge.spawn(request, title=tr("Save checkpoint"))

    def resume(self, run_id: str) -> None:
        self.show(run_id)
        self._bridge.spawn(
            self._bridge.service.resume(run_id),
            title=tr("Resume"),
            then=lambda record: self.started.emit(record.run_id),
        )

    @property
    def validating(self) -> str:
        """How far a validation is that the run waits for, in words; empty while it trains."""
        notice = self.notice
        if notice is None or self.state is not RunState.RUNNING:
            return ""
        return validating_words(notice.detail, notice.progress)

    @property
    def unconfirmed(self) -> str:
        """Why the last validation did not end the run though it reached its target, in words."""
        return unconfirmed_words(self.notice.detail) if self.notice else ""

    def stalled_for(self) -> float:
        """Seconds without a word from a run that should be talking, 0 while all is well."""
        if self.state is not RunState.RUNNING or not self.last_record_at:
            return 0.0
        silent = time.monotonic() - self.last_record_at
        return silent if silent > STALL_S else 0.0

    def _on_run_changed(self, notice: RunChanged) -> None:
        if notice.record.run_id == self.run_id:
            old = self.notice.detail if self.notice else ""
            is_over = old.startswith(records.VALIDATING)
            if notice.detail or is_over or notice.record.state is not self._shown_state():
                self.notice = notice
            self.last_record_at = time.monotonic()
            self.badge_changed.emit()

    def _shown_state(self) -> RunState | None:
        return self.notice.record.state if self.notice else None

    def _on_event(self, run_id: str, event: object) -> None:
        if run_id == self.run_id:
            if isinstance(event, records.EvalRecord) and self.unconfirmed:
                self.notice = None  # of the validation before
            self.last_record_at = time.monotonic()
