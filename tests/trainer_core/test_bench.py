"""`dmglab bench env` and `bench peers`: the record's schema, and what ends with status 1."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
import torch

from trainer_core.cli.bench import curve, cycles, env_bench, peers, rig
from trainer_core.cli.main import main
from trainer_core.envs.game_env import GameEnv
from trainer_core.envs.vec_env import StepResult

LEAK = 16 << 20
"""Bytes that 32 machines, kept for a dozen cycles, exceed, and an allocator's habits do not."""
TASK = "pocket_quest/leave_bedroom"
ROM = next(iter(sorted((Path(__file__).parents[2] / "assets" / "games").rglob("*.gb"))))
ENV_KEYS = {
    "ok", "what", "git_sha", "versions", "device", "device_name", "threads", "rom_sha256",
    "start_s", "time_split", "allocations", "ms_per_step", "env_steps_per_sec",
    "frames_per_sec", "instructions_per_frame", "instructions_per_frame_max",
    "frames_rendered_share", "memory_before_bytes", "memory_after_bytes", "memory_delta_bytes",
    "config",
}  # fmt: skip

pytestmark = pytest.mark.warp


def bench(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict]:
    code = main(["bench", *map(str, words)])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("resets", ["none", "some", "all"])
def test_env_prints_and_appends_one_record(resets: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "bench.jsonl"
    code, found = bench(
        capsys, "env", "--rom", ROM, "--num-envs", 4, "--frames-per-step", 2, "--stack-k", 4,
        "--warmup", 1, "--steps", 3, "--resets", resets, "--jsonl", log,
    )  # fmt: skip
    assert (code, set(found)) == (0, ENV_KEYS)
    assert json.loads(log.read_text()) == found
    assert math.isclose(found["frames_per_sec"], 2 * found["env_steps_per_sec"])
    assert found["memory_delta_bytes"] == found["memory_after_bytes"] - found["memory_before_bytes"]
    assert 0 < found["instructions_per_frame"] <= found["instructions_per_frame_max"] < 17_556
    assert found["config"]["resets"] == resets


@pytest.mark.parametrize("resets", ["none", "some", "all"])
@pytest.mark.parametrize("source", ["--rom", "--task"])
def test_env_measures_through_game_env(
    resets: str, source: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = []
    step = GameEnv.step

    def watched(env: GameEnv, actions: torch.Tensor) -> StepResult:
        result = step(env, actions)
        rates.append(float(result.info.reset_rate))  # type: ignore[attr-defined]
        return result

    monkeypatch.setattr(GameEnv, "step", watched)
    code, found = bench(
        capsys, "env", source, ROM if source == "--rom" else TASK, "--through", "env",
        "--num-envs", 16, "--frames-per-step", 2, "--release-after", 1, "--warmup", 0, "--steps", 3,
        "--resets", resets, "--info-mode", "stats", "--skip-reset-if-empty", "no",
    )  # fmt: skip
    assert (code, set(found)) == (0, ENV_KEYS)
    assert set(rates) == {{"none": 0.0, "some": 1 / 16, "all": 1.0}[resets]}
    assert found["time_split"]["emulate"] > 0 < found["time_split"]["observe"]
    wanted = {"through": "env", "info_mode": "stats", "skip_reset_if_empty": "no"}
    assert wanted.items() <= found["config"].items()


TINY = ("train", "--task", "tiny_goal", "--num-envs", 16, "--num-steps", 8, "--updates", 1,
        "--warm-up", 1, "--num-minibatches", 2, "--policy", "small")  # fmt: skip


def test_train_says_what_learning_costs_and_fails_under_its_floor(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = bench(capsys, *TINY)
    assert (code, found["ok"], found["gpus"]) == (0, True, 1)
    learn = found["time_split"]["learn"]
    assert found["samples_learnt_per_sec"] == pytest.approx(16 * 8 * 4 / learn)
    seconds = 16 * 8 / found["env_steps_per_sec"] - learn
    assert found["env_steps_per_sec_without_learning"] == pytest.approx(16 * 8 / seconds)
    code, found = bench(capsys, *TINY, "--min-sps", "1e12")
    assert (code, found["ok"]) == (1, False)
    assert "fewer than 1,000,000,000,000" in found["error"]


@pytest.mark.usefixtures("warm")
@pytest.mark.slow
def test_train_on_two_ranks_counts_both(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *map(str, TINY), "--gpus", "2"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["gpus"] == 2
    learn = found["time_split"]["learn"]
    assert found["samples_learnt_per_sec"] == pytest.approx(2 * 16 * 8 * 4 / learn)


def test_env_fails_under_its_floor(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = bench(capsys, "env", "--rom", ROM, "--warmup", 0, "--steps", 1, "--min-sps", "1e12")
    assert (code, found["ok"]) == (1, False)
    assert "fewer than 1e+12" in found["error"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("env", "--rom"),
        ("machines", "unknown verb 'machines': train, env, load, curve, cycles, peers"),
        ("env --rom /nowhere.gb", "/nowhere.gb"),
        ("env --rom ROM --num-envs 0", "num_envs=0"),
        ("env --rom ROM --device cuda:99", "cuda:99"),
        ("env --rom ROM --through env --no-observations", "--no-observations"),
        ("curve --rom ROM --num-envs 1,x", "num_envs '1,x'"),
        ("peers --rom /nowhere.gb", "/nowhere.gb"),
    ],
)
def test_what_cannot_be_measured_is_named(words: str, names: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = bench(capsys, *(ROM if word == "ROM" else word for word in words.split()))
    assert code == 2
    assert names in found["error"]
    assert "\n" not in found["error"]


def test_peers_compares_in_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyboy")
    code, found = bench(capsys, "peers", "--rom", ROM, "--steps", 2, "--warmup", 1, "--processes", 1)
    assert (code, found["what"]) == (0, "peers")
    speeds = found["frames_per_sec"]
    assert set(speeds) == {"pyboy_1", "pyboy_cores", "ours_1", "ours_cores"}
    assert math.isclose(found["ratios"]["one_core"], speeds["ours_1"] / speeds["pyboy_1"])


def test_peers_leaves_its_cpu_rows_out_where_warp_has_no_cpu(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU host with a CUDA-only Warp: PyBoy runs, of ours only the GPU does."""
    monkeypatch.setattr(rig, "cpu_works", lambda: False)
    monkeypatch.setattr(peers, "_pyboys", lambda options, processes: 100.0 * processes)
    monkeypatch.setattr(env_bench, "measure", lambda options: {"frames_per_sec": 5000.0})
    words = ("peers", "--rom", ROM, "--processes", 2)
    code, found = bench(capsys, *words, "--device", "cuda:0")
    assert (code, found["note"]) == (0, rig.NO_CPU)
    assert found["frames_per_sec"] == {"pyboy_1": 100, "pyboy_cores": 200, "ours_gpu": 5000}
    assert found["ratios"] == {"gpu_to_all_cores": 25}
    code, found = bench(capsys, *words)
    assert (code, found["ok"]) == (2, False)
    assert "--device cuda:0" in found["error"]


def test_opening_and_closing_leaves_memory_where_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = bench(capsys, "cycles", "--task", TASK, "--count", 20, "--num-envs", 32, "--max-growth", LEAK)
    assert code == 0, found["error"]
    assert found["memory"]["process"]["growth_bytes"] <= LEAK
    assert (found["count"], found["warm_up"]) == (20, 2)


def test_a_leak_is_growth_and_a_jump_that_comes_and_goes_is_none() -> None:
    assert cycles.growth([5, 15, 5, 15, 15, 5, 15, 15, 5])["growth_bytes"] == 0
    assert cycles.growth([5, 15, 6, 7, 18, 9, 10, 11, 12])["growth_bytes"] == 5


def test_an_environment_that_is_kept_is_noticed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not os.environ.get("DMGLAB_SLOW_PROOFS"):
        pytest.skip("set DMGLAB_SLOW_PROOFS=1")
    kept = []
    monkeypatch.setattr(GameEnv, "close", lambda env: kept.append(env))
    code, found = bench(capsys, "cycles", "--task", TASK, "--count", 20, "--num-envs", 96, "--max-growth", LEAK)
    assert (code, found["ok"]) == (1, False)
    assert "memory grew" in found["error"]


def test_the_curve_is_a_table_with_its_knee(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = bench(
        capsys,
        "curve",
        "--rom",
        ROM,
        "--num-envs",
        "4,1",
        "--frames-per-step",
        "3,1",
        "--frames",
        6,
        "--jsonl",
        tmp_path / "curve.jsonl",
    )
    assert (code, found["ok"]) == (0, True)
    rows = [(row["num_envs"], row["frames_per_step"]) for row in found["table"]]
    assert rows == [(1, 1), (1, 3), (4, 1), (4, 3)]
    for row in found["table"]:
        speed = row["num_envs"] * row["frames_per_step"] * 1000 / row["ms_per_step"]
        assert row["frames_per_sec"] == pytest.approx(speed)
        assert 40_000 < row["bytes_per_env"] < 80_000
    assert [row["steps"] for row in found["table"]] == [6, 2, 6, 2]
    assert set(found["knee"]) == {"1", "3"}
    assert json.loads((tmp_path / "curve.jsonl").read_text()) == found


def test_the_knee_is_the_first_doubling_that_does_not_pay() -> None:
    assert curve.knee([(1, 10), (2, 20), (4, 35), (8, 45), (16, 46)]) == 4
    assert curve.knee([(1, 1.0), (64, 60.0), (128, 119.0)]) is None
    assert curve.knee([(1, 1.0), (64, 10.0)]) == 1
    assert curve.knee([(8, 1.0)]) is None
