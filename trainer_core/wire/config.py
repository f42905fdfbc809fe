"""Run configuration: frozen dataclasses that validate themselves. Their fields define the command line (tyro reads the
docstring under a field) and the app's form (label, range and group in `metadata`)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from trainer_core.wire.addresses import check_cluster
from trainer_core.wire.algorithms import ALGORITHMS, find_algorithm
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import MAX_ENV_STEPS, MAX_SECONDS, MAX_SEED, check_device, check_fields
from trainer_core.wire.fields import described as _meta
from trainer_core.wire.spec import from_fields

if TYPE_CHECKING:
    Algo = str
else:  # the choices of the command line are the rows of the table
    Algo = Literal[tuple(ALGORITHMS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Configuration of one training run: all on which it depends besides the task's files."""

    task: str = field(default="pocket_quest/leave_bedroom", metadata=_meta("Task", "basics"))
    """Task id (or task folder) to train on; several, which one policy learns in one batch, as a,b
    or pocket_quest/*."""
    device: str = field(default="cpu", metadata=_meta("Device", "basics"))
    """cpu or cuda:N."""
    on: str = field(default="", metadata=_meta("Run on", "basics"))
    """Ray cluster on which to train, by its dashboard: ray+http://127.0.0.1:8265; empty = this computer."""
    algo: Algo = field(default="ppo", metadata=_meta("Algorithm", "basics", choices=tuple(ALGORITHMS)))
    """Learning algorithm."""
    num_envs: int = field(default=32, metadata=_meta("Game Boys", "basics", minimum=1, maximum=1 << 17))
    """Number of Game Boys that run side by side."""
    seconds: float = field(
        default=0.0, metadata=_meta("Time limit", "basics", minimum=0, maximum=MAX_SECONDS, unit="s")
    )
    """Stop after so many seconds of wall time; 0 = no limit."""
    total_env_steps: int = field(
        default=0, metadata=_meta("Stop after steps", "learning", minimum=0, maximum=MAX_ENV_STEPS)
    )
    """Stop after so many environment steps; 0 = no limit."""
    max_episodes: int = field(
        default=0, metadata=_meta("Stop after episodes", "learning", minimum=0, maximum=MAX_ENV_STEPS)
    )
    """Stop once so many training episodes have ended, resumes included, at the end of that update; 0 = no limit."""
    target_success: float = field(default=0.0, metadata=_meta("Stop at success", "basics", minimum=0, maximum=1))
    """Stop once this share of greedy episodes succeeds on every task, in two validations in a row, or in one where
    sampled play reaches 0.8 of it; 0 = do not stop. If a second process validates (`validate_on`), the run ends some
    updates later; the checkpoint that it names has the weights that succeeded."""
    seed: int = field(default=1, metadata=_meta("Seed", "basics", minimum=0, maximum=MAX_SEED))
    """Seed of weights, sampling and starts."""

    stack_k: int = field(default=1, metadata=_meta("Stacked pictures", "env", minimum=1, maximum=8))
    """Number of newest pictures that the policy sees; 1 needs no copies."""
    obs_source: Literal["screen", "marked", "noise"] = field(
        default="screen", metadata=_meta("Observation", "env", choices=("screen", "marked", "noise"))
    )
    """screen; marked: a picture that was seen before in the episode shows marks for the buttons that were pressed at
    it; noise: random pictures, a control that proves that the policy uses its input."""

    demo_starts: float = field(
        default=0.75, metadata=_meta("Starts along demonstrations", "env", minimum=0, maximum=0.9)
    )
    """Share of training episodes that begin along the task's demonstrations, if it has any; 0 = all
    at the task's own starts. Validation always begins there."""

    learning_rate: float = field(default=1e-3, metadata=_meta("Learning rate", "learning", minimum=1e-7, maximum=1))
    """Adam's step size."""
    lr_schedule: Literal["constant", "linear"] = field(
        default="constant", metadata=_meta("Schedule", "learning", choices=("constant", "linear"))
    )
    """Course of the learning rate over the run; linear falls to 0 at the step limit."""
    num_steps: int = field(default=32, metadata=_meta("Rollout length", "learning", minimum=1, maximum=1 << 16))
    """Steps of every env between two updates (T)."""
    num_minibatches: int = field(default=8, metadata=_meta("Minibatches", "learning", minimum=1, maximum=1 << 20))
    """Number of minibatches into which PPO divides a rollout in each epoch."""
    update_epochs: int = field(default=4, metadata=_meta("Epochs", "learning", minimum=1, maximum=1000))
    """Number of passes that PPO makes over a rollout."""
    gamma: float = field(default=0.97, metadata=_meta("Discount", "learning", minimum=0, maximum=1))
    """Discount per environment step."""
    gae_lambda: float = field(default=0.95, metadata=_meta("GAE lambda", "learning", minimum=0, maximum=1))
    """Trade-off between bias (0) and variance (1) of the advantage (Schulman et al. 2016)."""
    clip_range: float = field(default=0.2, metadata=_meta("Clip range", "learning", minimum=0.01, maximum=1))
    """Distance from 1 at which PPO clips the probability ratio."""
    clip_range_vf: float = field(default=0.0, metadata=_meta("Value clip range", "learning", minimum=0, maximum=10**6))
    """Change of the value at which PPO clips it; 0 = no clipping."""
    ent_coef: float = field(default=0.01, metadata=_meta("Entropy coefficient", "learning", minimum=0, maximum=100))
    """Weight of the entropy bonus."""
    ent_schedule: Literal["success", "constant"] = field(
        default="success", metadata=_meta("Entropy schedule", "learning", choices=("success", "constant"))
    )
    """success: the bonus falls in proportion as training episodes succeed, to a tenth."""
    vf_coef: float = field(default=0.5, metadata=_meta("Value coefficient", "learning", minimum=0, maximum=100))
    """Weight of the value loss."""
    max_grad_norm: float = field(default=0.5, metadata=_meta("Gradient clip", "learning", minimum=0, maximum=10**6))
    """Global norm that gradients are clipped to; 0 = no clipping."""
    target_kl: float = field(default=0.0, metadata=_meta("Target KL", "learning", minimum=0, maximum=100))
    """Stop an update's epochs once the approximate KL passes this; 0 = never."""
    normalize_advantage: bool = field(default=True, metadata=_meta("Normalise advantages", "learning"))
    """Normalise advantages in each minibatch, to mean 0 and standard deviation 1."""
    policy: Literal["auto", "small", "nature", "impala"] = field(
        default="auto", metadata=_meta("Network", "learning", choices=("auto", "small", "nature", "impala"))
    )
    """auto: small on a CPU, nature on a GPU."""
    amp: Literal["auto", "off", "bf16"] = field(
        default="auto", metadata=_meta("Mixed precision", "learning", choices=("auto", "off", "bf16"))
    )
    """bf16 autocast; auto = on CUDA only."""
    warm_start: str = field(default="", metadata=_meta("Start from checkpoint", "learning", is_folder=True))
    """Checkpoint folder whose weights the run begins with (a warm start, not a resume)."""

    eval_every: int = field(default=20, metadata=_meta("Validate every", "logging", minimum=0, maximum=10**6))
    """Updates between two validations; 0 disables."""
    eval_episodes: int = field(default=32, metadata=_meta("Validation episodes", "logging", minimum=1, maximum=4096))
    """Episodes of one validation, spread over the validation starts."""
    validate_on: Literal["auto", "device", "cpu"] = field(
        default="auto", metadata=_meta("Validate on", "logging", choices=("auto", "device", "cpu"))
    )
    """device: on the device that trains, while training waits; cpu: in a second process on the CPU, whose results come
    some updates later; auto: cpu for a run on one GPU with four cores or more, device for any other."""
    checkpoint_every: int = field(default=20, metadata=_meta("Checkpoint every", "logging", minimum=0, maximum=10**6))
    """Updates between two checkpoints; 0 = only at the end."""
    keep_checkpoints: int = field(default=5, metadata=_meta("Keep checkpoints", "logging", minimum=1, maximum=10**4))
    """Number of checkpoints to keep besides the best and the newest."""
    log_every: int = field(default=1, metadata=_meta("Record every", "logging", minimum=1, maximum=10**6))
    """Updates between two update records."""
    record_clips: int = field(default=0, metadata=_meta("Clip every", "logging", minimum=0, maximum=10**6))
    """Updates between two clips of the first Game Boy while it trains, of at most 200 pictures, in training/videos of
    the data folder; another process encodes them, which may slow training down. 0 = none."""
    threads: int = field(default=0, metadata=_meta("CPU threads", "logging", minimum=0, maximum=256))
    """Number of threads that learn on a CPU; 0 = choose."""

    def __post_init__(self) -> None:
        check_fields(self)
        check_device(self.device)
        check_cluster(self.on)
        find_algorithm(self.algo).check(self)
        if self.lr_schedule == "linear" and not self.total_env_steps:
            raise ConfigError("lr_schedule linear needs total_env_steps: its rate ends there at 0")

    @property
    def has_limit(self) -> bool:
        """True if something besides the user ends the run."""
        return bool(self.seconds or self.total_env_steps or self.max_episodes or self.target_success)

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    @property
    def minibatch_size(self) -> int:
        """Number of samples of a minibatch, rounded up, so that there are at most `num_minibatches`, none of them
        empty."""
        return -(-self.batch_size // self.num_minibatches)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> RunConfig:
        """Return the configuration with the fields `raw`. Raises ConfigError for unknown keys, wrong types, impossible
        values."""
        return from_fields(cls, raw)
