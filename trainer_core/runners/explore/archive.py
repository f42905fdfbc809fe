"""Archive of cells: places that were found, how each was reached, and how often.

Go-Explore (Ecoffet et al. 2019, arXiv:1901.10995; 2021, arXiv:2004.12919) on the device: keys are looked up and entered
by all consoles at once, and nothing but a few counts is read by the host. A cell keeps its first way for good, since
the ways of later cells begin with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from trainer_core.envs.state_checks import check_keys
from trainer_core.runners.explore.words import MIX, MORE, MOST_VIEWS, TILE_BITS, Views, layouts, tiles
from trainer_core.wire.errors import CheckpointError

RARE = 4
"""Number of tiles of a cell, the rarest when it was found, whose counts tell how new it is."""
RECENT_BITS, LASTING = 12, 4
"""A tile lasts that was on the screen, wherever, in LASTING of the last eight steps: background, and what the player
carries, but not figures that happen to overlap."""
PROBES = 12
"""Number of places of the table in which a key may lie."""
TABLE = 8
"""Least places of the table for each cell."""
EVICTED = 16
"""Share of the cells, 1 / this, that are dropped at once when the archive is full."""
CELL = ("parent", "depth", "entry", "view", "been", "picked", "children", "steps", "born")
"""Columns of the table of cells: the cell from which it was reached, steps from the start, its place in the table of
keys, view, bits of the views on its way, how often it was chosen, cells reached from it, steps from its parent, env
steps when it was found."""
VIEW_BITS = 62
"""Bits of the views on a way; view v has bit v modulo this."""
GROUP_BITS = 16


class Trail(NamedTuple):
    """Where each of N consoles came from, and what it has seen since."""

    parents: Tensor
    """i64[N], the cell from which it goes on."""
    been: Tensor
    """i64[N], bits of the views on its way."""
    recent: Tensor
    """u8[N, 2^RECENT_BITS], for each tile (by its hash) the last eight steps, a bit each, in which it was shown."""
    actions: Tensor
    """u8[N, K], what it pressed."""


class Found(NamedTuple):
    """Result of a step of all consoles."""

    slot: Tensor
    """i64[N], the new cell that each console found; -1 for none."""
    cell: Tensor
    """i64[N], the cell in which each console is; -1 for one that is not kept."""


class Archive:
    """Cells 0 to `capacity` - 1, each free or in use; cell 0 is the start."""

    def __init__(self, capacity: int, branch_steps: int, device: torch.device) -> None:
        """Make an empty archive; a cell is reached in at most `branch_steps` steps from its parent."""
        self.capacity, self.device = capacity, device
        size = 1 << (TABLE * capacity - 1).bit_length()
        self.keys = self._zeros(size + 1)
        """i64[T + 1] keys of every cell that was ever kept, 0 for none; the last place is for nothing."""
        self.cell_of = self._zeros(size + 1) - 1
        """i64[T + 1] the cell of each key; -1 for one that was dropped."""
        self.seen = self._zeros(size + 1)
        """i64[T + 1] env steps that ended in each key's cell."""
        self._claims = self._zeros(size + 1) + (1 << 40)
        self.cells = {name: self._zeros(capacity + 1) for name in CELL}
        self.rare = self._zeros(capacity + 1, RARE)
        self.actions = torch.zeros(capacity + 1, branch_steps, dtype=torch.uint8, device=device)
        self.alive = torch.zeros(capacity + 1, dtype=torch.bool, device=device)
        self.free = torch.arange(capacity - 1, -1, -1, device=device)
        """i64[C] a stack of free cells, the first `num_free` of them valid."""
        self.num_free = torch.full((), capacity, dtype=torch.int64, device=device)
        self.lasting_counts = self._zeros(1 << TILE_BITS)
        self._bits = torch.tensor([number.bit_count() for number in range(256)], device=device)
        self.views = Views(device)
        self.view_picks = self._zeros(MOST_VIEWS)
        self.group_picks = self._zeros(1 << GROUP_BITS)
        self.found = self._zeros()
        """Number of cells ever found."""

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.int64, device=self.device)

    def begin(self, picture: Tensor) -> None:
        """Make cell 0 of the start's picture u8[1, 72, 80]."""
        self.add(picture, self.trail(self._zeros(1)), 0, 0)
        self.cells["children"][0] += 1  # never dropped

    # -- choosing ---------------------------------------------------------------------------

    def weights(self) -> Tensor:
        """Return f64[C], the weight with which each cell is chosen.

        Views share the draws evenly, so that a landscape with many figures does not drown a small room; in a view, the
        sets of views through which ways came do, so that what was brought from elsewhere is not drowned either. Among
        these cells, those with rare tiles that were seldom visited and seldom chosen come first.
        """
        cells = {name: column[:-1] for name, column in self.cells.items()}
        new = self.lasting_counts[self.rare[:-1]].clamp(min=1).double().reciprocal().sum(1)
        weight = new / (1 + self.seen[cells["entry"]] + cells["picked"]) * self.alive[:-1]
        for of, picks in ((self._groups(), self.group_picks), (cells["view"], self.view_picks)):
            sums = torch.zeros(len(picks), dtype=torch.float64, device=self.device).index_add_(0, of, weight)
            weight = weight / sums[of].clamp(min=1e-300) / picks[of].clamp(min=1)
        return weight

    def _groups(self) -> Tensor:
        """Return i64[C], a hash of each cell's view and of the views on its way."""
        mixed = (self.cells["been"][:-1] * MIX) ^ (self.cells["view"][:-1] + 1) * MORE
        return (mixed ^ mixed >> 31) * MIX >> 40 & (1 << GROUP_BITS) - 1

    def choose(self, count: int, rng: torch.Generator) -> Tensor:
        """Return i64[count] cells to go on from, drawn by `weights`, and count them as chosen."""
        sums = self.weights().cumsum(0)
        at = torch.rand(count, generator=rng, device=self.device, dtype=torch.float64) * sums[-1]
        chosen = torch.searchsorted(sums, at, right=True).clamp(max=self.capacity - 1)
        chosen = chosen.where(self.alive[chosen], 0)  # rounding at the last cell in use
        ones = torch.ones_like(chosen)
        self.cells["picked"].index_add_(0, chosen, ones)
        self.view_picks.index_add_(0, self.cells["view"][chosen], ones)
        self.group_picks.index_add_(0, self._groups()[chosen], ones)
        return chosen

    def trail(self, parents: Tensor) -> Trail:
        """Return the trails of consoles that begin in the cells `parents`, i64[N]."""
        count = len(parents)
        recent = torch.zeros(count, 1 << RECENT_BITS, dtype=torch.uint8, device=self.device)
        actions = torch.zeros(count, self.actions.shape[1], dtype=torch.uint8, device=self.device)
        return Trail(parents, self.cells["been"][parents], recent, actions)

    # -- entering ---------------------------------------------------------------------------

    def add(self, pictures: Tensor, trail: Trail, steps: int, env_steps: int) -> Found:
        """Count the cells of `pictures` u8[N, 72, 80], and make new ones of those that are not known.

        The consoles are `steps` steps beyond the cells where their trails begin; the pictures are added to these. A
        full archive takes no new cell.
        """
        parents, been, recent, actions = trail
        words = tiles(pictures)
        view = self.views.of(words)
        been |= 1 << view % VIEW_BITS
        ones = torch.ones(1, dtype=torch.int64, device=self.device)
        place = words >> TILE_BITS - RECENT_BITS
        recent >>= 1
        seen_at = recent.gather(1, place) | 128
        recent.scatter_(1, place, seen_at)
        lasts = self._bits[seen_at.long()] >= LASTING
        words = (words ^ (view[:, None] + 1) * MORE) & (1 << TILE_BITS) - 1
        self.lasting_counts.index_add_(0, words.flatten(), lasts.flatten().long())
        entry, is_new = self._look_up(layouts(pictures))
        rank = is_new.long().cumsum(0) - 1
        kept = is_new & (rank < self.num_free)
        slot = self.free[(self.num_free - 1 - rank).clamp(min=0)].where(kept, self.capacity)
        self.num_free -= kept.sum()
        self.found += kept.sum()
        self.keys.index_fill_(0, entry.where(is_new & ~kept, len(self.keys) - 1), 0)  # may come again
        self.cell_of.index_copy_(0, entry.where(kept, len(self.keys) - 1), slot)
        self.seen.index_add_(0, entry, ones.expand(len(entry)))
        # A GPU writes what nobody needs into the last row: choosing would wait for it.
        rows = kept.nonzero().squeeze(1) if self.device.type == "cpu" else torch.arange(len(slot), device=self.device)
        to, parents, words, lasts = slot[rows], parents[rows], words[rows], lasts[rows]
        values = {
            "parent": parents, "depth": self.cells["depth"][parents] + steps, "entry": entry[rows], "view": view[rows],
            "been": been[rows], "picked": 0, "children": 0, "steps": steps, "born": env_steps,
        }  # fmt: skip
        for name, value in values.items():
            self.cells[name].index_put_((to,), value if isinstance(value, Tensor) else self._zeros() + value)
        known = self.lasting_counts[words].masked_fill(~lasts, 1 << 40)
        rarest = words.gather(1, known.topk(RARE, largest=False).indices)
        self.rare[to] = rarest if steps >= LASTING else self.rare[parents]
        self.actions[to] = actions[rows].to(torch.uint8)
        self.alive.index_fill_(0, to, True)
        self.alive[self.capacity] = False
        self.cells["children"].index_add_(0, parents, kept[rows].long())
        return Found(slot.where(kept, -1), self.cell_of[entry])

    def _look_up(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Return the place of each of `keys` i64[N] in the table, and bool[N], which are entered anew.

        Of equal new keys the first console's counts as new. A key that finds no place gets the last one.
        """
        size = len(self.keys) - 1
        envs = torch.arange(len(keys), device=self.device)
        entry, is_new = torch.full_like(keys, size), torch.zeros_like(keys, dtype=torch.bool)
        step = keys >> 40 | 1
        for probe in range(PROBES):
            at = keys + probe * step & size - 1
            left = entry == size
            wants = left & (self.keys[at] == 0)
            spot = at.where(wants, size)
            self._claims.scatter_reduce_(0, spot, envs, "amin")
            wins = wants & (self._claims[spot] == envs)
            self.keys.index_copy_(0, at.where(wins, size), keys)
            self._claims.index_fill_(0, spot, 1 << 40)
            entry = at.where(left & (self.keys[at] == keys), entry)
            is_new |= wins
            if self.device.type == "cpu" and not (entry == size).any():
                break
        self.keys[size] = 0
        return entry, is_new

    def make_room(self, wanted: int) -> int:
        """Drop cells, those with the least weight first, until `wanted` are free; return how many were dropped.

        Only cells from which no other was reached are dropped, and their keys stay known. Waits for the device.
        """
        lacking = wanted - int(self.num_free)
        if lacking <= 0:
            return 0
        weights = self.weights().masked_fill((self.cells["children"][:-1] > 0) | ~self.alive[:-1], torch.inf)
        out = weights.topk(min(max(lacking, self.capacity // EVICTED), self.capacity), largest=False)
        dropped = out.indices[out.values < torch.inf]
        self.alive[dropped] = False
        self.cell_of[self.cells["entry"][dropped]] = -1
        self.cells["children"].index_add_(0, self.cells["parent"][dropped], torch.full_like(dropped, -1))
        first = int(self.num_free)
        self.free[first : first + len(dropped)] = dropped
        self.num_free += len(dropped)
        return len(dropped)

    # -- reading and keeping ----------------------------------------------------------------

    def way(self, cell: int) -> list[int]:
        """Return the actions that lead from the start to a cell."""
        parts: list[list[int]] = []
        while cell:
            parts.append(self.actions[cell, : int(self.cells["steps"][cell])].tolist())
            cell = int(self.cells["parent"][cell])
        return [action for part in reversed(parts) for action in part]

    def state_dict(self) -> dict[str, Any]:
        used = self.keys[:-1].nonzero().squeeze(1)
        alive = self.alive.nonzero().squeeze(1)
        table = {"at": used, "keys": self.keys[used], "cell_of": self.cell_of[used], "seen": self.seen[used]}
        cells = {"number": alive, "rare": self.rare[alive], "actions": self.actions[alive]}
        cells |= {name: column[alive] for name, column in self.cells.items()}
        counted = self.lasting_counts.nonzero().squeeze(1)
        whole = {
            "free": self.free[: int(self.num_free)], "tiles": torch.stack([counted, self.lasting_counts[counted]]),
            "histograms": self.views.histograms, "views": self.views.count, "view_picks": self.view_picks,
            "group_picks": self.group_picks,
            "found": self.found,
        }  # fmt: skip
        parts = {"table": table, "cells": cells, "whole": whole}
        return {
            "capacity": self.capacity,
            **{f"{part}.{name}": value.cpu() for part, values in parts.items() for name, value in values.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict` into an empty archive. Raises CheckpointError for another's."""
        check_keys(state, tuple(self.state_dict()), "the archive")
        if state["capacity"] != self.capacity:
            raise CheckpointError(f"an archive of {state['capacity']} cells, this one has {self.capacity}")
        given = {name: value.to(self.device) for name, value in state.items() if name != "capacity"}
        at, alive = given["table.at"], given["cells.number"]
        for column in ("keys", "cell_of", "seen"):
            getattr(self, column)[at] = given[f"table.{column}"]
        for name, column in {**self.cells, "rare": self.rare, "actions": self.actions}.items():
            column[alive] = given[f"cells.{name}"]
        self.alive[alive] = True
        self.num_free.fill_(len(given["whole.free"]))
        self.free[: len(given["whole.free"])] = given["whole.free"]
        self.lasting_counts[given["whole.tiles"][0]] = given["whole.tiles"][1]
        self.views.histograms.copy_(given["whole.histograms"])
        self.views.count.copy_(given["whole.views"])
        self.view_picks.copy_(given["whole.view_picks"])
        self.group_picks.copy_(given["whole.group_picks"])
        self.found.copy_(given["whole.found"])
