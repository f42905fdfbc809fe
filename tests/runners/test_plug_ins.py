"""Runners of other distributions: found by their entry points, never a crash of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.imports import CHECKOUT
from trainer_core.runners import catalog

GOOD = """
print("a plug-in greets on standard output")
from trainer_core.runners.base import AgentRunner
from dataclasses import dataclass

@dataclass(frozen=True)
class Options:
    algo: str = "toying"

class Toy(AgentRunner):
    def command(self, run_dir):
        return [self.interpreter, "-c", "pass", str(run_dir)]

    def play(self, player_dir):
        raise NotImplementedError

TOY = Toy(id="toy", title="Toy", summary="Toys.", algorithms=("toying",), config_type=Options)
FORMLESS = Toy(id="formless", title="", summary="", algorithms=("toying",), config_type=dict)
AIMLESS = Toy(id="aimless", title="", summary="", algorithms=(), config_type=Options)
"""
MODULES = {
    "good_toy": GOOD,
    "snaps": "raise ValueError('two\\nlines \\x1b[31m and ' + 900 * 'many letters ')",
    "leaves": "raise SystemExit(3)",
    "other": "THING = 5",
}
POINTS = {
    "toy": "good_toy:TOY",
    "snapped": "snaps:RUNNER",
    "left": "leaves:RUNNER",
    "gone": "not_there:RUNNER",
    "number": "other:THING",
    "nameless": "good_toy:NOTHING",
    "alias": "good_toy:TOY",
    "sb3": "good_toy:TOY",
    "odd": "!:",
    "formless": "good_toy:FORMLESS",
    "aimless": "good_toy:AIMLESS",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed distributions: one with all the plug-ins, one of an older DMG Lab."""
    site = tmp_path_factory.mktemp("site")
    for name, source in MODULES.items():
        (site / f"{name}.py").write_text(source)
    add_distribution(site, "toys", POINTS)
    add_distribution(site, "dmglab", {"removed": "trainer_core.runners.removed:REMOVED"})
    return site


def add_distribution(site: Path, name: str, points: dict[str, str]) -> None:
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{point} = {value}" for point, value in points.items()]
    (folder / "entry_points.txt").write_text("\n".join(["[dmglab.runners]", *lines, ""]))


def dmglab(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trainer_core.cli.main", *words],
        cwd=CHECKOUT,
        text=True,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(site)},
    )


def test_a_plug_in_is_listed_and_each_broken_one_is_a_line(site: Path, tmp_path: Path) -> None:
    done = dmglab(site, "runner", "list", "--home", str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["id"] for row in found["runners"]] == [*catalog.OURS, "toy"]
    broken = found["broken"]
    assert set(broken) == set(POINTS) - {"toy"}
    for name, line in broken.items():
        assert line.startswith(f"runner {name} of toys cannot be used: ")
        assert line.isprintable()
        assert len(line) < 300
    assert "ModuleNotFoundError: No module named 'not_there'" in broken["gone"]
    assert "good_toy:TOY" not in broken["alias"]
    assert "called 'alias', its id is 'toy'" in broken["alias"]
    assert "another runner of that name" in broken["sb3"]
    assert "other:THING is no AgentRunner" in broken["number"]


def test_asking_for_a_broken_one_says_why(site: Path, tmp_path: Path) -> None:
    done = dmglab(site, "train", "--runner", "left", "--home", str(tmp_path))
    assert done.returncode == 2
    said = json.loads(done.stdout)["error"]
    assert said.startswith("runner left of toys cannot be used: SystemExit: 3")
    assert "Traceback" not in done.stderr


def test_ours_are_registered_as_the_catalogue_has_them() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"][catalog.GROUP] == catalog.OURS
    assert [runner.id for runner in catalog.registered_runners()][: len(catalog.OURS)] == [*catalog.OURS]


def test_listing_the_runners_loads_their_descriptions_alone() -> None:
    """Who opens a window loads no data set, no rules of a game, no engine of a guest."""
    code = """
import os, sys
os.environ["DMGLAB_HOME"] = "/nowhere"
import trainer_core.runners.catalog as catalog
before = sorted(name for name in sys.modules if name.startswith("trainer_core.runners."))
catalog.registered_runners()
after = sorted(name for name in sys.modules if name.startswith("trainer_core.runners."))
print(before); print([name for name in after if name.count(".") > 2])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    before, modules = map(eval, done.stdout.splitlines())
    assert before == [f"trainer_core.runners.{name}" for name in ("base", "catalog", "native")]
    guests = [value.partition(":")[0] for value in catalog.OURS.values() if ".runner:" in value]
    shared = [f"trainer_core.runners.guest.{name}" for name in ("checkout", "config", "runner")]
    assert modules == sorted([*guests, *shared])
