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
from trainer_core.runners.explore.words import MIX, MORE, PART, Views, histograms, layouts
from trainer_core.wire.errors import CheckpointError

NEW_LAND, MOST_SURPRISE = 0.9, 10.0
"""Share of steps in a new land that come to new cells, and the greatest surprise: e to it is the weight of a cell."""
LEVELS = ("place", "been", "scene")
"""What cells are grouped by when they are chosen, the smallest groups first."""
PROBES = 12
"""Number of places of the table in which a key may lie."""
TABLE = 32
"""Least places of the table for each cell."""
EVICTED = 16
"""Share of the cells, 1 / this, that are dropped at once when the archive is full."""
CELL = ("parent", "depth", "entry", "view", "place", "been", "picked", "children", "steps", "goal")
"""Columns of the table of cells: the cell from which it was reached, steps from the start, its place in the table of
keys, view, place, bits of the views on its way, how often it was chosen, cells reached from it, steps from its parent,
whether the goal was seen there."""
TABLE_COLUMNS = ("keys", "cell_of", "seen")
GROUP_BITS = 18
"""Bits of the hash of a group of cells."""


class Trail(NamedTuple):
    """Record of N consoles: the cells from which they go on, and what happened since."""

    parents: Tensor
    """i64[N], the cell from which it goes on."""
    been: Tensor
    """i64[N], bits of the views on its way."""
    view: Tensor
    """i64[N], the view of its last picture."""
    bins: Tensor
    """f32[N, bins], the histogram of its last picture."""
    surprise: Tensor
    """f32[N], the surprise of the way up to its last picture."""
    actions: Tensor
    """u8[N, K], what it pressed."""


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
        self.actions = torch.zeros(capacity + 1, branch_steps, dtype=torch.uint8, device=device)
        self.surprise = torch.zeros(capacity + 1, device=device)
        """f32[C + 1], how much likelier the last steps to a cell are in a new land than where they were, as a log."""
        self.visits = self._zeros(2, 1 << GROUP_BITS)
        """i64[2, groups] steps that ended in known and in new cells, by place."""
        self.alive = torch.zeros(capacity + 1, dtype=torch.bool, device=device)
        self.free = torch.arange(capacity - 1, -1, -1, device=device)
        """i64[C] a stack of free cells, the first `num_free` of them valid."""
        self.num_free = torch.full((), capacity, dtype=torch.int64, device=device)
        self.views = Views(device)
        self.picks = self._zeros(len(LEVELS), 1 << GROUP_BITS)
        """i64[levels, groups] how often a cell of each group was chosen."""
        self.found = self._zeros()
        """Number of cells ever found."""

    @property
    def is_crowded(self) -> bool:
        """True once the table of keys is half full: further new pictures may count as known. Waits for the device."""
        return 2 * int(self.found) > len(self.keys)

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.int64, device=self.device)

    def begin(self, picture: Tensor) -> None:
        """Make cell 0 of the start's picture u8[1, 72, 80]."""
        self.add(picture, self.trail(self._zeros(1), picture), 0)
        self.cells["children"][0] += 1  # never dropped

    # -- choosing ---------------------------------------------------------------------------

    def weights(self, levels: list[Tensor]) -> Tensor:
        """Return f64[C], the weight with which each cell is chosen; `levels` as of `_groups`.

        Scenes share the draws evenly, so that a landscape with many figures does not drown a small room; in a scene,
        the sets of scenes through which ways came do, so that what was brought from elsewhere is not drowned either;
        then places do. Among these cells, those that were seldom visited and seldom chosen come first, and those on
        whose ways more was new than is usual at such places: there a new land begins.
        """
        cells = {name: column[:-1] for name, column in self.cells.items()}
        weight = self.alive[:-1] * self.surprise[:-1].double().exp()
        weight = weight / (1 + self.seen[cells["entry"]] + cells["picked"])
        for groups, picks in zip(levels, self.picks, strict=True):
            sums = torch.zeros(len(picks), dtype=torch.float64, device=self.device).index_add_(0, groups, weight)
            weight = weight / sums[groups].clamp(min=1e-300) / picks[groups].clamp(min=1)
        return weight

    def _groups(self) -> list[Tensor]:
        """Return i64[C] for each of LEVELS, a hash of what the cells of a group have in common."""
        scene, place = self.views.scene[self.cells["view"][:-1]], self.cells["place"][:-1]
        been = self.views.scenes_of(self.cells["been"][:-1])
        return [_hash(scene, been, place), _hash(scene, been), scene]

    def choose(self, count: int, rng: torch.Generator) -> Tensor:
        """Return i64[count] cells to go on from, drawn by `weights`, and count them as chosen."""
        levels = self._groups()
        sums = self.weights(levels).cumsum(0)
        at = torch.rand(count, generator=rng, device=self.device, dtype=torch.float64) * sums[-1]
        chosen = torch.searchsorted(sums, at, right=True).clamp(max=self.capacity - 1)
        chosen = chosen.where(self.alive[chosen], 0)  # rounding at the last cell in use
        ones = torch.ones_like(chosen)
        self.cells["picked"].index_add_(0, chosen, ones)
        for groups, picks in zip(levels, self.picks, strict=True):
            picks.index_add_(0, groups[chosen], ones)
        return chosen

    def trail(self, parents: Tensor, pictures: Tensor) -> Trail:
        """Return the trails of consoles that begin in the cells `parents`, i64[N], with these pictures."""
        actions = torch.zeros(len(parents), self.actions.shape[1], dtype=torch.uint8, device=self.device)
        been, view = self.cells["been"][parents], self.cells["view"][parents]
        return Trail(parents, been, view, histograms(pictures), self.surprise[parents], actions)

    # -- entering ---------------------------------------------------------------------------

    def add(self, pictures: Tensor, trail: Trail, steps: int, at_goal: Tensor | None = None) -> Tensor:
        """Count the cells of `pictures` u8[N, 72, 80]; return i64[N], the new cell of each that was not known, or -1.

        The consoles are `steps` steps beyond the cells where their trails begin; the pictures are added to these. A
        full archive takes no new cell. What is `at_goal`, bool[N], is a cell of its own, which is never dropped.
        """
        parents, been, before, bins_before, surprise, actions = trail
        ones = torch.ones(1, dtype=torch.int64, device=self.device)
        bins = histograms(pictures)
        view = self.views.of(bins)
        self.views.link(before, view, (bins * bins_before).sum(1))
        before.copy_(view)
        bins_before.copy_(bins)
        been |= 1 << view
        at_goal = torch.zeros_like(view, dtype=torch.bool) if at_goal is None else at_goal
        entry, is_new = self._look_up(layouts(pictures) ^ at_goal * MORE & ~1)
        place = layouts(pictures, PART)
        self._surprise(surprise, is_new, _hash(view, place))
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
        to, parents = slot[rows], parents[rows]
        values: dict[str, Tensor | int] = {
            "parent": parents,
            "depth": self.cells["depth"][parents] + steps,
            "entry": entry[rows],
            "view": view[rows],
            "place": place[rows],
            "been": been[rows],
            "picked": 0,
            "children": at_goal[rows].long(),
            "steps": steps,
            "goal": at_goal[rows].long(),
        }
        for name, value in values.items():
            self.cells[name].index_put_((to,), value if isinstance(value, Tensor) else self._zeros() + value)
        self.surprise[to] = surprise[rows]
        self.actions[to] = actions[rows].to(torch.uint8)
        self.alive.index_fill_(0, to, True)
        self.alive[self.capacity] = False
        self.cells["children"].index_add_(0, parents, kept[rows].long())
        return slot.where(kept, -1)

    def _surprise(self, surprise: Tensor, is_new: Tensor, place: Tensor) -> None:
        """Add what a step says to `surprise`, f32[N]: a CUSUM test (Page 1954) of a new land against the place.

        Where figures move about, some pictures are new for no reason: how many is counted for each place, i64[N].
        """
        known, new = self.visits[:, place].float()
        share = (new + 1) / (known + new + 2)
        gain = (NEW_LAND / share).log().where(is_new, ((1 - NEW_LAND) / (1 - share)).log())
        surprise.add_(gain).clamp_(0.0, MOST_SURPRISE)
        self.visits[0].index_add_(0, place, (~is_new).long())
        self.visits[1].index_add_(0, place, is_new.long())

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
        weights = self.weights(self._groups()).masked_fill(
            (self.cells["children"][:-1] > 0) | ~self.alive[:-1], torch.inf
        )
        out = weights.topk(min(max(lacking, self.capacity // EVICTED), self.capacity), largest=False)
        dropped = out.indices[out.values < torch.inf]
        self.alive[dropped] = False
        self.cell_of[self.cells["entry"][dropped]] = -1
        self.cells["children"].index_add_(0, self.cells["parent"][dropped], torch.full_like(dropped, -1))
        first = int(self.num_free)
        self.free[first : first + len(dropped)] = dropped
        self.num_free += len(dropped)
        return len(dropped)

    # -- keeping ----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        used = self.keys[:-1].nonzero().squeeze(1)
        alive = self.alive.nonzero().squeeze(1)
        columns = {**self.cells, "actions": self.actions, "surprise": self.surprise}
        found = {f"table.{name}": getattr(self, name)[used] for name in TABLE_COLUMNS}
        found |= {f"cells.{name}": column[alive] for name, column in columns.items()}
        found |= {"table.at": used, "cells.number": alive, "free": self.free[: int(self.num_free)]}
        found |= self._whole()
        return {"capacity": self.capacity, **{name: value.cpu() for name, value in found.items()}}

    def _whole(self) -> dict[str, Tensor]:
        """Return the tensors that are kept as they are."""
        views = self.views
        return {
            "found": self.found,
            "picks": self.picks,
            "visits": self.visits,
            "views.histograms": views.histograms,
            "views.count": views.count,
            "views.links": views.links,
            "views.scene": views.scene,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict` into an empty archive. Raises CheckpointError for another's."""
        check_keys(state, tuple(self.state_dict()), "the archive")
        if state["capacity"] != self.capacity:
            raise CheckpointError(f"an archive of {state['capacity']} cells, this one has {self.capacity}")
        given = {name: value.to(self.device) for name, value in state.items() if name != "capacity"}
        at, alive, free = given["table.at"], given["cells.number"], given["free"]
        for name in TABLE_COLUMNS:
            getattr(self, name)[at] = given[f"table.{name}"]
        for name, column in {**self.cells, "actions": self.actions, "surprise": self.surprise}.items():
            column[alive] = given[f"cells.{name}"]
        for name, tensor in self._whole().items():
            tensor.copy_(given[name])
        self.alive[alive] = True
        self.num_free.fill_(len(free))
        self.free[: len(free)] = free


def _hash(*parts: Tensor) -> Tensor:
    """Return i64[C], a hash of GROUP_BITS bits of the numbers i64[C] together."""
    mixed = torch.zeros_like(parts[0])
    for part in parts:
        mixed = (mixed ^ part + 1) * MIX
        mixed = (mixed ^ mixed >> 31) * MORE
    return mixed >> 40 & (1 << GROUP_BITS) - 1
