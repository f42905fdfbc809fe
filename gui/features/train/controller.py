"""Controller of training: form, preflight checks, plan, consent, start, pause, stop, resume."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, replace
from importlib.util import find_spec

from PySide6.QtCore import QObject, Signal

from gui.features.train.draft import ConfigDraft
from gui.features.train.hardware import Hardware
from gui.kit import object_names as names
from gui.kit.boxes import later
from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.checkpoints import CheckpointList
from gui.state.run_words import unconfirmed_words, validating_words
from gui.state.session import FIRST_TASK, Navigation, Session
from trainer_core.lab.presets import PRESETS, Preset, wishes_of
from trainer_core.runners.catalog import AgentRunner
from trainer_core.runs.wandb_run import wandb_target
from trainer_core.service import LaunchPlan, RunChanged
from trainer_core.service.preflight import Check, run_checks
from trainer_core.wire import commands, records
from trainer_core.wire.capabilities import ELSEWHERE, RunnerCapabilities
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_names import run_name
from trainer_core.wire.run_record import RunRecord, RunState
from trainer_core.wire.spec import NATIVE_ID

DEMO_S = 60.0
"""Seconds of training in the demo, counted from the first update."""
DEMO_ENDS = {"seconds": 900.0, "eval_every": 10, "checkpoint_every": 10, "target_success": 0.95}
"""What the demo changes in the preset that fits this computer."""
DEMO = Preset(
    "Demo (1 minute)",
    "A short run on this computer: early checkpoints, ends a minute after its first update.",
    {**PRESETS["laptop"].fields, **DEMO_ENDS},
    {**PRESETS["laptop"].why, "seconds": "a bound with a cold kernel cache; the app ends it after a minute of updates"},
)
_CHECKED_FIELDS = {"", "task", "device", "on", "algo", "num_envs", "num_steps", "num_minibatches", "stack_k"}
DEBOUNCE_MS = 500
DRAFT = "session/draft"
"""Setting with the saved form: texts that differ from the defaults, by runner and field."""
PRESET = "session/preset"
"""Setting with the preset that the user chose; none while the app chooses."""
CLUSTER = "training/cluster"
"""Setting with the last cluster that a run was to train on."""
STALL_S = 30.0
"""Seconds without a heartbeat after which a run counts as stalled; heartbeats come every two seconds."""
_STOPPABLE = {
    RunState.QUEUED,
    RunState.STARTING,
    RunState.RUNNING,
    RunState.PAUSING,
    RunState.PAUSED,
    RunState.STOPPING,
}


@dataclass(slots=True)
class _Own:
    """The user's own form contents, saved while the demo's values replace them."""

    runner: str
    task: str
    texts: dict[str, dict[str, str]]
    borrowed: dict[str, dict[str, str]]
    """Texts of the form right after the demo's values were set, by runner and field."""


class TrainingController(QObject):
    """State and commands of training; widgets read it and call it."""

    checks_changed = Signal()
    plan_changed = Signal()
    ready_changed = Signal()
    badge_changed = Signal()
    started = Signal(str)
    queued = Signal(str)
    """Id of a run that waits in the queue behind the active one."""

    def __init__(
        self, bridge: Bridge, session: Session, navigation: Navigation, settings: Settings, hardware: Hardware
    ) -> None:
        super().__init__()
        self._bridge, self._session, self._navigation = bridge, session, navigation
        self.task_title = session.task_title
        self.hardware = hardware
        self.draft = ConfigDraft(
            session.runner, lambda task, warm_start: wishes_of(task, RunConfig(warm_start=warm_start), bridge.home)
        )
        self.checks: list[Check] = []
        self.checking = False
        self.checked_once = False
        self.consent = False
        self.plan: LaunchPlan | None = None
        self.starting = False
        self.demo_run_id = ""
        """Id of the run that was started as the demo; empty if none was."""
        self._own: _Own | None = None
        """The user's form contents from before the demo; None while no demo is in the form."""
        self._agreed: object = None
        """Order (plan, runner, detach) to which the user gave consent; None without consent."""
        self._is_withdrawn = False
        """True from the change of the command that the user had agreed to until the next consent."""
        self.detach = False
        """True if the next run's process is to continue after the end of the app."""
        self.wandb = ""
        """PROJECT[/NAME] at W&B to which the next run is to be sent; empty, as before every run, while that is not
        ticked."""
        self.resuming: set[str] = set()
        """Ids of runs that are being resumed."""
        self.run_id = ""
        """Id of the run that the status badge and the buttons are about (the run on show); empty for none."""
        self.notice: RunChanged | None = None
        self.last_record_at = 0.0
        self._generation = 0
        self._preflight: asyncio.Task[None] | None = None
        self._debounce = later(self, self.check, DEBOUNCE_MS)
        self.draft.changed.connect(self._on_draft_changed)
        session.task_changed.connect(lambda task: self.draft.set_text("task", task))
        session.runner_changed.connect(self._on_runner)
        bridge.run_changed.connect(self._on_run_changed)
        bridge.event_received.connect(self._on_event)
        self._settings = settings
        hardware.changed.connect(self._follow_hardware)
        self._follow_hardware()
        self._bring_back()
        self._renew_plan()

    def _follow_hardware(self) -> None:
        """Begin with the preset that fits this computer, unless the user has chosen another one."""
        chosen = self._settings.text(PRESET)
        self.draft.set_preset(chosen if chosen in PRESETS else self.hardware.preset)

    def choose_preset(self, name: str) -> None:
        """Fill the form with the values of the preset `name`, which stays chosen at the next start."""
        if name == self.hardware.preset:
            self._settings.remove(PRESET)
        else:
            self._settings.set(PRESET, name)
        self.draft.set_preset(name)
        self.draft.set_values(PRESETS[name].fields)

    def _bring_back(self) -> None:
        """Load the form's saved contents of the last session."""
        kept = self._settings.decoded(DRAFT, dict[str, dict[str, str]], {})
        self.draft.put_state(kept)
        task = self.draft.text("task")
        if task != self._session.task and "," not in task:  # several tasks are no choice of a list
            self.draft.set_text("task", self._session.task)

    def _keep_draft(self) -> None:
        """Save the form's contents, except while the demo's values are in it."""
        if self._own is None:
            self._settings.set(DRAFT, json.dumps(self.draft.changes()))
            if self.draft.spec is not None and self.draft.spec.is_remote:
                self._settings.set(CLUSTER, self.draft.spec.options["on"])

    @property
    def knows_clusters(self) -> bool:
        """Return whether a run was to train on a Ray cluster before, or Ray is installed."""
        return bool(self._settings.text(CLUSTER)) or find_spec("ray") is not None

    # -- before the start -------------------------------------------------------------------

    def train_new(self) -> None:
        """Show the training form and start the preflight checks."""
        self.give_form_back()
        self._session.turn_to_training()
        self.check()
        self._navigation.show_dock(names.TRAINING_DOCK)

    def prepare_demo(self) -> None:
        """Fill the form with the demo's values and start the preflight checks; `give_form_back` undoes this."""
        own = self._own or _Own(self._session.runner.id, self._session.task, self.draft.state(), {})
        self._own = own
        self.turn_to_runner(NATIVE_ID)
        self._session.turn_to_training()
        tasks = self._session.task_titles()
        task = FIRST_TASK if FIRST_TASK in tasks else next(iter(tasks))
        self.draft.set_values({**PRESETS[self.demo_preset].fields, **DEMO_ENDS, "task": task})
        own.borrowed = self.draft.state()
        self.check()

    @property
    def demo_preset(self) -> str:
        """Name of the preset that the demo changes: a first stage has no use for more than that of one GPU."""
        return "laptop" if self.hardware.preset == "laptop" else "gpu"

    @property
    def demo_words(self) -> str:
        """Return one line on the preset that the demo uses, and why."""
        preset = PRESETS[self.demo_preset]
        return tr(
            "{hardware}: the demo uses the {preset} preset, {count:,} Game Boys",
            hardware=self.hardware.name,
            preset=tr(preset.title),
            count=preset.fields["num_envs"],
        )

    def give_form_back(self, *, always: bool = False) -> None:
        """Restore the form from before the demo, unless the user changed the demo's values.

        With `always`, restore it in any case.
        """
        own, self._own = self._own, None
        if own is None or not (always or self.draft.state() == own.borrowed):
            return
        self.turn_to_runner(own.runner)
        self.draft.put_state(own.texts)
        self._session.set_task(own.task)

    def turn_to_runner(self, runner_id: str) -> None:
        """Select the runner with this id in the session; an unknown id changes nothing."""
        self._session.set_runner(runner_id)

    def start_demo(self) -> None:
        """Start the demo run; the user has agreed to its command on the welcome page."""
        self.set_consent(True)
        self.start(is_demo=True)

    def reason(self) -> str:
        """Return why the Start button is disabled: invalid form, failed check, no consent.

        Empty when it is enabled.
        """
        if self.draft.spec is None:
            return self.draft.reason
        if self.starting:
            return tr("Starting")
        failed = next((check for check in self.checks if check.status == "fail"), None)
        if failed is not None:
            return f"{failed.name}: {failed.detail}"
        if not self.consent:
            return tr("The command changed: tick the box again") if self._is_withdrawn else tr("Tick the box to start")
        return ""

    def set_consent(self, given: bool, *, is_withdrawn: bool = False) -> None:
        """Note whether the user agrees to the command; `is_withdrawn` if the agreement ends because it changed."""
        if given != self.consent:
            self.consent, self._is_withdrawn = given, is_withdrawn
            self._agreed = self._order()
            self.ready_changed.emit()

    def _order(self) -> object:
        """Return what a consent is about: plan, runner, detach and W&B. If it changes, consent is needed again."""
        return (self.plan.spec if self.plan else None), self._session.runner.id, self.detach, self.wandb

    def check(self) -> None:
        """Run the preflight checks for the form's contents, cancelling checks that still run."""
        if self.draft.spec is None:
            return
        self._forget_preflight()
        self.checks, self.checking, self.checked_once = [], True, True
        self.checks_changed.emit()
        self._preflight = self._bridge.spawn(self._check(self._generation), title=tr("Preflight"))

    def _forget_preflight(self) -> None:
        """Cancel the running preflight checks and kill their probe process."""
        self._generation += 1
        if self._preflight is not None:
            self._preflight.cancel()
            self._preflight = None

    async def _check(self, generation: int) -> None:
        spec, runner = self.draft.spec, self._session.runner
        if spec is None:
            return
        async for check in run_checks(spec, self._bridge.home, runner, self.wandb):
            if generation != self._generation:
                return
            self.checks = [*self.checks, check]
            self.checks_changed.emit()
        if generation == self._generation:
            self.checking = False
            self.checks_changed.emit()
            self.ready_changed.emit()

    def apply_remedy(self, check: Check) -> None:
        """Change the form as a failed check proposes."""
        is_demo = self._own is not None and self.draft.state() == self._own.borrowed
        self.draft.set_values(check.remedy)
        if is_demo and self._own is not None:
            self._own.borrowed = self.draft.state()

    def _on_draft_changed(self, name: str) -> None:
        task = self.draft.text("task")
        is_new = name in ("", "task") and task != self._session.task
        if is_new and task in self._session.task_titles():  # not each letter of one being typed
            self._session.set_task(task)
        self._renew_plan()
        self._keep_draft()
        if name in _CHECKED_FIELDS or self.draft.runner.id != NATIVE_ID:
            self._check_again()
        self.ready_changed.emit()

    def _check_again(self) -> None:
        """Forget the results of the preflight checks and start them anew in a moment, if they were wanted before."""
        self._forget_preflight()
        self.checks, self.checking = [], False
        self.checks_changed.emit()
        if self.checked_once:
            self._debounce.start()

    def _on_runner(self, runner: AgentRunner) -> None:
        self.draft.set_runner(runner)
        self.badge_changed.emit()

    def _renew_plan(self) -> None:
        spec, service = self.draft.spec, self._bridge.service
        reserved = service.ahead.run_id if self._session.runner.waits else ""
        self.plan = replace(service.plan(spec, run_id=reserved), wandb=self.wandb) if spec else None
        self._withdraw_agreement()
        self.plan_changed.emit()

    def _withdraw_agreement(self) -> None:
        """Clear the user's consent because the command has changed."""
        if not self.consent or self.starting or self.plan is None:  # there is no other command yet
            return
        if self._order() != self._agreed:
            self.set_consent(False, is_withdrawn=True)

    def set_detach(self, detach: bool) -> None:
        if detach is self.detach:
            return
        self.detach = detach
        self._withdraw_agreement()
        self.plan_changed.emit()

    def set_wandb(self, target: str) -> None:
        """Send the next run to PROJECT[/NAME] at W&B; "" = do not send it."""
        if target == self.wandb:
            return
        self.wandb = target
        self._renew_plan()
        self._check_again()
        self.ready_changed.emit()

    def wandb_words(self) -> str:
        """Return PROJECT/NAME as the run will have them at W&B, or what W&B refuses in them; empty if not ticked."""
        if not self.wandb or self.plan is None:
            return ""
        try:
            return "/".join(wandb_target(self.wandb, run_name(self.plan.run_id)))
        except LabError as error:
            return str(error)

    def has_done_task(self) -> bool:
        """Return whether a run on the form's task has come to its end, so that variants of it may be compared."""
        task, ends = self.draft.text("task"), (RunState.FINISHED, RunState.STOPPED)
        return any(run.task == task and run.state in ends for run in self._bridge.service.runs.values())

    def has_weights(self, checkpoints: CheckpointList) -> bool:
        """Return whether a run of the form's trainer can begin with the weights of one of the checkpoints."""
        runs, runner = self._bridge.service.runs, self.draft.runner.id
        return any(
            card.is_usable and (run := runs.get(card.run_id)) is not None and run.runner == runner
            for card in checkpoints.cards
        )

    # -- the start --------------------------------------------------------------------------

    def start(self, *, is_demo: bool = False) -> None:
        """Start the run whose command is shown; does nothing while `reason` is not empty."""
        if self.reason():
            return
        self.starting = True
        if not self._is_live():
            self.run_id, self.notice = "", None
        self.badge_changed.emit()
        self.ready_changed.emit()
        self._bridge.spawn(self._start(is_demo), title=tr("The run could not be started"))

    def _is_live(self) -> bool:
        """Return whether the run on show has not ended; a run queued meanwhile does not replace it on show."""
        return self.record is not None and not self.record.state.is_end

    async def _start(self, is_demo: bool) -> None:
        try:
            if not self.checks or self.checking:
                self._debounce.stop()
                self._forget_preflight()
                self.checks, self.checking, self.checked_once = [], True, True
                await self._check(self._generation)
            plan = self.plan
            if plan is None or any(check.status == "fail" for check in self.checks):
                return
            if not (stays := self._is_live()):
                self.run_id = plan.run_id
            if is_demo:
                self.demo_run_id = plan.run_id
            record = await self._bridge.service.start(plan, detach=self.detach)
            if stays and record.state is RunState.QUEUED and self._is_live():
                self.queued.emit(plan.run_id)
            else:
                self.show(plan.run_id)
                self.started.emit(plan.run_id)
            if is_demo:
                self.give_form_back(always=True)
        finally:
            self.starting = False
            self.set_consent(False)
            self.wandb = ""  # each run needs its own agreement
            self._renew_plan()
            self.ready_changed.emit()
            self.badge_changed.emit()

    # -- while it runs ----------------------------------------------------------------------

    @property
    def record(self) -> RunRecord | None:
        return self._bridge.service.runs.get(self.run_id)

    @property
    def missed(self) -> int:
        """Number of records of the run on show that were not received and were read from the log instead."""
        return self._bridge.service.missed.get(self.run_id, 0)

    @property
    def waiting_words(self) -> str:
        """Text on the worker that was started in advance; empty without one."""
        ahead = self._bridge.service.ahead
        if ahead.compiling is not None:
            return tr("Compiling the Game Boy for the next run, once")
        return tr("Ready: first point in about 2 s") if ahead.memory_bytes() else ""

    @property
    def capabilities(self) -> RunnerCapabilities:
        """Capabilities of the runner of the active run on show; without one, of the form's runner."""
        if self.record is not None and not self.record.state.is_end:
            if self._bridge.home.run(self.run_id).job.exists():
                return ELSEWHERE
            for runner in self._bridge.service.runners:
                if runner.id == self.record.runner:
                    return runner.capabilities
        return self._session.runner.capabilities

    @property
    def state(self) -> RunState:
        if self.record is not None:
            return self.record.state
        return RunState.PREFLIGHT if self.starting else RunState.IDLE

    # Methods that return why a command is impossible now; empty when it is possible.

    def pause_refusal(self) -> str:
        possible = self.state in (RunState.RUNNING, RunState.PAUSED)
        return "" if possible else tr("Only a running run can be paused")

    def stop_refusal(self) -> str:
        return "" if self.state in _STOPPABLE else tr("No run is training")

    def checkpoint_refusal(self) -> str:
        possible = self.state is RunState.RUNNING
        return "" if possible else tr("Only a running run can save a checkpoint")

    def show(self, run_id: str) -> None:
        """Let the status badge and the buttons be about this run."""
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
        """Ask the run to stop; a second call uses the next, harder means (up to a kill) at once."""
        if self.record is not None:
            self._bridge.spawn(self._bridge.service.stop(self.run_id), title=tr("Stop"))

    def save_checkpoint(self) -> None:
        if self.state is RunState.RUNNING:
            request = self._bridge.service.request(self.run_id, commands.SaveCheckpoint)
            self._bridge.spawn(request, title=tr("Save checkpoint"))

    def resume(self, run_id: str) -> None:
        """Resume a run from its last checkpoint; does nothing while it is being resumed."""
        self.show(run_id)
        if run_id in self.resuming:
            return
        self.resuming.add(run_id)
        self.badge_changed.emit()
        self._bridge.spawn(
            self._resume(run_id), title=tr("Resume"), then=lambda record: self.started.emit(record.run_id)
        )

    @property
    def validating(self) -> str:
        """Text on the progress of a validation during which training waits; empty while the run trains."""
        notice = self.notice
        if notice is None or self.state is not RunState.RUNNING:
            return ""
        return validating_words(notice.detail)

    async def _resume(self, run_id: str) -> RunRecord:
        try:
            return await self._bridge.service.resume(run_id)
        finally:
            self.resuming.discard(run_id)
            self.badge_changed.emit()

    @property
    def unconfirmed(self) -> str:
        """Text on why the last validation, which reached the target, did not end the run; empty otherwise."""
        return unconfirmed_words(self.notice.detail) if self.notice else ""

    def stalled_for(self) -> float:
        """Return the seconds since the last record of a running run; 0 up to STALL_S."""
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
