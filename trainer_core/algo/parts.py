"""PPO on a CPU: equal pictures are learned from once, several cores share each minibatch.

What a minibatch costs is its different pictures (`distinct.py`), and of the network `small` their
different patches (`tiles.py`): little work, done on one thread while another sorts the next one's.
Other networks, and pictures without tiles, are learned from in as many parts as there are threads,
side by side. torch's own threads share out every product and meet after each, hundreds of times a
step, which costs dearly as soon as somebody else needs a core (docs/learning.md, notebook 7). Parts
of a minibatch meet once a step. The gradient is the same sum in another order; the order is fixed,
so runs repeat bit for bit with as many threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from trainer_core.algo.distinct import Remembering, distinct_rows
from trainer_core.algo.learner import Learner, scalars_of
from trainer_core.algo.policy import PixelActorCritic
from trainer_core.algo.rollout import Forward, RolloutBuffer
from trainer_core.algo.tiles import Batch, TileNetwork, Tiles
from trainer_core.protocol.config import RunConfig

Found = TypeVar("Found")
Losses = Callable[..., tuple[Tensor, ...]]
Learned = tuple[Tensor, tuple[Tensor, ...]]
"""Scalars f32[len(LossSums.names)] and the gradient of each parameter."""
Prepared = tuple["Samples", Tensor, "Batch | None"]
"""Samples, the pictures i64[U] that they show, and these as tiles where that pays."""
MOST_PARTS = 4
LEAST_LEARNING = 16
"""Pictures in a part, below which another part costs more than it saves."""
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
        on_tiles = policy.kind == "small" and not self.use_bf16
        self.tiles = TileNetwork(policy) if on_tiles else None
        self._pool = ThreadPoolExecutor(max(1, parts - 1))  # its threads begin when needed

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        count = min(self.parts, len(obs) // LEAST_ACTING)
        if torch.is_grad_enabled() or count < 2:
            return super().forward(obs)
        found = self.side_by_side(self._act, list(obs.tensor_split(count)))
        return torch.cat([logits for logits, _ in found]), torch.cat(
            [values for _, values in found]
        )

    def actor(self) -> Forward:
        return Remembering(self.forward)

    @torch.no_grad()  # which is a thread's own
    def _act(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        return super().forward(obs)

    def side_by_side(self, work: Callable[[Tensor], Found], parts: list[Tensor]) -> list[Found]:
        """`work` on each of `parts`, the first on this thread."""
        others = [self._pool.submit(work, part) for part in parts[1:]]
        first = work(parts[0])
        return [first, *(other.result() for other in others)]

    def one_ahead(self, work: Callable[[Tensor], Found], each: Sequence[Tensor]) -> Iterator[Found]:
        """`work` on each of `each`, on another thread while what came of the one before is used."""
        if self.parts < 2:
            yield from map(work, each)
            return
        waiting = self._pool.submit(work, each[0])
        for following in each[1:]:
            ready, waiting = waiting.result(), self._pool.submit(work, following)
            yield ready
        yield waiting.result()

    def epoch(self, rollout: RolloutBuffer) -> PartsEpoch:
        return PartsEpoch(self, self.config, rollout)

    def close(self) -> None:
        super().close()
        self._pool.shutdown()


class Samples(NamedTuple):
    """Of a minibatch or a part of it, one row a sample."""

    picture: Tensor
    """i64[B] which of the pictures that the network is shown."""
    actions: Tensor
    logprobs: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor

    def where(self, chosen: Tensor) -> Samples:
        return Samples(*(field[chosen] for field in self))


class PartsEpoch:
    """Goes over a rollout, as often as it is asked to."""

    def __init__(self, learner: PartsLearner, config: RunConfig, rollout: RolloutBuffer) -> None:
        self.learner, self.config = learner, config
        obs = rollout.obs.flatten(0, 1)
        first, picture = distinct_rows(obs.flatten(1))
        self.pictures = obs[first]
        """u8[D, K, H, W], all different."""
        fields = (
            rollout.actions, rollout.logprobs, rollout.values, rollout.advantages, rollout.returns
        )  # fmt: skip
        self.samples = Samples(picture, *(field.flatten() for field in fields))
        policy = learner.policy
        self.prior = policy.prior(self.pictures) if policy.marked else None
        self.tiles: Tiles | None = None
        if learner.tiles is not None:
            self.tiles = Tiles(self.pictures, learner.tiles.first.kernel_size[0])

    def run(self, order: Tensor) -> Tensor:
        """An optimizer step on each minibatch of the samples in `order` i64[S].

        Returns f32[minibatches, len(LossSums.names)].
        """
        minibatches = order.split(self.config.minibatch_size)
        prepared = self.learner.one_ahead(self._prepared, minibatches)
        return torch.stack([self._step(*each) for each in prepared])

    def _prepared(self, index: Tensor) -> Prepared:
        """All of a step on the samples `index` that needs no weights."""
        samples = self.samples.where(index)
        if self.config.normalize_advantage:
            deviation, mean = torch.std_mean(samples.advantages, correction=0)
            scaled = (samples.advantages - mean) / (deviation + 1e-8)
            samples = samples._replace(advantages=scaled)
        shown, place = np.unique(samples.picture.numpy(), return_inverse=True)
        samples = samples._replace(picture=torch.from_numpy(place))
        pictures = torch.from_numpy(shown)
        return samples, pictures, self.tiles.of(pictures) if self.tiles is not None else None

    def _step(self, samples: Samples, pictures: Tensor, batch: Batch | None) -> Tensor:
        """An optimizer step on what was prepared; f32[len(LossSums.names)]."""
        if batch is not None:
            scalars, gradients = self._by_tiles(batch, pictures, samples)
        else:
            scalars, gradients = self._in_parts(pictures, samples)
        learner = self.learner
        for parameter, gradient in zip(learner.optimizer.parameters, gradients, strict=True):
            parameter.grad = gradient
        scalars[-1] = learner.step()
        return scalars

    def _by_tiles(self, batch: Batch, pictures: Tensor, samples: Samples) -> Learned:
        """Scalars, and the gradient of every parameter."""
        network = self.learner.tiles
        assert network is not None
        logits, values, passed = network.forward(batch)
        if self.prior is not None:
            logits += self.prior[pictures]
        logits, values = logits.requires_grad_(), values.requires_grad_()
        losses = self._losses(logits, values, samples)
        ahead = torch.autograd.grad(losses[0], (logits, values))
        return scalars_of(losses, torch.zeros(())), network.backward(batch, passed, *ahead)

    def _in_parts(self, pictures: Tensor, samples: Samples) -> Learned:
        """The same, each thread with some of the `pictures` i64[U] and their samples."""

        def work(part: Tensor) -> Learned:
            """Of the pictures at the places `part`, weighed by their share of the samples."""
            low, high = int(part[0]), int(part[-1]) + 1
            mine = samples.where((low <= samples.picture) & (samples.picture < high))
            mine = mine._replace(picture=mine.picture - low)
            logits, values = Learner.forward(self.learner, self.pictures[pictures[low:high]])
            losses = self._losses(logits, values, mine)
            share = len(mine.picture) / len(samples.picture)
            gradients = torch.autograd.grad(losses[0] * share, self.learner.parameters)
            return share * scalars_of(losses, torch.zeros(())), gradients

        count = max(1, min(self.learner.parts, len(pictures) // LEAST_LEARNING))
        parts = torch.arange(len(pictures)).tensor_split(count)
        found = self.learner.side_by_side(work, list(parts))
        scalars = sum((scalars for scalars, _ in found[1:]), start=found[0][0])
        gradients = list(found[0][1])
        for _, others in found[1:]:
            gradients = [one + other for one, other in zip(gradients, others, strict=True)]
        return scalars, tuple(gradients)

    def _losses(self, logits: Tensor, values: Tensor, samples: Samples) -> tuple[Tensor, ...]:
        """Of samples that show pictures of which the network says `logits` and `values`."""
        return self.learner.losses(
            logits[samples.picture], values[samples.picture], *samples[1:],
            clip_range=self.config.clip_range, clip_range_vf=self.config.clip_range_vf,
            ent_coef=self.learner.ent_coef, vf_coef=self.config.vf_coef,
            normalize_advantage=False,
        )  # fmt: skip
