"""What a guest's library unpickles is opened only if a run of this user wrote it, or by consent."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.imports import sources
from tests.support.made_checkpoints import make_checkpoint
from trainer_core.cli.main import main
from trainer_core.host.control import Control
from trainer_core.host.persistence import vouch_for
from trainer_core.host.run import Host
from trainer_core.host.trainee import Trainee
from trainer_core.lab import checkpoint_manifest, trust
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.catalog import find_runner
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.runs.config_file import write_config
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire.errors import CheckpointError
from trainer_core.wire.spec import RunSpec

UNPICKLED = {"sb3": "model.zip", "d3rlpy": "model.d3", "corl": "model.pt"}


@pytest.fixture(autouse=True)
def own_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_file_from_elsewhere_is_refused_until_its_hash_is_trusted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / ("very long " * 20 + "model.zip")
    file.write_bytes(b"from elsewhere")
    sha256 = hashlib.sha256(b"from elsewhere").hexdigest()
    with pytest.raises(CheckpointError) as refused:
        trust.require_trust(file, "SB3")
    command = f"dmglab runner trust {sha256}"
    assert str(refused.value).endswith(command), "the command is whole, however long the path is"
    assert main(command.split()[1:]) == 0
    assert json.loads(capsys.readouterr().out)["trusted"] == sha256
    trust.require_trust(file, "SB3")
    file.write_bytes(b"changed since")
    with pytest.raises(CheckpointError, match="dmglab runner trust"):
        trust.require_trust(file, "SB3")


def test_consent_may_name_the_file_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.d3").write_bytes(b"x")
    assert main(["runner", "trust", str(tmp_path / "model.d3")]) == 0
    trust.require_trust(tmp_path / "model.d3", "d3rlpy")
    for wrong in ("", "abc", "A" * 64, str(tmp_path / "none")):
        assert main(["runner", "trust", wrong]) == 2
        assert "64 digits of its SHA-256" in capsys.readouterr().err


def test_any_changed_added_or_renamed_file_of_a_folder_is_another_folder(tmp_path: Path) -> None:
    folder = tmp_path / "global_step_3"
    (folder / "actor").mkdir(parents=True)
    (folder / "actor" / "a.pt").write_bytes(b"a")
    known = trust.sha256_of(folder)
    trust.trust(known)
    trust.require_trust(folder, "VERL")
    (folder / "b.pt").write_bytes(b"b")
    assert trust.sha256_of(folder) != known
    (folder / "b.pt").unlink()
    (folder / "actor" / "a.pt").rename(folder / "actor" / "b.pt")
    with pytest.raises(CheckpointError):
        trust.require_trust(folder, "VERL")


class Saves(Trainee):
    policy, file, obs_shape, num_actions = "p", "model.zip", (1, 72, 80), 7

    def train(self) -> None:
        raise NotImplementedError

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        (folder / "model.zip").write_bytes(b"weights")


def test_what_a_guests_run_saves_is_trusted_here(tmp_path: Path) -> None:
    paths = HomePaths(tmp_path / "home").run("r")
    paths.root.mkdir(parents=True)
    spec = RunSpec(runner="sb3", task="tiny_goal", options={"algo": "ppo"})
    write_config(paths, spec)
    run = Host(spec, paths, RunWriter(paths), Control(), lambda host: Saves())
    run.find_task()
    run.prepare()
    run.tick(1)
    run.save("periodic")
    with pytest.raises(CheckpointError):
        trust.require_trust(paths.checkpoint(1) / "model.zip", "SB3")
    assert run.trainee is not None
    run.trainee.unpickles = True
    run.tick(2)
    run.save("periodic")
    trust.require_trust(paths.checkpoint(2) / "model.zip", "SB3")
    assert trust.trusted_list().stat().st_mode & 0o077 == 0, "nobody else adds to it"


def test_a_list_that_cannot_be_written_costs_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    vouch_for("ab" * 32)
    assert "ask for consent" in capsys.readouterr().out
    assert not trust.is_trusted("ab" * 32)


@pytest.mark.parametrize("runner_id", UNPICKLED)
def test_a_warm_start_is_checked_before_it_begins(runner_id: str, tmp_path: Path) -> None:
    runner = find_runner(runner_id)
    assert isinstance(runner, GuestRunner)
    assert runner.unpickled == UNPICKLED[runner_id]
    folder = make_checkpoint(tmp_path / "donor")
    (folder / runner.unpickled).write_bytes(b"from elsewhere")
    meta = json.loads((folder / checkpoint_manifest.META).read_text())
    algo = runner.algorithms[0]
    meta |= {"runner": runner_id, "config": {"algo": algo}}
    (folder / checkpoint_manifest.META).write_text(json.dumps(meta))
    spec = RunSpec(runner=runner_id, task="tiny_goal", options={"algo": algo})
    found = runner.check_warm_start(spec, folder)
    assert (found.status, "dmglab runner trust" in found.detail) == ("fail", True)
    trust.trust(trust.sha256_of(folder / runner.unpickled))
    assert runner.check_warm_start(spec, folder).status == "ok"


LOADERS = re.compile(r"load_learnable\(|load_from_zip_file\(|CLASSES\[algo\]\.load\(|NO_WEIGHTS_ONLY")
"""What unpickles in the adapters, which cannot be imported without their libraries."""


def test_adapters_ask_before_their_library_opens_the_file() -> None:
    asked = 0
    for path in sources("trainer_core/runners"):
        for part in re.split(r"\n(?=    def |def |class )", path.read_text(encoding="utf-8")):
            if found := LOADERS.search(part):
                assert "require_trust(" in part[: found.start()], f"{path}: {found[0]}"
                asked += 1
    assert asked == 4, "SB3 twice, d3rlpy, CORL"
