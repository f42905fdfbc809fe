"""skrl trains, in its own loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from skrl import __version__ as skrl_version  # pyright: ignore
from skrl.trainers.torch import SequentialTrainer  # pyright: ignore
from skrl.utils import set_seed  # pyright: ignore

from trainer_core.envs.translation import open_env
from trainer_core.host import checkpoint as ckpt
from trainer_core.host.progress import RunProgress
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.guest import generators
from trainer_core.runners.guest.run import GuestRun, Intervals, Model
from trainer_core.runners.skrl import model as skrl_model
from trainer_core.runners.skrl.model import LabPPO
from trainer_core.runners.skrl.runner import SkrlConfig
from trainer_core.runners.skrl.wrapper import DmgLabSkrlEnv

FOREVER = 10**9
"""skrl asks for an end; ours comes from the run's limits."""
CANONICAL = {
    "Loss / Policy loss": "policy_loss",
    "Loss / Value loss": "value_loss",
    "Learning / Learning rate": "learning_rate",
}
"""skrl's names that our records have a field for; every name is kept in `metrics` as well."""
STATE = "run.pt"


def train(run: GuestRun) -> None:
    config = run.spec.configure(SkrlConfig).chosen()
    run.find_task()
    torch.set_num_threads(config.threads or run.threads)
    run.intervals = Intervals(
        config.eval_every, config.checkpoint_every, config.keep_checkpoints, config.eval_episodes
    )
    set_seed(config.seed)
    consoles = open_env(
        config.task, config.num_envs, device=config.device, stack_k=config.stack_k,
        seed=config.seed, home=run.home.root, demo_share=config.demo_starts,
    )  # fmt: skip
    env = DmgLabSkrlEnv(consoles)
    agent = skrl_model.make_agent(config, env, RecordedPPO)
    assert isinstance(agent, RecordedPPO)
    agent.init()
    agent.follow(run, config, env)
    if run.writer.seq:
        _resume(run, agent, env)
    else:
        if config.warm_start:
            layout.verify(Path(config.warm_start), (skrl_model.MODEL,))
            skrl_model.load_policy(agent.policy, Path(config.warm_start))
        run.begin(consoles.obs_shape, consoles.num_actions, config.num_envs, skrl=skrl_version)
    run.watch(consoles)
    cfg = {"timesteps": FOREVER, "headless": True, "disable_progressbar": True,
           "close_environment_at_exit": False}  # fmt: skip
    SequentialTrainer(cfg=cfg, env=env, agents=agent).train()


class RecordedPPO(LabPPO):
    """After each update nothing is half done: there the run is recorded, saved, held and ended."""

    def follow(self, run: GuestRun, config: SkrlConfig, env: DmgLabSkrlEnv) -> None:
        self.run, self.config, self.env = run, config, env
        self.env_steps = 0
        self.what = Model(
            policy=config.policy, file=skrl_model.MODEL, fill=self.fill,
            logits=lambda shades: skrl_model.action_logits(self.policy, shades),
        )  # fmt: skip

    def fill(self, folder: Path) -> None:
        modules = {"policy": self.policy.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save(modules, folder / skrl_model.MODEL)
        state = {"env": self.env.consoles.state_dict(), **generators.state()}
        (folder / layout.MACHINES).write_bytes(ckpt.pack_state(state))
        kept = {
            "env_steps": self.env_steps,
            "progress": self.run.progress.state_dict(self.run.wall_s),
        }
        torch.save(kept, folder / STATE)
        screens = self.env.consoles.screens(1)
        (folder / layout.THUMBNAIL).write_bytes(ckpt.png_bytes(screens[0].cpu().numpy()))

    def pre_interaction(self, *, timestep: int, timesteps: int) -> None:
        if self._rollout % self.cfg.rollouts == 0:
            self.run.boundary(self.env_steps, self.what)

    def post_interaction(self, *, timestep: int, timesteps: int) -> None:
        self.env_steps += self.env.num_envs
        self.run.tick(self.env_steps)
        super().post_interaction(timestep=timestep, timesteps=timesteps)
        if self._rollout % self.cfg.rollouts == 0:
            self._record()

    def _record(self) -> None:
        """skrl's tracked means, by skrl's own names, and what the consoles counted."""
        metrics = {name: float(np.mean(values)) for name, values in self.tracking_data.items()}
        self.tracking_data.clear()
        flat = {CANONICAL[name]: value for name, value in metrics.items() if name in CANONICAL}
        if "Loss / Entropy loss" in metrics:
            flat["entropy_mean"] = -metrics["Loss / Entropy loss"] / self.cfg.entropy_loss_scale
        counts, steps = self.env.take_counts(), len(self.memory)
        metrics["Reward / Instantaneous reward (mean)"] = counts.paid / steps
        if counts.ended:
            metrics["Reward / Total reward (mean)"] = counts.paid / counts.ended
            metrics["Episode / Total timesteps (mean)"] = steps / counts.ended
        if counts.own_ended:
            flat["success_rate"] = counts.own_reached / counts.own_ended
        self.run.count_episodes(
            counts.own_reached, counts.own_ended, counts.own_steps, self.cfg.rollouts,
            self.env.consoles.horizon,
        )  # fmt: skip
        flat.setdefault("learning_rate", self.config.learning_rate)
        self.run.record(self.env_steps, metrics, **flat)


def _resume(run: GuestRun, agent: RecordedPPO, env: DmgLabSkrlEnv) -> None:
    """Put agent and consoles where the newest whole checkpoint has them. Raises CheckpointError."""
    folder, meta = run.newest_checkpoint(layout.MACHINES)
    machines = folder / layout.MACHINES
    modules: dict[str, Any] = skrl_model.read_modules(folder)
    agent.policy.load_state_dict(modules["policy"])
    agent.optimizer.load_state_dict(modules["optimizer"])
    state = ckpt.read_state(machines, env.num_envs)
    env.consoles.load_state_dict(state["env"])
    env.goes_on = True
    kept = torch.load(folder / STATE, weights_only=True)
    agent.env_steps = kept["env_steps"]
    progress = RunProgress.from_state(kept["progress"])
    run.resume(env.consoles.obs_shape, meta.num_actions, agent.env_steps, folder, progress)
    generators.load_state(state)
