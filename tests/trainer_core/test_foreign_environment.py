"""A home that somebody else made may hold programs: none of them starts without consent."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from trainer_core.cli.main import main
from trainer_core.lab.paths import HomePaths
from trainer_core.play.league.contestant import Contestant
from trainer_core.runners.sb3.runner import SB3
from trainer_core.service.child import start_child
from trainer_core.service.preflight import run_checks
from trainer_core.wire.errors import LabError
from trainer_core.wire.spec import RunSpec


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that a foreign environment's interpreter would leave."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "home" / "envs" / "sb3"
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    python.write_text(f'#!/bin/sh\necho ran >{tmp_path}/ran\necho \'{{"python": "3.11"}}\'\n')
    python.chmod(0o755)
    (folder / "environment.json").write_text(json.dumps({"runner": "sb3", "made_by": "0" * 32}))
    return tmp_path / "ran"


async def _preflight(home: Path) -> list[str]:
    spec = RunSpec(task="tiny_goal", runner="sb3")
    paths = HomePaths(home)
    return [check.detail async for check in run_checks(spec, paths, SB3.at(paths))]


def starts(home: Path) -> dict[str, Callable[[], object]]:
    """Each way in which an interpreter of a home is started."""
    python = str(home / "envs" / "sb3" / "bin" / "python")
    return {
        "check": lambda: SB3.environment(HomePaths(home)).check(),
        "probe": lambda: SB3.environment(HomePaths(home)).probe(),
        "train or play": lambda: asyncio.run(start_child([python], cwd=home)),
        "league": lambda: Contestant(python, "m", home, mode="greedy", seed=1),
    }


@pytest.mark.parametrize("way", list(starts(Path())))
def test_no_way_starts_it(ran: Path, way: str) -> None:
    home = ran.parent / "home"
    with pytest.raises(LabError, match="dmglab runner install") as caught:
        starts(home)[way]()
    assert "of yours made it" in str(caught.value)
    assert not ran.exists()


def test_preflight_says_so_and_starts_nothing(ran: Path) -> None:
    said = asyncio.run(_preflight(ran.parent / "home"))
    assert any("of yours made it" in detail for detail in said), said
    assert not ran.exists()


def test_who_trusts_its_manifest_may_start_it(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ran.parent / "home"
    manifest = home / "envs" / "sb3" / "environment.json"
    assert main(["runner", "trust", str(manifest)]) == 0
    SB3.environment(HomePaths(home)).probe()
    assert ran.exists()
    os.unlink(ran)
    manifest.write_text(manifest.read_text() + " ")
    with pytest.raises(LabError, match="dmglab runner trust"):
        SB3.environment(HomePaths(home)).probe()
    assert not ran.exists()
