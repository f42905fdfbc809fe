"""Description of the Stable-Baselines3 runner; SB3 is not imported here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from trainer_core.runners.guest.config import PixelFields, PlayingGuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.capabilities import FULL
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_fields, option

Algorithm = Literal["ppo", "dqn", "recurrent_ppo"]
ALGORITHMS = get_args(Algorithm)
POLICIES = ("SmallCnn", "CnnPolicy", "MlpPolicy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sb3Config(PixelFields, PlayingGuestConfig):
    """Options of an SB3 run: SB3's names with our ranges; limits of 0 mean none."""

    algo: Algorithm = option("ppo", "Algorithm", "basics", choices=ALGORITHMS)
    """Stable-Baselines3's algorithm; RecurrentPPO is sb3-contrib's, PPO with an LSTM."""
    num_envs: int = option(32, "Game Boys", "basics", minimum=1, maximum=4096)
    """Game Boys that run side by side."""

    policy: Literal["SmallCnn", "CnnPolicy", "MlpPolicy"] = option("SmallCnn", "Network", "learning", choices=POLICIES)
    """SmallCnn: our small network's layers; CnnPolicy: Nature; MlpPolicy: for the tiny grid."""
    lstm_hidden_size: int = option(128, "LSTM size (RecurrentPPO)", "learning", minimum=8, maximum=2048)
    """RecurrentPPO: width of the policy's LSTM and of the critic's."""
    gamma: float = option(0.97, "Discount", "learning", minimum=0, maximum=1)
    """Discount per environment step."""
    n_steps: int = option(32, "Rollout length (PPO)", "learning", minimum=2)
    """PPO: steps of every env between two updates."""
    batch_size: int = option(128, "Batch", "learning", minimum=2)
    """Samples of one gradient step."""
    n_epochs: int = option(4, "Epochs (PPO)", "learning", minimum=1)
    """PPO: times it goes over a rollout."""
    gae_lambda: float = option(0.95, "GAE lambda (PPO)", "learning", minimum=0, maximum=1)
    """PPO: bias against variance in the advantage."""
    clip_range: float = option(0.2, "Clip range (PPO)", "learning", minimum=0.01, maximum=1)
    """PPO: clipping of the probability ratio."""
    ent_coef: float = option(0.01, "Entropy coefficient (PPO)", "learning", minimum=0)
    """PPO: weight of the entropy bonus."""
    buffer_size: int = option(20_000, "Replay buffer (DQN)", "learning", minimum=100)
    """DQN: steps that are remembered, 11.5 kB each with one stacked picture."""
    learning_starts: int = option(1_000, "Learning starts (DQN)", "learning", minimum=0)
    """DQN: random steps before the first gradient step."""
    train_freq: int = option(4, "Train every (DQN)", "learning", minimum=1)
    """DQN: steps of every env between two trainings."""
    gradient_steps: int = option(4, "Gradient steps (DQN)", "learning", minimum=1)
    """DQN: gradient steps of one training."""
    target_update_interval: int = option(2_000, "Target update (DQN)", "learning", minimum=1)
    """DQN: environment steps between two copies into the target network."""
    exploration_steps: int = option(30_000, "Exploration (DQN)", "learning", minimum=1)
    """DQN: environment steps over which random actions fall from all to `exploration_final_eps`."""
    exploration_final_eps: float = option(0.05, "Least exploration (DQN)", "learning", minimum=0, maximum=1)
    """DQN: share of random actions that stays."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.algo != "dqn" and self.batch_size > self.num_envs * self.n_steps:
            raise ConfigError(
                f"batch_size {self.batch_size} is more than a rollout holds: {self.num_envs} x {self.n_steps} steps"
            )


SB3 = GuestRunner(
    id="sb3",
    title="Stable-Baselines3",
    summary="PPO, DQN and RecurrentPPO of the library that most people compare with.",
    capabilities=FULL,
    algorithms=ALGORITHMS,
    config_type=Sb3Config,
    modules=("torch", "warp", "stable_baselines3", "sb3_contrib"),
    worker="trainer_core.runners.sb3.worker",
    unpickled="model.zip",
    player="trainer_core.runners.sb3.player",
    waits=True,
)
