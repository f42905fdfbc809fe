"""PPO on a CPU: equal pictures are evaluated once, and several cores share each minibatch.

The cost of a minibatch is that of its different pictures (`distinct.py`), and with the network `small` of their
different patches (`tiles.py`): little work, done on one thread while another prepares the next minibatch. Other
networks, and pictures without tiles, are processed in as many parallel parts as there are threads. torch's own threads
split every product and synchronise after each, hundreds of times a step, which is slow as soon as another process needs
a core (docs/notebook/learning.md, notebook 7). Parts of a minibatch synchronise once a step. The gradient is the same
sum in another order; the order is fixed, so that runs with as many threads repeat bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from trainer_core.learn.distinct import Remembering, distinct_rows
from trainer_core.learn.learner import Learner
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.ppo_loss import Samples, ppo_loss
from trainer_core.learn.rollout import Forward, RolloutBuffer
from trainer_core.learn.tiles import Batch, TileNetwork, Tiles
from trainer_core.wire.config import RunConfig
from trainer_core.wire.environment import cores_of_rank

Found = TypeVar("Found")
Learned = tuple[Tensor, tuple[Tensor, ...]]
"""Result of a minibatch or a part of it: sums of the samples' losses, f32[6], and the gradient of each parameter."""
MOST_PARTS = 4
LEAST_LEARNING = 16
"""Least number of pictures in a thread's part of a minibatch; with fewer, another thread costs more than it saves."""
LEAST_ACTING = 8
"""Least number of pictures in a thread's part of a forward pass while acting."""


def learning_parts(config: RunConfig) -> int:
    """Return the number of learning threads: as configured, else one for each available core."""
    threads = config.threads or min(MOST_PARTS, cores_of_rank())
    return max(1, min(threads, config.minibatch_size // LEAST_LEARNING))


class PartsLearner(Learner):
    """Learner on a CPU that divides work among `parts` threads; torch's own parallelism is switched off."""

    def __init__(self, policy: PixelActorCritic, config: RunConfig, device: torch.device, parts: int) -> None:
        super().__init__(policy, config, device)
        torch.set_num_threads(1)
        self.config, self.parts = config, parts
        on_tiles = policy.kind == "small" and not self.use_bf16
        self.tiles = TileNetwork(policy) if on_tiles else None
        self._pool = ThreadPoolExecutor(parts)  # threads start when needed

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

    @torch.no_grad()  # the setting is per thread
    def _act(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        if self.tiles is None:
            return super().forward(obs)
        logits, values = self.tiles.act(obs)
        return (logits + self.policy.prior(obs) if self.policy.marked else logits), values

    def side_by_side(self, work: Callable[[Tensor], Found], parts: list[Tensor]) -> list[Found]:
        """Return the results of `work` for each of `parts`, computed in parallel; this thread computes the first."""
        others = [self._pool.submit(work, part) for part in parts[1:]]
        first = work(parts[0])
        return [first, *(other.result() for other in others)]

    def one_ahead(self, work: Callable[[Tensor], Found], each: Sequence[Tensor]) -> Iterator[Found]:
        """Yield the result of `work` for each element; another thread computes it while the caller uses the one
        before."""
        if self.parts < 2:
            yield from map(work, each)
            return
        waiting = self._pool.submit(work, each[0])
        for following in each[1:]:
            ready, waiting = waiting.result(), self._pool.submit(work, following)
            yield ready
        yield waiting.result()

    def beside(self, work: Callable[[], Found]) -> Callable[[], Found]:
        """Start `work` on another thread; return a function that waits for its result and returns it."""
        return self._pool.submit(work).result if self.parts > 1 else work

    def epoch(self, rollout: RolloutBuffer) -> PartsEpoch:
        return PartsEpoch(self, self.config, rollout)

    def close(self) -> None:
        super().close()
        self._pool.shutdown()


class Prepared(NamedTuple):
    """Data of an optimizer step that does not depend on the weights: B samples, and the U pictures that they show."""

    samples: Samples
    pictures: Tensor
    """i64[U] indices into `PartsEpoch.pictures` of the pictures that the samples show."""
    picture: Tensor
    """i64[B] index into `pictures` of each sample."""
    shares: Tensor
    """f32[U, B] 1 / B where a sample shows a picture, else 0: sums the samples' gradients by picture."""
    batch: Batch | None
    """Pictures as tiles, if that is faster."""


class PartsEpoch:
    """Epochs of optimizer steps over one rollout, which evaluate equal pictures once."""

    def __init__(self, learner: PartsLearner, config: RunConfig, rollout: RolloutBuffer) -> None:
        self.learner, self.config = learner, config
        obs = rollout.obs.flatten(0, 1)
        first, self.picture = distinct_rows(obs.flatten(1))
        self.pictures = obs[first]
        """u8[D, K, H, W], the distinct pictures of the rollout."""
        self.samples = Samples.of(rollout)
        policy = learner.policy
        self.prior = policy.prior(self.pictures) if policy.marked else None
        self.tiles: Tiles | None = None
        if learner.tiles is not None:
            self.tiles = Tiles(self.pictures, learner.tiles.first.kernel_size[0])

    @torch.no_grad()
    def run(self, order: Tensor) -> Tensor:
        """Make an optimizer step on each minibatch of the samples in `order` i64[S].

        Returns f32[minibatches, len(LossSums.names)].
        """
        minibatches = order.split(self.config.minibatch_size)
        prepared = self.learner.one_ahead(self._prepared, minibatches)
        return torch.stack([self._step(each) for each in prepared])

    def _prepared(self, index: Tensor) -> Prepared:
        """Return the prepared data for an optimizer step on the samples at `index` i64[B]."""
        shown, place = np.unique(self.picture[index].numpy(), return_inverse=True)
        shares = np.zeros((len(shown), len(place)), np.float32)
        shares[place, np.arange(len(place))] = 1 / len(place)
        pictures = torch.from_numpy(shown)
        return Prepared(
            self.samples.minibatch(index, self.config),
            pictures,
            torch.from_numpy(place),
            torch.from_numpy(shares),
            self.tiles.of(pictures) if self.tiles is not None else None,
        )

    def _step(self, ready: Prepared) -> Tensor:
        """Make an optimizer step on prepared data; return its mean losses and the gradient's norm,
        f32[len(LossSums.names)]."""
        sums, gradients = self._by_tiles(ready) if ready.batch else self._in_parts(ready)
        norm = self.learner.step(gradients)
        return torch.cat([sums / len(ready.picture), norm[None]])

    def _by_tiles(self, ready: Prepared) -> Learned:
        network, batch = self.learner.tiles, ready.batch
        assert network is not None
        assert batch is not None
        logits, values, passed = network.forward(batch)
        if self.prior is not None:
            logits += self.prior[ready.pictures]
        losses, found = self._loss(logits, values, ready.picture, ready.samples)
        ahead = torch.mm(ready.shares, found)
        gradients = network.backward(batch, passed, ahead[:, :-1], ahead[:, -1], self.learner.beside)
        return losses.sum(0), gradients

    def _in_parts(self, ready: Prepared) -> Learned:
        """Return losses and gradients of a minibatch, computed by several threads, each with a part of the pictures."""

        def work(part: Tensor) -> Learned:
            """Return losses and gradients of the samples that show the pictures at the positions `part`."""
            low, high = int(part[0]), int(part[-1]) + 1
            mine = (low <= ready.picture) & (ready.picture < high)
            with torch.enable_grad():
                said = Learner.forward(self.learner, self.pictures[ready.pictures[low:high]])
            with torch.no_grad():  # the setting is per thread
                losses, found = self._loss(*said, ready.picture[mine] - low, ready.samples.at(mine))
                ahead = torch.mm(ready.shares[low:high, mine], found)
            return losses.sum(0), torch.autograd.grad(said, self.learner.parameters, (ahead[:, :-1], ahead[:, -1]))

        count = max(1, min(self.learner.parts, len(ready.pictures) // LEAST_LEARNING))
        parts = torch.arange(len(ready.pictures)).tensor_split(count)
        found = self.learner.side_by_side(work, list(parts))
        sums = sum((sums for sums, _ in found[1:]), start=found[0][0])
        gradients = list(found[0][1])
        for _, others in found[1:]:
            gradients = [one + other for one, other in zip(gradients, others, strict=True)]
        return sums, tuple(gradients)

    def _loss(self, logits: Tensor, values: Tensor, picture: Tensor, samples: Samples) -> tuple[Tensor, Tensor]:
        """Return the result of `ppo_loss` for `samples`.

        `logits` and `values` are the network's outputs for distinct pictures; `picture` is each sample's index into
        them.
        """
        return ppo_loss(logits[picture], values[picture], samples, self.config, self.learner.ent_coef)
