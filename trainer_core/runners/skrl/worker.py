"""Worker in which skrl trains, in its own loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from skrl import __version__ as skrl_version  # pyright: ignore
from skrl.trainers.torch import SequentialTrainer  # pyright: ignore
from skrl.utils import set_seed  # pyright: ignore
from torch import Tensor

from trainer_core.envs.translation import open_env
from trainer_core.host import checkpoint as ckpt
from trainer_core.host.progress import RunProgress
from trainer_core.host.run import Host
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.guest import generators
from trainer_core.runners.guest.trainee import GuestTrainee, write_thumbnail
from trainer_core.runners.skrl import model as skrl_model
from trainer_core.runners.skrl.model import LabPPO
from trainer_core.runners.skrl.runner import SkrlConfig
from trainer_core.runners.skrl.wrapper import DmgLabSkrlEnv

FOREVER = 10**9
"""Number of steps passed to skrl, which requires one; the run's own limits end it earlier."""
CANONICAL = {
    "Loss / Policy loss": "policy_loss",
    "Loss / Value loss": "value_loss",
    "Learning / Learning rate": "learning_rate",
}
"""Fields of our update records by skrl's metric name; every metric is kept in `metrics` as well."""
STATE = "run.pt"


class SkrlTrainee(GuestTrainee):
    """Trainee that trains skrl's PPO on a batch of our consoles."""

    file, needs = skrl_model.MODEL, (layout.MACHINES,)
    versions = {"skrl": skrl_version}  # noqa: RUF012

    def __init__(self, host: Host, config: SkrlConfig) -> None:
        super().__init__(host, config)
        set_seed(config.seed)
        self.consoles = open_env(
            config.task,
            config.num_envs,
            device=config.device,
            stack_k=config.stack_k,
            seed=config.seed,
            home=host.home.root,
            demo_share=config.demo_starts,
        )
        self.policy, self.num_envs = config.policy, config.num_envs
        self.obs_shape, self.num_actions = self.consoles.obs_shape, self.consoles.num_actions
        self.env = DmgLabSkrlEnv(self.consoles)
        self.agent = skrl_model.make_agent(config, self.env, RecordedPPO)
        self.agent.init()
        self.agent.follow(host, config, self.env)

    def begin(self) -> None:
        if self.config.warm_start:
            layout.verify(Path(self.config.warm_start), (skrl_model.MODEL,))
            skrl_model.load_policy(self.agent.policy, Path(self.config.warm_start))

    def restore(self, folder: Path) -> RunProgress:
        modules: dict[str, Any] = skrl_model.read_modules(folder)
        self.agent.policy.load_state_dict(modules["policy"])
        self.agent.optimizer.load_state_dict(modules["optimizer"])
        state = ckpt.read_state(folder / layout.MACHINES, self.env.num_envs)
        self.consoles.load_state_dict(state["env"])
        self.env.goes_on = True
        kept = torch.load(folder / STATE, weights_only=True)
        self.agent.env_steps = kept["env_steps"]
        generators.load_state(state)
        return RunProgress.from_state(kept["progress"])

    def logits(self, shades: Tensor) -> Tensor:
        return skrl_model.action_logits(self.agent.policy, shades)

    def train(self) -> None:
        self.host.watch(self.consoles)
        self.host.listen_between_gradient_steps()
        cfg = {"timesteps": FOREVER, "headless": True, "disable_progressbar": True, "close_environment_at_exit": False}
        SequentialTrainer(cfg=cfg, env=self.env, agents=self.agent).train()

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        agent = self.agent
        modules = {"policy": agent.policy.state_dict(), "optimizer": agent.optimizer.state_dict()}
        torch.save(modules, folder / skrl_model.MODEL)
        state = {"env": self.consoles.state_dict(), **generators.state()}
        (folder / layout.MACHINES).write_bytes(ckpt.pack_state(state))
        torch.save({"env_steps": agent.env_steps, "progress": progress}, folder / STATE)
        write_thumbnail(folder, self.consoles)


def make_trainee(host: Host) -> SkrlTrainee:
    config = host.spec.configure(SkrlConfig).chosen()
    host.find_task()
    return SkrlTrainee(host, config)


class RecordedPPO(LabPPO):
    """LabPPO that lets the host record, save, pause and end the run after each update."""

    def follow(self, host: Host, config: SkrlConfig, env: DmgLabSkrlEnv) -> None:
        self.host, self.config, self.env = host, config, env
        self.env_steps = 0

    def pre_interaction(self, *, timestep: int, timesteps: int) -> None:
        if self._rollout % self.cfg.rollouts == 0:
            self.host.boundary(self.env_steps)
        else:
            self.host.within_update()

    def post_interaction(self, *, timestep: int, timesteps: int) -> None:
        self.env_steps += self.env.num_envs
        self.host.tick(self.env_steps)
        super().post_interaction(timestep=timestep, timesteps=timesteps)
        if self._rollout % self.cfg.rollouts == 0:
            self._record()

    def _record(self) -> None:
        """Write an update record: the means of skrl's metrics, under skrl's names, and the consoles' counts."""
        metrics = {name: float(np.mean(values)) for name, values in self.tracking_data.items()}
        self.tracking_data.clear()
        flat: dict[str, float] = {}
        if "Loss / Entropy loss" in metrics:
            flat["entropy_mean"] = -metrics["Loss / Entropy loss"] / self.cfg.entropy_loss_scale
        counts, steps = self.env.take_counts(), len(self.memory)
        metrics["Reward / Instantaneous reward (mean)"] = counts.paid / steps
        if counts.ended:
            metrics["Reward / Total reward (mean)"] = counts.paid / counts.ended
            metrics["Episode / Total timesteps (mean)"] = steps / counts.ended
        if counts.own_ended:
            flat["success_rate"] = counts.own_reached / counts.own_ended
        self.host.count_episodes(
            counts.own_reached / max(counts.own_ended, 1),
            counts.own_ended,
            counts.own_reached / max(counts.own_steps, 1),
            self.cfg.rollouts,
            self.env.consoles.horizon,
        )
        flat.setdefault("learning_rate", self.config.learning_rate)
        self.host.record(self.env_steps, metrics, CANONICAL, **flat)
