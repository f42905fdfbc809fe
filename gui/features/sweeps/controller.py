"""State of a sweep: its form and its process."""

from __future__ import annotations

import asyncio
import shlex
import sys
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QObject, Signal

from gui.features.runs.controller import RunsController
from gui.features.runs.model import sweep_of
from gui.features.train.controller import TrainingController
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.config_fields import train_line
from gui.state.notices import Notices
from gui.state.session import Navigation, Place
from trainer_core.service import Job, RunChanged, run_job
from trainer_core.sweeps.space import draws, grid, parse_axes
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.run_record import RunRecord
from trainer_core.wire.spec import NATIVE_ID

SEARCHES = {"grid": "Every combination", "random": "Random draws"}
RULES = {
    "halving": "Halving: the best third continues",
    "median": "Stop trials below the median",
    "none": "No trial stops early",
}
END_S = 20.0
"""Longest wait in seconds for trials to save when the app ends."""


@dataclass(slots=True)
class SweepTexts:
    """Contents of the sweep's form; a row is the name of a varied field and its values or range as text."""

    rows: list[tuple[str, str]] = field(
        default_factory=lambda: [("learning_rate", "1e-3, 5e-4"), ("ent_coef", ""), ("num_envs", "")]
    )
    search: str = "grid"
    trials: int = 8
    seeds: int = 1
    rule: str = "halving"
    jobs: int = 1
    steps: int = 100_000
    """Environment steps of each trial, used if the training form sets no end of the run."""


class SweepDraft(QObject):
    """Sweep as entered in the form, turned into the arguments of `dmglab sweep`.

    After each change `words` are the arguments and `trials` is the number of runs; `problem` says why the form is
    invalid.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.texts = SweepTexts()
        self.config: RunConfig | None = None
        """Configuration shared by the trials; None while the training form is invalid."""
        self.problem = ""
        self.trials = 0
        self.words: list[str] = []
        """Arguments of `dmglab sweep`; empty while the form is invalid."""
        self._renew()

    def set_config(self, config: RunConfig | None) -> None:
        self.config = config
        self._renew()

    def set(self, **texts: object) -> None:
        """Change fields of `texts` by name, and compute arguments and number of trials again."""
        for name, value in texts.items():
            setattr(self.texts, name, value)
        self._renew()

    @property
    def needs_end(self) -> bool:
        """True if the training form has no limit, so that `steps` has to end the trials."""
        run = self.config
        return run is not None and not run.has_limit

    @property
    def line(self) -> str:
        """The equivalent shell command as text."""
        return shlex.join(["dmglab", "sweep", *self.words]) if self.words else ""

    def _renew(self) -> None:
        self.problem, self.trials, self.words = "", 0, []
        try:
            self.trials = self._count()
            self.words = self._words()
        except ConfigError as error:
            self.problem = str(error)
        self.changed.emit()

    def _vary(self) -> list[str]:
        return [f"{name}={said.strip()}" for name, said in self.texts.rows if said.strip()]

    def _count(self) -> int:
        """Return the number of trials. Raises ConfigError for settings that `dmglab sweep` would refuse."""
        config, texts = self.config, self.texts
        if config is None:
            raise ConfigError(tr("Correct the training form first"))
        axes = parse_axes(self._vary())
        settings = draws(axes, texts.trials, 1) if texts.search == "random" else grid(axes)
        return len(settings) * texts.seeds

    def _words(self) -> list[str]:
        assert self.config is not None
        texts = self.texts
        words = shlex.split(train_line(self.config))[2:]
        if self.needs_end:
            words += ["--total-env-steps", str(texts.steps)]
        if "--seed" in words:  # the sweep sets its own
            at = words.index("--seed")
            del words[at : at + 2]
        for vary in self._vary():
            words += ["--vary", vary.replace(" ", "")]
        if texts.search == "random":
            words += ["--search", "random", "--trials", str(texts.trials)]
        words += ["--seeds", *(str(seed) for seed in range(1, texts.seeds + 1))]
        words += ["--early-stop", texts.rule]
        if texts.jobs > 1:
            words += ["--jobs", str(texts.jobs)]
        return words


class SweepController(QObject):
    changed = Signal()

    def __init__(
        self,
        bridge: Bridge,
        training: TrainingController,
        runs: RunsController,
        navigation: Navigation,
        notices: Notices,
    ) -> None:
        super().__init__()
        self.draft = SweepDraft()
        self.program = [sys.executable, "-m", "trainer_core.cli.main", "sweep"]
        self._bridge, self._training, self._runs = bridge, training, runs
        self._navigation, self._notices = navigation, notices
        self._job: Job | None = None
        self._expected = 0
        self._seen: set[str] = set()
        self._trials: list[str] = []
        self.is_busy = self.is_stopping = False
        training.plan_changed.connect(self._on_plan)
        bridge.run_changed.connect(self._on_run_changed)
        self._on_plan()

    # -- the form ---------------------------------------------------------------------------

    def _on_plan(self) -> None:
        draft = self._training.draft
        self.draft.set_config(draft.config if draft.runner.id == NATIVE_ID else None)

    def form_refusal(self) -> str:
        if self._training.draft.runner.id != NATIVE_ID:
            return tr("Only DMG Lab's own trainer has sweeps: choose it first")
        return ""

    def refusal(self) -> str:
        """Return why the sweep cannot be started now; empty when it can."""
        if self.is_busy:
            return tr("A sweep is already running")
        return self.form_refusal() or self.draft.problem

    # -- its process ------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the `dmglab sweep` command that the form shows."""
        if self.refusal():
            return
        argv = [*self.program, *self.draft.words, "--home", str(self._bridge.home.root)]
        self.is_busy, self.is_stopping = True, False
        self._expected, self._trials = self.draft.trials, []
        self._seen = set(self._bridge.service.runs)
        self.changed.emit()
        self._bridge.spawn(
            run_job(argv, on_start=self._on_job, partial=True), then=self._on_done, failed=self._on_failed
        )
        self._notices.tell(
            tr("Sweep of {trials} trials started", trials=self._expected),
            tr("its trials are one row of the table"),
            "info",
        )

    def _on_job(self, job: Job) -> None:
        self._job = job
        if self.is_stopping:  # stopped before there was a process: nothing to save yet
            job.cancel()
        self.changed.emit()

    def stop(self) -> None:
        """Start no further trials and let running ones save; a second call ends these at once."""
        if self.stop_refusal():
            return
        if self._job is not None and (self.is_stopping or not self._job.ask_to_end()):
            self._job.cancel()
        self.is_stopping = True
        self.changed.emit()

    def stop_refusal(self) -> str:
        return "" if self.is_busy else tr("No sweep is running")

    async def close(self) -> None:
        """End the sweep when the app ends; running trials get up to END_S seconds to save."""
        if not self.is_stopping:
            self.stop()
        for _ in range(round(END_S / 0.1)):
            if not self.is_busy:
                return
            await asyncio.sleep(0.1)
        if self._job is not None:
            self._job.cancel()

    # -- results ----------------------------------------------------------------------------

    def _on_run_changed(self, notice: RunChanged) -> None:
        """Pin the curves of a trial of this sweep that has just started."""
        run: RunRecord = notice.record
        if not self.is_busy or run.run_id in self._seen or not sweep_of(run):
            return
        self._seen.add(run.run_id)
        self._trials.append(run.run_id)
        self._runs.toggle_shown(run.run_id)
        if len(self._trials) == 1:
            self._navigation.show(Place.CURVES)

    def _on_done(self, result: dict[str, Any]) -> None:
        self._end()
        settings = result.get("settings") or []
        if result.get("state") != "finished":
            self._notices.tell(tr("Sweep stopped"), f"dmglab sweep --resume {result.get('sweep_id', '')}", "warn")
        elif settings:
            best = settings[0]
            values = ", ".join(f"{name} {value}" for name, value in best["values"].items())
            self._notices.tell(
                tr("Sweep finished"),
                tr(
                    "best of {count} settings: {values}",
                    count=len(settings),
                    values=values or tr("the settings of the form"),
                ),
                "good",
                tr("Compare"),
                lambda: self._runs.show_all(self._trials),
                is_news=True,
            )

    def _on_failed(self, reason: str) -> None:
        was_stopping = self.is_stopping
        self._end()
        if reason == "cancelled":
            self._notices.tell(tr("Sweep stopped"), "", "warn")
        elif was_stopping:  # stopped before it could save, or with a failed trial
            self._notices.tell(tr("Sweep stopped"), reason, "warn")
        else:
            self._bridge.problem.emit(tr("The sweep ended"), reason)

    def _end(self) -> None:
        self._job, self.is_busy, self.is_stopping = None, False, False
        self.changed.emit()
