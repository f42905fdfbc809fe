"""SB3 trains, in its own loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import __version__ as sb3_version  # pyright: ignore
from stable_baselines3.common.callbacks import BaseCallback  # pyright: ignore
from stable_baselines3.common.logger import KVWriter, Logger  # pyright: ignore

from trainer_core.envs.sb3_vec_env import DmgLabSb3VecEnv
from trainer_core.host import checkpoint as ckpt
from trainer_core.host.progress import RunProgress
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.guest.run import GuestRun, Intervals, Model
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
"""SB3's names that our records have a field for; every name is kept in `metrics` as well."""
STATE = "run.pt"


def train(run: GuestRun) -> None:
    config = run.spec.configure(Sb3Config)
    run.find_task()
    torch.set_num_threads(config.threads or run.threads)
    run.intervals = Intervals(
        config.eval_every, config.checkpoint_every, config.keep_checkpoints, config.eval_episodes
    )
    envs = DmgLabSb3VecEnv(
        config.task, config.num_envs, device=config.device, stack_k=config.stack_k,
        info_mode="none", home=run.home.root, demo_share=config.demo_starts,
    )  # fmt: skip
    learner = _resumed(run, config, envs) if run.writer.seq else None
    resumed = learner is not None
    if learner is None:
        learner = sb3.make_model(config, envs)
        if config.warm_start:
            layout.verify(Path(config.warm_start), (sb3.MODEL,))
            sb3.load_weights(learner, Path(config.warm_start))
        run.begin(envs.observation_space.shape, 7, config.num_envs, stable_baselines3=sb3_version)
    learner.set_logger(Logger(None, [_ToRecords(run)]))
    run.watch(envs.consoles)
    # Both PPOs log every update; DQN counts episodes.
    log_interval = 4 * config.num_envs if config.algo == "dqn" else 1
    learner.learn(
        sb3.FOREVER - learner.num_timesteps, callback=_Boundaries(run, learner),
        log_interval=log_interval, reset_num_timesteps=not resumed,
    )  # fmt: skip


def _resumed(run: GuestRun, config: Sb3Config, envs: Any) -> Any:
    """The model of the newest whole checkpoint, its consoles as they were; None without one."""
    folder, _ = run.newest_checkpoint(layout.MACHINES)
    machines = folder / layout.MACHINES
    learner = sb3.open_model(folder, config.algo, config.device, envs)
    pictures = 2 * config.stack_k * 72 * 80  # of one step in DQN's buffer: before and after it
    kept = config.buffer_size * (pictures + 64) if config.algo == "dqn" else 0
    sb3.load_loop_state(learner, ckpt.read_state(machines, config.num_envs, kept))
    progress = RunProgress.from_state(torch.load(folder / STATE, weights_only=True))
    run.resume(envs.observation_space.shape, 7, learner.num_timesteps, folder, progress)
    return learner


class _ToRecords(KVWriter):
    """SB3's logger into the run's log, by SB3's own names."""

    def __init__(self, run: GuestRun) -> None:
        self.run = run

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        metrics = {
            name: float(value)
            for name, value in key_values.items()
            if isinstance(value, int | float) or hasattr(value, "item")
        }
        flat = {CANONICAL[name]: value for name, value in metrics.items() if name in CANONICAL}
        if "train/entropy_loss" in metrics:
            flat["entropy_mean"] = -metrics["train/entropy_loss"]
        self.run.record(step, metrics, **flat)

    def close(self) -> None:
        """The log is the run's."""


class _Boundaries(BaseCallback):
    """Before each rollout nothing is half done: there the run is saved, held and ended."""

    def __init__(self, run: GuestRun, learner: Any) -> None:
        super().__init__()
        self.run = run
        recurrent = run.spec.options["algo"] == "recurrent_ppo"
        self.what = Model(
            policy=run.spec.options["policy"], file=sb3.MODEL, fill=self.fill, unpickles=True,
            logits=None if recurrent else lambda shades: sb3.action_logits(learner, shades),
            validator=RecurrentValidator(run.validating, run.home, learner, run.paths)
            if recurrent else None,
        )  # fmt: skip

    def fill(self, folder: Path) -> None:
        (folder / sb3.MODEL).write_bytes(sb3.model_bytes(self.model))
        (folder / layout.MACHINES).write_bytes(ckpt.pack_state(sb3.loop_state(self.model)))
        torch.save(self.run.progress.state_dict(self.run.wall_s), folder / STATE)
        screens = self.training_env.consoles.screens(1)  # type: ignore[attr-defined]
        (folder / layout.THUMBNAIL).write_bytes(ckpt.png_bytes(screens[0].cpu().numpy()))

    def _on_rollout_start(self) -> None:
        self.run.boundary(self.num_timesteps, self.what)

    def _on_step(self) -> bool:
        self.run.tick(self.num_timesteps)
        return True
