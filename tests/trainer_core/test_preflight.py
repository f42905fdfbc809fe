"""Preflight: each finding names what is wrong and what to do; probes never load torch here."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import psutil
import pytest
import torch

from tests.support.processes import until
from trainer_core.cli.train import Options, options
from trainer_core.envs.startable import check_startable
from trainer_core.lab.memory_estimate import available_for, cartridge_ram, check_memory, memory_estimate
from trainer_core.lab.paths import ASSETS, CHECKOUT, HomePaths
from trainer_core.lab.task_checks import check_task
from trainer_core.lab.tasks import find_task
from trainer_core.runners.base import AgentRunner
from trainer_core.runners.catalog import find_runner
from trainer_core.runners.cleanrl.networks import observations
from trainer_core.runners.native import NATIVE, NativeRunner
from trainer_core.service import preflight
from trainer_core.service.preflight import run_checks
from trainer_core.wire.checks import Check, Found, require, size
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.spec import RunSpec

HOME = HomePaths(Path("/nowhere"))
SPEC = RunSpec.of(RunConfig())
MSGSPEC_ONLY = dataclasses.replace(NATIVE, modules=("msgspec",))

FOUND: Found = {"python": "3.11.7", "modules": {"torch": "2.13.0", "warp": "1.19.0"}, "gpus": []}


async def collect(config: RunConfig, home: Path, runner: AgentRunner = NATIVE) -> dict[str, Check]:
    checks = run_checks(RunSpec.of(config), HomePaths(home), runner)
    return {check.name: check async for check in checks}


def test_a_good_machine_passes_every_check(tmp_path: Path) -> None:
    found = asyncio.run(collect(RunConfig(task="tiny_goal"), tmp_path, MSGSPEC_ONLY))
    assert list(found) == ["Data folder", "Disk", "Task", "Python", "Device", "Memory"]
    assert all(check.status != "fail" for check in found.values()), found


def test_a_missing_module_fails_with_the_line_that_installs_it(tmp_path: Path) -> None:
    runner = dataclasses.replace(NATIVE, modules=("no_such_module_anywhere",))
    check = asyncio.run(collect(RunConfig(task="tiny_goal"), tmp_path, runner))["Python"]
    assert check.status == "fail"
    assert "no_such_module_anywhere" in check.detail
    assert "pip install" in check.fix


def test_an_unknown_task_fails_and_names_it(tmp_path: Path) -> None:
    check = check_task("no/such", HomePaths(tmp_path))
    assert check.status == "fail"
    assert "no/such" in check.detail


def test_a_rom_that_nobody_registered_fails_before_the_start(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    folder = home.tasks / "mine"
    shutil.copytree(ASSETS / "tasks" / "pocket_quest" / "leave_bedroom", folder)
    manifest = (folder / "task.toml").read_text()
    assert 'path = "' in manifest
    manifest = manifest.replace('id = "pocket_quest/leave_bedroom"', 'id = "mine"')
    own = [line for line in manifest.splitlines() if not line.startswith("path = ")]
    (folder / "task.toml").write_text("\n".join(own))
    check = check_task("mine", home)
    assert check.status == "fail"
    assert "register your copy" in check.detail


def test_cuda_without_a_gpu_fails_with_the_cpu_as_remedy() -> None:
    check = preflight.check_device(FOUND, RunSpec.of(RunConfig(device="cuda:0", num_envs=8192)), NATIVE)
    assert check.status == "fail"
    assert check.remedy == {"device": "cpu", "num_envs": 64}
    RunConfig(**check.remedy)


def test_an_idle_gpu_is_worth_a_warning() -> None:
    found: Found = {**FOUND, "gpus": [{"name": "H200", "bytes": 1 << 37}]}
    check = preflight.check_device(found, SPEC, NATIVE)
    assert (check.status, check.remedy) == ("warn", {"device": "cuda:0"})


def test_a_runner_that_needs_cuda_is_blocked_without_it() -> None:
    capabilities = type(NATIVE.capabilities)(requires_cuda=True)
    runner = dataclasses.replace(NATIVE, capabilities=capabilities)
    assert preflight.check_device(FOUND, SPEC, runner).status == "fail"


def test_a_batch_that_cannot_fit_is_refused_with_one_that_does() -> None:
    found: Found = {**FOUND, "gpus": [{"name": "small", "bytes": 4 << 30}]}
    config = RunConfig(device="cuda:0", num_envs=131072, num_steps=32)
    check = check_memory(config, available_for("cuda:0", found), HOME)
    assert check.status == "fail"
    with pytest.raises(ConfigError, match=r"needs about .* on cuda:0; use num_envs=\d+, which"):
        require(check)
    smaller = dataclasses.replace(config, **check.remedy)
    assert check_memory(smaller, available_for("cuda:0", found), HOME).status == "ok"
    assert check_memory(config, available_for("cuda:1", found), HOME).status == "warn"
    hopeless = check_memory(config, 1 << 20, HOME)
    assert "not even one" in hopeless.detail
    assert not hopeless.remedy


def test_the_ram_of_the_cartridge_counts(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "mine"
    shutil.copytree(ASSETS / "tasks" / "pocket_quest" / "leave_bedroom", folder)
    lines = (folder / "task.toml").read_text().splitlines()
    own = "\n".join(line for line in lines if not line.startswith("path = "))
    own = own.replace('id = "pocket_quest/leave_bedroom"', 'id = "mine"')
    sha = next(line.split('"')[1] for line in lines if line.startswith("sha256"))
    rom = bytearray(0x8000)
    rom[0x149] = 4
    (tmp_path / "rom.gb").write_bytes(rom)
    (folder / "task.toml").write_text(own)
    home = HomePaths(tmp_path)
    home.settings.mkdir()
    config = RunConfig(task="mine", num_envs=1024)
    task = find_task("mine", home)
    without = memory_estimate(config, cartridge_ram(task, home))
    (home.settings / "roms.json").write_text(json.dumps({sha: str(tmp_path / "rom.gb")}))
    with_ram = memory_estimate(config, cartridge_ram(task, home))
    assert with_ram - without == 1024 * (120 << 10)
    room = check_memory(config, without, home).detail
    assert room.startswith(f"needs about {size(with_ram)} of "), "preflight finds the task by itself"
    assert check_memory(config, without, home, []).detail.startswith(f"needs about {size(without)} of ")


def test_a_warm_start_from_nowhere_fails_for_a_run_that_begins(tmp_path: Path) -> None:
    config = RunConfig(task="tiny_goal", warm_start=str(tmp_path / "gone"))
    found = asyncio.run(collect(config, tmp_path, MSGSPEC_ONLY))
    assert found["Warm start"].status == "fail"
    home = HomePaths(tmp_path)
    with pytest.raises(LabError, match="gone"):
        check_startable(config, home)
    check_startable(config, home, begins=False)


def test_a_full_disk_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(preflight.shutil, "disk_usage", lambda path: usage(1, 1, 1 << 20))
    assert preflight.check_disk(HomePaths(tmp_path)).status == "fail"
    monkeypatch.setattr(preflight.shutil, "disk_usage", lambda path: usage(1, 1, 1 << 30))
    assert preflight.check_disk(HomePaths(tmp_path)).status == "warn"


def test_a_home_that_is_a_file_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    check = preflight.check_home(HomePaths(tmp_path / "file"))
    assert check.status == "fail"
    assert "--home" in check.fix


class Hanging(NativeRunner):
    def readiness(self) -> list[str]:
        return [self.interpreter, "-c", "import time; time.sleep(60)"]


def test_a_probe_that_hangs_is_a_finding_after_its_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(preflight, "PROBE_PATIENCE_S", 0.3)
    fields = {spec.name: getattr(NATIVE, spec.name) for spec in dataclasses.fields(NATIVE)}
    check = asyncio.run(collect(RunConfig(task="tiny_goal"), tmp_path, Hanging(**fields)))["Python"]
    assert check.status == "warn"
    assert "0.3 s" in check.detail


REFUSED = """
import asyncio, dataclasses, sys
from pathlib import Path
from trainer_core.service.preflight import run_checks
from trainer_core.wire.checks import require
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.spec import RunSpec
from trainer_core.runners.native import NATIVE

async def refused():
    async for check in run_checks(spec, HomePaths(Path(sys.argv[1])), NATIVE):
        require(check)

spec = RunSpec.of(RunConfig(task="no/such"))
for _ in range(25):
    try:
        asyncio.run(refused())
    except ConfigError as error:
        assert "no/such" in str(error)
print("all refused")
"""


def test_a_wrong_task_ends_it_however_far_the_start_of_the_probe_is(tmp_path: Path) -> None:
    """On a busy computer the loop was closed while its probe was being started: it hung."""
    done = subprocess.run(
        [sys.executable, "-c", REFUSED, str(tmp_path)], cwd=CHECKOUT, text=True, capture_output=True, timeout=60
    )
    assert done.stdout == "all refused\n", done.stderr


async def test_a_probe_that_nobody_waits_for_is_ended_with_what_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"

    class Wrapped(NativeRunner):
        def readiness(self) -> list[str]:
            return ["sh", "-c", f"sleep 600 & echo $! > {started}.new; mv {started}.new {started}; wait"]

    fields = {spec.name: getattr(NATIVE, spec.name) for spec in dataclasses.fields(NATIVE)}
    asked = asyncio.create_task(collect(RunConfig(task="tiny_goal"), tmp_path / "home", Wrapped(**fields)))
    await until(started.exists)
    asked.cancel()
    await asyncio.wait([asked])
    pid = int(started.read_text())
    await until(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("runner_id", ["cleanrl", "d3rlpy", "spade_bdi"])
def test_who_takes_a_game_boys_pictures_alone_refuses_an_arc_game(runner_id: str, tmp_path: Path) -> None:
    """CleanRL's ppo_atari trained on it with 44 of 128 columns cut off, its ppo ended in torch."""
    runner = find_runner(runner_id)
    spec = runner.complete(RunSpec(runner=runner_id, task="arc/wk01"))
    found = runner.check_task(spec, HomePaths(tmp_path))
    assert found.status == "fail"
    assert "arc/wk01 shows other ones" in found.detail
    assert find_runner("sb3").screens_only is False


@pytest.mark.parametrize("algo", ["ppo", "ppo_atari"])
def test_no_picture_is_cut_for_cleanrls_networks(algo: str) -> None:
    planes = 4 if algo == "ppo_atari" else 1
    with pytest.raises(ConfigError, match="64, 128"):
        observations(algo, torch.zeros(1, planes, 64, 128, dtype=torch.uint8))
    assert len(observations(algo, torch.zeros(1, planes, 72, 80, dtype=torch.uint8))) == 1


def test_a2c_in_long_rollouts_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "warning: A2C makes one optimizer step per rollout"
    for task, algo, preset, is_told in (
        ("pocket_quest/leave_bedroom", "a2c", "laptop", True),
        ("pocket_quest/leave_bedroom,mirror_moths/level_2", "a2c", "laptop", True),
        ("pocket_quest/leave_bedroom", "a2c", "auto", False),
        ("tiny_goal", "a2c", "laptop", False),
        ("pocket_quest/leave_bedroom", "ppo", "laptop", False),
    ):
        options("train", ["--task", task, "--algo", algo, "--preset", preset, "--home", str(tmp_path)], Options)
        assert (said in capsys.readouterr().err) == is_told, (task, algo, preset)
