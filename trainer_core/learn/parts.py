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

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from trainer_core.learn.distinct import Remembering, distinct_rows
from trainer_core.learn.flat_adam import FlatAdam
from trainer_core.learn.learner import Learner
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.ppo_gradient import ppo_gradient
from trainer_core.learn.rollout import Forward, RolloutBuffer
from trainer_core.learn.tiles import Batch, TileNetwork, Tiles
from trainer_core.wire.config import RunConfig
from trainer_core.wire.environment import cores_of_rank

Found = TypeVar("Found")
Learned = tuple[Tensor, tuple[Tensor, ...]]
"""Sums over samples of what `ppo_gradient` tells of each, f32[6], and the gradient of each
parameter."""
MOST_PARTS = 4
LEAST_LEARNING = 16
"""Pictures in a part, below which another part costs more than it saves."""
LEAST_ACTING = 8
"""The same of pictures to act on."""


def learning_parts(config: RunConfig) -> int:
    """How many threads learn: as configured, else one a core that this process may use."""
    threads = config.threads or min(MOST_PARTS, cores_of_rank())
    return max(1, min(threads, config.minibatch_size // LEAST_LEARNING))


class PartsLearner(Learner):
    """A learner whose work is done in `parts`; torch itself has one thread in each."""

    def __init__(self, policy: PixelActorCritic, config: RunConfig, device: torch.device, parts: int) -> None:
        super().__init__(policy, config, device)
        torch.set_num_threads(1)
        self.optimizer = self.flat = FlatAdam(self._parameters, config.learning_rate)
        self.config, self.parts = config, parts
        on_tiles = policy.kind == "small" and not self.use_bf16
        self.tiles = TileNetwork(policy) if on_tiles else None
        self._pool = ThreadPoolExecutor(parts)  # its threads begin when needed

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        if torch.is_grad_enabled():
            return super().forward(obs)
        count = min(self.parts, len(obs) // LEAST_ACTING)
        if count < 2:
            return self._act(obs)
        found = self.side_by_side(self._act, list(obs.tensor_split(count)))
        return torch.cat([logits for logits, _ in found]), torch.cat([values for _, values in found])

    def actor(self) -> Forward:
        return Remembering(self.forward)

    @torch.no_grad()  # which is a thread's own
    def _act(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        if self.tiles is None:
            return super().forward(obs)
        logits, values = self.tiles.act(obs)
        return (logits + self.policy.prior(obs) if self.policy.marked else logits), values

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

    def beside(self, work: Callable[[], Found]) -> Callable[[], Found]:
        """`work` begun on another thread; what comes of it when it is asked for."""
        return self._pool.submit(work).result if self.parts > 1 else work

    def epoch(self, rollout: RolloutBuffer) -> PartsEpoch:
        return PartsEpoch(self, self.config, rollout)

    def step_along(self, gradients: tuple[Tensor, ...]) -> Tensor:
        """As `step`, along these, one for each parameter."""
        flat = self.flat.gradient
        for place, gradient in zip(self.flat.places, gradients, strict=True):
            place.copy_(gradient)
        if self.world > 1:
            dist.all_reduce(flat)
            flat /= self.world
        norm = torch.linalg.vector_norm(flat)
        if self.max_grad_norm > 0:  # as torch.nn.utils.clip_grad_norm_
            flat *= (self.max_grad_norm / (norm + 1e-6)).clamp_(max=1.0)
        self.flat.step()
        return norm

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


class Prepared(NamedTuple):
    """All of an optimizer step that needs no weights."""

    samples: Samples
    pictures: Tensor
    """i64[U] that they show."""
    shares: Tensor
    """f32[U, B] 1 / B where a sample shows a picture, else 0: adds up what samples say of it."""
    batch: Batch | None
    """The pictures as tiles where that pays."""


class PartsEpoch:
    """Goes over a rollout, as often as it is asked to."""

    def __init__(self, learner: PartsLearner, config: RunConfig, rollout: RolloutBuffer) -> None:
        self.learner, self.config = learner, config
        obs = rollout.obs.flatten(0, 1)
        first, picture = distinct_rows(obs.flatten(1))
        self.pictures = obs[first]
        """u8[D, K, H, W], all different."""
        fields = (rollout.actions, rollout.logprobs, rollout.values, rollout.advantages, rollout.returns)
        self.samples = Samples(picture, *(field.flatten() for field in fields))
        policy = learner.policy
        self.prior = policy.prior(self.pictures) if policy.marked else None
        self.tiles: Tiles | None = None
        if learner.tiles is not None:
            self.tiles = Tiles(self.pictures, learner.tiles.first.kernel_size[0])

    @torch.no_grad()
    def run(self, order: Tensor) -> Tensor:
        """An optimizer step on each minibatch of the samples in `order` i64[S].

        Returns f32[minibatches, len(LossSums.names)].
        """
        minibatches = order.split(self.config.minibatch_size)
        prepared = self.learner.one_ahead(self._prepared, minibatches)
        return torch.stack([self._step(each) for each in prepared])

    def _prepared(self, index: Tensor) -> Prepared:
        """Of a step on the samples `index`."""
        samples = self.samples.where(index)
        if self.config.normalize_advantage:
            deviation, mean = torch.std_mean(samples.advantages, correction=0)
            scaled = (samples.advantages - mean) / (deviation + 1e-8)
            samples = samples._replace(advantages=scaled)
        shown, place = np.unique(samples.picture.numpy(), return_inverse=True)
        shares = np.zeros((len(shown), len(place)), np.float32)
        shares[place, np.arange(len(place))] = 1 / len(place)
        pictures = torch.from_numpy(shown)
        return Prepared(
            samples._replace(picture=torch.from_numpy(place)),
            pictures,
            torch.from_numpy(shares),
            self.tiles.of(pictures) if self.tiles is not None else None,
        )

    def _step(self, ready: Prepared) -> Tensor:
        """An optimizer step on what was prepared; f32[len(LossSums.names)]."""
        sums, gradients = self._by_tiles(ready) if ready.batch else self._in_parts(ready)
        norm = self.learner.step_along(gradients)
        return torch.cat([sums / len(ready.samples.picture), norm[None]])

    def _by_tiles(self, ready: Prepared) -> Learned:
        network, batch = self.learner.tiles, ready.batch
        assert network is not None
        assert batch is not None
        logits, values, passed = network.forward(batch)
        if self.prior is not None:
            logits += self.prior[ready.pictures]
        told, found = self._gradient(logits, values, ready.samples)
        ahead = torch.mm(ready.shares, found)
        gradients = network.backward(batch, passed, ahead[:, :-1], ahead[:, -1], self.learner.beside)
        return told.sum(0), gradients

    def _in_parts(self, ready: Prepared) -> Learned:
        """The same, each thread with some of the pictures and their samples."""
        samples, pictures = ready.samples, ready.pictures

        def work(part: Tensor) -> Learned:
            """Of the pictures at the places `part`."""
            low, high = int(part[0]), int(part[-1]) + 1
            mine = (low <= samples.picture) & (samples.picture < high)
            shown = samples.where(mine)
            shown = shown._replace(picture=shown.picture - low)
            with torch.enable_grad():
                said = Learner.forward(self.learner, self.pictures[pictures[low:high]])
            with torch.no_grad():  # a thread's own
                told, found = self._gradient(*said, shown)
                ahead = torch.mm(ready.shares[low:high, mine], found)
            return told.sum(0), torch.autograd.grad(said, self.learner.parameters, (ahead[:, :-1], ahead[:, -1]))

        count = max(1, min(self.learner.parts, len(pictures) // LEAST_LEARNING))
        parts = torch.arange(len(pictures)).tensor_split(count)
        found = self.learner.side_by_side(work, list(parts))
        sums = sum((sums for sums, _ in found[1:]), start=found[0][0])
        gradients = list(found[0][1])
        for _, others in found[1:]:
            gradients = [one + other for one, other in zip(gradients, others, strict=True)]
        return sums, tuple(gradients)

    def _gradient(self, logits: Tensor, values: Tensor, samples: Samples) -> tuple[Tensor, Tensor]:
        """`ppo_gradient` of samples that show pictures of which the network says `logits` and
        `values`."""
        return ppo_gradient(
            logits[samples.picture],
            values[samples.picture],
            *samples[1:],
            clip_range=self.config.clip_range,
            clip_range_vf=self.config.clip_range_vf,
            ent_coef=self.learner.ent_coef,
            vf_coef=self.config.vf_coef,
        )
