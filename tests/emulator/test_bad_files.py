"""Files from outside: whatever they hold, they are read or refused in one line, soon.

The long run is `python -m emulator.verify.fuzz_files`; for states that pass every check
`python -m emulator.verify.fuzz_states` (docs/notebook/robustness.md has their figures).
"""

from __future__ import annotations

import dataclasses
import errno
import io
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator import Cartridge, CartridgeError, Emulator, EmulatorError, Snapshot, SnapshotError
from emulator.rom.regular_file import replacing
from emulator.state.batch import CONSOLE_DTYPE
from emulator.state.console_check import RULES
from emulator.state.snapshot import MOST_ROW_BYTES, read_states, save_snapshots
from emulator.state.state_files import read_state
from emulator.tools.job_files import JobError, read_jobs
from emulator.tools.jobs import write_json
from emulator.verify import fuzz_files, fuzz_states

pytestmark = pytest.mark.warp
FIELDS = len(CONSOLE_DTYPE.names or ())


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, fuzz_files.Kind]:
    return fuzz_files.kinds(tmp_path_factory.mktemp("good"), np.random.default_rng(4))


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=st.sampled_from(["state", "set of states", "ROM", "jobs", "PyBoy state"]), seed=st.integers(0, 2**32 - 1))
def test_damaged_files_are_read_or_refused_in_one_line(
    kinds: dict[str, fuzz_files.Kind], tmp_path: Path, name: str, seed: int
) -> None:
    if name in kinds:  # PyBoy may not be installed
        data = kinds[name].damaged(np.random.default_rng(seed))
        fuzz_files.attempt(kinds[name], data, tmp_path / "tried")


@pytest.mark.usefixtures("warm")
def test_states_within_the_rules_stay_within_their_memory() -> None:
    assert fuzz_states.fuzz_states_in_child(100, 1).states == 100


def test_every_field_of_a_console_has_a_rule() -> None:
    assert set(RULES) == set(CONSOLE_DTYPE.names or ())


@pytest.fixture
def state(busy: Cartridge) -> Snapshot:
    emulator = Emulator(busy)
    emulator.run(None, 20)
    return emulator.snapshot()


OUTSIDE = {
    "ppu_front": 1000, "ppu_log_count": 5000, "ppu_undo_count": 1857, "ppu_draft_undo": 1856,
    "dma_done": 161, "now": 1 << 31, "apu_mark": 1 << 30, "ppu_origin": 1 << 29, "pc": 0x10000,
    "hi": 0x00010000, "launch_end": 1, "rtc_seconds": 64, "stop_time": 9, "ppu_sync": 1 << 20,
    "mapper": 4, "rom_banks": 3, "ram_size": 1 << 30, "ppu_vram_fast": 0xFFFFFFFF,
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), OUTSIDE.items())
def test_a_field_no_console_can_have_is_named(
    state: Snapshot, busy: Cartridge, tmp_path: Path, name: str, value: int
) -> None:
    state.console[name] = value
    state.save(tmp_path / "state.npz")
    with pytest.raises(SnapshotError, match=rf"state\.npz: state 0 is damaged \({name} is"):
        Snapshot.load(tmp_path / "state.npz")
    with pytest.raises(SnapshotError, match=f"state 0 does not fit its ROM: {name} is"):
        Emulator(busy).restore(state)


def test_a_bad_state_among_good_ones_is_told_by_its_number(state: Snapshot, busy: Cartridge) -> None:
    bad = dataclasses.replace(state, console=state.console.copy())
    bad.console["dma_done"] = 161
    short = dataclasses.replace(state, row=state.row[:-1])
    emulator = Emulator(busy)
    assert len(emulator.state_cache([state, state])) == 2
    with pytest.raises(SnapshotError, match="state 1 does not fit its ROM: dma_done is 161"):
        emulator.state_cache([state, bad, state])
    with pytest.raises(SnapshotError, match="state 2 does not fit its ROM: a memory row"):
        emulator.state_cache([state, state, short])


def npz(path: Path, state: Snapshot, **other: Any) -> Path:
    """The file of `state` with other arrays in it."""
    state.save(path)
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files} | other
    np.savez_compressed(path, **arrays)
    return path


CHANGES: dict[str, Callable[[Snapshot], dict[str, Any]]] = {
    "short row": lambda s: {"row": s.row[:-1]},
    "long row": lambda s: {"row": np.append(s.row, s.row)},
    "no row": lambda s: {"row": s.row[:0]},
    "row of floats": lambda s: {"row": s.row.astype(np.float32)},
    "wide row": lambda s: {"row": s.row.astype(np.uint16)},
    "three dimensions": lambda s: {"row": s.row[np.newaxis, np.newaxis]},
    "NaN": lambda s: {"console": np.full(FIELDS, np.nan)},
    "negative": lambda s: {"console": np.full(FIELDS, -1)},
    "beyond 32 bits": lambda s: {"console": np.full(FIELDS, 1 << 40)},
    "two consoles": lambda s: {"console": np.zeros((2, FIELDS), np.int64)},
    "no hash": lambda s: {"rom_sha256": np.array("x")},
    "no text": lambda s: {"rom_sha256": np.array([0x7FFFFFFF] * 64, np.uint32).view("<U64")[0:1]},
    "no text at all": lambda s: {"names": np.full((FIELDS, 8), 0x7FFFFFFF, np.uint32).view("<U8")[:, 0]},
    "no version": lambda s: {"layout_version": np.array([1, 2])},
}


@pytest.mark.parametrize("change", CHANGES)
def test_arrays_of_another_form_are_refused(state: Snapshot, busy: Cartridge, tmp_path: Path, change: str) -> None:
    path = npz(tmp_path / "state.npz", state, **CHANGES[change](state))
    with pytest.raises(SnapshotError, match=r"state\.npz: ") as raised:
        Emulator(busy).load_state(path)
    assert "\n" not in str(raised.value)


def declared(shape: str, more: bytes = b"") -> bytes:
    """An array in a file whose header says `shape`."""
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode() + more


@pytest.mark.parametrize(
    "row",
    [
        declared("(1 << 60,)"),
        declared(f"({10**18},)"),
        declared("(-5,)"),
        declared("(True,)"),
        declared(f"({1 << 30},)", bytes(1 << 20)),
        declared(f"({MOST_ROW_BYTES},)", bytes(100)),
    ],
)
def test_a_declared_size_allocates_nothing_much(state: Snapshot, tmp_path: Path, row: bytes) -> None:
    path = tmp_path / "state.npz"
    state.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (members | {"row.npy": row}).items():
            archive.writestr(name, data)
    tracemalloc.start()
    with pytest.raises(SnapshotError, match="row"):
        read_states(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 256 << 20


def test_a_bomb_is_not_unpacked(state: Snapshot, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    state.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, bytes(MOST_ROW_BYTES + 8192) if name == "row.npy" else data)
    path.write_bytes(out.getvalue())
    assert path.stat().st_size < 1 << 20
    with pytest.raises(SnapshotError, match=r"row: \d+ bytes, \d+ at most"):
        read_states(path)


@pytest.mark.parametrize("names", [list(map(str, range(65))), ["n" * 9000, "m" * 9000]])
def test_many_members_or_long_names_are_refused_before_they_are_read(names: list[str], tmp_path: Path) -> None:
    """Each alone: 65 short names make a small directory, two long ones a large one."""
    path = tmp_path / "state.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    with pytest.raises(SnapshotError, match=f"an archive of {len(names)} members"):
        read_states(path)


READERS: dict[str, Callable[[Path], Any]] = {
    "state": Snapshot.load,
    "ROM": Cartridge.from_file,
    "jobs": read_jobs,
    "PyBoy state": lambda path: read_state(path, None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", READERS)
def test_only_regular_files_are_opened(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")  # opening it for reading would wait for a writer
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 1 << 40)
    paths = [
        tmp_path / "fifo",
        Path("/dev/zero"),
        tmp_path,
        tmp_path / "nothing",
        tmp_path / ("x" * 300),
        tmp_path / "nul\0",
        tmp_path / "huge",
    ]
    for path in paths:
        with pytest.raises(EmulatorError, match="cannot read"):
            READERS[kind](path)


WRITERS: dict[str, Callable[[Path, Snapshot], None]] = {
    "state": lambda path, state: state.save(path),
    "set of states": lambda path, state: save_snapshots(path, [state]),
    "result": lambda path, state: write_json(path, {}),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_only_regular_files_are_replaced(kind: str, state: Snapshot, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "folder").mkdir()
    for name in ("fifo", "null", "folder"):
        with pytest.raises(OSError, match="not a regular file; name another one") as refused:
            WRITERS[kind](tmp_path / name, state)
        assert refused.value.filename == str(tmp_path / name)
    assert (tmp_path / "fifo").is_fifo()
    assert (tmp_path / "null").is_symlink()
    WRITERS[kind](tmp_path / "new", state)
    WRITERS[kind](tmp_path / "new", state)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "folder", "new", "null"]


def test_what_is_not_written_whole_leaves_the_file_before_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(OSError, match="No space"), replacing(path) as file:  # noqa: PT012
        file.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("file", b"before")]


def test_a_rom_that_lost_its_end_is_warned_of(busy: Cartridge) -> None:
    data = bytearray(busy.rom.tobytes())
    data[0x148] = 2
    data[0x14D] = -sum(byte + 1 for byte in data[0x134:0x14D]) & 0xFF
    cartridge = Cartridge.from_bytes(bytes(data), "cut.gb")
    assert cartridge.warnings == ("cut.gb: 32768 bytes, the header says 131072; the file may be cut off",)
    with pytest.raises(CartridgeError, match="8 MiB"):
        Cartridge.from_bytes(bytes(data) + bytes(8 << 20), "big.gb")


def test_a_deep_or_a_large_jobs_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    for text in ("[" * 50_000, "1" * 10_000, '{"jobs": ' + " " * (9 << 20) + "[]}"):
        path.write_text(text)
        with pytest.raises(JobError, match=r"jobs\.json"):
            read_jobs(path)
