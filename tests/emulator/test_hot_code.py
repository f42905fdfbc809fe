"""The hot pieces of a ROM: found in a trace, kept in a file, and what becomes of a bad file."""

from __future__ import annotations

import contextlib
import errno
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from emulator import Cartridge, Emulator
from emulator.__main__ import main, parser
from emulator.hot_code import adopt, background_search, piece_finder, search
from emulator.hot_code.adopt import RomCode
from emulator.hot_code.background_search import search_arguments
from emulator.kernels.sm83.ptx_threaded_code import own_numbers
from emulator.rom import control_rows
from emulator.tools.warmup import blank_rom

CODE = {
    0x100: "18 4e",  # jr 0150
    0x150: "3e 05",  # ld a, 5
    0x152: "3d",  # dec a
    0x153: "20 fd",  # jr nz, 0152
    0x155: "cd 00 02",  # call 0200
    0x158: "76",  # halt
    0x159: "18 f5",  # jr 0150
    0x200: "04",  # inc b
    0x201: "18 00",  # jr 0203
    0x203: "c9",  # ret
}
PIECES = {(0x100,), (0x150,), (0x152, 0x153, 0x155), (0x200, 0x201, 0x203)}


def program() -> Cartridge:
    rom = bytearray(blank_rom())
    for at, code in CODE.items():
        rom[at : at + len(bytes.fromhex(code))] = bytes.fromhex(code)
    return Cartridge.from_bytes(bytes(rom), "program")


def decoded(cartridge: Cartridge) -> tuple[np.ndarray, np.ndarray]:
    words = control_rows.predecode(cartridge.rom, ends=True)
    return words, own_numbers(words) != 0


@pytest.mark.warp
def test_pieces_begin_where_control_arrives_and_end_at_jumps() -> None:
    cartridge = program()
    words, plain = decoded(cartridge)
    emulator = Emulator(cartridge, 2, "cpu", executor="uniform", idle_skip=False)
    counted = emulator.count_places().numpy()  # the same memory on a CPU
    counts = piece_finder.Counts(*counted)
    emulator.run(frames=1)
    executed = [int(counts.executed[at]) for at in (0x150, 0x152, 0x153, 0x201, 0x158)]
    assert executed == [2, 10, 10, 2, 2]
    assert counts.arrived[0x152] == 8  # and twice from the instruction in front
    found = piece_finder.pieces(counts, words, plain)
    assert set(found) == PIECES
    for on_gpu in (True, False):
        assert set(search.find_pieces(cartridge, on_gpu)) == PIECES
    assert found[0] == (0x152, 0x153, 0x155)
    assert all(piece_finder.is_piece(places, words, plain) for places in found)
    for wrong in [(), (0x153, 0x152), (0x159, 0x15B), (0x158,), (-1,), (0x152, 0x155), (0.5,)]:
        assert not piece_finder.is_piece(wrong, words, plain), wrong
    assert plain[:2].all()
    assert piece_finder.is_piece((0, 1), words, plain), "a ROM begins at 0"


def test_a_file_that_does_not_fit_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cartridge = program()
    assert background_search.load_pieces(cartridge, True) is None
    path = background_search.store_pieces(cartridge, sorted(PIECES), True)
    assert path.is_relative_to(tmp_path)
    assert len(list(path.parent.iterdir())) == 1
    assert background_search.load_pieces(cartridge, True) == sorted(PIECES)
    assert background_search.load_pieces(cartridge, False) is None
    good = json.loads(path.read_text())
    changes = (
        {"rom": "0" * 64},
        {"format": 1},
        {"pieces": [[0x150, 0x155]]},
        {"pieces": [[0x150], [0x150]]},
        {"pieces": 3},
        {"pieces": [["x"]]},
        {"pieces": [[10**400]]},
        {"pieces": [[]]},
    )
    for content in [*(json.dumps(good | change) for change in changes), "{", "[]", "", "[" * 100_000]:
        path.write_text(content)
        assert background_search.load_pieces(cartridge, True) is None, content
    path.write_bytes(b"\xff\xfe")
    assert background_search.load_pieces(cartridge, True) is None


def test_a_full_disk_leaves_no_part_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(background_search.json, "dumps", full)
    with pytest.raises(OSError, match="No space left"):
        background_search.store_pieces(program(), [], False)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_search_gets_the_rom_and_leaves_no_copy_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, places = tmp_path / "found", tmp_path / "temporary"
    places.mkdir()
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nuntil [ "$1" = --rom ]; do shift; done\ncat "$2" >"{found}"\n')
    python.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(places))
    monkeypatch.setattr(sys, "executable", str(python))
    found_by = background_search.Search([program()], "cpu")
    assert not list(places.iterdir())
    assert found_by._process.wait(30) == 0
    assert (found_by.ended(), found_by.failure()) == (True, "")
    assert found.read_bytes() == program().rom.tobytes()


@pytest.mark.parametrize(
    ("script", "stages", "failure"),
    [
        ("""echo '{"pieces": [3], "compile_s": 1}'; echo noise; printf '{"pieces"'""", [[3]], ""),
        (
            """echo '{"pieces": [3]}'; echo 'Exception: no compiler'; exit 1""",
            [[3]],
            "ended with 1: Exception: no compiler",
        ),
        ("exit 3", [], "ended with 3: no word"),
    ],
)
def test_a_search_says_its_stages_and_why_it_failed(
    script: str, stages: list[list[int]], failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    found_by = background_search.Search([program()], "cpu")
    found_by._process.wait(30)
    assert found_by.stages() == stages
    assert failure in found_by.failure()
    assert bool(found_by.failure()) == bool(failure)


@pytest.mark.warp
def test_without_room_for_a_search_a_batch_runs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise FileNotFoundError("No usable temporary directory")

    monkeypatch.setattr(background_search, "Search", full)
    emulator = Emulator(program(), 2, "cpu", hot_code=True)
    with pytest.warns(RuntimeWarning, match="without hot code.*No usable temporary directory"):
        run_until_found(emulator)


def test_the_command_line_takes_what_a_search_says(tmp_path: Path) -> None:
    said = background_search.search_arguments([tmp_path / "a", tmp_path / "b"], "cuda:1")
    taken = parser().parse_args(said)
    assert taken.device == "cuda:1"
    assert taken.rom == [tmp_path / "a", tmp_path / "b"]


def test_a_search_ends_with_a_process_that_was_killed() -> None:
    """Its own parent cannot tell it."""
    code = (
        "import subprocess, sys\n"
        "child = 'import os, time; from emulator.hot_code.background_search import end_with; "
        "end_with(os.getppid()); print(os.getpid(), flush=True); time.sleep(60)'\n"
        "subprocess.Popen([sys.executable, '-c', child], stdout=1)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline()
        began = time.monotonic()
        owner.kill()
        assert owner.stdout.read() == "", "its other end is closed by the last process that has it"
        assert time.monotonic() - began < 30


class Told:
    """A search of another process that has ended, with what it said."""

    def __init__(self, stages: list[list[int]], failure: str = "") -> None:
        self._stages, self._failure = stages, failure

    def ended(self) -> bool:
        return True

    def stages(self) -> list[list[int]]:
        return self._stages

    def failure(self) -> str:
        return self._failure


def compiled_before(roms: object, pieces: Any, native: bool, hooked: object = ()) -> adopt.Prepared:
    """Code of pieces whose table is the pieces themselves."""
    kernel: Any = SimpleNamespace(module=None)
    return adopt.Prepared(kernel, pieces)


def test_the_hottest_pieces_of_all_roms_are_compiled_first_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[tuple[str, int]] = []
    monkeypatch.setattr(search, "known_pieces", lambda cartridge, on_gpu: [(at,) for at in range(250)])
    monkeypatch.setattr(search, "prepared", compiled_before)
    monkeypatch.setattr(search, "fill_cache", lambda module, device, block: compiled.append((device, block)))
    monkeypatch.setattr(search.wp, "get_device", lambda name: SimpleNamespace(is_cuda=name == "cuda:0"))
    for device, stages in (("cuda:0", [[50, 50], [250, 250]]), ("cpu", [[250, 250]])):
        assert [record["pieces"] for record in search.compile_hot_code([program()] * 2, device)] == stages
    assert compiled == [("cuda:0", 64), ("cuda:0", 64), ("cpu", 1)]


def adopt_all(code: RomCode) -> None:
    """Call `adopt_found` as launches do until the search is over."""
    until = time.monotonic() + 30
    while code.is_searching and time.monotonic() < until:
        code.adopt_found()
    assert not code.is_searching


@pytest.mark.parametrize("failure", ["", "the search ended with 1: no room"])
def test_code_is_adopted_stage_by_stage_as_it_is_compiled(
    failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cartridge = program()
    used: list[int] = []
    stages = [[2], [len(PIECES)]]
    told = Told(stages[:1], failure)
    monkeypatch.setattr(adopt, "shared_search", lambda *_: told)
    monkeypatch.setattr(adopt, "prepared", compiled_before)
    monkeypatch.setattr(adopt, "is_cached", lambda module, device, block: (device, block) == ("cuda:0", 64))
    code = RomCode([cartridge], "cuda:0")

    def use(found: adopt.Prepared) -> None:
        used.append(len(found.table[0]))
        told._stages = stages

    monkeypatch.setattr(code, "_use", use)
    code.search(3600)
    until = time.monotonic() + 30
    while code._preparing and time.monotonic() < until:
        assert not code.adopt_found()
    background_search.store_pieces(cartridge, sorted(PIECES), on_gpu=True)
    code._begin = 0.0
    adopt_all(code)
    assert used == [2, len(PIECES)]
    assert [failure in str(one.message) for one in recwarn] == [True] * bool(failure)
    again = RomCode([cartridge], "cuda:0")
    monkeypatch.setattr(again, "_use", use)
    again.search(3600)
    adopt_all(again)
    assert used == [2, len(PIECES), len(PIECES)], "what the caches hold waits for no search"


def test_a_damaged_cache_is_told_once_and_launches_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    background_search.store_pieces(program(), sorted(PIECES), on_gpu=True)
    monkeypatch.setattr(adopt, "prepared", compiled_before)
    monkeypatch.setattr(adopt, "is_cached", lambda *_: True)
    code = RomCode([program()], "cuda:0")

    def damaged(found: object) -> None:
        raise RuntimeError("Failed to load CUDA module")

    monkeypatch.setattr(code, "_use", damaged)
    code.search(3600)
    with pytest.warns(RuntimeWarning, match="without hot code.*Failed to load CUDA module; delete ") as caught:
        adopt_all(code)
    assert len(caught) == 1
    assert code.hot is None


@pytest.mark.slow
@pytest.mark.warp
def test_a_batch_goes_over_to_hot_code_without_a_difference(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device == "cpu":
        pytest.skip("the test below, without a process")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    game = Path("assets/games/pocket_quest/pocket_quest.gb")
    cartridge = Cartridge.from_file(game)
    hot = Emulator(cartridge, 8, device, hot_code=True)
    plain = Emulator(cartridge, 8, device)
    for emulator in (hot, plain):
        emulator.wait_for_kernels()
    random = np.random.default_rng(2)
    until = time.monotonic() + 240
    while hot._frames.code.is_searching and time.monotonic() < until:
        buttons = random.integers(0, 256, 8).astype(np.uint8)
        for emulator in (hot, plain):
            emulator.run(buttons, 24, 8)
        time.sleep(0.2)
    code = hot._frames.code
    assert code.hot is not None, "no hot code was found"
    assert not code.is_searching
    for emulator in (hot, plain):
        emulator.run(np.full(8, 1, np.uint8), 240, 8)
    assert hot.state_hash() == plain.state_hash()
    assert np.array_equal(hot.work(), plain.work())


def run_until_found(emulator: Emulator) -> None:
    """Run frames until the search for hot code has ended."""
    until = time.monotonic() + 60
    while emulator._frames.code.is_searching and time.monotonic() < until:
        emulator.run(np.ones(emulator.num_envs, np.uint8), 24, 8)
    assert not emulator._frames.code.is_searching


@pytest.mark.warp
@pytest.mark.parametrize("went_well", [True, False])
def test_a_cpu_goes_over_to_what_a_search_left(
    went_well: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """The search runs here: as a process of low priority it may take minutes on a busy computer."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cartridge = program()
    file = tmp_path / "program.gb"
    file.write_bytes(cartridge.rom.tobytes())

    def done(*what: object) -> Told:
        assert main(search_arguments([file], "cpu")) == 0
        return Told([[len(PIECES)]] if went_well else [], "" if went_well else "the search ended with 1")

    monkeypatch.setattr(background_search, "Search", done)
    plain, *shards = (Emulator(cartridge, 2, hot_code=on) for on in (False, True, True))
    with contextlib.nullcontext() if went_well else pytest.warns(RuntimeWarning, match="without hot code"):
        for hot in shards:
            run_until_found(hot)
            hot.reset()
    for _ in range(2):
        for emulator in (plain, *shards):
            emulator.run(np.ones(2, np.uint8), 24, 8)
        for hot in shards:
            assert hot.state_hash() == plain.state_hash()
            assert np.array_equal(hot.work(), plain.work())
    assert [json.loads(line)["pieces"] for line in capsys.readouterr().out.splitlines()] == [[len(PIECES)]] * 2
    for hot in shards:
        assert (hot._frames.code.cpu_hot is not None) == went_well
