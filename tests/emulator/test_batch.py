"""Facts about whole batches: resets, snapshots, launches, batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp

from emulator import Cartridge, Emulator, EmulatorError, Snapshot, SnapshotError
from emulator.state.batch import CONSOLE_DTYPE, LAYOUT_VERSION, layout_version
from emulator.state.snapshot import load_snapshots, save_snapshots

pytestmark = pytest.mark.warp

START = 0x80
STEP_BUTTONS = [0x01, 0x80, 0x10, 0x00, 0x22]


def test_24_frames_at_once_equal_24_single_frames(device: str, busy: Cartridge) -> None:
    whole, cut = Emulator(busy, 1, device), Emulator(busy, 1, device)
    for buttons in STEP_BUTTONS:
        held = np.array([buttons], np.uint8)
        whole.run(held, 24)
        for _ in range(24):
            cut.run(held, 1)
        assert whole.state_hash() == cut.state_hash()
        assert np.array_equal(whole.screens.numpy(), cut.screens.numpy())


def test_releasing_buttons_equals_a_second_launch_without_them(device: str, busy: Cartridge) -> None:
    one, two = Emulator(busy, 1, device), Emulator(busy, 1, device)
    for buttons in STEP_BUTTONS:
        held = np.array([buttons], np.uint8)
        one.run(held, 24, release_after=8)
        two.run(held, 8)
        two.run(None, 16)
        assert one.state_hash() == two.state_hash()


def test_idle_skipping_changes_nothing_but_the_work(device: str, busy: Cartridge) -> None:
    fast = Emulator(busy, 2, device, idle_skip=True)
    slow = Emulator(busy, 2, device, idle_skip=False)
    for buttons in STEP_BUTTONS:
        held = np.array([buttons, 0], np.uint8)
        fast.run(held, 24)
        slow.run(held, 24)
        assert fast.state_hash() == slow.state_hash()
    assert fast.work()[0] < slow.work()[0]


def test_a_console_does_not_depend_on_its_batch(device: str, busy: Cartridge, micro_roms: dict) -> None:
    other = Cartridge.from_bytes(micro_roms["mbc5"].image, "mbc5")
    batch = Emulator([busy, other], 70, device, rom_of_env=[0] * 35 + [1] * 35)
    buttons = (np.arange(70) % 7 * 37).astype(np.uint8)
    batch.run(buttons, 30, release_after=8)
    screens, hashes = batch.screens.numpy(), batch.state_hash()
    for env in (0, 34, 35, 69):
        alone = Emulator(busy if env < 35 else other, 1, device)
        alone.run(buttons[env : env + 1], 30, release_after=8)
        assert alone.state_hash() == [hashes[env]]
        assert np.array_equal(alone.screens.numpy()[0], screens[env])


def test_reset_touches_the_masked_envs_only(device: str, busy: Cartridge) -> None:
    emulator = Emulator(busy, 4, device)
    fresh = emulator.state_hash()
    emulator.run(np.array([1, 2, 4, 8], np.uint8), 40)
    ran = emulator.state_hash()
    assert not set(fresh) & set(ran)
    emulator.reset(np.array([0, 1, 0, 1], np.uint8))
    assert emulator.state_hash() == [ran[0], fresh[1], ran[2], fresh[3]]


def test_cached_states_go_where_the_index_says(device: str, busy: Cartridge) -> None:
    emulator = Emulator(busy, 3, device)
    snapshots = []
    for frames in (10, 11):
        emulator.run(None, frames)
        snapshots.append(emulator.snapshot(0))
    states = emulator.state_cache(snapshots)
    emulator.reset(None, states, np.array([1, 0, 1], np.int32))
    hashes = emulator.state_hash()
    assert hashes[0] == hashes[2] != hashes[1]


def test_a_saved_state_continues_as_if_nothing_had_happened(device: str, busy: Cartridge, tmp_path: Path) -> None:
    emulator = Emulator(busy, 2, device)
    emulator.run(np.array([1, 16], np.uint8), 33)
    emulator.save_state(tmp_path / "state.npz", env=1)
    shown = emulator.screens.numpy()[1].copy()
    emulator.run(np.array([4, 32], np.uint8), 17)
    expected = emulator.state_hash()[1]

    other = Emulator(busy, 1, device)
    other.load_state(tmp_path / "state.npz")
    assert np.array_equal(other.screens.numpy()[0], shown)
    other.run(np.array([32], np.uint8), 17)
    assert other.state_hash() == [expected]


def test_a_state_of_another_rom_is_refused(busy: Cartridge, micro_roms: dict, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    Emulator(busy).save_state(path)
    other = Emulator(Cartridge.from_bytes(micro_roms["mbc5"].image))
    with pytest.raises(SnapshotError, match=r"belongs to a ROM"):
        other.load_state(path)
    path.write_bytes(b"no state")
    with pytest.raises(SnapshotError, match=r"state\.npz: no save state"):
        other.load_state(path)
    with pytest.raises(SnapshotError, match="cannot read"):
        Snapshot.load(tmp_path / "missing.npz")
    with pytest.raises(SnapshotError, match="bytes is no state"):
        other.restore(b"no state")  # pyright: ignore[reportArgumentType]  # that is the test


def test_running_allocates_nothing(busy: Cartridge) -> None:
    emulator = Emulator(busy, 2)
    out = emulator.observations()
    screens = emulator.screens
    emulator.run(np.zeros(2, np.uint8), 1)
    assert emulator.observations(out) is out
    assert emulator.observations().ptr == out.ptr
    assert emulator.screens.ptr == screens.ptr


def test_observations_are_rounded_means_of_2x2_blocks(device: str, busy: Cartridge) -> None:
    emulator = Emulator(busy, 1, device)
    emulator.run(None, 200)
    screen = emulator.screens.numpy()[0].astype(int)
    blocks = screen.reshape(72, 2, 80, 2).sum((1, 3))
    assert screen.any()
    assert np.array_equal(emulator.observations().numpy()[0], (blocks + 2) >> 2)


def test_packed_pictures_are_the_same_shades(device: str, busy: Cartridge) -> None:
    emulator = Emulator(busy, 2, device)
    rooms = [wp.zeros((2, 144, 2, 20), wp.uint8, device=device) for _ in range(2)]
    for out in (None, *rooms):
        emulator.run(np.array([0x80, 0], np.uint8), 11)
        bits = np.unpackbits(emulator.packed_screens(out).numpy(), axis=-1)
        assert np.array_equal(bits[..., 0, :] | bits[..., 1, :] << 1, emulator.screens.numpy())
    assert not np.array_equal(rooms[0].numpy(), rooms[1].numpy())
    with pytest.raises(EmulatorError, match=r"out: uint8\[1, 144, 2, 20\]: give uint8\[2, 144, 2, 20\]"):
        emulator.packed_screens(wp.zeros((1, 144, 2, 20), wp.uint8, device=device))


@pytest.mark.parametrize(("frames", "count"), [(0, 1), (10_001, 1), (1, 3)])
def test_wrong_arguments_are_named(busy: Cartridge, frames: int, count: int) -> None:
    with pytest.raises(EmulatorError, match=r"frames=|shape"):
        Emulator(busy, 1).run(np.zeros(count, np.uint8), frames)


def test_gather_reads_the_whole_record_and_nothing_behind_it() -> None:
    size = CONSOLE_DTYPE.itemsize
    words = 13  # of intrinsics.gather, 32 bytes apart
    assert 32 * (words - 1) + 4 <= size <= 32 * words


def test_a_changed_field_is_another_layout_and_the_committed_files_still_fit() -> None:
    fields = CONSOLE_DTYPE.names or ()
    assert layout_version(fields) == LAYOUT_VERSION == 1
    others = [fields[1:], (*fields, "more"), (*fields[:2], "renamed", *fields[3:])]
    assert len({layout_version(other) for other in [fields, *others]}) == 4


def test_a_file_of_several_states_is_not_one_state(busy: Cartridge, tmp_path: Path) -> None:
    emulator = Emulator(busy, 2)
    save_snapshots(tmp_path / "two.npz", [emulator.snapshot(0), emulator.snapshot(1)])
    assert len(load_snapshots(tmp_path / "two.npz")) == 2
    with pytest.raises(SnapshotError, match="holds 2 states"):
        Snapshot.load(tmp_path / "two.npz")
