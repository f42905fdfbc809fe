"""Import of PyBoy save states, proven by running on in both emulators."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from micro.assembler import MicroRom, assemble

from emulator import Cartridge, Emulator, Snapshot, SnapshotError
from emulator.__main__ import main
from emulator.constants import BUTTON_NAMES
from emulator.state.pyboy_state import parse, to_snapshot
from emulator.state.state_files import read_state

pyboy = pytest.importorskip("pyboy")
pytestmark = pytest.mark.warp

ASSETS = Path(__file__).parents[2] / "assets"
POCKET_QUEST = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"
BEFORE = 300
AFTER = 150


class Reference:
    """PyBoy with buttons as masks and pictures as shades."""

    def __init__(self, rom: Path) -> None:
        self.machine = pyboy.PyBoy(str(rom), window="null", cgb=False, sound_emulated=True, log_level="CRITICAL")
        self.machine.set_emulation_speed(0)
        self.held = 0

    def run(self, mask: int, frames: int) -> None:
        for bit, name in enumerate(BUTTON_NAMES):
            if (self.held ^ mask) >> bit & 1:
                press = self.machine.button_press if mask >> bit & 1 else self.machine.button_release
                press(name)
        self.held = mask
        self.machine.tick(frames, True)

    @property
    def shades(self) -> np.ndarray:
        grey = self.machine.screen.ndarray[..., 0]
        return np.rint(3 - grey / 85.0).astype(np.uint8)

    def state(self) -> bytes:
        buffer = io.BytesIO()
        self.machine.save_state(buffer)
        return buffer.getvalue()


def script(buttons: str, frames: int, seed: int = 1) -> list[int]:
    """One of `buttons` by chance for 8 of every 20 frames, as masks."""
    random = np.random.default_rng(seed)
    masks: list[int] = []
    while len(masks) < frames:
        name = random.choice(buttons.split())
        masks += [1 << BUTTON_NAMES.index(name)] * 8 + [0] * 12
    return masks[:frames]


def run_on(rom: Path, device: str) -> tuple[int, int, Emulator, Reference]:
    """Save in PyBoy after BEFORE frames, go on in both for AFTER; (equal, different) pictures."""
    reference = Reference(rom)
    for mask in script("a start", BEFORE):
        reference.run(mask, 1)
    cartridge = Cartridge.from_file(rom)
    emulator = Emulator(cartridge, 1, device)
    emulator.restore(to_snapshot(parse(reference.state(), cartridge), cartridge))
    assert np.array_equal(emulator.screens.numpy()[0], reference.shades)
    equal, seen = 0, set()
    for mask in script("right left up down a", AFTER):
        reference.run(mask, 1)
        emulator.run(np.array([mask]), 1)
        equal += int(np.array_equal(emulator.screens.numpy()[0], reference.shades))
        seen.add(reference.shades.tobytes())
    return equal, len(seen), emulator, reference


def test_pocket_quest_goes_on_as_in_pyboy(device: str) -> None:
    equal, unlike, emulator, reference = run_on(POCKET_QUEST, device)
    assert equal == AFTER
    assert unlike > 10
    assert bytes(emulator.peek(0, 0xC000, 0x1000)) == bytes(reference.machine.memory[0xC000:0xD000])


GOES_ON = """
; cartridge type={type} rom=01 ram={ram}
; A counter in cartridge RAM, interrupts by VBlank and timer, a scrolling logo.
org $40
  jp frame
org $50
  push af
  ldh a, ($90)
  inc a
  ldh ($90), a
  pop af
  reti
frame:
  push af
  ld a, ($a000)
  inc a
  ld ($a000), a
  ldh ($43), a
  ldh a, ($90)
  ldh ($42), a
  pop af
  reti
main:
  ld a, $0a
  ld ($0000), a
  ld a, $02
  ld ($2100), a          ; address bit 8 makes this the bank register of an MBC2 too
  ld sp, $dff0
  xor a
  ld ($a000), a
  ldh ($90), a
  ld a, $e0
  ldh ($06), a
  ld a, $04
  ldh ($07), a
  ld a, $05
  ldh ($ff), a
  xor a
  ldh ($0f), a
  ei
.loop:
  halt
  nop
  jr .loop
"""


@pytest.mark.parametrize("kind", ["03", "06", "10", "1b"])
def test_interrupts_banks_and_timer_go_on(kind: str, tmp_path: Path, device: str, assemble_text) -> None:
    rom = tmp_path / "goes_on.gb"
    ram = "00" if kind == "06" else "03"
    rom.write_bytes(assemble_text(GOES_ON.format(type=kind, ram=ram)).image)
    equal, unlike, emulator, _ = run_on(rom, device)
    assert unlike > 60
    # The timer's interrupt may fall to either side of a line in the two: one picture in fifty.
    assert equal >= AFTER - 3
    assert emulator.batch.console.numpy()["rom_bank"][0] == 2


@pytest.fixture(scope="module")
def assemble_text(tmp_path_factory: pytest.TempPathFactory):
    def build(text: str) -> MicroRom:
        path = tmp_path_factory.mktemp("asm") / "rom.asm"
        path.write_text(text)
        return assemble(path)

    return build


@pytest.fixture(scope="module")
def state() -> bytes:
    reference = Reference(POCKET_QUEST)
    reference.run(0, 200)
    return reference.state()


def test_registers_and_memory_are_taken_over(state: bytes) -> None:
    cartridge = Cartridge.from_file(POCKET_QUEST)
    emulator = Emulator(cartridge, 2)
    emulator.restore(to_snapshot(parse(state, cartridge), cartridge), 1)
    reference = Reference(POCKET_QUEST)
    reference.machine.load_state(io.BytesIO(state))
    ours, theirs = emulator.registers(1), reference.machine.register_file
    assert ours["sp"] == theirs.SP
    assert ours["a"] == theirs.A
    assert ours["h"] << 8 | ours["l"] == theirs.HL
    memory = reference.machine.memory
    for start, end in ((0x8000, 0xA000), (0xC000, 0xE000), (0xFE00, 0xFEA0), (0xFF80, 0x10000)):
        assert bytes(emulator.peek(1, start, end - start)) == bytes(memory[start:end])
    registers = (0xFF05, 0xFF06, 0xFF07, 0xFF24, 0xFF25, 0xFF40, 0xFF42, 0xFF43, 0xFF45, 0xFF47)
    assert [emulator.peek(1, a)[0] for a in registers] == [memory[a] for a in registers]
    assert emulator.peek(1, 0xFF04)[0] == memory[0xFF04]


def test_command_writes_a_state_that_loads(state: bytes, tmp_path: Path) -> None:
    source, target = tmp_path / "game.state", tmp_path / "game.npz"
    source.write_bytes(state)
    arguments = ["import-state", str(source), "--rom", str(POCKET_QUEST), "--out", str(target)]
    assert main(arguments) == 0
    emulator = Emulator(Cartridge.from_file(POCKET_QUEST), 1)
    emulator.load_state(target)
    expected = read_state(source, emulator.cartridges[0])
    assert np.array_equal(emulator.snapshot().row, expected.row)
    assert isinstance(Snapshot.load(target), Snapshot)


def test_bad_states_are_one_clear_line(state: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = {
        "empty": b"",
        "older": b"\x05" + state[1:],
        "short": state[:-100],
        "long": state + b"\0",
        "boot": state[:1] + b"\1" + state[2:],
        "color": state[:5] + b"\1" + state[6:],
    }
    words = {
        "empty": "version -1",
        "older": "version 5",
        "short": "ends after",
        "long": "left over",
        "boot": "boot program",
        "color": "Color",
    }
    for name, data in cases.items():
        path = tmp_path / name
        path.write_bytes(data)
        command = ["import-state", str(path), "--rom", str(POCKET_QUEST)]
        assert main([*command, "--out", str(tmp_path / "x.npz")]) == 1, name
        message = capsys.readouterr().err
        assert str(path) in message
        assert words[name] in message
        assert message.count("\n") == 1
    assert not (tmp_path / "x.npz").exists()
    with pytest.raises(SnapshotError, match="cannot read"):
        read_state(tmp_path / "nowhere", Cartridge.from_file(POCKET_QUEST))
