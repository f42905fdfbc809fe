"""Launch shapes: the built-in table, the tuned file with everything that may be wrong in it."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import pytest

from emulator import Cartridge, Emulator, EmulatorError
from emulator.__main__ import main
from emulator.constants import MAX_BLOCK
from emulator.hot_code import piece_finder
from emulator.launch import launch_shapes
from emulator.launch.launch_shapes import CANDIDATES, Shape
from emulator.launch.warp_start import start_warp
from emulator.tools.tune_shapes import Course, climb, tune

GPU = "NVIDIA Test"
ONE = launch_shapes.SERVED
TUNED = {1024: ONE._replace(lanes=2), 16384: ONE._replace(lanes=16, running=8)}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own; returns the table's path in it."""
    start_warp()  # which keeps its kernels where it started: they are not compiled anew
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    launch_shapes._tuned.cache_clear()
    return launch_shapes.table_path()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warp as on a host with a GPU of that name."""
    monkeypatch.setattr(launch_shapes, "gpu_name", lambda device: GPU)


def test_every_built_in_shape_is_one_that_tune_may_reach() -> None:
    for shape in [*(shape for _, shape in launch_shapes.BUILT_IN), launch_shapes.BUILT_IN_LARGEST]:
        assert all(value in CANDIDATES[name] for name, value in shape._asdict().items())
    assert set(CANDIDATES) == set(Shape._fields)
    for name, values in CANDIDATES.items():
        assert list(values) == sorted(set(values)), name
        least = int(name not in ("serving", "tail"))
        assert values[0] >= least, f"a launch with {name} 0 would never end"
    largest = Shape(*(values[-1] for values in CANDIDATES.values()))
    assert largest.block <= MAX_BLOCK, "tune may reach no block that the kernel cannot have"


def test_hot_code_takes_over_more_consoles_where_there_is_a_tail() -> None:
    for tail in (1, launch_shapes.HOT_TAIL, launch_shapes.HOT_TAIL + 1):
        with_tail = launch_shapes.SERVED._replace(tail=tail)
        for fetches_much in (False, True):
            changed = launch_shapes.with_hot_code(with_tail, 4096, fetches_much)
            assert changed == with_tail._replace(tail=max(tail, launch_shapes.HOT_TAIL))
    assert launch_shapes.with_hot_code(launch_shapes.SERVED, 4096, True) == launch_shapes.SERVED


def test_hot_code_that_is_mostly_fetched_runs_the_tail_of_a_thousand_only() -> None:
    ten = (0,) * 10
    many: list[tuple[int, ...]] = [ten] * -(-piece_finder.MANY_INSTRUCTIONS // len(ten))
    assert piece_finder.HotCode(many, piece_finder.OFTEN).fetches_much
    assert not piece_finder.HotCode(many[:-1], piece_finder.OFTEN).fetches_much
    assert not piece_finder.HotCode(many, 0.99 * piece_finder.OFTEN).fetches_much
    most = launch_shapes.MANY_ALONE
    chosen = [launch_shapes.with_hot_code(launch_shapes.ALONE, n, True) for n in (256, most, most + 1)]
    assert chosen == [launch_shapes.ALONE, launch_shapes.ALONE, launch_shapes.TWO_PHASES]
    assert launch_shapes.with_hot_code(launch_shapes.ALONE, most + 1) == launch_shapes.ALONE
    assert launch_shapes.built_in(most + 1) == launch_shapes.ALONE, "else the rule above is never asked"
    assert not launch_shapes.impossible(launch_shapes.TWO_PHASES)


@pytest.mark.usefixtures("gpu")
def test_without_a_table_the_built_in_shape_is_used() -> None:
    most, shape = launch_shapes.BUILT_IN[0]
    assert launch_shapes.find_shape(most, "cuda:0") == shape
    assert launch_shapes.find_shape(most + 1, "cuda:0") == launch_shapes.BUILT_IN[1][1]
    assert launch_shapes.find_shape(1 << 17, "cuda:0") == launch_shapes.BUILT_IN_LARGEST


@pytest.mark.usefixtures("gpu")
def test_the_nearest_measured_batch_size_gives_the_shape(own_cache: Path) -> None:
    assert launch_shapes.store(GPU, TUNED) == own_cache
    found = [launch_shapes.find_shape(n, "cuda:0") for n in (1, 4095, 4097, 1 << 17)]
    assert found == [TUNED[1024], TUNED[1024], TUNED[16384], TUNED[16384]]


def test_storing_replaces_only_the_entry_of_this_device_and_these_kernels(own_cache: Path) -> None:
    launch_shapes.store("other", TUNED)
    launch_shapes.store(GPU, {1: ONE})
    older = json.loads(own_cache.read_text())
    older["entries"].append({"device": GPU, "kernels": "older", "shapes": "of another form"})
    own_cache.write_text(json.dumps(older))
    launch_shapes.store(GPU, TUNED)
    kept = json.loads(own_cache.read_text())["entries"]
    assert [(e["device"], e["kernels"] == "older") for e in kept] == [("other", False), (GPU, True), (GPU, False)]
    assert launch_shapes.tuned_table(GPU) == TUNED


ROW = {"num_envs": 64} | ONE._asdict()


def table(**changes: object) -> str:
    row = {name: value for name, value in (ROW | changes).items() if value is not None}
    entry = {"device": GPU, "kernels": launch_shapes.kernel_version(), "shapes": [row]}
    return json.dumps({"format": launch_shapes.FORMAT, "entries": [entry]})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        "null",
        '{"format": 1}',
        '{"format": 2, "entries": []}',
        '{"format": 1, "entries": [3]}',
        '{"format": 1, "entries": [{}]}',
        table(lanes=3),
        table(lanes="8"),
        table(running=True),
        table(serving=None),
        table(warps=1),
        table(num_envs=0),
        table(num_envs=None),
        "\x00\xff",
        json.dumps({"format": 1, "entries": [{"device": GPU, "kernels": "x", "shapes": []}]}),
    ],
)
@pytest.mark.usefixtures("gpu")
def test_a_table_that_cannot_be_used_is_one_warning(text: str, own_cache: Path) -> None:
    own_cache.parent.mkdir(parents=True)
    own_cache.write_bytes(text.encode("latin-1"))
    with pytest.warns(RuntimeWarning, match="emulator tune") as caught:
        found = [launch_shapes.find_shape(64, "cuda:0") for _ in range(3)]
    assert len(caught) == 1
    assert found == [launch_shapes.built_in(64)] * 3
    launch_shapes.store(GPU, TUNED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert launch_shapes.tuned_table(GPU) == TUNED, "tune repairs what it found"


def test_the_good_row_of_the_table_above_is_read(own_cache: Path) -> None:
    own_cache.parent.mkdir(parents=True)
    own_cache.write_text(table())
    assert launch_shapes.tuned_table(GPU) == {64: ONE}


def test_the_climb_finds_the_best_shape_and_measures_few() -> None:
    best = Shape(*(values[-2] for values in CANDIDATES.values()))
    asked = []

    def measure(shape: Shape) -> float:
        asked.append(shape)
        away = (
            abs(CANDIDATES[name].index(value) - CANDIDATES[name].index(wanted))
            for (name, value), wanted in zip(shape._asdict().items(), best, strict=True)
        )
        return 1.0 + sum(away)

    assert climb(ONE, measure) == best
    assert len(set(asked)) <= sum(len(values) for values in CANDIDATES.values()) + 5


@pytest.mark.warp
def test_on_a_cpu_there_is_nothing_to_tune(
    busy: Cartridge, tmp_path: Path, own_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rom = tmp_path / "busy.gb"
    rom.write_bytes(busy.rom.tobytes())
    assert main(["tune", "--rom", str(rom), "--device", "cpu"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["ok"], record["shapes"], record["stored"]) == (True, [], "")
    assert "nothing to tune" in record["note"]
    assert not own_cache.exists()


@pytest.mark.warp
def test_every_measurement_runs_the_same_frames(device: str, busy: Cartridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.tools.tune_shapes.GIVE_UP", math.inf)  # a busy host cuts nothing short
    course = Course(busy, device, 2, 3, 2)
    hashes = []
    for shape in (ONE, launch_shapes.BUILT_IN_LARGEST):
        assert course.seconds(shape) > 0
        hashes.append(course.emulator.state_hash())
    assert hashes[0] == hashes[1]


@pytest.mark.warp
@pytest.mark.usefixtures("gpu")
def test_tune_measures_stores_and_says_so_when_it_cannot(busy: Cartridge, own_cache: Path) -> None:
    """The whole of it, on whatever device: the shapes' times mean nothing here."""
    record = tune([busy, busy], "cpu", [2, 4], frames=2, launches=1)
    assert record["stored"] == str(own_cache)
    chosen = {row["num_envs"]: Shape(**row["shape"]) for row in record["shapes"]}
    assert launch_shapes.tuned_table(GPU) == chosen
    for row in record["shapes"]:
        assert row["measured"][0]["frames_per_sec"] >= row["frames_per_sec"] > 0
        assert row["gain_over_built_in"] > 0
    own_cache.unlink()
    assert tune([busy], "cpu", [2], frames=2, launches=1, keep=False)["stored"] == ""
    own_cache.mkdir()
    refused = tune([busy], "cpu", [2], frames=2, launches=1)
    assert (refused["stored"], len(refused["shapes"])) == ("", 1)
    assert refused["note"].startswith("not stored")


@pytest.mark.cuda
@pytest.mark.warp
def test_a_tuned_shape_is_used_and_changes_no_state(busy: Cartridge) -> None:
    if not launch_shapes.wp.is_cuda_available():
        pytest.skip("no CUDA device")
    plain = Emulator(busy, 64, "cuda:0", shape=ONE)
    record = tune([busy], "cuda:0", [64], frames=4, launches=1)
    tuned = Emulator(busy, 64, "cuda:0")
    for emulator in (plain, tuned):
        emulator.run(None, 30)
    assert tuned.shape == Shape(**record["shapes"][0]["shape"])
    assert plain.state_hash() == tuned.state_hash()


@pytest.mark.warp
@pytest.mark.parametrize(
    "change",
    [
        {"lanes": 33},
        {"running": 0},
        {"serving": 0, "lanes": 2},
        {"serving": 0, "running": 9},
        {"serving": 9},
        {"running": 17},
    ],
)
def test_a_shape_that_would_never_end_is_refused(busy: Cartridge, change: dict[str, int]) -> None:
    with pytest.raises(EmulatorError, match="shape: "):
        Emulator(busy, 2, "cpu", shape=ONE._replace(**change))
