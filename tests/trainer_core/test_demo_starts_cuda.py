"""The curriculum of start states on a GPU does what it does on a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from trainer_core.envs.curriculum import StartCurriculum, states_to_go
from trainer_core.envs.game_env import GameEnv, GameOptions
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import find_task

pytestmark = [
    pytest.mark.warp,
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

CPU, CUDA = torch.device("cpu"), torch.device("cuda:0")
TASK = "pocket_quest/leave_bedroom"


def curriculum(device: torch.device) -> StartCurriculum:
    along = states_to_go([10, 6], 80, device)
    own, walked = torch.arange(48, device=device), torch.arange(48, 80, device=device)
    return StartCurriculum(own, walked, along.where(along.togo > 0), 0.75, 98, horizon=96)


def test_estimates_and_weights_are_the_same() -> None:
    here, there = curriculum(CPU), curriculum(CUDA)
    rng = torch.Generator().manual_seed(1)
    for _ in range(50):
        starts = torch.randint(98, (512,), generator=rng)
        ended, won = (torch.rand(512, generator=rng) < share for share in (0.3, 0.6))
        here.fold(starts, ended, won)
        there.fold(starts.to(CUDA), ended.to(CUDA), won.to(CUDA))
    assert torch.allclose(here.success, there.success.cpu(), atol=1e-5)
    assert torch.allclose(here.weights(), there.weights().cpu(), atol=1e-6)
    assert torch.equal(here.limit, there.limit.cpu())
    drawn = there.draw(200_000, torch.Generator(CUDA).manual_seed(1)).cpu()
    weights = here.weights() / here.weights().sum()
    shares = torch.bincount(drawn, minlength=98)[here._candidates] / len(drawn)
    assert torch.allclose(shares, weights, atol=0.004)


def test_walks_states_along_and_episodes_are_the_same(tmp_path: Path) -> None:
    """Until the first draw, which every device makes with random numbers of its own."""
    home = HomePaths(tmp_path)
    here, there = (
        GameEnv.open(find_task(TASK, home), home, GameOptions(num_envs=64, device=device, seed=5, demo_share=0.75))
        for device in ("cpu", "cuda:0")
    )
    assert torch.equal(here.episodes.start_pictures, there.episodes.start_pictures.cpu())
    ours, theirs = here.episodes.curriculum, there.episodes.curriculum
    assert ours is not None
    assert theirs is not None
    assert torch.equal(ours._candidates, theirs._candidates.cpu())
    assert torch.equal(ours.limit, theirs.limit.cpu())
    starts = ours._candidates[torch.linspace(0, len(ours._candidates) - 1, 64).long()]
    here.reset_to(starts)
    there.reset_to(starts.to(CUDA))
    going = torch.ones(64, dtype=torch.bool)
    rng = torch.Generator().manual_seed(2)
    for _ in range(12):
        actions = torch.randint(here.num_actions, (64,), generator=rng)
        a, b = here.step(actions), there.step(actions.to(CUDA))
        assert torch.equal(a.final_obs[going], b.final_obs.cpu()[going])
        assert torch.equal(a.done[going], b.done.cpu()[going])
        assert torch.equal(a.trunc[going], b.trunc.cpu()[going])
        assert torch.equal(a.info.from_demo[going], b.info.from_demo.cpu()[going])
        going &= ~a.info.reset_mask
    assert 0 < int(going.sum()) < 64  # some of those near the goal got there
    there.reset(seed=1)
    assert bool(torch.isin(there.episodes.start_index, theirs._candidates).all())
    here.close()
    there.close()
