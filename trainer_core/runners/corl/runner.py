"""What the lab knows of CORL; nothing of it is imported here, and nothing of it is ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.corl.datasets import DatasetCache
from trainer_core.runners.corl.flags import SCRIPTS
from trainer_core.runners.guest.config import GuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.capabilities import RunnerCapabilities
from trainer_core.wire.checks import Check, Found
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.fields import described
from trainer_core.wire.spec import RunSpec

ALGORITHMS = tuple(SCRIPTS)
PLACES = (Path("algorithms", "offline"), Path("algorithms"))
"""Where a checkout keeps its scripts; the older ones have no folder `offline`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorlConfig(GuestConfig):
    """What a CORL script may be asked; its own options go into `arguments`."""

    task: str = field(default="offline", metadata=described("Task", "basics"))
    """A name for the run: the environment is the dataset's own."""
    total_env_steps: int = field(
        default=1_000, metadata=described("Gradient steps", "basics", minimum=0)
    )
    """The script's number of gradient steps; 0 = its own default."""
    algo: Literal["iql", "td3_bc", "any_percent_bc", "cql", "awac", "dt"] = field(
        default="iql", metadata=described("Script", "basics", choices=ALGORITHMS)
    )
    """Which script: algorithms/offline/ALGO.py of the checkout."""
    checkout: str = field(default="", metadata=described("Checkout", "basics", is_folder=True))
    """Folder with CORL's source (its repository); its scripts run as they are."""
    data: str = field(default="", metadata=described("Dataset", "basics", is_folder=True))
    """Folder of a Minari dataset, or digits of the SHA-256 of one that was used before."""
    data_sha256: str = field(default="", metadata=described("Hash of the dataset", "env"))
    """Of its main_data.hdf5: refuse another one. Empty = take what is there."""
    arguments: str = field(default="", metadata=described("Arguments", "learning"))
    """More of the script's own options, for example `--batch_size 64 --iql_tau 0.8`."""
    eval_every: int = field(
        default=500, metadata=described("Evaluate every", "logging", minimum=0, unit="steps")
    )
    """Gradient steps between two evaluations by the script in the dataset's environment."""
    eval_episodes: int = field(
        default=5, metadata=described("Evaluation episodes", "logging", minimum=1)
    )
    """Episodes of one evaluation."""
    checkpoint_every: int = field(
        default=500, metadata=described("Checkpoint every", "logging", minimum=0, unit="steps")
    )
    """Gradient steps between two checkpoints; 0 = only at the end."""
    log_every: int = field(default=50, metadata=described("Log every", "logging", minimum=1))
    """Gradient steps of one record."""

    @property
    def script(self) -> Path:
        """The script in the checkout; where it would be when there is none."""
        folders = [Path(self.checkout).expanduser() / place for place in PLACES]
        scripts = [folder / f"{self.algo}.py" for folder in folders]
        return next((script for script in scripts if script.is_file()), scripts[0])

    def check(self) -> None:
        """Raises ConfigError for what this script cannot do."""
        if self.warm_start and not SCRIPTS[self.algo].load:
            raise ConfigError(
                f"CORL's {self.algo}.py loads no weights: begin without a warm start, or take "
                f"{', '.join(name for name, flags in SCRIPTS.items() if flags.load)}"
            )
        if not self.checkout:
            raise ConfigError("no checkout of CORL was named: give its folder as --checkout")
        if not self.script.is_file():
            raise ConfigError(f"there is no {self.script}: give CORL's folder as --checkout")


class CorlRunner(GuestRunner):
    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        return Check(name="Task", status="ok", detail="the dataset's own environment")

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        yield from super().check_options(spec, found, home)
        config: CorlConfig = self.configure(spec)
        try:
            config.check()
            yield Check(name="Checkout", status="ok", detail=str(config.script))
        except LabError as error:
            yield Check(
                name="Checkout", status="fail", detail=str(error),
                fix="Clone CORL's repository (tinkoff-ai/CORL) and give its folder as --checkout",
            )  # fmt: skip
        try:
            detail = DatasetCache(home).find(config.data, config.data_sha256).words
            yield Check(name="Dataset", status="ok", detail=detail)
        except LabError as error:
            yield Check(
                name="Dataset", status="fail", detail=str(error),
                fix="Give a local Minari dataset as --data (docs/runners.md makes one)",
            )  # fmt: skip


CORL = CorlRunner(
    id="corl",
    title="CORL",
    summary="Offline scripts (IQL, TD3+BC, BC, CQL, AWAC, DT), unmodified, on a Minari dataset.",
    capabilities=RunnerCapabilities(
        pause=True,
        graceful_stop=True,
        checkpoints=True,
        warm_start=True,
    ),
    algorithms=ALGORITHMS,
    config_type=CorlConfig,
    modules=("torch", "warp", "gymnasium", "minari", "h5py", "pyrallis"),
    worker="trainer_core.runners.corl.worker",
    unpickled="model.pt",
    writes_log=True,
)
