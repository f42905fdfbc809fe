"""Description of the d3rlpy runner; d3rlpy is not imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import list_recordings
from trainer_core.runners.guest.config import GuestConfig, PixelFields
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.capabilities import FULL
from trainer_core.wire.checks import Check, Found, judged
from trainer_core.wire.decoding import open_zip, parsing
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.fields import check_fields, option
from trainer_core.wire.regular_files import open_regular
from trainer_core.wire.spec import RunSpec

Algorithm = Literal["bc", "cql", "iql"]
ALGORITHMS = get_args(Algorithm)
HDF5 = Path("data", "main_data.hdf5")
"""Path of the episodes in a Minari dataset's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class D3rlpyConfig(PixelFields, GuestConfig):
    """Options of a d3rlpy run. Nothing is played while it learns: steps are gradient steps."""

    total_env_steps: int = option(1_000, "Gradient steps", "basics", minimum=0)
    """Stop after so many gradient steps; 0 = no limit."""
    algo: Algorithm = option("bc", "Algorithm", "basics", choices=ALGORITHMS)
    """bc: DiscreteBC, imitation; cql: DiscreteCQL, which also looks at the rewards; iql: ours."""
    data: str = option("", "Demonstrations", "basics", is_folder=True)
    """Folder of recordings, a demo.npz, or a Minari dataset's folder."""
    data_sha256: str = option("", "Hash of the dataset", "env")
    """SHA-256 of a Minari dataset's main_data.hdf5: refuse another one. Empty = take what is there."""
    demonstrations: int = option(0, "Use at most", "env", minimum=0, unit="episodes")
    """Learn from the first so many demonstrations; 0 = from all."""
    batch_size: int = option(64, "Batch", "learning", minimum=1, maximum=65536)
    """Transitions of one gradient step."""
    gamma: float = option(0.97, "Discount (CQL, IQL)", "learning", minimum=0, maximum=1)
    """CQL and IQL: discount per environment step."""
    beta: float = option(0.5, "Regularisation (BC)", "learning", minimum=0)
    """BC: weight of the penalty on large logits."""
    alpha: float = option(1.0, "Conservatism (CQL)", "learning", minimum=0)
    """CQL: weight of the loss that keeps unseen actions' values low."""
    expectile: float = option(0.7, "Expectile (IQL)", "learning", minimum=0.5, maximum=0.999)
    """IQL: which expectile of Q the value is; 0.5 is the mean, towards 1 the best recorded."""
    weight_temp: float = option(3.0, "Advantage weight (IQL)", "learning", minimum=0, maximum=100)
    """IQL: how much more an action is imitated that was better than the value; 0 is BC."""
    target_update_interval: int = option(500, "Target update (CQL)", "learning", minimum=1)
    """CQL: gradient steps between two copies into the target network."""
    eval_every: int = option(500, "Validate every", "logging", minimum=0, unit="steps")
    """Gradient steps between two validations; 0 disables."""
    checkpoint_every: int = option(1_000, "Checkpoint every", "logging", minimum=0, unit="steps")
    """Gradient steps between two checkpoints; 0 = only at the end."""
    log_every: int = option(100, "Log every", "logging", minimum=1, maximum=100_000)
    """Gradient steps of one record; between two records the run may be interrupted."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, kw_only=True)
class D3rlpyRunner(GuestRunner):
    """Runner whose preflight also checks the demonstrations."""

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        yield from super().check_options(spec, found, home)
        config: D3rlpyConfig = self.configure(spec)
        yield judged(
            "Demonstrations",
            lambda: describe_data(config.data),
            "dmglab record --checkpoint latest --episodes 50 --out FOLDER",
        )


def describe_data(data: str) -> str:
    """Return a description of the data in `data`. Raises ConfigError when nothing can be learned from it."""
    if not data:
        raise ConfigError("no demonstrations: name a folder of recordings, a demo.npz or a Minari dataset with --data")
    path = Path(data).expanduser()
    if (path / HDF5).is_file():
        return f"Minari dataset {path}"
    if path.is_file():
        if not is_demonstration(path):
            raise ConfigError(
                f"{path}: no file of demonstrations; `dmglab task demo` and the app's capture of a "
                "way make one, or name a folder of recordings or a Minari dataset"
            )
        return f"demonstrations {path}"
    if not path.is_dir():
        raise ConfigError(f"{path}: no such file or folder")
    count = len(list_recordings(path))
    if not count:
        raise ConfigError(f"{path}: holds neither recordings nor a Minari dataset ({HDF5})")
    return f"{count} recordings in {path}"


def is_demonstration(path: Path) -> bool:
    """Return whether a file has the arrays of demonstrations; their content is checked when they are played."""
    try:
        with parsing(path), open_regular(path) as file, open_zip(file) as archive:
            return {"masks.npy", "frames.npy"} <= set(archive.namelist())
    except LabError:
        return False


D3RLPY = D3rlpyRunner(
    id="d3rlpy",
    title="d3rlpy",
    summary="Offline learning: imitates recorded play (BC) or learns from its rewards (CQL, IQL).",
    capabilities=FULL.but(watch=False),
    algorithms=ALGORITHMS,
    config_type=D3rlpyConfig,
    modules=("torch", "warp", "d3rlpy", "minari", "h5py"),
    worker="trainer_core.runners.d3rlpy.worker",
    unpickled="model.d3",
    player="trainer_core.runners.d3rlpy.player",
    screens_only=True,
)
