"""Worker in which SB3 trains, in its own loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import __version__ as sb3_version  # pyright: ignore
from stable_baselines3.common.callbacks import BaseCallback  # pyright: ignore
from stable_baselines3.common.logger import KVWriter, Logger  # pyright: ignore
from torch import Tensor

from trainer_core.envs.sb3_vec_env import DmgLabSb3VecEnv
from trainer_core.host import checkpoint as ckpt
from trainer_core.host.progress import RunProgress
from trainer_core.host.run import Host
from trainer_core.host.validator import Validator
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.guest.trainee import GuestTrainee, write_thumbnail
from trainer_core.runners.sb3 import model as sb3
from trainer_core.runners.sb3.memory import RecurrentValidator
from trainer_core.runners.sb3.runner import Sb3Config

CANONICAL = {
    "train/policy_gradient_loss": "policy_loss",
    "train/value_loss": "value_loss",
    "train/approx_kl": "approx_kl",
    "train/clip_fraction": "clipfrac",
    "train/explained_variance": "explained_variance",
    "train/learning_rate": "learning_rate",
    "rollout/success_rate": "success_rate",
}
"""Fields of our update records by SB3's metric name; every metric is kept in `metrics` as well."""
STATE = "run.pt"


class Sb3Trainee(GuestTrainee):
    """Trainee that trains one of SB3's algorithms on our environments."""

    file, needs, unpickles = sb3.MODEL, (layout.MACHINES,), True
    versions = {"stable_baselines3": sb3_version}  # noqa: RUF012

    def __init__(self, host: Host, config: Sb3Config) -> None:
        super().__init__(host, config)
        self.envs = DmgLabSb3VecEnv(
            config.task,
            config.num_envs,
            device=config.device,
            stack_k=config.stack_k,
            info_mode="none",
            home=host.home.root,
            demo_share=config.demo_starts,
        )
        self.policy, self.num_envs = config.policy, config.num_envs
        self.obs_shape = self.envs.observation_space.shape
        self.num_actions = int(self.envs.action_space.n)
        self.model: Any = None
        self._resumed = False

    def begin(self) -> None:
        self.model = sb3.make_model(self.config, self.envs)
        if self.config.warm_start:
            layout.verify(Path(self.config.warm_start), (sb3.MODEL,))
            sb3.load_weights(self.model, Path(self.config.warm_start))

    def restore(self, folder: Path) -> RunProgress:
        config = self.config
        self.model = sb3.open_model(folder, config.algo, config.device, self.envs)
        pictures = 2 * config.stack_k * 72 * 80  # of one step in DQN's buffer: before and after it
        kept = config.buffer_size * (pictures + 64) if config.algo == "dqn" else 0
        state = ckpt.read_state(folder / layout.MACHINES, config.num_envs, kept)
        sb3.load_loop_state(self.model, state)
        self._resumed = True
        return RunProgress.from_state(torch.load(folder / STATE, weights_only=True))

    def make_validator(self) -> Validator | None:
        if self.config.algo != "recurrent_ppo":
            return super().make_validator()
        host = self.host
        return RecurrentValidator(host.validating, host.home, self.model, host.paths, host.tasks)

    def logits(self, shades: Tensor) -> Tensor:
        return sb3.action_logits(self.model, shades)

    def train(self) -> None:
        host, config = self.host, self.config
        self.model.set_logger(Logger(None, [_ToRecords(host)]))
        host.watch(self.envs.consoles)
        host.listen_between_gradient_steps()
        # Both PPOs log every update; DQN counts episodes.
        log_interval = 4 * config.num_envs if config.algo == "dqn" else 1
        self.model.learn(
            sb3.FOREVER - self.model.num_timesteps,
            callback=_Boundaries(host),
            log_interval=log_interval,
            reset_num_timesteps=not self._resumed,
        )

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        (folder / sb3.MODEL).write_bytes(sb3.model_bytes(self.model))
        (folder / layout.MACHINES).write_bytes(ckpt.pack_state(sb3.loop_state(self.model)))
        torch.save(progress, folder / STATE)
        write_thumbnail(folder, self.envs.consoles)


def make_trainee(host: Host) -> Sb3Trainee:
    config = host.spec.configure(Sb3Config)
    host.find_task()
    return Sb3Trainee(host, config)


class _ToRecords(KVWriter):
    """Logger for SB3 that writes to the run's log under SB3's metric names."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        metrics = {
            name: float(value)
            for name, value in key_values.items()
            if isinstance(value, int | float) or hasattr(value, "item")
        }
        flat: dict[str, float] = {}
        if "train/entropy_loss" in metrics:
            flat["entropy_mean"] = -metrics["train/entropy_loss"]
        self.host.record(step, metrics, CANONICAL, **flat)

    def close(self) -> None:
        """Do nothing: the host owns the log."""


class _Boundaries(BaseCallback):
    """Callback that lets the host save, pause and end the run before each rollout."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.host = host

    def _on_rollout_start(self) -> None:
        self.host.boundary(self.num_timesteps)

    def _on_step(self) -> bool:
        self.host.tick(self.num_timesteps)
        if self.host.cuts_update:
            model, seen = self.model, self.locals  # SB3 itself assigns these after this call
            model._last_obs, model._last_episode_starts = seen["new_obs"], seen["dones"]
            if "lstm_states" in seen:
                model._last_lstm_states = seen["lstm_states"]
            self.host.boundary()
        return True
