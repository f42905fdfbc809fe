"""Goal distance, episodes and the choice of start states, for all batches.

Pure bookkeeping on device tensors, without an emulator and without reads by the host.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from trainer_core.envs.curriculum import StartCurriculum
from trainer_core.envs.novelty import ScreenCounts, hash_pictures, hash_weights
from trainer_core.envs.scoring import Rules, Standing, score_step
from trainer_core.envs.state_checks import check_like, check_range, restore_generator
from trainer_core.envs.vec_env import StepInfo, StepStats
from trainer_core.wire.shades import MAX_SHADE

MOST_COUNT = 2.0**64
"""Greatest plausible count of one picture in a run."""


class GoalTemplates:
    """Goal pictures of a task; a picture's goal distance is that to the nearest one.

    Sums of shade differences are integers below 2^24, exact in float32 in any order: every device and every N gives the
    same distance.
    """

    def __init__(self, pictures: Tensor, mask: Tensor, distance: str) -> None:
        """Prepare the templates: `pictures` u8[G, H, W], `mask` bool[G, H, W] of the pixels that count, `distance` l1
        or mse."""
        self.distance = distance
        masks = mask.flatten(1).float()
        self.pictures, self.mask = pictures, mask
        self._masks = None if bool(mask.all()) else masks
        self._goals = pictures.flatten(1).float() * masks
        self._scale = masks.sum(1) * (MAX_SHADE if distance == "l1" else MAX_SHADE**2)

    def distances(self, pictures: Tensor) -> Tensor:
        """Return f32[N], the distance of `pictures` u8[N, H, W] to the nearest template, 0 to 1."""
        return self.nearest(self._sums(pictures.flatten(1).float()))

    def nearest(self, sums: Tensor) -> Tensor:
        """Return f32[N], the distance to the nearest template, given the sums f32[N, G] that `_sums` returns."""
        return (sums / self._scale).amin(1)

    def _sums(self, shades: Tensor) -> Tensor:
        """Return f32[N, G]: for each picture and template the sum of |shade difference| or its square over the mask.

        `shades` f32[N, H * W] are the pictures.
        """
        if self._masks is None and self.distance == "l1":
            return torch.cdist(shades, self._goals, p=1.0)
        sums = []
        for number, goal in enumerate(self._goals):
            seen = shades if self._masks is None else shades * self._masks[number]
            if self.distance == "l1":
                sums.append((seen - goal).abs_().sum(1))
            else:
                sums.append((seen - goal).square_().sum(1))
        return torch.stack(sums, 1)


class Reader(Protocol):
    """Interface of an object that computes goal distances and hashes of the pictures of a step."""

    def read(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return goal distances f32[N] and hashes i64[N] of `pictures` u8[N, H, W]."""
        ...


class TorchReader:
    """Reader in torch for any device, which defines the results of the others. `picture_reader.WarpReader` does the
    same in one kernel on a GPU, `picture_reader_serial.SerialReader` on a CPU."""

    def __init__(self, goal: GoalTemplates) -> None:
        self._goal = goal
        self._weights = hash_weights(goal.pictures[0].numel() // 4).to(goal.pictures.device)

    def read(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        return self._goal.distances(pictures), hash_pictures(pictures, self._weights)


class Outcome(NamedTuple):
    """Result of one step of N consoles: the data of StepResult and StepInfo, and the start states for resets."""

    reward: Tensor
    done: Tensor
    trunc: Tensor
    dist: Tensor
    success: Tensor
    reset_mask: Tensor
    start_index: Tensor
    episode_steps: Tensor
    from_demo: Tensor
    next_start: Tensor
    """i64[N] start state to load where reset_mask is true."""


def step_info(out: Outcome) -> StepInfo:
    """Return the StepInfo with the fields of `out`."""
    return StepInfo(out.dist, out.reset_mask, out.success, out.start_index, out.episode_steps, out.from_demo)


def step_stats(out: Outcome | StepInfo) -> StepStats:
    """Return the means of a step's results over all consoles, computed on the tensors' device."""
    return StepStats(
        out.dist.mean(),
        out.dist.amin(),
        out.success.float().mean(),
        out.reset_mask.float().mean(),
        out.episode_steps.float().mean(),
    )


class Episodes:
    """Episodes of N consoles: scores every step and chooses the next start states.

    `envs.scoring` has the rules; this class keeps their state between steps.
    """

    def __init__(
        self,
        num_envs: int,
        goal: GoalTemplates,
        rules: Rules,
        start_set: Tensor,
        start_pictures: Tensor,
        seed: int,
        *,
        novelty: bool = True,
        reader: Reader | None = None,
        own_starts: int | None = None,
        curriculum: StartCurriculum | None = None,
    ) -> None:
        """Make the episodes.

        New episodes begin at random starts of `start_set` i64[S'], or at those that the `curriculum` draws.
        `start_pictures` u8[S, H, W] has the observation at every start: first the task's `own_starts` own ones (None:
        all are), then those along its demonstrations.
        """
        device = start_pictures.device
        self._reader = reader or TorchReader(goal)
        self.rules = rules
        self.start_set, self.start_pictures = start_set, start_pictures
        self.own_starts = len(start_pictures) if own_starts is None else own_starts
        self.curriculum = curriculum
        self.start_dist = goal.distances(start_pictures)
        self._rng = torch.Generator(device).manual_seed(seed)
        self._asks = device.type == "cpu"  # a GPU's host would have to wait for the answer
        self.start_index = torch.zeros(num_envs, dtype=torch.int64, device=device)
        self.steps = torch.zeros(num_envs, dtype=torch.int32, device=device)
        self.held = torch.zeros(num_envs, dtype=torch.int32, device=device)
        self.dist = torch.zeros(num_envs, device=device)
        self.best = torch.zeros(num_envs, device=device)
        self.counts = ScreenCounts(device) if novelty and rules.novelty_bonus > 0 else None

    def seed(self, seed: int) -> None:
        """Restart the random generator with `seed`, and the counts of seen pictures, so that the same seed gives the
        same rewards."""
        self._rng.manual_seed(seed)
        if self.counts is not None:
            self.counts.counts.zero_()

    def draw_starts(self) -> Tensor:
        """Return i64[N] start states, drawn by the curriculum, or at random from the start set if there is none."""
        if self.curriculum is not None:
            return self.curriculum.draw(len(self.start_index), self._rng)
        drawn = torch.randint(
            len(self.start_set), self.start_index.shape, generator=self._rng, device=self.start_index.device
        )
        return self.start_set[drawn]

    def begin(self, starts: Tensor) -> None:
        """Begin an episode on every console."""
        self.start_index.copy_(starts)
        self.steps.zero_()
        self.held.zero_()
        self.dist.copy_(self.start_dist[starts])
        self.best.copy_(self.dist)

    def judge(self, pictures: Tensor, ram: tuple[Tensor, Tensor] | None = None) -> Outcome:
        """Score one step that led to `pictures` u8[N, H, W]; ended episodes begin again.

        `ram`: reward f32[N] and done bool[N] of the task's RAM terms.
        """
        dist, hashes = self._reader.read(pictures)
        novelty = self.counts.visit(hashes) if self.counts is not None else None
        before = Standing(self.dist, self.held, self.steps, self.best)
        rules = self.rules
        if self.curriculum is not None:
            rules = rules._replace(horizon=self.curriculum.limit[self.start_index])
        score = score_step(rules, before, dist, novelty, ram)
        reached = score.standing
        reset_mask = score.done | score.trunc
        next_start = self.start_index
        if not self._asks or bool(reset_mask.any()):
            if self.curriculum is not None:
                self.curriculum.fold(self.start_index, reset_mask, score.done)
            next_start = self.draw_starts()
        outcome = Outcome(
            score.reward,
            score.done,
            score.trunc,
            dist,
            score.done,
            reset_mask,
            self.start_index.clone(),
            reached.steps,
            self.start_index >= self.own_starts,
            next_start,
        )
        self.start_index = torch.where(reset_mask, next_start, self.start_index)
        self.steps = torch.where(reset_mask, 0, reached.steps)
        self.held = torch.where(reset_mask, 0, reached.held)
        begun = self.start_dist[next_start]
        self.dist = torch.where(reset_mask, begun, dist)
        self.best = torch.where(reset_mask, begun, reached.best)
        return outcome

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "start_index": self.start_index.cpu(),
            "steps": self.steps.cpu(),
            "held": self.held.cpu(),
            "dist": self.dist.cpu(),
            "best": self.best.cpu(),
            "rng": self._rng.get_state(),
        }
        if self.counts is not None:
            state["counts"] = self.counts.counts.cpu()
        if self.curriculum is not None:
            state["start_success"] = self.curriculum.success.cpu()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError, before anything is changed, for an invalid
        one."""
        # Checkpoints from before `new_minimum` hold no `best`; their reward does not read it.
        check_like(state, self.state_dict(), "the episodes' state", optional=["best", "start_success"])
        limits = {
            "start_index": len(self.start_pictures) - 1,
            "steps": self.rules.horizon,
            "held": self.rules.horizon,
            "dist": 1,
            "best": 1,
            "counts": MOST_COUNT,
            "start_success": 1,
        }
        for name in limits.keys() & state.keys():
            check_range(state[name], 0, limits[name], f"the episodes' {name}")
        restore_generator(self._rng, state["rng"], "the episodes' rng")
        for name in ("start_index", "steps", "held", "dist"):
            getattr(self, name).copy_(state[name])
        self.best.copy_(state.get("best", state["dist"]))
        if self.counts is not None:
            self.counts.counts.copy_(state["counts"])
        if self.curriculum is not None and "start_success" in state:
            self.curriculum.success.copy_(state["start_success"])
