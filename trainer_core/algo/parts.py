"""PPO on several CPU cores: each minibatch in as many parts as there are threads, side by side.

torch's own threads share out every product and meet after each, hundreds of times a step, which
costs dearly as soon as somebody else needs a core (docs/learning.md, notebook 7). Parts of a
minibatch meet once a step. The gradient is the same sum in another order; the order is fixed, so
runs repeat bit for bit with as many threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from trainer_core.algo.learner import Learner, scalars_of
from trainer_core.algo.policy import PixelActorCritic
from trainer_core.algo.rollout import RolloutBuffer
from trainer_core.protocol.config import RunConfig

Found = TypeVar("Found")
Losses = Callable[..., tuple[Tensor, ...]]
MOST_PARTS = 4
LEAST_LEARNING = 16
"""Samples in a part, below which another part costs more than it saves."""
LEAST_ACTING = 16
"""The same of pictures to act on."""


def learning_parts(config: RunConfig) -> int:
    """How many threads learn: as configured, else one a core that this process may use."""
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE") or 1)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = config.threads or min(MOST_PARTS, (cores or 1) // ranks)
    return max(1, min(threads, config.minibatch_size // LEAST_LEARNING))


class PartsLearner(Learner):
    """A learner whose work is done in `parts`; torch itself has one thread in each."""

    def __init__(
        self, policy: PixelActorCritic, config: RunConfig, device: torch.device, parts: int,
        losses: Losses,
    ) -> None:  # fmt: skip
        """`losses` is ppo.ppo_losses."""
        super().__init__(policy, config, device)
        torch.set_num_threads(1)
        self.config, self.parts, self.losses = config, parts, losses
        self._pool = ThreadPoolExecutor(parts - 1)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        count = min(self.parts, len(obs) // LEAST_ACTING)
        if torch.is_grad_enabled() or count < 2:
            return super().forward(obs)
        found = self.side_by_side(self._act, list(obs.tensor_split(count)))
        return torch.cat([logits for logits, _ in found]), torch.cat(
            [values for _, values in found]
        )

    @torch.no_grad()  # which is a thread's own
    def _act(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        return super().forward(obs)

    def side_by_side(self, work: Callable[[Tensor], Found], parts: list[Tensor]) -> list[Found]:
        """`work` on each of `parts`, the first on this thread."""
        others = [self._pool.submit(work, part) for part in parts[1:]]
        first = work(parts[0])
        return [first, *(other.result() for other in others)]

    def epoch(self, rollout: RolloutBuffer) -> PartsEpoch:
        return PartsEpoch(self, self.config, rollout)

    def close(self) -> None:
        super().close()
        self._pool.shutdown()


class PartsEpoch:
    """Goes over a rollout once, each minibatch in parts."""

    def __init__(self, learner: PartsLearner, config: RunConfig, rollout: RolloutBuffer) -> None:
        self.learner, self.config, self.rollout = learner, config, rollout
        self.actions = rollout.actions.flatten()
        fields = (rollout.logprobs, rollout.values, rollout.advantages, rollout.returns)
        self.fields = [field.flatten() for field in fields]

    def run(self, order: Tensor) -> Tensor:
        """An optimizer step on each minibatch of the samples in `order` i64[S].

        Returns f32[minibatches, len(LossSums.names)].
        """
        return torch.stack([self._step(index) for index in order.split(self.config.minibatch_size)])

    def _step(self, index: Tensor) -> Tensor:
        learner = self.learner
        logprobs, values, advantages, returns = (field[index] for field in self.fields)
        if self.config.normalize_advantage:
            deviation, mean = torch.std_mean(advantages, correction=0)
            advantages = (advantages - mean) / (deviation + 1e-8)

        def work(part: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
            """(scalars, gradients) of the places `part` of the minibatch, weighed by its share."""
            chosen = index[part]
            logits, new_values = Learner.forward(learner, self.rollout.observations(chosen))
            losses = learner.losses(
                logits, new_values, self.actions[chosen], logprobs[part], values[part],
                advantages[part], returns[part],
                clip_range=self.config.clip_range, clip_range_vf=self.config.clip_range_vf,
                ent_coef=learner.ent_coef, vf_coef=self.config.vf_coef,
                normalize_advantage=False,
            )  # fmt: skip
            share = len(part) / len(index)
            gradients = torch.autograd.grad(losses[0] * share, learner.parameters)
            return share * scalars_of(losses, torch.zeros(())), gradients

        parts = torch.arange(len(index)).tensor_split(min(learner.parts, len(index)))
        found = learner.side_by_side(work, list(parts))
        for parameter, *gradients in zip(
            learner.parameters, *(gradients for _, gradients in found), strict=True
        ):
            parameter.grad = sum(gradients[1:], start=gradients[0])
        grad_norm = learner.step()
        scalars = sum((scalars for scalars, _ in found[1:]), start=found[0][0])
        scalars[-1] = grad_norm
        return scalars
