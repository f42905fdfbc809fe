"""Description of the skrl runner; skrl is not imported here."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, get_args

from trainer_core.runners.guest.config import PixelFields, PlayingGuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.capabilities import FULL
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_fields, option
from trainer_core.wire.spec import RunSpec

Algorithm = Literal["ppo"]
ALGORITHMS = get_args(Algorithm)
POLICIES = ("small", "nature", "impala")
CPU_ENVS, CPU_PARTS = 32, 8
"""Environments and minibatches on a CPU, as in our preset `laptop`."""
GPU_ENVS, GPU_PARTS = 1024, 32
"""Environments and minibatches on a GPU: half the minibatches of our preset `gpu`, since one takes skrl more time.

docs/notebook/learning.md has the figures.
"""
EVAL_UPDATES, CHECKPOINT_UPDATES = 20, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SkrlConfig(PixelFields, PlayingGuestConfig):
    """Options of a skrl run: skrl's names with our ranges; limits of 0 mean none."""

    algo: Algorithm = option("ppo", "Algorithm", "basics", choices=ALGORITHMS)
    """skrl's algorithm."""
    num_envs: int = option(0, "Game Boys", "basics", minimum=0, maximum=65536)
    """Game Boys that run side by side; 0 = choose: 32 on a CPU, 1,024 on a GPU."""
    eval_every: int = option(-1, "Validate every", "logging", minimum=-1, unit="steps")
    """Environment steps between two validations; 0 disables, -1 = choose: 20 updates. One comes
    sooner where the episodes of training reach the success to stop at."""
    checkpoint_every: int = option(-1, "Checkpoint every", "logging", minimum=-1, unit="steps")
    """Environment steps between two checkpoints; 0 = only at the end, -1 = choose: 100 updates."""

    policy: Literal["small", "nature", "impala"] = option("small", "Network", "learning", choices=POLICIES)
    """Our networks: skrl takes any module."""
    rollouts: int = option(32, "Rollout length", "learning", minimum=2, maximum=4096)
    """Steps of every env between two updates."""
    learning_epochs: int = option(4, "Epochs", "learning", minimum=1, maximum=100)
    """Times it goes over a rollout."""
    mini_batches: int = option(0, "Minibatches", "learning", minimum=0, maximum=65536)
    """Parts that a rollout is learned in; 0 = choose: 8 on a CPU, 32 on a GPU."""
    discount_factor: float = option(0.97, "Discount", "learning", minimum=0, maximum=1)
    """Discount per environment step."""
    gae_lambda: float = option(0.95, "GAE lambda", "learning", minimum=0, maximum=1)
    """Bias against variance in the advantage."""
    ratio_clip: float = option(0.2, "Clip range", "learning", minimum=0.01, maximum=1)
    """Clipping of the probability ratio."""
    value_clip: float = option(0.2, "Value clip", "learning", minimum=0, maximum=100)
    """Clipping of the value's change; 0 = none."""
    entropy_loss_scale: float = option(0.01, "Entropy coefficient", "learning", minimum=0)
    """Weight of the entropy bonus."""
    value_loss_scale: float = option(0.5, "Value coefficient", "learning", minimum=0)
    """Weight of the value loss."""
    grad_norm_clip: float = option(0.5, "Gradient clip", "learning", minimum=0)
    """Greatest norm of a gradient; 0 = any."""
    kl_threshold: float = option(0.0, "KL limit", "learning", minimum=0)
    """Leave an epoch beyond this KL divergence; 0 = never."""
    mixed_precision: bool = option(False, "Mixed precision", "learning")
    """Learn in half precision where the device has it."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.num_envs == 1:
            raise ConfigError("num_envs 1: skrl's trainer takes two Game Boys or more")
        chosen = self.chosen()
        if chosen.num_envs * self.rollouts < chosen.mini_batches:
            raise ConfigError(
                f"mini_batches {chosen.mini_batches} is more than a rollout holds: "
                f"{chosen.num_envs} x {self.rollouts} steps"
            )

    def chosen(self) -> SkrlConfig:
        """Return the options with every automatic number filled in."""
        on_cpu = self.device == "cpu"
        envs = self.num_envs or (CPU_ENVS if on_cpu else GPU_ENVS)
        parts = self.mini_batches or min(CPU_PARTS if on_cpu else GPU_PARTS, envs * self.rollouts)
        numbers = {
            "num_envs": envs,
            "mini_batches": parts,
            "eval_every": _or(self.eval_every, EVAL_UPDATES * envs * self.rollouts),
            "checkpoint_every": _or(self.checkpoint_every, CHECKPOINT_UPDATES * envs * self.rollouts),
        }
        if all(getattr(self, name) == value for name, value in numbers.items()):
            return self
        return dataclasses.replace(self, **numbers)


def _or(asked: int, chosen: int) -> int:
    return chosen if asked < 0 else asked


class SkrlRunner(GuestRunner):
    def complete(self, spec: RunSpec) -> RunSpec:
        """Fill in the numbers that are chosen automatically, so that preview, log and resume have them."""
        return spec.with_options(self.configure(spec).chosen())


SKRL = SkrlRunner(
    id="skrl",
    title="skrl",
    summary="PPO of a library that trains on GPU tensors, as ours does.",
    capabilities=FULL,
    algorithms=ALGORITHMS,
    config_type=SkrlConfig,
    modules=("torch", "warp", "skrl"),
    worker="trainer_core.runners.skrl.worker",
    player="trainer_core.runners.skrl.player",
    waits=True,
)
