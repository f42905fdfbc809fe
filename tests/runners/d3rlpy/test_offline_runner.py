"""d3rlpy itself, where its environment is; else skipped, and why.

dmglab runner install d3rlpy; pytest -rs tests/runners/d3rlpy/test_offline_runner.py
"""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.extras import need_extras
from tests.support.guests import ended, history, home_with, newest, plays, run_to_end
from tests.support.imports import CHECKOUT
from tests.support.processes import in_service
from trainer_core.lab import checkpoint_manifest
from trainer_core.runners.catalog import find_runner
from trainer_core.runs.config_file import write_config
from trainer_core.runs.log_check import check_log
from trainer_core.service.preflight import run_checks
from trainer_core.wire import records
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

TASK = "pocket_quest/leave_bedroom"
WALKER = CHECKOUT / "assets/games/pocket_quest/make_demonstrations.py"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three recordings of somebody who knows the way out of the bedroom."""
    need_extras()
    out = tmp_path_factory.mktemp("recordings") / "walks"
    done = subprocess.run(
        [sys.executable, str(WALKER), str(out), "--episodes", "3"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(WALKER.parents[1])},
    )
    assert done.returncode == 0, done.stderr
    return out


def offline_spec(data: Path, steps: int, algo: str = "bc", **options: Any) -> RunSpec:
    small = {"batch_size": 8, "log_every": 10, "eval_every": 0, "checkpoint_every": 0, "threads": 1}
    return RunSpec(
        runner="d3rlpy", task=TASK, total_env_steps=steps, options={"algo": algo, "data": str(data), **small, **options}
    )


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The networks inside d3rlpy's file, by name."""
    saved = pickle.loads((folder / "model.d3").read_bytes())["torch"]
    modules = torch.load(io.BytesIO(saved), weights_only=True)
    return {
        f"{module}.{name}": value
        for module, state in modules.items()
        for name, value in state.items()
        if isinstance(value, torch.Tensor)  # optimizers keep dicts and lists
    }


@pytest.mark.slow
@pytest.mark.parametrize("algo", ["bc", "cql", "iql"])
async def test_resumed_is_the_run_that_was_never_stopped(algo: str, recordings: Path, tmp_path: Path) -> None:
    home = home_with("d3rlpy", tmp_path)
    async with in_service(home.root) as service:
        whole = await run_to_end(service, offline_spec(recordings, 40, algo))
        assert whole.state is RunState.FINISHED, whole.reason
        half = await run_to_end(service, offline_spec(recordings, 20, algo))
        paths = home.run(half.run_id)
        write_config(paths, offline_spec(recordings, 40, algo))
        await service.resume(half.run_id)
        again = await ended(service, half.run_id)
        assert (again.state, again.env_steps) == (RunState.FINISHED, 40), again.reason
        early = checkpoint_manifest.list_checkpoints(paths)[0]
        one, other, before = (
            weights(folder) for folder in (newest(home, whole.run_id), newest(home, again.run_id), early)
        )
        assert all(torch.equal(one[name], other[name]) for name in one)
        assert not all(torch.equal(one[name], before[name]) for name in one)
        assert check_log(paths.train_log).errors == []
        updates = await history(service, again.run_id, records.UpdateRecord)
        assert [event.env_steps for event in updates] == [10, 20, 30, 40]
        assert "loss" in updates[-1].metrics


@pytest.mark.slow
async def test_recordings_become_a_dataset_that_trains_validates_and_plays(recordings: Path, tmp_path: Path) -> None:
    home = home_with("d3rlpy", tmp_path)
    async with in_service(home.root) as service:
        spec = offline_spec(recordings, 20, eval_every=20, eval_episodes=2)
        first = await run_to_end(service, spec)
        assert first.state is RunState.FINISHED, first.reason
        meta = (await history(service, first.run_id, records.MetaRecord))[0]
        dataset = home.run(first.run_id).root / "minari" / "dmglab" / "demonstrations-v0"
        hdf5 = checkpoint_manifest.file_sha256(dataset / "data" / "main_data.hdf5")
        assert meta.versions["dataset_sha256"] == hdf5
        folder = newest(home, first.run_id)
        # The dataset does for another run, under its hash and no other.
        again = offline_spec(dataset, 20, data_sha256=hdf5, warm_start=str(folder))
        assert (await run_to_end(service, again)).state is RunState.FINISHED
        wrong = await run_to_end(service, offline_spec(dataset, 20, data_sha256="0" * 64))
        assert wrong.state is RunState.FAILED
        assert "leave data_sha256 empty" in wrong.reason
        await plays(home, folder, TASK)


@pytest.mark.slow
async def test_preflight_wants_demonstrations(tmp_path: Path) -> None:
    home = home_with("d3rlpy", tmp_path)
    np.savez(tmp_path / "main_data.hdf5", nothing=np.zeros(1))
    broken = tmp_path / "set" / "data"
    broken.mkdir(parents=True)
    (broken / "main_data.hdf5").write_bytes(b"no dataset")
    async with in_service(home.root) as service:
        spec = offline_spec(tmp_path / "nowhere", 20)
        failed = [c async for c in run_checks(spec, home, find_runner("d3rlpy")) if c.status == "fail"]
        assert [check.name for check in failed] == ["Demonstrations"]
        assert "no such file or folder" in failed[0].detail
        record = await run_to_end(service, offline_spec(broken.parent, 20))
        assert record.state is RunState.FAILED
        assert "no Minari dataset that can be read" in record.reason
