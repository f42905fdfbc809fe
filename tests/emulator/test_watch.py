"""Watched bytes, pokes, consoles that stand still, slots: on the device, the same in every executor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dmglab.pyboy import PyBoy
from emulator import Cartridge, Emulator, EmulatorError, Symbols

pytestmark = pytest.mark.warp
POCKET_QUEST = str(Path(__file__).parents[2] / "assets" / "games" / "pocket_quest" / "pocket_quest.gb")
GROUPS: dict[str, Any] = {
    "work": (0xC000, 300), "several": (0xC000, 0xFF80, (0xFE00, 8)), "map": (0x9800, 64),
    "registers": (0xFF00, 0xFF04, 0xFF0F, 0xFF41, 0xFF44, 0xFFFF), "rom": (0x3FFE, 4), "echo": 0xE002,
}  # fmt: skip
ADDRESSES = {
    "work": [*range(0xC000, 0xC12C)], "several": [0xC000, 0xFF80, *range(0xFE00, 0xFE08)],
    "map": [*range(0x9800, 0x9840)], "registers": [0xFF00, 0xFF04, 0xFF0F, 0xFF41, 0xFF44, 0xFFFF],
    "rom": [*range(0x3FFE, 0x4002)], "echo": [0xE002],
}  # fmt: skip
SYMBOLS = """
; a comment
00:c002 wTicks ; and one behind a name
00:c004 wSeen
01:d000 wBuffer
02:4001 Data.here
03:a010 sBest
"""


@pytest.fixture
def symbols(tmp_path: Path) -> Symbols:
    file = tmp_path / "game.sym"
    file.write_text(SYMBOLS)
    return Symbols(file)


def test_watched_bytes_are_what_peek_reads(engine: tuple[str, Any], busy: Cartridge) -> None:
    """After each of many launches of different consoles, masked ones too; watching changes nothing."""
    device, executor = engine
    emulator, other = (Emulator(busy, 3, device, executor=executor) for _ in range(2))
    watch = emulator.watch(**GROUPS)
    assert watch.bytes.shape == (3, 300 + 10 + 64 + 6 + 4 + 1)
    views = {name: torch.from_dlpack(watch[name]) for name in watch}
    random = np.random.default_rng(1)
    for step in range(12):
        buttons, frames = random.integers(0, 256, 3).astype(np.uint8), 1 + step % 3
        mask = None if step % 2 else random.integers(0, 2, 3).astype(bool)
        before = emulator.state_hash()
        for each in (emulator, other):
            each.run(buttons, frames, 1, mask=mask)
        assert other.state_hash() == emulator.state_hash()
        changed = [a != b for a, b in zip(before, emulator.state_hash(), strict=True)]
        assert changed == ([True] * 3 if mask is None else mask.tolist())
        memory = [emulator.peek(env, 0, 0x10000) for env in range(3)]
        for name, view in views.items():
            for env in range(3):
                assert view[env].tolist() == memory[env][ADDRESSES[name]].tolist(), (step, name, env)


def test_watched_bytes_are_what_the_stand_in_for_pyboy_reads() -> None:
    with PyBoy(POCKET_QUEST) as pyboy:
        pyboy.tick(80)
        emulator = pyboy.machine.emulator
        areas: dict[str, Any] = {"work": (0xC000, 512), "high": (0xFF80, 127), "map": (0x9800, 64), "rom": (0x4000, 16)}
        watch, ended = (emulator.watch(**areas) for _ in range(2))
        emulator.off(ended)
        for button in ("start", "a", "down", "right") * 4:
            pyboy.button(button)
            pyboy.tick(9, False)
            for name, (start, length) in areas.items():
                assert watch[name].numpy()[0].tolist() == pyboy.memory[start : start + length], (button, name)
        assert ended["work"].numpy().tolist() != watch["work"].numpy().tolist()


def test_banks_are_read_whichever_is_switched_in(device: str, micro_roms: dict, symbols: Symbols) -> None:
    emulator = Emulator(Cartridge.from_bytes(micro_roms["mbc5"].image, "mbc5"), 2, device)
    watch = emulator.watch(
        symbols, rom=("07:4000", (7, 0x4000), "Data.here"), best="sBest", first=(0, 0xA000), now=0xA000
    )
    assert watch["rom"].numpy()[0].tolist() == [7, 7, 0]
    emulator.run(None, 5)
    banks = {1: 0x11, 2: 0x99}
    saved = emulator.watch(bank_1=(1, 0xA000), bank_2=(2, 0xA000))
    assert {bank: saved[f"bank_{bank}"].numpy()[1, 0] for bank in banks} == banks
    assert watch["now"].numpy()[0, 0] == emulator.peek(0, 0xA000)[0]
    emulator.poke("sBest", 0x42, [0, 1])
    emulator.poke("wBuffer", torch.tensor([3, 4], dtype=torch.uint8, device=device))
    watch.update()
    assert watch["best"].numpy()[:, 0].tolist() == [0xFF, 0x42]
    assert emulator.work_ram.numpy()[:, 0x1000].tolist() == [3, 4]
    assert symbols.size("wTicks") == 2


def test_a_rom_of_two_banks_is_named_as_one(busy: Cartridge, tmp_path: Path) -> None:
    (tmp_path / "a.map").write_text("     00004002  _code\n     00014003  _more\n")
    symbols = Symbols(tmp_path / "a.map")
    assert symbols.lookup("_more") == (1, 0x4003)
    emulator = Emulator(busy)
    watch = emulator.watch(symbols, bytes=("_code", "_more"))
    assert watch["bytes"].numpy()[0].tolist() == busy.rom[0x4002:0x4004].tolist()
    assert emulator.on("_code").offset == 0x4002


def test_a_poke_goes_where_the_mask_says(device: str, busy: Cartridge) -> None:
    emulator = Emulator(busy, 3, device)
    values = np.arange(12, dtype=np.uint8).reshape(3, 4)
    emulator.poke((0xC100, 4), values, np.array([True, False, True]))
    assert emulator.work_ram.numpy()[:, 0x100:0x104].tolist() == [[0, 1, 2, 3], [0] * 4, [8, 9, 10, 11]]
    emulator.poke((0xC100, 4), b"abcd", [0, 1, 0])
    assert emulator.work_ram.numpy()[1, 0x100:0x104].tobytes() == b"abcd"


def test_slots_keep_consoles_on_the_device(device: str, busy: Cartridge) -> None:
    emulator = Emulator(busy, 3, device)
    emulator.run([16, 1, 0], 30)
    slots, kept = emulator.make_slots(4), emulator.state_hash()
    assert (emulator.slots, len(slots)) == (slots, 4)
    slots.save([1, 1, 0], torch.tensor([3, 1, 9], dtype=torch.int32, device=device) if device != "cpu" else [3, 1, 0])
    slots.save(None, 2)  # of several the lowest
    emulator.run("a", 7)
    later = emulator.state_hash()
    slots.load([1, 0, 1], [1, 0, 3])
    assert emulator.state_hash() == [kept[1], later[1], kept[0]]
    slots.load(None, 2)
    assert emulator.state_hash() == [kept[0]] * 3
    slots.load([0, 1, 0], 0)  # empty
    assert (emulator.refused_resets, emulator.state_hash()) == (1, [kept[0]] * 3)


def test_emulators_share_slots(device: str, busy: Cartridge, micro_roms: dict) -> None:
    one, two = Emulator(busy, 1, device), Emulator(busy, 2, device)
    one.make_slots(2)
    two.share_slots(one)
    one.run("a", 20)
    one.slots.save(None, 1)
    two.slots.load([0, 1], 1)
    assert two.state_hash()[1] == one.state_hash()[0] != two.state_hash()[0]
    with pytest.raises(EmulatorError, match="the same cartridges"):
        Emulator(Cartridge.from_bytes(micro_roms["mbc5"].image), 1, device).share_slots(one)


def refused_file(emulator: Emulator, text: str, path: Path) -> None:
    path.write_text(text)
    emulator.watch(Symbols(path), x="wTicks")


REFUSED: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "unknown name": (lambda e, f: e.watch(x="wTick"), "Symbol not found: wTick; did you mean wTicks"),
    "no file": (lambda e, f: Symbols(f / "x.sym"), r"x\.sym: no such symbol file"),
    "other ROM": (lambda e, f: refused_file(e, "2c:4010 Far", f / "x.sym"), "Far lies in ROM bank 2C, .*bank 01"),
    "no symbols": (lambda e, f: e.watch("game.sym", x=1), "'game.sym': give dmglab.Symbols"),
    "no group": (lambda e, f: e.watch(), "0 watched bytes: give 1 to 4096"),
    "too many": (lambda e, f: e.watch(x=(0xC000, 4096), y=0xC000), "4097 watched bytes: give 1 to 4096"),
    "outside": (lambda e, f: e.watch(x=(0xFFFF, 2)), "last address=65536: give 0 to 65535"),
    "unconnected": (lambda e, f: e.watch(x=0xFEA0), "address 0xFEA0: nothing is connected"),
    "no ROM bank": (lambda e, f: e.watch(x=(9, 0x4000)), "address 09:4000: there is no such bank; .* 2 ROM banks"),
    "no RAM bank": (lambda e, f: e.watch(x=(1, 0xA000)), "address 01:A000: there is no such bank; .* 0 bytes"),
    "Color's bank": (lambda e, f: e.watch(x=(2, 0xD000)), "only a Game Boy Color has it"),
    "no place": (lambda e, f: e.watch(x=1.5), "1.5: give an address, a name"),
    "no name": (lambda e, f: e.watch(x=0xC000)["y"], "'y' is not watched; watched: x"),
    "values": (lambda e, f: e.poke(0xC000, np.zeros(3, np.uint8)), r"uint8\[3\]: give a byte, or uint8\[2, 1\]"),
    "list of lists": (lambda e, f: e.poke([[None]], 1), "None: give an address"),
    "out": (lambda e, f: e.watch(x=1, out=np.zeros(3)), "give a Warp array, uint8.2, 1."),
    "floats": (lambda e, f: e.poke(0xC000, 1.5), r"float64\[\]: give a byte"),
    "register": (lambda e, f: e.poke(0xFF40, 1), "0xFF40 is no RAM"),
    "mask": (lambda e, f: e.run(mask=[1, 0, 1]), r"mask: shape \(3,\): give one value"),
    "no slots": (lambda e, f: e.slots, r"no slots; make_slots\(COUNT\)"),
    "slot": (lambda e, f: e.make_slots(2).load(None, 2), "slot 2: there are slots 0 to 1"),
    "slot's type": (lambda e, f: e.make_slots(2).save(None, [0.5, 1]), r"slot: float64\[2\]; give a whole number"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_told_in_a_line(name: str, busy: Cartridge, symbols: Symbols, tmp_path: Path) -> None:
    emulator = Emulator(busy, 2)
    if name == "unknown name":
        symbols.by_place.clear()  # this ROM lacks some of their banks
        emulator.symbols = symbols
    call, message = REFUSED[name]
    with pytest.raises(EmulatorError, match=message) as error:
        call(emulator, tmp_path)
    assert "\n" not in str(error.value)
