"""Curves of W&B and TensorBoard as runs: files of real clients, our own exports, torn and foreign
ones.

`golden/tensorboard` was written by tensorboardX 2.6.5 (two runs, one with a text and a NaN, one
with hyperparameters) and by the writer of tensorboard 2.21.0 itself, whose scalars are tensors.

`golden/run.wandb` is what `wandb` 0.31.0 left of an offline run of twelve rows with one text, one
NaN and one nested number each: `charts/episodic_return` counts from 0, `global_step` by 128.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.made_records import update_record
from trainer_core.formats.import_curves import import_curves, import_wandb
from trainer_core.formats.tensorboard import export as export_events
from trainer_core.formats.wandb_history import export
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_reader import read_history
from trainer_core.wire import records
from trainer_core.wire.errors import LabError
from trainer_core.wire.metric_names import scalars
from trainer_core.wire.run_record import RunState

REAL = Path(__file__).with_name("golden") / "run.wandb"
EVENTS = Path(__file__).with_name("golden") / "tensorboard"


def test_a_file_of_the_real_client_becomes_a_run_with_its_curves(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    run, lost = import_wandb(REAL, home)
    assert (run.name, run.task, run.runner, run.state) == ("ppo breakout", "breakout", "wandb", RunState.FINISHED)
    assert (run.env_steps, lost, run.device) == (12 * 128, "", "")
    log = home.run(run.run_id).train_log
    meta, *updates = read_history(log).events
    assert isinstance(meta, records.MetaRecord)
    assert meta.config == {"lr": 3e-4, "env": {"id": "Breakout-v5"}}
    rows = [scalars(update) for update in updates]
    assert [row["env_steps"] for row in rows] == [128.0 * (i + 1) for i in range(12)]
    assert [row["charts/episodic_return"] for row in rows] == [float(i) for i in range(12)]
    assert [row["deep.x"] for row in rows] == [float(i) for i in range(12)]
    assert "bad" not in rows[0]
    assert check_log(log).to_dict()["ok"]
    assert import_wandb(REAL, home)[0] == run
    assert len(RunRegistry(home).load()) == 1


def test_our_own_history_comes_back_under_our_names(tmp_path: Path) -> None:
    source = RunPaths(tmp_path / "20261122-000000-aaaa")
    source.root.mkdir()
    past = [update_record(source.run_id, seq, seq, 100.0) for seq in range(1, 4)]
    source.train_log.write_bytes(b"".join(map(records.encode, past)))
    for _ in export(source, source.root / "wandb_history"):
        pass
    home = HomePaths(tmp_path / "home")
    run, lost = import_wandb(source.root / "wandb_history" / "history.jsonl", home)
    assert (run.name, lost) == (source.run_id, "")
    _, *updates = read_history(home.run(run.run_id).train_log).events
    for old, new in zip(past, updates, strict=True):
        before, after = scalars(old), scalars(new)
        assert after["env_steps"] == before["env_steps"]
        assert after["reward_mean"] == before["reward_mean"]
        assert after["learning_rate"] == before["learning_rate"]


def curves_of(home: HomePaths, run_id: str) -> tuple[records.MetaRecord, list[dict[str, float]]]:
    log = home.run(run_id).train_log
    assert check_log(log).to_dict()["ok"]
    meta, *updates = read_history(log).events
    assert isinstance(meta, records.MetaRecord)
    return meta, [scalars(update) for update in updates]


def test_a_log_folder_of_tensorboard_becomes_a_run_for_each_folder_with_events(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    done = import_curves(EVENTS, home)
    assert done.lost == [], "a folder without a number is none"
    assert [run.name for run in done.runs] == ["CartPole-v1__ppo__1", "hp/x", "keras/train"]
    meta, rows = curves_of(home, done.runs[0].run_id)
    assert meta.config == {"env_id": "CartPole-v1", "learning_rate": "0.00025"}, "CleanRL's table"
    assert (meta.task, meta.runner) == ("CartPole-v1", "tensorboard")
    assert [row["env_steps"] for row in rows] == [64.0 * i for i in range(6)]
    assert [row["charts/episodic_return"] for row in rows] == [float(i) for i in range(6)]
    assert "losses/policy_loss" not in rows[2], "it was NaN"
    assert rows[5]["losses/policy_loss"] == 5 / 8
    assert [row["wall_time_s"] for row in rows] == [0.5, 1.5, 2.0, 3.5, 4.5, 5.5]
    meta, _ = curves_of(home, done.runs[1].run_id)
    assert meta.config == {"lr": 0.1, "opt": "adam", "on": True}
    _, rows = curves_of(home, done.runs[2].run_id)
    assert [row["epoch_loss"] for row in rows] == pytest.approx([1.0, 1 / 2, 1 / 3, 1 / 4])
    one = next((EVENTS / "keras/train").iterdir())
    assert import_curves(one, home).runs[0].run_id == done.runs[2].run_id, "known by its bytes"
    assert len(RunRegistry(home).load()) == 3


def test_our_own_events_come_back_and_damaged_ones_are_one_line(tmp_path: Path) -> None:
    source = RunPaths(tmp_path / "20261122-000000-aaaa")
    source.root.mkdir()
    past = [update_record(source.run_id, seq, seq, 100.0) for seq in range(1, 4)]
    source.train_log.write_bytes(b"".join(map(records.encode, past)))
    folder = tmp_path / "tb"
    for _ in export_events(source, folder):
        pass
    home = HomePaths(tmp_path / "home")
    _, rows = curves_of(home, import_curves(folder, home).runs[0].run_id)
    assert [row["reward_mean"] for row in rows] == pytest.approx([r.reward_mean for r in past])
    file = next(folder.iterdir())
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    assert import_curves(file, home).lost == [f"{folder}: the file ends within a record"]
    for data, said in (
        (b"no events, but long enough", "no event file of TensorBoard"),
        (whole[:-9] + b"\xff" + whole[-8:], "damaged at byte"),
    ):
        file.write_bytes(data)
        with pytest.raises(LabError, match=said):
            import_curves(folder, home)
    (folder / "more").mkdir()
    (folder / "more" / file.name).write_bytes(whole)
    done = import_curves(folder, home)
    assert len(done.runs) == 1, "one that is damaged does not keep the others out"
    assert "damaged at byte" in done.lost[0]


def test_a_torn_file_gives_what_came_before_and_says_so(tmp_path: Path) -> None:
    torn = tmp_path / "run-torn.wandb"
    torn.write_bytes(REAL.read_bytes()[:3000])
    run, lost = import_wandb(torn, HomePaths(tmp_path / "home"))
    assert 0 < run.env_steps < 12 * 128
    assert lost


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no file of W&B's client"),
        (b"PK\x03\x04 something else", "no file of W&B's client"),
        (REAL.read_bytes()[:7], "no curve"),
        (REAL.read_bytes()[:2000] + b"\xff" + REAL.read_bytes()[2001:], "damaged at byte"),
    ],
)
def test_what_is_not_wandbs_is_one_line_and_leaves_nothing(tmp_path: Path, data: bytes, said: str) -> None:
    file, home = tmp_path / "run-x.wandb", HomePaths(tmp_path / "home")
    file.write_bytes(data)
    with pytest.raises(LabError, match=said) as told:
        import_wandb(file, home)
    assert str(file) in str(told.value)
    assert "\n" not in str(told.value)
    assert not home.runs.exists()


def test_a_history_that_is_none_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    for text in ("[1]\n", "no json\n", "\xff\n"):
        file.write_text(text, "latin-1")
        with pytest.raises(LabError, match="no history of W&B"):
            import_wandb(file, HomePaths(tmp_path / "home"))


@pytest.mark.parametrize("name", ["run-x.wandb", "history.jsonl"])
def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(LabError, match="not a regular file"):
        import_wandb(tmp_path / name, HomePaths(tmp_path / "home"))


def test_a_shell_imports_too_and_a_wrong_path_is_one_line(tmp_path: Path) -> None:
    found = shell(tmp_path, str(REAL))
    told = json.loads(found.stdout)
    assert (found.returncode, told["ok"], told["lost"]) == (0, True, "")
    assert RunRegistry(HomePaths(tmp_path)).load()[told["run_id"]].device == ""
    missing = shell(tmp_path, str(tmp_path / "no.wandb"))
    assert missing.returncode == 2
    assert "no such file or folder" in missing.stdout + missing.stderr
    assert "Traceback" not in missing.stderr


def shell(home: Path, path: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "trainer_core.cli.main", "import", path, "--home", str(home)]
    return subprocess.run(line, capture_output=True, text=True, timeout=60)
