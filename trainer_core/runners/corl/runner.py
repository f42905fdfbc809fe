"""Description of the CORL runner; CORL's code is the user's checkout and is not imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from trainer_core.lab.datasets import Dataset, DatasetCache, as_object, check_space
from trainer_core.lab.memory_estimate import available_for
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.guest.checkout import check_checkout
from trainer_core.runners.guest.config import CheckoutFields, GuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.capabilities import FULL
from trainer_core.wire.checks import Check, Found, judged
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import option
from trainer_core.wire.spec import RunSpec

Algorithm = Literal[
    "iql",
    "td3_bc",
    "any_percent_bc",
    "cql",
    "awac",
    "dt",
    "sac_n",
    "edac",
    "lb_sac",
    "rebrac",
    "finetune_iql",
    "finetune_cql",
    "finetune_cal_ql",
    "finetune_spot",
    "finetune_awac",
]
ALGORITHMS = get_args(Algorithm)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorlConfig(CheckoutFields, GuestConfig):
    """Options of a CORL run; the script's own options go into `arguments`."""

    task: str = option("offline", "Task", "basics")
    """A name for the run: the environment is the dataset's own."""
    total_env_steps: int = option(1_000, "Gradient steps", "basics", minimum=0)
    """Gradient steps on the dataset; 0 = the script's own default, for finetune none."""
    algo: Algorithm = option("iql", "Script", "basics", choices=ALGORITHMS)
    """Which script of the checkout: algorithms/offline/ALGO.py or, to go on online, algorithms/finetune/ALGO.py."""
    data: str = option("", "Dataset", "basics", is_folder=True, is_dataset=True)
    """A kept dataset's name or hash, the folder of a Minari dataset, or a file with D4RL's layout."""
    online_steps: int = option(1_000, "Online steps", "basics", minimum=0)
    """finetune: steps in the environment after those on the dataset, one gradient step each."""
    environment: str = option("", "Evaluate in", "env")
    """Gymnasium environment to evaluate and go on in; empty = the dataset's own."""
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
        from trainer_core.runners.corl.flags import SCRIPTS

        script = self.source / "algorithms" / SCRIPTS[self.algo].path
        older = self.source / "algorithms" / script.name  # before there was a folder `offline`
        return older if not script.is_file() and "offline" in script.parts and older.is_file() else script

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
        yield from super().check_options(spec, found, home)
        config: CorlConfig = self.configure(spec)
        yield check_checkout(self.title, config.source, config.check)

        def judge() -> str:
            dataset = DatasetCache(home).find(config.data, config.data_sha256, quick=True)
            check_spaces(dataset, config.environment)
            return dataset.words

        told = judged("Dataset", judge, "Give one of `dmglab datasets list` as --data, or a dataset's folder or file")
        yield told
        if told.status == "ok":
            dataset = DatasetCache(home).find(config.data, quick=True)
            yield check_space(dataset, home, available_for(config.device, found))


def check_spaces(dataset: Dataset, environment: str) -> None:
    """Raise ConfigError unless observations are vectors and actions are continuous, as CORL's scripts require.

    The arrays of a file with D4RL's layout are looked at by the worker.
    """
    place = dataset.file
    seen, acted = (as_object(dataset.metadata.get(f"{kind}_space")) for kind in ("observation", "action"))
    if not dataset.is_d4rl and acted.get("type") != "Box":
        raise ConfigError(
            f"{place}: actions are {acted.get('type', 'unknown')}; CORL's scripts need "
            "continuous ones (Box). For our seven buttons: --runner d3rlpy"
        )
    shape = seen.get("shape")
    is_vector = seen.get("type") == "Box" and isinstance(shape, list) and len(shape) == 1
    if not dataset.is_d4rl and not is_vector and seen.get("type") != "Dict":
        raise ConfigError(
            f"{place}: observations are {seen.get('type', 'unknown')}"
            f"{shape or ''}; CORL's scripts need vectors (Box of one dimension)"
        )
    if not (environment or dataset.environment):
        raise ConfigError(f"{place}: names no environment to evaluate in (env_spec): give one as --environment")


CORL = CorlRunner(
    id="corl",
    title="CORL",
    summary="Scripts that learn offline (IQL, CQL, EDAC, ReBRAC, ...) and go on online, unmodified, from a dataset.",
    capabilities=FULL.but(exact_resume=False, play=False, watch=False),
    algorithms=ALGORITHMS,
    config_type=CorlConfig,
    own_tasks=True,
    modules=("torch", "warp", "gymnasium", "minari", "h5py", "pyrallis"),
    worker="trainer_core.runners.corl.worker",
    unpickled="model.pt",
)
