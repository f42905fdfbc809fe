"""One update: collect a rollout on the device, learn from it. All algorithms share this file.

Nothing in it reads a number from the device; records and their one synchronisation are `run.py`'s
business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from trainer_core.envs.state_checks import check_like, restore_generator
from trainer_core.envs.vec_env import StepInfo, Stopwatch, VecEnv
from trainer_core.learn.adam import check_adam
from trainer_core.learn.learner import Learner, LossSums
from trainer_core.learn.registry import implementation
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError

LEAST_ENTROPY = 0.1
"""Share of the entropy bonus that is left where every episode succeeds."""
MOST_STEPS = 2**48
"""Updates, or steps of the optimizer: more than any run can take; products still fit 63 bits."""


class ActorLearner:
    """Environments, learner and rollout of one rank, with the counters of the whole run."""

    def __init__(self, env: VecEnv, learner: Learner, config: RunConfig, *, rank: int = 0) -> None:
        self.env, self.learner, self.config = env, learner, config
        self.device = env.device
        self.update = 0
        self.opt_steps = 0
        self.training_success = 0.0
        """Of episodes from the task's own starts, as far as it is known; the run tells it."""
        self.rng = torch.Generator(self.device).manual_seed(config.seed * 1009 + rank)
        self.algorithm = implementation(config.algo, learner.policy.HEADS)
        self.rollout = self.algorithm.storage(
            config.num_steps, env.num_envs, env.obs_shape, env.shortest_limit, self.device
        )
        self.stopwatch = Stopwatch(self.device)
        env.stopwatch = self.stopwatch
        self._uniform = torch.empty(env.num_envs, env.num_actions, device=self.device)
        self.on_step: Callable[[StepInfo], None] = lambda info: None
        """Called after every step of the environments with what it came to."""
        self.on_optimizer_step: Callable[[], None] = lambda: None
        """Called within learning, after one step or several."""
        self.obs: Tensor = env.reset()

    @property
    def env_steps(self) -> int:
        return self.update * self.config.batch_size * self.learner.world

    def run_update(self) -> LossSums:
        """Collect T steps of N environments and learn from them once."""
        self.learner.set_learning_rate(self.learning_rate)
        self.learner.ent_coef.fill_(self.ent_coef)
        self._collect()
        losses = LossSums(self.algorithm.losses, self.device)
        losses.on_step = self.on_optimizer_step
        with self.stopwatch("learn"):
            self.algorithm.update(self.learner, self.rollout, self.config, self.rng, losses)
        self.update += 1
        self.opt_steps += losses.opt_steps
        return losses

    @property
    def learning_rate(self) -> float:
        """Of the next update; linear goes to 0 at `total_env_steps`."""
        if self.config.lr_schedule == "constant":
            return self.config.learning_rate
        left = 1 - self.env_steps / self.config.total_env_steps
        return self.config.learning_rate * max(left, 0.0)

    @property
    def ent_coef(self) -> float:
        """Of the next update. Where training succeeds, wandering no longer finds anything: less of
        it brings the sampled policy nearer to the greedy one, so that its mistakes are learned."""
        if self.config.ent_schedule == "constant":
            return self.config.ent_coef
        return self.config.ent_coef * max(1 - self.training_success, LEAST_ENTROPY)

    @torch.no_grad()
    def _collect(self) -> None:
        rollout = self.rollout
        rollout.begin()
        act = self.learner.actor()
        for t in range(rollout.num_steps):
            with self.stopwatch("forward"):
                logits, values = act(self.obs)
                log_probs = torch.log_softmax(logits, dim=-1)
                actions = sample(log_probs, self._uniform, self.rng)
                chosen = log_probs.gather(-1, actions[:, None]).squeeze(-1)
                entropies = -(log_probs.exp() * log_probs).sum(-1)
                rollout.add_decision(t, self.obs, actions, chosen, values, entropies)
            result = self.env.step(actions)
            with self.stopwatch("observe"):
                rollout.add_outcome(t, result)
            self.obs = result.obs
            self.on_step(result.info)
        with self.stopwatch("forward"):
            # Not `act`: where no time limit cut anything off lie pictures of rollouts before.
            rollout.end(self.learner.forward, self.obs, self.config)

    def state_dict(self) -> dict[str, Any]:
        """Counters, optimizer and generator; weights and environments are kept apart."""
        return {
            "update": self.update,
            "opt_steps": self.opt_steps,
            "optimizer": self.learner.state_dict(),
            "rng": self.rng.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises CheckpointError for what is no state of this learner."""
        what = "the trainer's state"
        like = {"update": 0, "opt_steps": 0, "optimizer": {}, "rng": self.rng.get_state()}
        check_like(state, like, what)
        if not (0 <= state["update"] <= MOST_STEPS and 0 <= state["opt_steps"] <= MOST_STEPS):
            raise CheckpointError(f"{what} counts {state['update']} updates")
        check_adam(state["optimizer"], self.learner.parameters)
        restore_generator(self.rng, state["rng"], "the trainer's rng")
        self.update, self.opt_steps = state["update"], state["opt_steps"]
        self.learner.load_state_dict(state["optimizer"])


def sample(log_probs: Tensor, uniform: Tensor, rng: torch.Generator) -> Tensor:
    """One action i64[N] per row of `log_probs` f32[N, A] by the Gumbel-max trick.

    `uniform` f32[N, A] is scratch. Unlike torch.multinomial it needs no check on the host.
    """
    uniform.uniform_(1e-20, 1.0, generator=rng)
    return (log_probs - torch.log(-torch.log(uniform))).argmax(-1)
