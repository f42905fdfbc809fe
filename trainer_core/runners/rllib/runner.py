"""Description of the RLlib runner; Ray is not imported here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from trainer_core.runners.guest.config import PixelFields, PlayingGuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.capabilities import FULL
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_fields, option

Algorithm = Literal["ppo"]
ALGORITHMS = get_args(Algorithm)
POLICIES = ("small", "nature", "impala")


@dataclass(frozen=True, slots=True, kw_only=True)
class RllibConfig(PixelFields, PlayingGuestConfig):
    """Options of an RLlib run: RLlib's names with our ranges; limits of 0 mean none."""

    algo: Algorithm = option("ppo", "Algorithm", "basics", choices=ALGORITHMS)
    """RLlib's algorithm."""
    num_envs: int = option(32, "Game Boys", "basics", minimum=1, maximum=4096)
    """Game Boys that run side by side."""

    policy: Literal["small", "nature", "impala"] = option("small", "Network", "learning", choices=POLICIES)
    """Our networks: RLlib takes any module."""
    gamma: float = option(0.97, "Discount", "learning", minimum=0, maximum=1)
    """Discount per environment step."""
    rollout_length: int = option(32, "Rollout length", "learning", minimum=2, maximum=4096)
    """Steps of every env between two updates."""
    minibatch_size: int = option(128, "Batch", "learning", minimum=2)
    """Samples of one gradient step."""
    num_epochs: int = option(4, "Epochs", "learning", minimum=1, maximum=100)
    """Times it goes over a rollout."""
    gae_lambda: float = option(0.95, "GAE lambda", "learning", minimum=0, maximum=1)
    """Bias against variance in the advantage."""
    clip_param: float = option(0.2, "Clip range", "learning", minimum=0.01, maximum=1)
    """Clipping of the probability ratio."""
    vf_loss_coeff: float = option(0.5, "Value coefficient", "learning", minimum=0)
    """Weight of the value loss."""
    entropy_coeff: float = option(0.01, "Entropy coefficient", "learning", minimum=0)
    """Weight of the entropy bonus."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.minibatch_size > self.num_envs * self.rollout_length:
            raise ConfigError(
                f"minibatch_size {self.minibatch_size} is more than a rollout holds: "
                f"{self.num_envs} x {self.rollout_length} steps"
            )


RLLIB = GuestRunner(
    id="rllib",
    title="RLlib",
    summary="PPO of Ray's library, in one process.",
    capabilities=FULL.but(exact_resume=False),
    algorithms=ALGORITHMS,
    config_type=RllibConfig,
    modules=("torch", "warp", "ray", "gymnasium"),
    worker="trainer_core.runners.rllib.worker",
    player="trainer_core.runners.rllib.player",
)
