"""A task's RAM terms for N consoles: what they remember, restarts, sums for records; `ram_kernel` computes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import warp as wp
from torch import Tensor

from emulator import Emulator
from emulator.launch.warp_start import start_warp
from emulator.launch.watched_memory import Watch
from trainer_core.envs.novelty import SPREAD, ScreenCounts
from trainer_core.envs.ram_kernel import score_bytes, show_bits
from trainer_core.envs.state_checks import check_like
from trainer_core.lab.ram_expressions import Program
from trainer_core.lab.ram_reward import set_places


class WatchedRam:
    """RAM terms of a GameEnv, and the rows of pixels in which its policy sees the watched bytes."""

    def __init__(self, terms: RamTerms, rows: int, pictures: Tensor) -> None:
        """Show memory in `rows` below `pictures` u8[N, 72, 80]; 0 rows show nothing."""
        self.terms, self.rows = terms, rows
        self._shown = self._room(pictures)

    def _room(self, pictures: Tensor) -> Tensor:
        count, height, width = pictures.shape
        return pictures.new_zeros(count, height + self.rows, width) if self.rows else pictures

    def with_rows(self, pictures: Tensor) -> Tensor:
        """Return `pictures` u8[N, 72, 80] with the watched bytes below, u8[N, H, 80]: the same memory each time."""
        return self._draw(pictures, self.terms.watched, self._shown)

    def at_starts(self, pictures: Tensor) -> Tensor:
        """Return the pictures of the start states u8[S, 72, 80] with the bytes at these below."""
        return self._draw(pictures, self.terms.starts, self._room(pictures))

    def _draw(self, pictures: Tensor, watched: Tensor, shown: Tensor) -> Tensor:
        """Draw as `ram_rows` does, on the device."""
        if not self.rows:
            return pictures
        shown[:, : pictures.shape[1]] = pictures
        inputs = [wp.from_torch(watched), pictures[0].numel(), wp.from_torch(shown.flatten(1))]
        wp.launch(show_bits, tuple(watched.shape), inputs, device=wp.device_from_torch(shown.device))
        return shown


class RamTerms:
    """Rewards, ends and scores of N consoles by their watched bytes."""

    def __init__(
        self, program: Program, watched: Tensor, starts: Tensor, horizon: int, *, novelty: bool = True
    ) -> None:
        """Score `watched` u8[N, B], which every step overwrites; `starts` u8[S, B] are the bytes at all start states.

        An episode has at most `horizon` steps. Without `novelty` its terms pay nothing, as in validation.
        """
        start_warp()
        device, count = watched.device, len(watched)

        def made(*shape: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.program, self.watched, self.starts = program, watched, starts
        self.watch: Watch | None = None
        """Watch of `watching`."""
        self.before = watched.clone()
        places = set_places(horizon) if program.sets else 1
        self.epochs = made(count, dtype=torch.int32) + 1
        self.records = made(count, max(1, program.records), dtype=torch.float64)
        self.met = made(count, max(1, program.sets), places, dtype=torch.int32)
        self.parts = made(count, max(1, len(program.terms)), dtype=torch.float32)
        self.reward = made(count, dtype=torch.float32)
        self.done = made(count, dtype=torch.bool)
        self.score = made(count, dtype=torch.float64)
        self._keys = made(count, max(1, len(program.counted)), dtype=torch.int64)
        self.counts = [ScreenCounts(device) for _ in program.counted] if novelty else []
        self._sums = made(len(program.terms) + 1, dtype=torch.float64)
        self._best = made(1, dtype=torch.float64) - torch.inf
        self._steps = 0
        words = torch.tensor(program.words, dtype=torch.int32, device=device)
        constants = torch.tensor([*program.constants, 0.0], dtype=torch.float64, device=device)
        weights = torch.tensor([*program.weights, 0.0], dtype=torch.float64, device=device)
        fixed = (words, constants, weights, self.before, watched)
        own = (self.epochs, self.records, self.met, self.parts, self.reward, self.done, self.score, self._keys)
        self._fixed, self._own = ([wp.from_torch(one) for one in some] for some in (fixed, own))
        self._own[2] = wp.from_torch(self.met, dtype=wp.uint32)

    @classmethod
    def watching(
        cls,
        emulator: Emulator,
        watch: Mapping[str, Any],
        terms: Mapping[str, tuple[float, str]],
        *,
        values: Mapping[str, str] | None = None,
        done: str = "",
        horizon: int = 2048,
    ) -> RamTerms:
        """Watch bytes of all consoles of `emulator` and score them, for an environment of one's own.

        `watch`: places by name, as for `Emulator.watch`. `terms`: (weight, expression) by name; `values`: named
        expressions; `done`: one that ends episodes. Call `step` after each `run`, and `restart` after resets. On a GPU
        Warp works on torch's stream from then on. Raises LabError with line and column of an error in an expression,
        EmulatorError for a place that cannot be read.
        """
        if emulator.device.startswith("cuda"):  # what Warp and torch do with the same memory must come in one order
            wp.set_stream(
                wp.stream_from_torch(torch.cuda.current_stream(torch.device(emulator.device))), emulator.device
            )
        found = emulator.watch(**watch)
        groups = found.slices
        program = Program()
        for name, value in (values or {}).items():
            program.add_value(name, value, groups)
        for name, (weight, value) in terms.items():
            program.add_term(name, value, weight, groups)
        if done:
            program.add_done(done, groups)
        made = cls(program, wp.to_torch(found.bytes), torch.empty(0), horizon)
        made.watch = found
        return made

    def step(self, steps: Tensor) -> tuple[Tensor, Tensor]:
        """Score the step that led to the watched bytes; return the reward f32[N] and done bool[N].

        `steps` i32[N] are the steps of each episode before this one.
        """
        inputs = [*self._fixed, wp.from_torch(steps), *self._own]
        wp.launch(score_bytes, len(self.reward), inputs, device=self._fixed[0].device)
        self.before.copy_(self.watched)
        for number, counts in enumerate(self.counts):
            term = self.program.counted[number]
            # A key has 24 bits; the counts go by the upper bits of a hash of 32.
            bonus = (
                counts.visit(self._keys[:, number] * (SPREAD & 0xFFFFFFFF) & 0xFFFFFFFF) * self.program.weights[term]
            )
            self.parts[:, term] = bonus
            self.reward += bonus
        self._sums[:-1] += self.parts[:, : len(self.program.terms)].sum(0, dtype=torch.float64)
        self._sums[-1] += self.score.sum()
        self._best = torch.maximum(self._best, self.score.max())
        self._steps += 1
        return self.reward, self.done

    def restart(self, where: Tensor, starts: Tensor | None = None) -> None:
        """Begin new episodes in the envs `where` bool[N], at the start states `starts` i64[N].

        None: where the consoles stand now, after a reset.
        """
        if starts is None:
            assert self.watch is not None
            self.watch.update()
            self.before.copy_(self.watched)
        else:
            torch.where(where[:, None], self.starts[starts], self.before, out=self.before)
        self.epochs += where

    def take(self) -> dict[str, float]:
        """Return the mean of each term a step, and mean and maximum of the score, since the last call; this waits for
        the device."""
        if not self._steps:
            return {}
        count = self._steps * len(self.reward)
        *terms, score = (self._sums / count).tolist()
        found = {f"reward/{name}": value for name, value in zip(self.program.terms, terms, strict=True)}
        if self.program.scores:
            found |= {"score/mean": score, "score/max": float(self._best)}
        self._sums.zero_()
        self._best.fill_(-torch.inf)
        self._steps = 0
        return found

    def forget(self) -> None:
        """Forget what the run has counted, so that the same seed gives the same rewards."""
        for each in self.counts:
            each.counts.zero_()

    def state_dict(self) -> dict[str, Any]:
        state = {name: getattr(self, name).cpu() for name in ("before", "epochs", "records", "met")}
        return state | {f"counts{number}": each.counts.cpu() for number, each in enumerate(self.counts)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError for an invalid one."""
        check_like(state, self.state_dict(), "the state of the RAM terms")
        for name in ("before", "epochs", "records", "met"):
            getattr(self, name).copy_(state[name])
        for number, each in enumerate(self.counts):
            each.counts.copy_(state[f"counts{number}"])
