"""docs/reference/write_a_runner.md, typed from the page alone: a plug-in of 60 lines that really runs."""

from __future__ import annotations

import importlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.imports import CHECKOUT
from tests.support.processes import in_service, until
from trainer_core.cli.main import main
from trainer_core.runners import catalog
from trainer_core.runners.base import AgentRunner
from trainer_core.runs.log_check import check_log
from trainer_core.service import EventReceived
from trainer_core.wire import records
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

PAGE = CHECKOUT / "docs" / "reference" / "write_a_runner.md"
FILE = re.compile(r"^`([\w/.]+)`[^\n]*:\n\n```\w+\n(.*?)```", re.MULTILINE | re.DOTALL)
"""A file of the page: its name, what it is for and a colon; then its text."""
FOREVER = 10**12


@pytest.fixture
def climber(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentRunner]:
    """The plug-in as `pip install -e .` leaves it: its folder on the path, and its metadata."""
    typed = dict(FILE.findall(PAGE.read_text()))
    assert list(typed) == ["pyproject.toml", "climber/__init__.py", "climber/trainer.py"]
    assert sum(text.count("\n") for text in typed.values()) <= 60
    folder = tmp_path / "typed"
    for name, text in typed.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    project = tomllib.loads(typed["pyproject.toml"])["project"]
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    lines = [f"{name} = {value}" for name, value in project["entry-points"][catalog.GROUP].items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{catalog.GROUP}]", *lines, ""]))
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    catalog._plug_ins.cache_clear()
    yield catalog.find_runner("climber")
    sys.modules.pop("climber", None)
    catalog._plug_ins.cache_clear()


def order(steps: int) -> RunSpec:
    return RunSpec(runner="climber", task="valley", total_env_steps=steps)


async def test_it_streams_stops_and_goes_on_with_the_same_numbers(climber: AgentRunner, tmp_path: Path) -> None:
    async with in_service(tmp_path / "home") as service:
        service.runners = catalog.registered_runners()
        seen: list[records.Event] = []
        service.subscribe(lambda n: seen.append(n.event) if isinstance(n, EventReceived) else None)
        plan = service.plan(order(FOREVER))
        runs = service.runs
        await service.start(plan)
        await until(lambda: runs[plan.run_id].env_steps >= 200)
        await service.stop(plan.run_id)
        stopped = runs[plan.run_id]
        assert (stopped.state, stopped.runner) == (RunState.STOPPED, "climber")
        await service.resume(plan.run_id)
        await until(lambda: runs[plan.run_id].env_steps >= stopped.env_steps + 200)
        await service.stop(plan.run_id)
        log = service.home.run(plan.run_id).train_log
        assert check_log(log).errors == []
        assert b'"type":"resume"' in log.read_bytes()
        far = [e.metrics["distance"] for e in seen if isinstance(e, records.UpdateRecord)]
        assert far[-1] < far[0], "it does not learn"
        again = service.plan(order(runs[plan.run_id].env_steps))
        await service.start(again)
        await until(lambda: runs[again.run_id].state.is_end)
        assert runs[again.run_id].state is RunState.FINISHED
        saves = [climber.find_checkpoints(each.run_dir)[-1] for each in (plan, again)]
        assert saves[0].name == saves[1].name == runs[again.run_id].last_checkpoint
        assert saves[0].read_text() == saves[1].read_text(), "interrupted twice, and not at all"


@pytest.mark.usefixtures("climber")
def test_a_shell_trains_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ["--home", str(tmp_path / "home")]
    words = ["train", "--runner", "climber", "--task", "valley", "--total-env-steps", "300"]
    assert main([*words, "--stride", "0.05", *home]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["state"], found["env_steps"]) == ("finished", 300)
    assert main([*words, "--stride", "-1", *home]) == 2
    assert "stride" in json.loads(capsys.readouterr().out.splitlines()[-1])["error"]
