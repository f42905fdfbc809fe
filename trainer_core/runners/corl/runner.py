"""Description of the CORL runner; CORL's code is the user's checkout and is not imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.guest.config import CheckoutFields, GuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.capabilities import FULL
from trainer_core.wire.checks import Check, Found, judged
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import option
from trainer_core.wire.spec import RunSpec

Algorithm = Literal["iql", "td3_bc", "any_percent_bc", "cql", "awac", "dt"]
ALGORITHMS = get_args(Algorithm)
PLACES = (Path("algorithms", "offline"), Path("algorithms"))
"""Folders of the scripts in a checkout; older ones have no folder `offline`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorlConfig(CheckoutFields, GuestConfig):
    """Options of a CORL run; the script's own options go into `arguments`."""

    task: str = option("offline", "Task", "basics")
    """A name for the run: the environment is the dataset's own."""
    total_env_steps: int = option(1_000, "Gradient steps", "basics", minimum=0)
    """The script's number of gradient steps; 0 = its own default."""
    algo: Algorithm = option("iql", "Script", "basics", choices=ALGORITHMS)
    """Which script: algorithms/offline/ALGO.py of the checkout."""
    data: str = option("", "Dataset", "basics", is_folder=True)
    """Folder of a Minari dataset, or digits of the SHA-256 of one that was used before."""
    data_sha256: str = option("", "Hash of the dataset", "env")
    """SHA-256 of its main_data.hdf5: refuse another one. Empty = take what is there."""
    arguments: str = option("", "Arguments", "learning")
    """More of the script's own options, for example `--batch_size 64 --iql_tau 0.8`."""
    eval_every: int = option(500, "Evaluate every", "logging", minimum=0, unit="steps")
    """Gradient steps between two evaluations by the script in the dataset's environment."""
    eval_episodes: int = option(5, "Evaluation episodes", "logging", minimum=1)
    """Episodes of one evaluation."""
    checkpoint_every: int = option(500, "Checkpoint every", "logging", minimum=0, unit="steps")
    """Gradient steps between two checkpoints; 0 = only at the end."""
    log_every: int = option(50, "Log every", "logging", minimum=1)
    """Gradient steps of one record."""

    @property
    def script(self) -> Path:
        """Path of the script in the checkout, whether it exists or not."""
        scripts = [self.source / place / f"{self.algo}.py" for place in PLACES]
        return next((script for script in scripts if script.is_file()), scripts[0])

    def check(self) -> str:
        """Return the script's path. Raises ConfigError for options the script does not support."""
        from trainer_core.runners.corl.flags import SCRIPTS

        if self.warm_start and not SCRIPTS[self.algo].load:
            raise ConfigError(
                f"CORL's {self.algo}.py loads no weights: begin without a warm start, or take "
                f"{', '.join(name for name, flags in SCRIPTS.items() if flags.load)}"
            )
        return str(self.require_source("CORL", self.script))


class CorlRunner(GuestRunner):
    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        from trainer_core.runners.corl.datasets import DatasetCache

        yield from super().check_options(spec, found, home)
        config: CorlConfig = self.configure(spec)
        yield judged(
            "Checkout", config.check, "Clone CORL's repository (tinkoff-ai/CORL) and give its folder as --checkout"
        )
        yield judged(
            "Dataset",
            lambda: DatasetCache(home).find(config.data, config.data_sha256).words,
            "Give a local Minari dataset as --data (docs/notebook/runners.md makes one)",
        )


CORL = CorlRunner(
    id="corl",
    title="CORL",
    summary="Offline scripts (IQL, TD3+BC, BC, CQL, AWAC, DT), unmodified, on a Minari dataset.",
    capabilities=FULL.but(exact_resume=False, play=False, watch=False),
    algorithms=ALGORITHMS,
    config_type=CorlConfig,
    own_tasks=True,
    modules=("torch", "warp", "gymnasium", "minari", "h5py", "pyrallis"),
    worker="trainer_core.runners.corl.worker",
    unpickled="model.pt",
)
