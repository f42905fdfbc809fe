"""`dmglab train --runner` reports its own run alone, and takes folders from where the user stands."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.support.made_records import update_record
from trainer_core.cli.train_guest import Manner, Narrator, order
from trainer_core.service import EventReceived, RunChanged
from trainer_core.wire import records
from trainer_core.wire.run_record import RunRecord, RunState


def test_only_its_own_run_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    told = Narrator("mine")
    record = RunRecord(
        run_id="mine",
        runner="sb3",
        task="t",
        algo="ppo",
        device="cpu",
        state=RunState.RUNNING,
        created_at=0.0,
        config_sha256="",
    )
    event = records.CheckpointRecord(
        run_id="",
        seq=1,
        time=0.0,
        path="checkpoints/1",
        env_steps=1,
        sha256="",
        size_bytes=1,
        success_rate=0.0,
        reason="periodic",
    )
    for run_id in ("other", "mine"):
        told(RunChanged(msgspec.structs.replace(record, run_id=run_id), detail=f"loading {run_id}"))
        told(EventReceived(run_id, event))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[-1] for line in lines] == ["mine", "(periodic)"]


def test_a_run_of_ours_elsewhere_is_told_of_as_one_here(capsys: pytest.CaptureFixture[str]) -> None:
    Narrator("mine", is_native=True)(EventReceived("mine", update_record("mine", 0, 25, 100.0)))
    assert "reward +0.0000  success 0.500 of 100   entropy" in capsys.readouterr().err


def test_a_folder_is_named_from_where_the_user_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "recordings").mkdir()
    monkeypatch.chdir(tmp_path)
    argv = ["--data", "recordings", "--home", str(tmp_path)]
    _, asked = order("d3rlpy", "train", argv, Manner)
    assert asked.spec.options["data"] == str(tmp_path / "recordings")
    _, asked = order("d3rlpy", "train", [*argv, "--data", "minari/elsewhere-v0"], Manner)
    assert asked.spec.options["data"] == "minari/elsewhere-v0"
