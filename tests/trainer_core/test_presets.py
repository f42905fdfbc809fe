"""Presets are the documented way to start; the bare configuration must be one of them."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.presets import PRESETS, fitting_preset, preset_config, suggest_preset, wishes_of
from trainer_core.lab.tasks import load_task
from trainer_core.service import find_cards, graphics_cards
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import TaskError


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_valid_configuration_with_a_source_for_what_it_tunes(name: str) -> None:
    config = preset_config(name)
    assert suggest_preset(config.device, config.algo) in PRESETS
    assert {"num_envs", "num_minibatches", "learning_rate"} - set(PRESETS[name].why) <= {"num_envs"}


def test_starting_without_a_preset_learns_like_the_laptop_preset() -> None:
    bare, laptop = RunConfig(), preset_config("laptop")
    # auto is small on a CPU; marks are for our own learner, faces and guests show the screen
    tuned = PRESETS["laptop"].fields.keys() - {"policy", "obs_source"}
    assert {key: getattr(bare, key) for key in tuned} == {key: getattr(laptop, key) for key in tuned}


def wishing(home: Path, name: str, table: str) -> Path:
    """Return the folder of a task of that home's own with such a table [training]."""
    folder = home / "tasks" / name
    shutil.copytree(ASSETS / "tasks" / "pocket_quest" / "leave_bedroom", folder)
    text = (folder / "task.toml").read_text().replace("pocket_quest/leave_bedroom", name, 1)
    (folder / "task.toml").write_text(f"{text}\n[training]\n{table}\n")
    return folder


def test_a_task_says_what_a_run_on_it_has(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    folder = wishing(tmp_path, "far", "gamma = 0.99\nstack_k = 2")
    wishing(tmp_path, "near", "gamma = 0.9")
    wishing(tmp_path, "broken", "gamma = nan")
    bare = RunConfig()
    assert wishes_of("far", bare, home) == {"gamma": 0.99, "stack_k": 2}
    assert wishes_of("near", bare, home) == {"gamma": 0.9}
    assert wishes_of("near,far", bare, home) == {"gamma": 0.99, "stack_k": 2}
    assert wishes_of("near,pocket_quest/leave_house", bare, home) == {}, "the other wants 0.97"
    assert wishes_of(str(folder), bare, home) == {"gamma": 0.99, "stack_k": 2}
    for none in ("pocket_quest/leave_bedroom", "tiny_goal", "broken", "no such", "a,,b", "x" * 999):
        assert wishes_of(none, bare, home) == {}


@pytest.mark.parametrize(
    "wrong",
    [
        "gamma = nan",
        "gamma = 1.01",
        "gamma = -1",
        "stack_k = 9",
        "stack_k = 0",
        "gamma = 1" + 400 * "0",
        "stack_k = 1.5",
        "gama = 0.9",
    ],
)
def test_what_no_run_can_have_no_task_may_want(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="training") as caught:
        load_task(wishing(tmp_path, "odd", wrong))
    assert len(str(caught.value).removeprefix(str(tmp_path))) < 300


TWO = "echo '0, GPU-a, NVIDIA H200, 143771'; echo '1, GPU-b, Tesla T4, 15360'"


@pytest.mark.parametrize(
    ("script", "visible", "names"),
    [
        (TWO, None, ["NVIDIA H200", "Tesla T4"]),
        (TWO, "1", ["Tesla T4"]),
        (TWO, "GPU-b,0", ["Tesla T4", "NVIDIA H200"]),
        (TWO, "0,7,1", ["NVIDIA H200"]),
        (TWO, "", []),
        (f"{TWO}; exit 9", None, []),
        ("echo NVIDIA-SMI has failed, because; head -c 3000 /dev/urandom", None, []),
        ("yes '0, GPU-a, NVIDIA H200, 143771'", None, []),
        ("sleep 600", None, []),
        (None, None, []),
    ],
)
def test_graphics_cards_are_those_that_nvidia_smi_lists_in_time(
    script: str | None, visible: str | None, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphics_cards, "PATIENCE_S", 0.3)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    if script is not None:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    begun = time.monotonic()
    found = asyncio.run(find_cards())
    assert [card["name"] for card in found] == names
    assert time.monotonic() - begun < 5.0


@pytest.mark.parametrize(
    ("mebibytes", "preset"), [(0, "laptop"), (4096, "laptop"), (8188, "gpu"), (24564, "gpu"), (40536, "big_gpu")]
)
def test_the_memory_of_the_gpu_chooses_the_preset(mebibytes: int, preset: str) -> None:
    assert fitting_preset(mebibytes << 20) == preset
