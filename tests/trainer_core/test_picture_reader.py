"""The fused reader of pictures against its definition in torch."""

from __future__ import annotations

import pytest
import torch

from emulator.launch.warp_start import start_warp
from trainer_core.envs.episodes import GoalTemplates, TorchReader
from trainer_core.envs.novelty import hash_pictures, hash_weights
from trainer_core.envs.picture_reader import WarpHasher, WarpReader
from trainer_core.envs.picture_reader_serial import SerialReader

pytestmark = pytest.mark.warp


@pytest.mark.parametrize("distance", ["l1", "mse"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("serial", [False, True])
def test_the_kernels_read_what_torch_reads(distance: str, masked: bool, serial: bool) -> None:
    start_warp()
    device = torch.device("cuda" if torch.cuda.is_available() and not serial else "cpu")
    rng = torch.Generator().manual_seed(3)

    def random_pictures(count: int) -> torch.Tensor:
        return torch.randint(4, (count, 72, 80), dtype=torch.uint8, generator=rng).to(device)

    mask = torch.ones(3, 72, 80, dtype=torch.bool, device=device)
    if masked:
        mask = random_pictures(3) > 0
    goal = GoalTemplates(random_pictures(3), mask, distance)
    kernel = SerialReader(goal, 5) if serial else WarpReader(goal, 5, device)
    definition = TorchReader(goal)
    for _ in range(2):  # the second call must not add to the first
        pictures = random_pictures(10)[::2] if serial else random_pictures(5)
        pictures[0] = goal.pictures[1]
        found, expected = kernel.read(pictures), definition.read(pictures)
        assert torch.equal(found[0], expected[0])
        assert torch.equal(found[1], expected[1])
        assert float(found[0][0]) == 0.0


def test_hashes_alone_are_novelty_s() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    hasher = WarpHasher((72, 80), 6, device)
    weights = hash_weights(72 * 20).to(device)
    for _ in range(2):  # the second call must not add to the first
        pictures = torch.randint(4, (6, 72, 80), dtype=torch.uint8).to(device)
        assert torch.equal(hasher(pictures), hash_pictures(pictures, weights))
