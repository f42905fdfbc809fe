"""Worker in which RLlib's PPO learner learns from episodes of our Gymnasium face."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from ray import __version__ as ray_version  # pyright: ignore
from ray.rllib.core.columns import Columns  # pyright: ignore
from ray.rllib.env.single_agent_episode import SingleAgentEpisode  # pyright: ignore
from torch import Tensor

from trainer_core.envs.gymnasium_vector import DmgLabVectorEnv
from trainer_core.host.run import Host
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.guest.trainee import GuestTrainee, write_thumbnail
from trainer_core.runners.rllib import model as rllib
from trainer_core.runners.rllib.runner import RllibConfig

MODULE = "default_policy"
"""RLlib's name of a learner's only module."""
CANONICAL = {
    "policy_loss": "policy_loss",
    "vf_loss": "value_loss",
    "vf_explained_var": "explained_variance",
    "gradients_default_optimizer_global_norm": "grad_norm",
    "entropy": "entropy_mean",
    "default_optimizer_learning_rate": "learning_rate",
}
"""Fields of our update records by RLlib's metric name; every metric is kept in `metrics` as well."""


class RllibTrainee(GuestTrainee):
    """Trainee that trains RLlib's PPO on our environments."""

    file = rllib.MODEL
    versions = {"ray": ray_version}  # noqa: RUF012

    def __init__(self, host: Host, config: RllibConfig) -> None:
        super().__init__(host, config)
        torch.manual_seed(config.seed)
        self.envs = DmgLabVectorEnv(
            config.task,
            config.num_envs,
            device=config.device,
            stack_k=config.stack_k,
            home=host.home.root,
            demo_share=config.demo_starts,
        )
        self.policy, self.num_envs = config.policy, config.num_envs
        self.obs_shape = self.envs.consoles.obs_shape
        self.num_actions = self.envs.consoles.num_actions
        spaces = self.envs.single_observation_space, self.envs.single_action_space
        self.learner: Any = rllib.make_learner(config, *spaces)
        self.module: rllib.LabModule = self.learner.module[MODULE]
        self.env_steps = 0

    def begin(self) -> None:
        if self.config.warm_start:
            layout.verify(Path(self.config.warm_start), (rllib.MODEL,))
            rllib.load_policy(self.module.net, Path(self.config.warm_start))

    def logits(self, shades: Tensor) -> Tensor:
        return self.module.net(shades.to(self.config.device))[0].float()

    def train(self) -> None:
        """Sample rollouts and learn from each until the host's `boundary` ends the run."""
        host, config = self.host, self.config
        host.watch(self.envs.consoles)
        host.listen_between_gradient_steps()
        observations, _ = self.envs.reset(seed=config.seed)
        episodes = [self._begun(row) for row in observations]
        while True:
            host.boundary(self.env_steps)
            finished: list[Any] = []
            for _ in range(config.rollout_length):
                observations = self._step(observations, episodes, finished)
            going = [episode for episode in episodes if len(episode)]
            episodes = [episode.cut() if len(episode) else episode for episode in episodes]
            found = self.learner.update(
                episodes=[episode.to_numpy() for episode in (*finished, *going)],
                num_epochs=config.num_epochs,
                minibatch_size=config.minibatch_size,
                shuffle_batch_per_epoch=True,
                timesteps={"num_env_steps_sampled_lifetime": self.env_steps},
            )
            self._record(found[MODULE], finished, going)

    def _begun(self, observation: np.ndarray) -> Any:
        spaces = self.envs.single_observation_space, self.envs.single_action_space
        episode = SingleAgentEpisode(observation_space=spaces[0], action_space=spaces[1])
        episode.add_env_reset(observation)
        return episode

    def _step(self, observations: np.ndarray, episodes: list[Any], finished: list[Any]) -> np.ndarray:
        """Take one step of every env; add it to `episodes`, move ended ones to `finished` and replace them.

        Return the next observations u8[N, K, 72, 80].
        """
        with torch.no_grad():
            found = self.module.forward_exploration(
                {Columns.OBS: torch.from_numpy(observations).to(self.config.device)}
            )
            inputs = found[Columns.ACTION_DIST_INPUTS]
            distribution = self.module.get_exploration_action_dist_cls().from_logits(inputs)
            actions = distribution.sample()
            logs = distribution.logp(actions).cpu().numpy()
        taken, inputs = actions.cpu().numpy(), inputs.cpu().numpy()
        after, rewards, done, cut, infos = self.envs.step(taken)
        for n, episode in enumerate(episodes):
            ends = bool(done[n] or cut[n])
            episode.add_env_step(
                infos["final_obs"][n] if ends else after[n],
                taken[n],
                float(rewards[n]),
                terminated=bool(done[n]),
                truncated=bool(cut[n]),
                extra_model_outputs={Columns.ACTION_DIST_INPUTS: inputs[n], Columns.ACTION_LOGP: logs[n]},
            )
            if ends:
                finished.append(episode)
                episodes[n] = self._begun(after[n])
        self.env_steps += self.num_envs
        self.host.tick(self.env_steps)
        return after

    def _record(self, found: Any, finished: list[Any], going: list[Any]) -> None:
        """Write an update record of the learner's metrics under RLlib's names, and of the rollout's episodes."""
        told = {name: getattr(value, "peek", lambda v=value: v)() for name, value in found.items()}
        metrics = {name: float(value) for name, value in told.items() if np.ndim(value) == 0}
        metrics["episodes_ended"] = float(len(finished))
        if finished:
            metrics["episodes_at_goal"] = sum(episode.is_terminated for episode in finished) / len(finished)
        steps = self.config.rollout_length * self.num_envs
        paid = float(sum(episode.get_return() for episode in (*finished, *going))) / steps
        self.host.record(self.env_steps, metrics, CANONICAL, reward_mean=paid)

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        torch.save({"policy": self.module.net.state_dict()}, folder / rllib.MODEL)
        write_thumbnail(folder, self.envs.consoles)


def make_trainee(host: Host) -> RllibTrainee:
    config = host.spec.configure(RllibConfig)
    host.find_task()
    return RllibTrainee(host, config)
