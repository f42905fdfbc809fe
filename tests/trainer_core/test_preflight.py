"""Preflight: each finding names what is wrong and what to do; probes never load torch here."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections import namedtuple
from pathlib import Path

import pytest

from trainer_core import preflight
from trainer_core.preflight import Check, run_checks
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.paths import HomePaths
from trainer_core.runners.catalog import NATIVE

FOUND = {"python": "3.11.7", "modules": {"torch": "2.13.0", "warp": "1.19.0"}, "gpus": []}


async def collect(config: RunConfig, home: Path, runner=NATIVE) -> dict[str, Check]:  # type: ignore[no-untyped-def]
    return {check.name: check async for check in run_checks(config, HomePaths(home), runner)}


def test_a_good_machine_passes_every_check_quickly(tmp_path: Path) -> None:
    runner = dataclasses.replace(NATIVE, modules=("msgspec",))
    start = time.monotonic()
    found = asyncio.run(collect(RunConfig(task="tiny_goal"), tmp_path, runner))
    assert time.monotonic() - start < 6
    assert list(found) == ["Data folder", "Disk", "Task", "Python", "Device", "Memory"]
    assert all(check.status != "fail" for check in found.values()), found


def test_a_missing_module_fails_with_the_line_that_installs_it(tmp_path: Path) -> None:
    runner = dataclasses.replace(NATIVE, modules=("no_such_module_anywhere",))
    check = asyncio.run(collect(RunConfig(task="tiny_goal"), tmp_path, runner))["Python"]
    assert check.status == "fail"
    assert "no_such_module_anywhere" in check.detail
    assert "pip install" in check.fix


def test_an_unknown_task_fails_and_names_it(tmp_path: Path) -> None:
    check = preflight.check_task(RunConfig(task="no/such"), HomePaths(tmp_path))
    assert check.status == "fail"
    assert "no/such" in check.detail


def test_cuda_without_a_gpu_fails_with_the_cpu_as_remedy() -> None:
    check = preflight.check_device(FOUND, RunConfig(device="cuda:0", num_envs=8192), NATIVE)
    assert check.status == "fail"
    assert check.remedy == {"device": "cpu", "num_envs": 64}
    RunConfig(**check.remedy)


def test_an_idle_gpu_is_worth_a_warning() -> None:
    found = {**FOUND, "gpus": [{"name": "H200", "bytes": 1 << 37}]}
    check = preflight.check_device(found, RunConfig(), NATIVE)
    assert (check.status, check.remedy) == ("warn", {"device": "cuda:0"})


def test_a_runner_that_needs_cuda_is_blocked_without_it() -> None:
    capabilities = type(NATIVE.capabilities)(requires_cuda=True)
    runner = dataclasses.replace(NATIVE, capabilities=capabilities)
    assert preflight.check_device(FOUND, RunConfig(), runner).status == "fail"


def test_a_batch_that_cannot_fit_is_refused_with_one_that_does() -> None:
    found = {**FOUND, "gpus": [{"name": "small", "bytes": 4 << 30}]}
    config = RunConfig(device="cuda:0", num_envs=131072, num_steps=32)
    check = preflight.check_memory(found, config)
    assert check.status == "fail"
    smaller = dataclasses.replace(config, **check.remedy)
    assert preflight.check_memory(found, smaller).status == "ok"


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


def test_a_probe_that_hangs_is_a_finding_after_its_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(preflight, "_PROBE", "import time; time.sleep(60)")
    monkeypatch.setattr(preflight, "PROBE_TIMEOUT_S", 0.3)
    check = asyncio.run(collect(RunConfig(task="tiny_goal"), tmp_path))["Python"]
    assert check.status == "warn"
    assert "0.3 s" in check.detail


def test_shells_get_the_first_failure_as_one_line() -> None:
    checks = [Check(name="A", status="ok", detail=""),
              Check(name="B", status="fail", detail="is gone", fix="Bring it back")]  # fmt: skip
    with pytest.raises(LabError, match=r"^B: is gone\. Bring it back\.$"):
        preflight.raise_on_failure(checks)
