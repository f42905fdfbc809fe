"""Equal pictures looked at once: the same answers and gradients from fewer of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.trainer_core.building import tiny_config, tiny_trainer
from trainer_core.host import validator
from trainer_core.lab.paths import HomePaths
from trainer_core.learn import distinct
from trainer_core.learn.distinct import Remembering, distinct_rows
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.rollout import Forward
from trainer_core.learn.tiles import TileNetwork, Tiles


def pictures_of_tiles(count: int, planes: int, tiles: int) -> Tensor:
    """u8[count, planes, 72, 80] made of so many tiles."""
    rng = torch.Generator().manual_seed(3)
    drawn = torch.randint(4, (tiles, planes, 8, 8), generator=rng, dtype=torch.uint8)
    chosen = drawn[torch.randint(tiles, (count, 9, 10), generator=rng)]
    return chosen.permute(0, 3, 1, 4, 2, 5).reshape(count, planes, 72, 80)


@pytest.mark.parametrize("collide", [False, True])
def test_distinct_rows_are_exact_even_where_hashes_collide(monkeypatch: pytest.MonkeyPatch, collide: bool) -> None:
    if collide:
        monkeypatch.setattr(distinct, "_mixed", lambda words: words[:, 0] & 1)
    rng = torch.Generator().manual_seed(1)
    rows = torch.randint(3, (200, 13), generator=rng, dtype=torch.uint8)
    rows[::3, 2:] = 0
    first, number = distinct_rows(rows)
    assert torch.equal(rows[first][number], rows)
    assert len(first) == len(rows.unique(dim=0))


def test_a_network_is_asked_once_for_each_picture() -> None:
    asked: list[int] = []

    def forward(obs: Tensor) -> tuple[Tensor, Tensor]:
        asked.append(len(obs))
        values = obs.flatten(1).float().sum(1)
        return values[:, None].repeat(1, 3), values

    pictures = torch.arange(12, dtype=torch.uint8).view(6, 1, 1, 2)
    act = Remembering(forward)
    for chosen, new in (([0, 1, 0, 2], 3), ([2, 1], 0), ([3, 0, 3, 5], 2)):
        logits, values = act(pictures[chosen])
        assert torch.equal(values, pictures[chosen].flatten(1).float().sum(1))
        assert torch.equal(logits[:, 2], values)
        assert sum(asked) == new
        asked.clear()


def test_what_is_remembered_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "MOST_REMEMBERED", 8)
    act = Remembering(lambda obs: (obs.flatten(1).float(), obs.flatten(1).float().sum(1)))
    for first in (0, 3, 6, 2, 0):
        pictures = torch.arange(2 * first, 2 * first + 6, dtype=torch.uint8).view(3, 1, 1, 2)
        assert torch.equal(act(pictures)[0], pictures.flatten(1).float())


def test_pictures_without_tiles_are_not_learned_from_by_tiles() -> None:
    pictures = torch.randint(4, (8, 1, 72, 80), dtype=torch.uint8)
    assert Tiles(pictures, 8).of(torch.arange(8)) is None


@pytest.mark.parametrize("planes", [1, 2])
def test_the_gradient_by_tiles_is_autograd_s(planes: int) -> None:
    torch.manual_seed(0)
    policy = PixelActorCritic("small", (planes, 72, 80), 7)
    if planes > 1:
        policy.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    for parameter in policy.parameters():  # no bias is zero then, no policy nearly uniform
        parameter.data.add_(0.02 * torch.randn_like(parameter))
    pictures = pictures_of_tiles(24, planes, 30)
    chosen = torch.tensor([5, 0, 23, 7, 9])
    network = TileNetwork(policy)
    batch = Tiles(pictures, 8).of(chosen)
    assert batch is not None
    logits, values, passed = network.forward(batch)
    wanted = policy(pictures[chosen])
    assert torch.allclose(logits, wanted[0], atol=1e-5)
    assert torch.allclose(values, wanted[1], atol=1e-5)
    for one, other in zip(network.act(pictures[chosen]), wanted, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    ahead = (torch.randn_like(logits), torch.randn_like(values))
    found = network.backward(batch, passed, *ahead)
    expected = torch.autograd.grad(wanted, list(policy.parameters()), ahead)
    for one, other, parameter in zip(found, expected, policy.parameters(), strict=True):
        assert one.shape == parameter.shape
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5 * float(other.abs().max()))


def test_a_validation_asks_for_each_picture_once_and_finds_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found, asked = [], []
    HomePaths(tmp_path).run("r").root.mkdir(parents=True)
    for remembering in (Remembering, lambda forward: forward):
        monkeypatch.setattr(validator, "Remembering", remembering)
        learner = tiny_trainer(tiny_config()).learner
        count = CountingForward(learner.forward)
        run = validator.Validator(
            tiny_config(eval_episodes=8), HomePaths(tmp_path), count, HomePaths(tmp_path).run("r")
        )
        run.load()
        played = [fields for _, fields in run.validate(1, 128)]
        found.append([{**fields, "wall_time_s": 0} for fields in played])
        asked.append(count.pictures)
        run.close()
    assert found[0] == found[1]
    assert asked[0] * 4 < asked[1]


class CountingForward:
    def __init__(self, forward: Forward) -> None:
        self._forward, self.pictures = forward, 0

    def forward(self, obs: Tensor, /) -> tuple[Tensor, Tensor]:
        self.pictures += len(obs)
        return self._forward(obs)
