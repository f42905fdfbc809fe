"""What the lab knows of Stable-Baselines3; nothing of it is imported here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from trainer_core.runners.guest.config import PlayingGuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.capabilities import RunnerCapabilities
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_fields, described

ALGORITHMS = ("ppo", "dqn", "recurrent_ppo")
POLICIES = ("SmallCnn", "CnnPolicy", "MlpPolicy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sb3Config(PlayingGuestConfig):
    """What Stable-Baselines3 may be asked. Its names, our ranges; 0 of a limit is none."""

    algo: Literal["ppo", "dqn", "recurrent_ppo"] = field(
        default="ppo", metadata=described("Algorithm", "basics", choices=ALGORITHMS)
    )
    """Stable-Baselines3's algorithm; RecurrentPPO is sb3-contrib's, PPO with an LSTM."""
    num_envs: int = field(
        default=32, metadata=described("Game Boys", "basics", minimum=1, maximum=4096)
    )
    """Game Boys that run side by side."""

    stack_k: int = field(
        default=1, metadata=described("Stacked pictures", "env", minimum=1, maximum=8)
    )
    """Pictures the policy sees."""

    policy: Literal["SmallCnn", "CnnPolicy", "MlpPolicy"] = field(
        default="SmallCnn", metadata=described("Network", "learning", choices=POLICIES)
    )
    """SmallCnn: our small network's layers; CnnPolicy: Nature; MlpPolicy: for the tiny grid."""
    lstm_hidden_size: int = field(
        default=128,
        metadata=described("LSTM size (RecurrentPPO)", "learning", minimum=8, maximum=2048),
    )
    """RecurrentPPO: width of the policy's LSTM and of the critic's."""
    learning_rate: float = field(
        default=1e-3, metadata=described("Learning rate", "learning", minimum=1e-7, maximum=1)
    )
    """Adam's step size."""
    gamma: float = field(
        default=0.97, metadata=described("Discount", "learning", minimum=0, maximum=1)
    )
    """Discount per environment step."""
    n_steps: int = field(
        default=32, metadata=described("Rollout length (PPO)", "learning", minimum=2)
    )
    """PPO: steps of every env between two updates."""
    batch_size: int = field(default=128, metadata=described("Batch", "learning", minimum=2))
    """Samples of one gradient step."""
    n_epochs: int = field(default=4, metadata=described("Epochs (PPO)", "learning", minimum=1))
    """PPO: times it goes over a rollout."""
    gae_lambda: float = field(
        default=0.95, metadata=described("GAE lambda (PPO)", "learning", minimum=0, maximum=1)
    )
    """PPO: bias against variance in the advantage."""
    clip_range: float = field(
        default=0.2, metadata=described("Clip range (PPO)", "learning", minimum=0.01, maximum=1)
    )
    """PPO: clipping of the probability ratio."""
    ent_coef: float = field(
        default=0.01, metadata=described("Entropy coefficient (PPO)", "learning", minimum=0)
    )
    """PPO: weight of the entropy bonus."""
    buffer_size: int = field(
        default=20_000, metadata=described("Replay buffer (DQN)", "learning", minimum=100)
    )
    """DQN: steps that are remembered, 11.5 kB each with one stacked picture."""
    learning_starts: int = field(
        default=1_000, metadata=described("Learning starts (DQN)", "learning", minimum=0)
    )
    """DQN: random steps before the first gradient step."""
    train_freq: int = field(
        default=4, metadata=described("Train every (DQN)", "learning", minimum=1)
    )
    """DQN: steps of every env between two trainings."""
    gradient_steps: int = field(
        default=4, metadata=described("Gradient steps (DQN)", "learning", minimum=1)
    )
    """DQN: gradient steps of one training."""
    target_update_interval: int = field(
        default=2_000, metadata=described("Target update (DQN)", "learning", minimum=1)
    )
    """DQN: environment steps between two copies into the target network."""
    exploration_steps: int = field(
        default=30_000, metadata=described("Exploration (DQN)", "learning", minimum=1)
    )
    """DQN: environment steps over which random actions fall from all to `exploration_final_eps`."""
    exploration_final_eps: float = field(
        default=0.05,
        metadata=described("Least exploration (DQN)", "learning", minimum=0, maximum=1),
    )
    """DQN: share of random actions that stays."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.algo != "dqn" and self.batch_size > self.num_envs * self.n_steps:
            raise ConfigError(
                f"batch_size {self.batch_size} is more than a rollout holds: "
                f"{self.num_envs} x {self.n_steps} steps"
            )


SB3 = GuestRunner(
    id="sb3",
    title="Stable-Baselines3",
    summary="PPO, DQN and RecurrentPPO of the library that most people compare with.",
    capabilities=RunnerCapabilities(
        pause=True,
        graceful_stop=True,
        checkpoints=True,
        exact_resume=True,
        warm_start=True,
        play=True,
        watch=True,
    ),
    algorithms=ALGORITHMS,
    config_type=Sb3Config,
    modules=("torch", "warp", "stable_baselines3", "sb3_contrib"),
    worker="trainer_core.runners.sb3.worker",
    unpickled="model.zip",
    player="trainer_core.runners.sb3.player",
    waits=True,
    writes_log=True,
)
