"""Consoles that explore a game from one state: return to a cell, press random buttons, keep what is new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from emulator import Cartridge, Snapshot
from trainer_core.envs.sharded_emulator import ShardedEmulator, shards_for
from trainer_core.envs.state_checks import check_keys, restore_generator
from trainer_core.lab.tasks import Codec
from trainer_core.runners.explore.archive import Archive
from trainer_core.wire.errors import CheckpointError


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Size of a search, and its random numbers."""

    num_envs: int
    capacity: int
    """Cells of the archive."""
    branch_steps: int = 16
    """Steps that a console goes on from a cell."""
    hold: float = 0.7
    """Probability of pressing the last button again."""
    seed: int = 1


class Goal(NamedTuple):
    """Goal of a task, which is marked when it is found."""

    read: Callable[[Tensor], tuple[Tensor, Tensor]]
    """Function of pictures u8[N, 72, 80] that returns their distances to the goal, f32[N], and hashes."""
    tau: float


class Explorer:
    """N consoles and their archive. Its state is complete between two rounds, when every console is given up."""

    goal: Goal | None = None
    """Set by who knows one, before `begin`."""

    def __init__(
        self, cartridge: Cartridge, start: Snapshot, codec: Codec, search: Search, device: torch.device
    ) -> None:
        """Put the consoles at `start` and make room for the archive's states."""
        self.search, self.codec, self.device = search, codec, device
        count = search.num_envs
        self.emulator = ShardedEmulator(cartridge, count, device, shards_for(count, device))
        self.archive = Archive(search.capacity, search.branch_steps, device)
        self.rng = torch.Generator(device).manual_seed(search.seed)
        self.env_steps = self.dropped = 0
        self._masks = torch.tensor(codec.masks, dtype=torch.uint8, device=device)
        self.start, self.rom_sha256 = start, cartridge.sha256
        self.emulator.set_starts([start])
        self.emulator.put_at(torch.zeros(count, dtype=torch.int64, device=device))
        self._first = self.emulator.observe()[:1].clone()
        self.emulator.make_slots(search.capacity)
        slots = torch.full((count,), -1, device=device)
        slots[0] = 0
        self.emulator.save(slots)

    @property
    def num_envs(self) -> int:
        return self.search.num_envs

    def screens(self, count: int) -> Tensor:
        """Return u8[count, 144, 160], the screens of the first consoles."""
        return self.emulator.screens(count)

    def begin(self) -> None:
        self.archive.begin(self._first)

    def round(self, after_step: Callable[[], None] = lambda: None) -> None:
        """Let every console return to a cell and go on from there; `after_step` is called after each step."""
        search, archive, emulator = self.search, self.archive, self.emulator
        count = search.num_envs
        archive.views.find_scenes()
        self.dropped += archive.make_room(min(count * 4, search.capacity // 4))
        parents = archive.choose(count, self.rng)
        emulator.put_at(parents)
        trail = archive.trail(parents, emulator.observe())
        pressed = self._draw()
        for step in range(search.branch_steps):
            held = torch.rand(count, generator=self.rng, device=self.device) < search.hold
            pressed = pressed.where(held, self._draw())
            trail.actions[:, step] = pressed
            self.press(pressed)
            self.env_steps += count
            pictures = emulator.observe()
            marked = None if self.goal is None else self.goal.read(pictures)[0] < self.goal.tau
            slots = archive.add(pictures, trail, step + 1, marked)
            emulator.save(slots)
            after_step()

    def to_start(self) -> None:
        """Put every console at the start."""
        self.emulator.put_at(torch.zeros(self.num_envs, dtype=torch.int64, device=self.device))

    def goal_cell(self) -> int:
        """Return the cell at the goal that is fewest steps from the start, -1 for none. Waits for the device."""
        archive = self.archive
        at_goal = (archive.alive & (archive.cells["goal"] > 0)).nonzero().squeeze(1)
        return int(at_goal[archive.cells["depth"][at_goal].argmin()]) if len(at_goal) else -1

    def _draw(self) -> Tensor:
        return torch.randint(len(self._masks), (self.search.num_envs,), generator=self.rng, device=self.device)

    def press(self, actions: Tensor) -> None:
        """Play a step with `actions`, i64[N]."""
        torch.index_select(self._masks, 0, actions, out=self.emulator.buttons)
        self.emulator.run(self.codec.frames_per_step, self.codec.release_after_frames)

    # -- keeping ----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the archive without the cells' states, which `load_state_dict` plays again."""
        return {
            "archive": self.archive.state_dict(),
            "rng": self.rng.get_state(),
            "env_steps": self.env_steps,
            "dropped": self.dropped,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError for what no explorer of these options wrote."""
        check_keys(state, ("archive", "rng", "env_steps", "dropped"), "the explorer's state")
        try:
            self.archive.load_state_dict(state["archive"])
            restore_generator(self.rng, state["rng"], "the explorer's rng")
            self.env_steps, self.dropped = int(state["env_steps"]), int(state["dropped"])
            self._play_again()
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(f"the explorer's state does not fit together: {error}") from None

    def _play_again(self) -> None:
        """Make the state of every cell anew by its way from its parent, one generation after another.

        It takes a fraction of the exploring, and less disk and time than reading gigabytes would.
        """
        archive, count = self.archive, self.search.num_envs
        parents, steps = archive.cells["parent"], archive.cells["steps"]
        ready = torch.zeros_like(archive.alive)
        ready[0] = True
        waiting = archive.alive.clone()
        waiting[0] = False
        while bool(waiting.any()):
            now = (waiting & ready[parents]).nonzero().squeeze(1)
            if not len(now):
                raise CheckpointError("the explorer's state has cells that no way leads to")
            now = now[steps[now].argsort(stable=True)]
            for some in now.split(count):
                self._play_segments(some)
            waiting[now] = False
            ready[now] = True

    def _play_segments(self, cells: Tensor) -> None:
        """Play the way of each of `cells`, i64[<= N], from its parent, and save the states there."""
        archive, lane = self.archive, torch.arange(len(cells), device=self.device)
        self.emulator.put_at(archive.cells["parent"][cells])
        steps = archive.cells["steps"][cells]
        pressed = torch.zeros(self.search.num_envs, dtype=torch.int64, device=self.device)
        for step in range(int(steps.max())):
            pressed[lane] = archive.actions[cells, step].long()
            self.press(pressed)
            slots = torch.full_like(pressed, -1)
            slots[lane] = cells.where(steps == step + 1, -1)
            self.emulator.save(slots)

    def close(self) -> None:
        self.emulator.close()
