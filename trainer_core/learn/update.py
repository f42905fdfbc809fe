"""One training update, the same for all algorithms: collect a rollout on the device, then learn from it.

No number is read from the device here: only the run's records synchronise, once each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from trainer_core.envs.state_checks import check_like, restore_generator
from trainer_core.envs.vec_env import StepInfo, StepResult, Stopwatch, VecEnv, check_result, check_tensor
from trainer_core.learn.adam import check_adam
from trainer_core.learn.learner import Learner, LossSums
from trainer_core.learn.registry import implementation
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError

LEAST_ENTROPY = 0.1
"""Share of the entropy bonus that remains when every episode succeeds."""
MOST_STEPS = 2**48
"""Limit of updates and optimizer steps, more than any run can reach; products still fit 63 bits."""


class ActorLearner:
    """Training loop of one rank: its environments, learner and rollout, with the counters of the whole run."""

    def __init__(self, env: VecEnv, learner: Learner, config: RunConfig, *, rank: int = 0) -> None:
        self.env, self.learner, self.config = env, learner, config
        self.device = env.device
        self.update = 0
        self.opt_steps = 0
        self.training_success = 0.0
        """Success rate of episodes from the task's own starts, as last set by the run."""
        self.rng = torch.Generator(self.device).manual_seed(config.seed * 1009 + rank)
        self.algorithm = implementation(config.algo, learner.policy.HEADS)
        self.rollout = self.algorithm.storage(
            config.num_steps, env.num_envs, env.obs_shape, env.shortest_limit, self.device
        )
        self.stopwatch = Stopwatch(self.device)
        env.stopwatch = self.stopwatch
        self._uniform = torch.empty(env.num_envs, env.num_actions, device=self.device)
        self.on_step: Callable[[StepInfo], None] = lambda info: None
        """Function that is called after every step of the environments with its StepInfo."""
        self.on_optimizer_step: Callable[[], None] = lambda: None
        """Function that is called during learning, after one optimizer step or several."""
        self.obs: Tensor = env.reset()
        check_tensor("reset: obs", self.obs, torch.uint8, (env.num_envs, *env.obs_shape), self.device)
        self._step: Callable[[Tensor], StepResult] = self._first_step

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
        """Learning rate of the next update; the schedule linear reaches 0 at `total_env_steps`."""
        if self.config.lr_schedule == "constant":
            return self.config.learning_rate
        left = 1 - self.env_steps / self.config.total_env_steps
        return self.config.learning_rate * max(left, 0.0)

    @property
    def ent_coef(self) -> float:
        """Entropy coefficient of the next update. With increasing success exploration finds nothing new: a lower
        coefficient brings the sampled policy nearer to the greedy one, so that the greedy one's mistakes are learned.
        """
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
            result = self._step(actions)
            with self.stopwatch("observe"):
                rollout.add_outcome(t, result)
            self.obs = result.obs
            self.on_step(result.info)
        with self.stopwatch("forward"):
            # Not `act`: unused slots of time limits hold pictures of earlier rollouts.
            rollout.end(self.learner.forward, self.obs, self.config)

    def _first_step(self, actions: Tensor) -> StepResult:
        """Run the first step of the environments; check its results, and the network's for it.

        Raises FailureError naming the tensor of a wrong type, shape or device. Later steps call the environments.
        """
        logits, values = self.learner.forward(self.obs)
        check_tensor("policy: logits", logits, logits.dtype, (self.env.num_envs, self.env.num_actions), self.device)
        check_tensor("policy: values", values, values.dtype, (self.env.num_envs,), self.device)
        result = self.env.step(actions)
        check_result(self.env, result)
        self._step = self.env.step
        return result

    def state_dict(self) -> dict[str, Any]:
        """Return counters and the states of optimizer and random generator; weights and environments are saved
        elsewhere."""
        return {
            "update": self.update,
            "opt_steps": self.opt_steps,
            "optimizer": self.learner.state_dict(),
            "rng": self.rng.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError for an invalid one."""
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
    """Return one action per row of `log_probs` f32[N, A], i64[N], drawn at random by the Gumbel-max trick.

    `uniform` f32[N, A] is memory for random numbers. Unlike torch.multinomial it needs no check on the host.
    """
    uniform.uniform_(1e-20, 1.0, generator=rng)
    return (log_probs - torch.log(-torch.log(uniform))).argmax(-1)
