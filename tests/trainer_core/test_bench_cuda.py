"""What only a GPU can show of the benches: no allocation after warm-up, replays."""

from __future__ import annotations

import json

import pytest
import torch

from trainer_core.cli.main import main

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


def test_the_load_is_honest_here_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = bench(
        capsys, "load", "--num-envs", 512, "--steps", 60, "--replays", 8, "--pixel-steps", 2, "--min-distinct", 0.1
    )
    assert code == 0, found["error"]
    assert found["replays"]
    assert all(not row["different"] for row in found["replays"])
