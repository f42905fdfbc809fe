"""What only a GPU can show of the benches: no allocation after warm-up, graphs, replays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from trainer_core.cli.main import main
from trainer_core.envs.game_env import GameEnv, GameOptions
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import find_task

pytestmark = [
    pytest.mark.warp,
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
TASK = "pocket_quest/leave_bedroom"


def bench(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict]:
    code = main(["bench", *map(str, words), "--task", TASK, "--device", "cuda:0"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("through", ["machines", "env"])
@pytest.mark.parametrize("stack_k", [1, 4])
def test_nothing_is_allocated_after_warm_up(through: str, stack_k: int, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = bench(
        capsys, "env", "--through", through, "--stack-k", stack_k, "--num-envs", 2048,
        "--frames-per-step", 4, "--release-after", 2, "--warmup", 8, "--steps", 40,
        "--resets", "some", "--max-mem-delta", 0,
    )  # fmt: skip
    assert code == 0, found["error"]
    assert found["allocations"]["device_allocations"] == 0
    assert found["allocations"]["retries"] == 0


def test_graphs_change_no_state_and_no_picture(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    envs = [
        GameEnv.open(find_task(TASK, home), home, GameOptions(num_envs=256, device="cuda:0", cuda_graphs=graphs))
        for graphs in (False, True)
    ]
    actions = _actions(256)
    for env in envs:
        env.reset(seed=3)
    for _ in range(20):
        row = next(actions)
        a, b = (env.step(row) for env in envs)
        assert torch.equal(a.obs, b.obs)
        assert torch.equal(a.reward, b.reward)
    plain, recorded = (env.emulator.emulators[0] for env in envs)
    assert plain.state_hash() == recorded.state_hash()
    assert recorded._frames.recorder is not None
    assert any(graph is not None for graph in recorded._frames.recorder._graphs.values())
    for env in envs:
        env.close()


def test_the_load_is_honest_here_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = bench(
        capsys, "load", "--num-envs", 512, "--steps", 60, "--replays", 8, "--pixel-steps", 2, "--min-distinct", 0.1
    )
    assert code == 0, found["error"]
    assert found["replays"]
    assert all(not row["different"] for row in found["replays"])


def _actions(num_envs: int) -> Iterator[torch.Tensor]:
    rng = torch.Generator(device="cuda:0").manual_seed(1)
    while True:
        yield torch.randint(7, (num_envs,), generator=rng, device="cuda:0")
