"""What a sweep is asked to do, as it is written: what varies, how often, and which rule ends it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from gui.models.equivalent import train_line
from gui.words import tr
from trainer_core.sweeps.space import draws, grid, parse_axes
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError

SEARCHES = {"grid": "Every combination", "random": "Random draws"}
RULES = {
    "halving": "Halving: the best third goes on",
    "median": "Worse than the median ends",
    "none": "None ends early",
}


@dataclass(slots=True)
class SweepTexts:
    """The form as typed: `rows` are a name of RunConfig and its values or range."""

    rows: list[tuple[str, str]] = field(
        default_factory=lambda: [("learning_rate", "1e-3, 5e-4"), ("ent_coef", ""), ("num_envs", "")]
    )
    search: str = "grid"
    trials: int = 8
    seeds: int = 1
    rule: str = "halving"
    jobs: int = 1
    steps: int = 100_000
    """Environment steps after which a trial ends, where the training form sets no end."""


class SweepDraft(QObject):
    """`words` and `trials` are of the form as it stands; `problem` says why there are none."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.texts = SweepTexts()
        self.config: RunConfig | None = None
        """What every trial shares, None while the training form is wrong."""
        self.problem = ""
        self.trials = 0
        self.words: list[str] = []
        """After `dmglab sweep`."""
        self._renew()

    def set_config(self, config: RunConfig | None) -> None:
        self.config = config
        self._renew()

    def set(self, **texts: object) -> None:
        """Take values of SweepTexts by name."""
        for name, value in texts.items():
            setattr(self.texts, name, value)
        self._renew()

    @property
    def needs_end(self) -> bool:
        """Whether the training form lets a run go on until it is stopped."""
        run = self.config
        return run is not None and not (run.seconds or run.total_env_steps or run.target_success)

    @property
    def line(self) -> str:
        """The same from a terminal."""
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
        """Raises ConfigError for what `dmglab sweep` would not take."""
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
        if "--seed" in words:  # the sweep names its own
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
