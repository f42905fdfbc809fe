"""Exploring from a start alone: cells, their ways, the archive's resume, and tasks made of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from trainer_core.cli.main import main
from trainer_core.host.control import Control
from trainer_core.host.run import Host
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.tasks import find_task
from trainer_core.runners.explore.archive import Archive
from trainer_core.runners.explore.explorer import Explorer
from trainer_core.runners.explore.runner import RUNNER_ID, ExploreConfig, check_cells
from trainer_core.runners.explore.ways import Found, play
from trainer_core.runners.explore.words import MOST_VIEWS, Views, layouts
from trainer_core.runners.explore.worker import make_trainee, open_explorer
from trainer_core.runs.life import RunLife
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

CPU = torch.device("cpu")
CONFIG = ExploreConfig(task="pocket_quest/leave_bedroom", num_envs=32, cells=64, branch_steps=8, log_every=1)


def pictures(*shades: int) -> torch.Tensor:
    """Return u8[N, 72, 80], grey pictures with a border that depends on the shade."""
    return torch.stack([torch.full((72, 80), shade, dtype=torch.uint8) for shade in shades])


def enter(archive: Archive, *shades: int, parents: tuple[int, ...]) -> list[int]:
    seen = pictures(*shades)
    trail = archive.trail(torch.tensor(parents), seen)
    return archive.add(seen, trail, 1).tolist()


def test_a_new_picture_is_a_cell_once() -> None:
    archive = Archive(8, 4, CPU)
    archive.begin(pictures(0))
    assert enter(archive, 1, 1, 0, 2, parents=(0, 0, 0, 0)) == [1, -1, -1, 2]
    assert enter(archive, 1, 3, parents=(2, 2)) == [-1, 3]
    assert archive.cells["depth"][:4].tolist() == [0, 1, 1, 2]
    assert archive.seen[archive.cells["entry"][1]] == 3


def test_what_promises_least_is_dropped_and_no_way_is_cut() -> None:
    archive = Archive(4, 4, CPU)
    archive.begin(pictures(0))
    enter(archive, 1, parents=(0,))
    enter(archive, 2, 3, parents=(1, 0))
    for _ in range(5):
        enter(archive, 3, parents=(0,))
    assert archive.make_room(1) == 1
    assert archive.alive[:4].tolist() == [True, True, True, False]  # 1 leads to 2, 3 was seen often
    assert enter(archive, 3, parents=(0,)) == [-1]  # it stays known


def test_rooms_stay_apart_and_scrolling_joins_views() -> None:
    views = Views(CPU)
    few, many = torch.tensor([0, 1]), torch.tensor([2, 3])
    views.links[torch.arange(4), torch.arange(4)] = 1000
    views.link(few.repeat(4), few.flip(0).repeat(4), torch.full((8,), 0.5))
    views.link(many.repeat(50), many.flip(0).repeat(50), torch.full((100,), 0.95))
    views.find_scenes()
    assert views.scene[:4].tolist() == [0, 1, 2, 2]
    assert views.scenes_of(torch.tensor([0b1010])).tolist() == [0b0110]
    assert len(views.scene) == MOST_VIEWS


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    explorer = open_explorer(CONFIG, HomePaths(tmp_path_factory.mktemp("home")), CPU)
    explorer.begin()
    for _ in range(8):
        explorer.round()
    yield explorer
    explorer.close()


def test_every_way_leads_to_its_cell_again(explorer: Explorer, tmp_path: Path) -> None:
    archive, ways = explorer.archive, Found(CONFIG, HomePaths(tmp_path), explorer.archive.state_dict())
    cells = archive.alive.nonzero().flatten().tolist()[-explorer.num_envs :]
    assert len(cells) > 16
    last = play(explorer, [ways.way(cell) for cell in cells]).last
    found = archive.keys[archive.cells["entry"][cells]]
    at_goal = archive.cells["goal"][cells] > 0
    assert torch.equal(layouts(last)[~at_goal], found[~at_goal])


def test_a_restored_archive_goes_on_as_the_first(explorer: Explorer, tmp_path: Path) -> None:
    other = open_explorer(CONFIG, HomePaths(tmp_path), CPU)
    other.load_state_dict(explorer.state_dict())
    for one in (explorer, other):
        one.round()
        one.round()
    assert explorer.dropped > 0, "the archive was to be full"
    assert other.state_dict()["archive"].keys() == explorer.state_dict()["archive"].keys()
    for name, value in explorer.state_dict()["archive"].items():
        again = other.state_dict()["archive"][name]
        assert torch.equal(value, again) if isinstance(value, torch.Tensor) else value == again, name
    other.close()


@pytest.mark.parametrize("source", [CONFIG.task, str(ASSETS / "games/pocket_quest/pocket_quest.gb")])
def test_a_run_becomes_a_task_with_the_way_as_its_demonstration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    home = HomePaths(tmp_path)
    spec = RunSpec.of(dataclasses.replace(CONFIG, task=source, total_env_steps=1000), RUNNER_ID)
    life = RunLife.begin(home, "r", spec, algo="explore")
    writer = RunWriter(life.paths)
    host = Host(spec, life.paths, writer, Control(), make_trainee, home=home)
    assert host.run().state is RunState.FINISHED
    writer.close()
    life.end(RunState.FINISHED, "")
    assert not check_log(life.paths.train_log).errors
    assert main(["task", "from-archive", "r", "--goal", "deepest", "--id", "found/far", "--home", str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert 1 <= told["way_kept"] <= told["way_found"]
    assert find_task("found/far", home).manifest.demo is not None
    assert main(["explore", "sheet", "r", "--out", str(tmp_path / "a.png"), "--home", str(tmp_path)]) == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--start", "99"), "the starts 0 to 79"),
        (("--start", "no.npz"), "no such file"),
        (("--rom", "no.gb"), "no such ROM file"),
        (("--rom", "no.gb", "--task", "pocket_quest/deliver"), "give one of them"),
        (("--cells", "4000000"), "use cells="),
    ],
)
def test_bad_input_is_one_line_before_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert main(["explore", *words, "--home", str(tmp_path)]) != 0
    assert said in capsys.readouterr().out
    assert not list(tmp_path.glob("training/runs/*"))


def test_too_little_memory_names_what_fits() -> None:
    check = check_cells(ExploreConfig(cells=100_000), 4 << 30)
    assert check.status == "fail"
    assert check_cells(ExploreConfig(cells=check.remedy["cells"]), 4 << 30).status == "ok"
