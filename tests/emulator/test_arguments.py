"""Arguments of a batch: an index, a mask or a number that cannot be meant is an error."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import warp as wp

from emulator import Cartridge, Emulator, EmulatorError, SnapshotError, StateCache

pytestmark = pytest.mark.warp


@pytest.fixture(scope="module")
def mixed(busy: Cartridge, micro_roms: dict) -> tuple[list[Cartridge], list[Any]]:
    """Two cartridges, and a state of each."""
    other = Cartridge.from_bytes(micro_roms["mbc5"].image, "mbc5")
    emulator = Emulator([busy, other], 2)
    emulator.run(None, 5)
    return [busy, other], [emulator.snapshot(0), emulator.snapshot(1)]


@pytest.fixture
def batch(device: str, mixed: tuple[list[Cartridge], list[Any]]) -> tuple[Emulator, StateCache]:
    """Four envs of the two cartridges in turn; the states of both."""
    emulator = Emulator(mixed[0], 4, device)
    return emulator, emulator.state_cache(mixed[1])


@pytest.mark.parametrize("index", [[0, 1, 0, 2], [0, 1, -1, 1], [0, 1, 0, 1 << 40]])
def test_an_index_of_no_state_is_named(batch: tuple[Emulator, StateCache], index: list[int]) -> None:
    emulator, states = batch
    before = emulator.state_hash()
    with pytest.raises(EmulatorError, match=r"index .* for env [23]: there are states 0 to 1"):
        emulator.reset(None, states, np.array(index))
    assert emulator.state_hash() == before
    emulator.reset(np.array(index) < 0, states, np.array([0, 1, 0, 1]))


def test_a_state_of_one_rom_never_goes_onto_another(batch: tuple[Emulator, StateCache]) -> None:
    emulator, states = batch
    with pytest.raises(SnapshotError, match="state 0 belongs to another ROM than env 1 runs"):
        emulator.reset(None, states, np.array([0, 0, 0, 1]))
    with pytest.raises(SnapshotError, match="than env 1 runs"):
        emulator.reset(None, states)
    emulator.reset(np.array([1, 0, 1, 0], bool), states)
    emulator.reset(None, states, np.array([0, 1, 0, 1]))
    assert emulator.refused_resets == 0


def test_the_device_refuses_and_counts_a_wrong_index(batch: tuple[Emulator, StateCache], device: str) -> None:
    emulator, states = batch
    before = emulator.state_hash()
    index = wp.array([1, 7, -1, 1], dtype=wp.int32, device=device)  # wrong ROM, two no states
    emulator.reset(None, states, index)
    after = emulator.state_hash()
    assert after[:3] == before[:3]
    assert after[3] != before[3]
    assert emulator.refused_resets == 3


@pytest.mark.parametrize("index", [[0.0, 1.0, 0.0, 1.0], [np.nan] * 4, [0, 1], [[0, 1, 0, 1]], ["0"] * 4])
def test_an_index_of_another_form_is_refused(batch: tuple[Emulator, StateCache], index: list[Any], device: str) -> None:
    emulator, states = batch
    with pytest.raises(EmulatorError, match="index: "):
        emulator.reset(None, states, np.array(index))
    with pytest.raises(EmulatorError, match="index: "):
        emulator.reset(None, states, wp.zeros(3, dtype=wp.int32, device=device))


@pytest.mark.parametrize("mask", [[np.nan] * 4, [1.0, 0, 0, 1], [300, 0, 0, 0], [-1, 0, 0, 0], [1]])
def test_a_mask_or_buttons_of_another_form_are_refused(batch: tuple[Emulator, StateCache], mask: list[Any]) -> None:
    emulator, _ = batch
    before = emulator.state_hash()
    for call in (emulator.reset, emulator.run):
        with pytest.raises(EmulatorError):
            call(np.array(mask))
    with pytest.raises(EmulatorError, match="on the device"):
        emulator.run(wp.zeros(4, dtype=wp.float32, device=emulator.device))
    assert emulator.state_hash() == before


def test_states_and_index_belong_together(
    batch: tuple[Emulator, StateCache], mixed: tuple[list[Cartridge], list[Any]]
) -> None:
    emulator, _ = batch
    with pytest.raises(EmulatorError, match="index without states"):
        emulator.reset(None, None, np.zeros(4, np.int32))
    with pytest.raises(EmulatorError, match="states of another emulator"):
        emulator.reset(None, Emulator(mixed[0], 4).state_cache(mixed[1]))
    with pytest.raises(SnapshotError, match="no states"):
        emulator.state_cache([])


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_envs": 0},
        {"num_envs": 1.5},
        {"num_envs": 1 << 40},
        {"serial_capacity": -1},
        {"num_envs": 2, "rom_of_env": [0, 1]},
        {"num_envs": 2, "rom_of_env": [0]},
        {"num_envs": 2, "rom_of_env": [0, np.nan]},
    ],
)
def test_a_batch_that_cannot_be_is_refused(busy: Cartridge, arguments: dict[str, Any]) -> None:
    with pytest.raises(EmulatorError, match=r"num_envs|serial_capacity|rom_of_env"):
        Emulator(busy, **arguments)


def test_looking_in_is_checked_too(busy: Cartridge) -> None:
    emulator = Emulator(busy, 2)
    for call in (
        lambda: emulator.peek(0, 0xC000, 0),
        lambda: emulator.peek(0, 0x10000),
        lambda: emulator.peek(2, 0),
        lambda: emulator.registers(-1),
        lambda: emulator.snapshot(0.5),  # type: ignore[arg-type]
        lambda: emulator.first_screens(3),
        lambda: emulator.run(None, 1, -1),
    ):
        with pytest.raises(EmulatorError):
            call()


def test_a_few_screens_need_memory_for_a_few(device: str, busy: Cartridge) -> None:
    emulator = Emulator(busy, 70, device)
    emulator.run((np.arange(70) % 7 * 37).astype(np.uint8), 40)
    before = sum(array.capacity for array in emulator.arrays_per_env())
    few = emulator.first_screens(3)
    grown = sum(array.capacity for array in emulator.arrays_per_env()) - before
    assert few.shape == (3, 144, 160)
    assert grown < 70 * 3000 + 4 * 144 * 160  # plans of lines for all, shades for three
    assert np.array_equal(few.numpy(), emulator.screens.numpy()[:3])


@pytest.mark.parametrize(
    ("named", "masks"),
    [
        ("START", [0x80, 0x80]),
        ("a+Up", [0x14, 0x14]),
        ("", [0, 0]),
        (["A", None], [0x10, 0]),
        ([["b", "left"], "right+down"], [0x22, 0x09]),
        ([0x40, ("select",)], [0x40, 0x40]),
    ],
)
def test_buttons_by_name_are_those_by_mask(busy: Cartridge, named: Any, masks: list[int]) -> None:
    by_name, by_mask, untouched = (Emulator(busy, 2) for _ in range(3))
    by_name.run(named, 3, 1)
    by_mask.run(np.array(masks, np.uint8), 3, 1)
    untouched.run(None, 3)
    assert by_name.state_hash() == by_mask.state_hash()
    assert (by_name.state_hash() == untouched.state_hash()) == (not any(masks)), "else buttons leave no trace"


@pytest.mark.parametrize("wrong", ["x", ["a", "x"], [["a", "x"], None], "a+", [None, [1]]])
def test_a_button_that_there_is_not_is_named_beside_those_that_there_are(busy: Cartridge, wrong: Any) -> None:
    with pytest.raises(EmulatorError, match=r"^button .*: give right, left, up, down, a, b, select, start$"):
        Emulator(busy, 2).run(wrong)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [(["a"], r"\['a'\].*per env \(2\)"), (60, "buttons=60: .*frames come second"), ([1.5, 1], "float64")],
)
def test_what_are_no_buttons_of_this_batch_is_refused(busy: Cartridge, wrong: Any, said: str) -> None:
    with pytest.raises(EmulatorError, match=said):
        Emulator(busy, 2).run(wrong)


def test_a_path_and_bytes_are_the_cartridge_that_they_hold(busy: Cartridge, tmp_path: Path) -> None:
    path, data = tmp_path / "busy.gb", busy.rom.tobytes()
    path.write_bytes(data)
    for given in (path, str(path), data, [busy, path], (data,)):
        assert {cartridge.sha256 for cartridge in Emulator(given).cartridges} == {busy.sha256}


@pytest.mark.parametrize("wrong", [5, None, [5], b"short", "no such file.gb", []])
def test_what_is_no_rom_is_refused(wrong: Any) -> None:
    with pytest.raises(EmulatorError, match=r"give|no Game Boy ROM"):
        Emulator(wrong)


def test_an_emulator_says_what_it_is_and_ends_with_its_block(busy: Cartridge) -> None:
    with Emulator([busy] * 4, 8, "cpu") as emulator:
        emulator.run("a")
        assert repr(emulator) == "<Emulator: 8 x MICRO, MICRO, MICRO and 1 more on cpu, native>"
        memory, pictures = weakref.ref(emulator.batch.ram), emulator.screens
    assert memory() is None, "its memory is free without a collection"
    assert pictures.numpy().shape == (8, 144, 160)
    for use in (lambda: emulator.run(), lambda: emulator.screens, lambda: emulator.num_envs):
        with pytest.raises(EmulatorError, match="this Emulator is closed; make a new one"):
            use()
    emulator.close()
    assert repr(emulator) == "<Emulator, closed>"


def test_ram_is_written_where_the_cpu_reads_it(device: str, micro_roms: dict) -> None:
    """Of cartridge RAM in the bank that is switched in; ROM, registers and what is not there are refused."""
    cartridge = Cartridge.from_bytes(micro_roms["mbc5"].image, "mbc5")
    assert cartridge.ram_banks > 1
    emulator = Emulator(cartridge, 2, device)
    emulator.run(None, 5)
    record = emulator.snapshot(1).console
    assert (record["ram_enabled"][0], record["ram_bank"][0] > 0) == (1, True), "the ROM must leave another bank there"
    before = emulator.peek(0, 0xA000, 0x2000).tolist()
    for address in (0x8000, 0x9FFF, 0xA000, 0xBFFF, 0xC000, 0xDFFF, 0xFE00, 0xFE9F, 0xFF80, 0xFFFE):
        emulator.poke(address, 0x5A, [0, 1])
        assert emulator.peek(1, address)[0] == 0x5A, hex(address)
    emulator.poke((0x9FFE, 4), bytes(range(4)), [0, 1])  # from video memory into the cartridge's
    assert emulator.peek(1, 0x9FFE, 4).tolist() == [0, 1, 2, 3]
    assert emulator.peek(0, 0xA000, 0x2000).tolist() == before, "only one console was written"
    whole = emulator.state_hash()
    for address in (0, 0x7FFF, 0xFEA0, 0xFF00, 0xFF7F, 0xFFFF):
        with pytest.raises(EmulatorError, match=f"0x{address:04X} is no RAM"):
            emulator.poke(address, 1)
    with pytest.raises(EmulatorError, match="0xFEA0 is no RAM"):
        emulator.poke((0xFE9F, 2), b"ab")
    assert emulator.state_hash() == whole, "nothing of what is refused is written"


def test_an_array_of_another_library_is_taken_where_it_lies(device: str, busy: Cartridge) -> None:
    """Buttons and masks; a GPU's without a copy to the host."""
    buttons, mask = torch.tensor([16, 0, 1, 0]), torch.tensor([True, False, False, True])
    hashes = []
    for given, chosen in ((buttons.tolist(), mask.numpy()), (buttons.to(device, torch.uint8), mask.to(device))):
        emulator = Emulator(busy, 4, device)
        emulator.run(given, 3)
        emulator.reset(chosen)
        hashes.append(emulator.state_hash())
    assert hashes[0] == hashes[1]
    with pytest.raises(EmulatorError, match="buttons: "):
        emulator.run(torch.zeros(4, device=device))


def test_pictures_are_shared_with_torch_and_outlive_the_consoles(device: str, busy: Cartridge) -> None:
    emulator = Emulator(busy, 64, device)
    emulator.run(None, 60)
    pictures, ram = torch.from_dlpack(emulator.observations()), torch.from_dlpack(emulator.work_ram)
    assert (pictures.device, pictures.data_ptr()) == (torch.device(device), emulator.observations().ptr)
    assert ram[3].tolist() == emulator.peek(3, 0xC000, 0x2000).tolist()
    kept = [pictures.clone(), ram.clone()]
    emulator.close()
    del emulator
    gc.collect()
    noise = [torch.full_like(pictures, 99) for _ in range(8)] + [wp.full(kept[1].numel(), 99, wp.uint8, device=device)]
    assert torch.equal(pictures, kept[0])
    assert torch.equal(ram, kept[1])
    assert len(noise) == 9
