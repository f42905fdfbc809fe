"""Runs on another host, against a loopback server with the recorded answers of Ray's dashboard."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import shutil
import socket
import zipfile
from pathlib import Path
from typing import Any

import pytest

import dmglab
from tests.support.made_checkpoints import made_meta
from tests.support.made_records import update_record
from tests.support.ray_dashboard import Dashboard, dashboard
from trainer_core.envs.task_files import load_rom
from trainer_core.lab.checkpoint_manifest import list_checkpoints, put_in_place, verify
from trainer_core.lab.paths import ASSETS, HomePaths, RunPaths
from trainer_core.lab.roms import roms_file
from trainer_core.lab.tasks import find_task
from trainer_core.runners.native import NATIVE, REMOTE
from trainer_core.runners.remote import courier as module
from trainer_core.runners.remote import jobs
from trainer_core.runners.remote.courier import Courier, LostError
from trainer_core.runners.remote.parcel import HOME, pack
from trainer_core.runs import queue_steps
from trainer_core.runs.config_file import read_run_config, write_config
from trainer_core.runs.device_lock import DeviceLock
from trainer_core.runs.life import new_run_id
from trainer_core.runs.log_reader import read_history
from trainer_core.runs.log_writer import RunWriter
from trainer_core.service.plan import plan_run
from trainer_core.service.preflight import run_checks
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError, ConfigError, FailureError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

RUN = "20261127-120000-abcd"
FILES = {"policy.safetensors": bytes(range(256)), "machines.bin": b"\x00\x01" * 1000, "thumbnail.png": b""}


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AGAIN_S", 0.01)
    monkeypatch.setattr(module, "GIVE_UP_S", 0.1)


@pytest.fixture
def there(tmp_path: Path) -> RunPaths:
    """The run's folder on the cluster, with one checkpoint."""
    paths = RunPaths(tmp_path / "there" / RUN)
    paths.checkpoints.mkdir(parents=True)
    hashes = {name: module.hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
    meta = made_meta(run_id=RUN, env_steps=64, files=hashes)
    put_in_place(paths.checkpoint(64), {**FILES, "meta.json": module.msgspec.json.encode(meta)}.items())
    return paths


def output(*more: bytes) -> bytes:
    """What a job prints: Ray's line, the version, stray words, states, three records and an end."""
    said: dict[str, Any] = {"run_id": RUN, "time": 1.0}
    checkpoint = records.CheckpointRecord(
        env_steps=64, path="checkpoints/000000000064", sha256="0" * 64, size_bytes=1, success_rate=0.5,
        reason="final", seq=2, **said,
    )  # fmt: skip
    lines = [
        b"Running entrypoint for job dmglab-1: python -c ...\n",
        f"dmglab {dmglab.__version__}\n".encode(),
        records.encode(records.StateEvent(state="starting", detail="loading torch", seq=0, **said)),
        records.encode(update_record(RUN, 0, 1, 10.0)),
        b"stray words\n",
        records.encode(update_record(RUN, 1, 2, 10.0)),
        records.encode(checkpoint),
    ]
    return b"".join([*lines, *more])


FINISHED = records.encode(records.StateEvent(run_id=RUN, seq=3, time=1.0, state="finished", detail="1 s"))


def made_courier(tmp_path: Path, server: Dashboard, **options: Any) -> tuple[Courier, RunPaths, list[bytes]]:
    home = HomePaths(tmp_path / "here")
    paths = home.run(RUN)
    paths.root.mkdir(parents=True, exist_ok=True)
    config = RunConfig(task="tiny_goal", on=server.address, **options)
    write_config(paths, RunSpec.of(config))
    told: list[bytes] = []
    return Courier(paths, config, RunWriter(paths, told.append)), paths, told


def test_a_run_comes_back_whole_through_broken_connections(there: RunPaths, tmp_path: Path) -> None:
    with dashboard(there.root, output(FINISHED)) as server:
        server.breaks_at = [0, 300, 1400]
        courier, paths, told = made_courier(tmp_path, server, seconds=5.0)
        assert courier.run({"seconds": 9.0}) == (RunState.FINISHED, "1 s")
        job = server.submitted
    found = read_history(paths.train_log).events
    assert [(type(event).__name__, event.seq) for event in found] == [
        ("UpdateRecord", 0), ("UpdateRecord", 1), ("CheckpointRecord", 2),
    ]  # fmt: skip
    assert sorted(verify(list_checkpoints(paths)[0]).files) == sorted(FILES)
    assert sum(b'"checkpoint"' in line for line in told) == 1
    assert list(server.package) == [f"{HOME}/training/runs/{RUN}/config.json"]
    config = json.loads(server.package[f"{HOME}/training/runs/{RUN}/config.json"])["run"]
    assert (config["on"], config["seconds"]) == ("", 9.0)
    assert job["runtime_env"]["working_dir"].startswith("gcs://_ray_pkg_")
    assert (job["entrypoint_num_cpus"], job["entrypoint_num_gpus"]) == (1, 0)


def test_a_resume_follows_the_same_job_again_and_takes_a_new_one_after_its_end(there: RunPaths, tmp_path: Path) -> None:
    with dashboard(there.root, output(), status="RUNNING") as server:
        courier, paths, _ = made_courier(tmp_path, server)
        server.status, server.code, server.message = "FAILED", None, "Job supervisor actor died: gone\nclass_name"
        with pytest.raises(LostError, match=r"Job supervisor actor died: gone$"):
            courier.run({})
        first = server.submitted["submission_id"]
        paths.job.write_text(json.dumps({"job": first, "done": False}))  # as if this computer had stopped before
        server.output, server.status = output(FINISHED), "SUCCEEDED"
        with pytest.raises(ConfigError, match="stop it first"):
            made_courier(tmp_path, server)[0].run({"seconds": 1.0})
        assert made_courier(tmp_path, server)[0].run({})[0] is RunState.FINISHED
        assert server.submitted["submission_id"] == first
        assert made_courier(tmp_path, server)[0].run({})[0] is RunState.FINISHED
        assert server.submitted["submission_id"] != first
    names = {name.rpartition(f"{RUN}/")[2] for name in server.package}
    assert names == {
        "config.json",
        "train_log.jsonl",
        *(f"checkpoints/000000000064/{n}" for n in (*FILES, "meta.json")),
    }
    assert [event.seq for event in read_history(paths.train_log).events] == [0, 1, 2]


def test_what_goes_wrong_is_one_line(there: RunPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(said: bytes, **how: Any) -> None:
        with dashboard(there.root, said, **how) as server:
            server.message = "Job entrypoint command failed with exit code 1, last available logs\nmore"
            made_courier(tmp_path, server)[0].run({})

    with pytest.raises(ConfigError, match=r"has dmglab 0\.1, this computer .*: install the same version$"):
        run(b"dmglab 0.1\n")
    with pytest.raises(ConfigError, match=r"does not start in a job .*: No module named 'dmglab'$"):
        run(b"No module named 'dmglab'\n", status="FAILED", code=1)
    with pytest.raises(FailureError, match=r"^Killed$"):
        run(f"dmglab {dmglab.__version__}\nKilled\n".encode(), status="FAILED", code=1)
    (there.checkpoint(64) / "machines.bin").write_bytes(b"cut")
    with pytest.raises(CheckpointError, match=r"machines\.bin came damaged"):
        run(output(FINISHED))
    assert not list_checkpoints(HomePaths(tmp_path / "here").run(RUN))


def test_a_task_of_the_user_travels_with_its_rom_and_nothing_else_does(tmp_path: Path) -> None:
    home, there = HomePaths(tmp_path / "here"), HomePaths(tmp_path / "there" / HOME)
    shutil.copytree(ASSETS / "tasks/pocket_quest/leave_bedroom", home.tasks / "mine/room")
    manifest = home.tasks / "mine/room/task.toml"
    shipped = find_task("pocket_quest/leave_bedroom", home)
    text = manifest.read_text().replace(shipped.manifest.rom.path, "").replace(shipped.id, "mine/room")
    manifest.write_text(text)
    (home.tasks / "other").mkdir()
    (home.tasks / "other/task.toml").write_text("")
    rom = {shipped.manifest.rom.sha256: {"path": str(shipped.rom_path)}}
    home.settings.mkdir()
    roms_file(home).write_text(json.dumps(rom))
    started = tmp_path / "began/000000000064"
    put_in_place(started, {"meta.json": b"{}"}.items())
    config = RunConfig(
        task=f"mine/room,{shipped.id}", on="ray+http://127.0.0.1:1", device="cuda:3", warm_start=str(started)
    )
    with zipfile.ZipFile(io.BytesIO(pack(home.run(RUN), home, config))) as parcel:
        parcel.extractall(tmp_path / "there")
        assert not [name for name in parcel.namelist() if "other" in name]
    task = find_task("mine/room", there)
    assert task.folder == there.tasks / "mine/room"
    assert load_rom(task, there).sha256 == shipped.manifest.rom.sha256
    sent = read_run_config(there.run(RUN))
    assert (sent.task, sent.device, sent.on) == (config.task, "cuda:0", "")
    assert (tmp_path / "there" / sent.warm_start / "meta.json").is_file()
    with pytest.raises(ConfigError, match="trains on this computer only"):
        pack(home.run(RUN), home, RunConfig(task="arc/ls20"))


def test_a_stop_reaches_the_job(there: RunPaths, tmp_path: Path) -> None:
    with dashboard(there.root, output(), status="RUNNING") as server:
        courier, _, _ = made_courier(tmp_path, server)
        courier.stop()  # before the job is there
        assert courier.run({}) == (RunState.STOPPED, "its job was stopped on the cluster")
        assert server.stopped == [f"/api/jobs/{server.submitted['submission_id']}/stop"]


@pytest.mark.parametrize(
    ("is_new", "said"),
    [
        (False, r"no Ray cluster at ray\+http://127.0.0.1:\d+: Connection refused; silent"),
        (True, r"Job dmglab-.* does not exist; was the cluster started anew"),
    ],
)
def test_a_cluster_that_goes_away_leaves_what_was_fetched(
    there: RunPaths, tmp_path: Path, is_new: bool, said: str
) -> None:
    with dashboard(there.root, output(), status="RUNNING") as server:
        courier, paths, _ = made_courier(tmp_path, server)
        take = courier._take

        def last(line: bytes) -> Any:
            found = take(line)
            if b'"checkpoint"' in line and is_new:
                server.submitted = {}
            elif b'"checkpoint"' in line:
                server.shutdown()
                server.server_close()
            return found

        courier._take = last
        with pytest.raises(LostError, match=said):
            courier.run({})
    verify(list_checkpoints(paths)[0])
    assert json.loads(paths.job.read_text())["done"] is False


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:8265", "name the dashboard"),
        ("ray+http://127.0.0.1", "name the dashboard"),
        ("ray+http://me:word@127.0.0.1:8265", "name the dashboard"),
        ("http://127.0.0.1:8265", "name the dashboard"),
        ("ray+http://10.0.0.5:8265", r"ssh -N -L 8265:127.0.0.1:8265 10.0.0.5"),
        ("ray+http://localhost.example.org:8265", "is not this computer"),
    ],
)
def test_only_a_loopback_address_is_taken(address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        RunConfig(on=address)
    assert "word" not in str(caught.value)
    for good in ("ray+http://localhost:1", "ray+http://127.0.0.1:8265/", "ray+http://[::1]:8265"):
        assert RunConfig(on=good).on


def test_preflight_asks_the_cluster_and_no_device_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = HomePaths(tmp_path)

    async def checked(spec: RunSpec) -> dict[str, Any]:
        return {check.name: check async for check in run_checks(spec, home, NATIVE)}

    def cluster_check(address: str) -> Any:
        checks = asyncio.run(checked(RunSpec.of(RunConfig(task="tiny_goal", on=address, device="cuda:7"))))
        assert "Device" not in checks
        return checks["Cluster"]

    with dashboard(tmp_path, b"") as server:
        assert cluster_check(server.address).detail == f"Ray 2.60.0 at {server.address}"
        server.token = "secret word"
        assert "set RAY_AUTH_TOKEN" in cluster_check(server.address).detail
        monkeypatch.setenv(jobs.TOKEN, "secret word")
        assert cluster_check(server.address).status == "ok"
    assert "Connection refused" in cluster_check(server.address).detail
    clips = asyncio.run(checked(RunSpec.of(RunConfig(task="tiny_goal", on=server.address, record_clips=1))))["Clips"]
    assert (clips.status, clips.remedy) == ("fail", {"record_clips": 0})
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setattr(jobs, "ANSWER_S", 0.1)
        found = cluster_check(f"ray+http://127.0.0.1:{other.getsockname()[1]}")
        assert (found.status, "timed out" in found.detail) == ("fail", True)


def test_a_remote_run_waits_for_no_device_of_this_computer(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    here = RunSpec.of(RunConfig(task="tiny_goal"))
    far = RunSpec.of(dataclasses.replace(RunConfig(task="tiny_goal"), on="ray+http://127.0.0.1:8265"))
    plan = plan_run(NATIVE, far, home, RUN, "")
    assert plan.runner is REMOTE
    assert plan.argv[-2:] == ("trainer_core.runners.remote.courier", str(home.run(RUN).root))
    busy = DeviceLock.take(home, "cpu", "another")
    assert busy is not None
    for spec in (here, far):
        queue_steps.enqueue(home, new_run_id(home), spec, algo="ppo")
    claim = queue_steps.claim(home, lambda runner: True)
    assert claim is not None
    assert (claim.spec, claim.device) == (far, None)
    assert queue_steps.claim(home, lambda runner: True) is None
    busy.release()
