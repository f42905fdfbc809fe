"""A run's folder, log or checkpoints that somebody moves or deletes while it trains."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import in_service, until
from tests.trainer_core.building import prepared_run, read_log, tiny_config, train_in
from trainer_core.host.native import NativeTrainee
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.log_writer import MovedError
from trainer_core.service import EventReceived
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

UPDATE = 16 * 8


def replace_log(paths: RunPaths) -> None:
    copy = paths.train_log.read_bytes()
    paths.train_log.unlink()
    paths.train_log.write_bytes(copy)


def folder_for_log(paths: RunPaths) -> None:
    paths.train_log.unlink()
    paths.train_log.mkdir()


SABOTAGE: dict[str, Callable[[RunPaths], object]] = {
    "moved": lambda paths: paths.root.rename(paths.root.with_name("elsewhere")),
    "deleted": lambda paths: shutil.rmtree(paths.root),
    "log deleted": lambda paths: paths.train_log.unlink(),
    "log replaced": replace_log,
    "log a folder": folder_for_log,
    "log emptied": lambda paths: os.truncate(paths.train_log, 0),
    "checkpoints moved": lambda paths: paths.checkpoints.rename(paths.root / "old"),
    "checkpoints deleted": lambda paths: shutil.rmtree(paths.checkpoints),
}


@pytest.mark.parametrize("what", SABOTAGE)
def test_it_ends_with_one_line_at_the_next_save(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, log = HomePaths(tmp_path).run("run"), NativeTrainee.log

    def then_sabotage(trainee: NativeTrainee, losses: object) -> None:
        log(trainee, losses)  # type: ignore[arg-type]
        if trainee.trainer.update == 2:
            SABOTAGE[what](paths)

    monkeypatch.setattr(NativeTrainee, "log", then_sabotage)
    config = tiny_config(checkpoint_every=1, eval_every=2, total_env_steps=3 * UPDATE)
    with pytest.raises(MovedError) as raised:
        train_in(tmp_path, config)
    named = paths.checkpoints if what.startswith("checkpoints") else paths.train_log
    assert str(raised.value).startswith(f"{named}: moved, deleted or replaced while the run")
    assert len(str(raised.value)) < 200 + len(str(named))
    if "log" in what:  # what was learned since is kept where that can be
        saved = [int(folder.name) for folder in list_checkpoints(paths)]
        assert saved == [UPDATE, 2 * UPDATE]
    elif what in ("moved", "deleted"):
        assert not paths.root.exists(), "nothing is made anew under its name"
    else:
        assert not paths.checkpoints.exists()


def test_a_run_that_only_stops_notices_too(tmp_path: Path) -> None:
    run = prepared_run(tmp_path, tiny_config())
    run.paths.root.rename(tmp_path / "elsewhere")
    run.control.stop("test")
    with pytest.raises(MovedError):
        run.train()
    assert not run.paths.root.exists()


def test_a_run_whose_log_is_lost_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    config = tiny_config(total_env_steps=2 * UPDATE)
    train_in(tmp_path, config)
    paths = HomePaths(tmp_path).run("run")
    paths.train_log.unlink()
    outcome = train_in(tmp_path, tiny_config(total_env_steps=3 * UPDATE))
    assert outcome.env_steps == 3 * UPDATE
    kinds = [record["type"] for record in read_log(tmp_path)]
    assert kinds == ["meta", "resume", "update", "checkpoint"]


@pytest.mark.usefixtures("warm")
@pytest.mark.slow
async def test_the_app_hears_of_it_and_the_run_has_failed(tmp_path: Path) -> None:
    """The real worker behind the real service."""
    async with in_service(tmp_path / "home", within_s=150) as service:
        told = []
        service.subscribe(lambda n: told.append(n) if isinstance(n, EventReceived) else None)
        plan = service.plan(RunSpec.of(tiny_config(total_env_steps=0)))
        run_id = (await service.start(plan)).run_id
        await until(lambda: service.runs[run_id].env_steps > 0, 60)
        service.home.run(run_id).root.rename(tmp_path / "elsewhere")
        await until(lambda: service.runs[run_id].state.is_end)
        ended = service.runs[run_id]
        assert ended.state is RunState.FAILED
        assert "train_log.jsonl: moved, deleted or replaced" in ended.reason
        assert any(getattr(n.event, "kind", "") == "MovedError" for n in told)
        assert not service.home.run(run_id).root.exists()
