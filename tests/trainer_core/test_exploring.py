"""Walks that look for a way to the goal, on consoles that are a corridor each."""

from __future__ import annotations

import numpy as np
import torch

from trainer_core.envs import exploring
from trainer_core.envs.exploring import MOST_FOUND, WALKS, WAYS, Explorer, cells_of

LONG = 24
LEFT, RIGHT, NOTHING = range(3)


class Corridors:
    """Consoles of a place 0 to LONG, with what an Explorer asks of a ShardedEmulator."""

    def __init__(self, count: int) -> None:
        self.buttons = torch.zeros(count, dtype=torch.uint8)
        self.places = np.zeros(count, int)
        self._starts: list[int] = []

    def set_starts(self, snapshots: list[int]) -> None:
        self._starts = snapshots

    def put_at(self, starts: torch.Tensor) -> None:
        self.places[:] = self._starts[0]
        self.places[: len(starts)] = [self._starts[n] for n in starts.tolist()]

    def press(self, actions: np.ndarray) -> None:
        moved = np.choose(actions, [-1, 1, 0])
        self.places = np.clip(self.places + moved, 0, LONG)

    def observe(self) -> torch.Tensor:
        pictures = torch.zeros(len(self.places), 72, 80, dtype=torch.uint8)
        for env, place in enumerate(self.places):
            pictures[env, 8 * (place // 10) :, 8 * (place % 10) :] = 3
        return pictures

    def snapshots(self, envs: np.ndarray) -> list[int]:
        return self.places[envs].tolist()


def explored(goal: int, *, search: bool, frames: int = 24) -> Explorer:
    corridors = Corridors(16)
    explorer = Explorer(
        corridors,  # type: ignore[arg-type]
        corridors.press,
        lambda pictures: torch.from_numpy(corridors.places[: len(pictures)] == goal),
        num_actions=3,
        seed=1,
        frames=frames,
    )
    explorer.explore([0, 2], search=search)  # type: ignore[list-item]
    return explorer


def test_a_way_that_walks_found_leads_from_its_start_to_the_goal():
    found = explored(LONG, search=True)
    assert len(found.shortest_ways()) == WAYS
    for way in found.shortest_ways():
        place = [0, 2][way.start]
        for action in way.actions:
            place = min(LONG, max(0, place + [-1, 1, 0][action]))
        assert place == LONG
    lengths = [len(way.actions) for way in found.ways]
    assert [len(way.actions) for way in found.shortest_ways()] == sorted(lengths)[:WAYS]


def test_without_a_search_no_walk_is_added_and_one_for_nothing_ends():
    few, many = explored(-1, search=False), explored(-1, search=True)
    assert sum(many._begun) > 3 * sum(few._begun)
    assert many.ways == []
    assert len(many.found) <= min(LONG + 1, MOST_FOUND)


def test_a_search_ends_with_the_first_ways_but_not_before_the_walks_that_all_get():
    near, few = explored(3, search=True), explored(3, search=False)
    assert len(near.ways) >= WAYS
    assert (near._begun, near.found) == (few._begun, few.found), "it had found enough by then"
    assert sum(near._begun) > 0, "a second round begins where the first ended up"
    assert len(near.ways) <= 2 * WALKS, "a walk arrives once"


def test_of_many_states_no_more_are_kept_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr("trainer_core.envs.exploring.MOST_FOUND", 4)
    assert len(explored(-1, search=True).found) == 4


def test_a_cell_is_the_mean_shade_of_its_square_to_the_half() -> None:
    rng = np.random.default_rng(1)
    pictures = rng.integers(4, size=(5, 72, 80)).astype(np.uint8)
    pictures[0], pictures[1, :, 40:] = 3, 3
    means = pictures.reshape(5, 9, 8, 10, 8).mean((2, 4))
    expected = [cell.tobytes() for cell in (2 * means).round().astype(np.int8)]
    assert cells_of(pictures) == expected


def test_walks_of_long_steps_end_before_they_take_hours(monkeypatch):
    monkeypatch.setattr(exploring, "MOST_FRAMES", 3 * exploring.WALK_STEPS * 600)
    walked: list[int] = []
    monkeypatch.setattr(Explorer, "_walk", lambda self, begins, led: walked.append(len(begins)))
    explored(LONG, search=True, frames=600)
    assert sum(walked) == 3
