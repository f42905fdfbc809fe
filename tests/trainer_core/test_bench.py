"""`dmglab bench env` and `bench peers`: the record's schema, and what ends with status 1."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from trainer_core.cli.main import main

ROM = next(iter(sorted((Path(__file__).parents[2] / "assets" / "games").rglob("*.gb"))))
ENV_KEYS = {
    "ok", "what", "git_sha", "versions", "device", "device_name", "threads", "rom_sha256",
    "start_s", "ms_per_step", "env_steps_per_sec", "frames_per_sec", "instructions_per_frame",
    "instructions_per_frame_max", "frames_rendered_share", "memory_before_bytes",
    "memory_after_bytes", "memory_delta_bytes", "config",
}  # fmt: skip

pytestmark = pytest.mark.warp


def bench(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict]:
    code = main(["bench", *map(str, words)])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("resets", ["none", "some", "all"])
def test_env_prints_and_appends_one_record(
    resets: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_env_fails_under_its_floor(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = bench(
        capsys, "env", "--rom", ROM, "--warmup", 0, "--steps", 1, "--min-sps", "1e12"
    )
    assert (code, found["ok"]) == (1, False)
    assert "fewer than 1e+12" in found["error"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("env", "--rom"),
        ("env --rom /nowhere.gb", "/nowhere.gb"),
        ("env --rom ROM --num-envs 0", "num_envs=0"),
        ("env --rom ROM --device cuda:99", "cuda:99"),
        ("peers --rom /nowhere.gb", "/nowhere.gb"),
    ],
)
def test_what_cannot_be_measured_is_named(
    words: str, names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = bench(capsys, *(ROM if word == "ROM" else word for word in words.split()))
    assert code == 1
    assert names in found["error"]
    assert "\n" not in found["error"]


def test_peers_compares_in_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyboy")
    code, found = bench(
        capsys, "peers", "--rom", ROM, "--steps", 2, "--warmup", 1, "--processes", 1
    )
    assert (code, found["what"]) == (0, "peers")
    speeds = found["frames_per_sec"]
    assert set(speeds) == {"pyboy_1", "pyboy_cores", "ours_1", "ours_cores"}
    assert math.isclose(found["ratios"]["one_core"], speeds["ours_1"] / speeds["pyboy_1"])
