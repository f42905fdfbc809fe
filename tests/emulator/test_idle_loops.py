"""Loops that only wait: which are found in a ROM, and that passing over them changes nothing."""

import numpy as np
import pytest

from emulator import Cartridge, Emulator
from emulator.rom import control_rows
from emulator.rom.idle_loops import mark_loops

REGISTERS = {"b": 0x06, "c": 0x0E, "d": 0x16, "e": 0x1E, "h": 0x26, "l": 0x2E, "a": 0x3E}  # ld r, n
PAIRS = {"bc": (0x01, 0x0B, 0x78, 0xB1), "de": (0x11, 0x1B, 0x7B, 0xB2), "hl": (0x21, 0x2B, 0x7C, 0xB5)}


def marks(code: str) -> list[int]:
    """Marks of the bytes of `code` at 0150, in hex."""
    rom = np.zeros(0x8000, np.uint8)
    body = bytes.fromhex(code)
    rom[0x150 : 0x150 + len(body)] = list(body)
    marked = mark_loops(rom, control_rows.predecode(rom))[0x150 : 0x150 + len(body)]
    return [int(word & (control_rows.WAITS | control_rows.COUNTS_8 | control_rows.COUNTS_16)) for word in marked]


@pytest.mark.parametrize(
    ("code", "mark"),
    [
        ("f041 e602 20fa", control_rows.WAITS),  # ldh a, (41); and 2; jr nz
        ("faaac0 fe01 c25001", control_rows.WAITS),  # ld a, (c0aa); cp 1; jp nz
        ("f044 fe90 38fa", control_rows.WAITS),  # ldh a, (44); cp 90; jr c
        ("f0a8 3c 20fb", control_rows.WAITS),  # the INC is of what has just been read
        ("cb4e 28fc", control_rows.WAITS),  # bit 1, (hl); jr z
        ("18fe", control_rows.WAITS),  # jr to itself
        ("05 20fd", control_rows.WAITS | control_rows.COUNTS_8),  # dec b; jr nz
        ("3d 1800 00 c25001", control_rows.WAITS | control_rows.COUNTS_8),
        ("0b 78 b1 20fb", control_rows.WAITS | control_rows.COUNTS_16),  # dec bc; ld a, b; or c
        ("2b 00 7d b4 c25001", control_rows.WAITS | control_rows.COUNTS_16),
        ("e0a8 20fc", 0),  # a store
        ("2a b7 20fc", 0),  # ld a, (hl+): HL moves on
        ("f0a8 04 20fb", 0),  # B counts up
        ("cd0002 20fb", 0),  # a call
        ("76 18fd", 0),  # HALT has a way of its own
        ("05 28fd", 0),  # dec b; jr z
        ("05 0d 20fc", 0),  # two registers
        ("0b 78 b2 20fb", 0),  # not the pair that is counted
    ],
)
def test_what_a_branch_back_may_close(code: str, mark: int) -> None:
    found = marks(code)
    branch = len(found) - (3 if found and "c25001" in code else 2)
    assert found[branch] == mark
    assert not any(found[:branch] + found[branch + 1 :])


def test_a_jump_from_one_bank_to_another_closes_no_loop() -> None:
    rom = np.zeros(0x10000, np.uint8)
    rom[0x8000:0x8003] = [0xC3, 0xFE, 0x3F]  # bank 2, executed at 4000: jp 3ffe
    rom[0x8010:0x8013] = [0xC3, 0x10, 0x40]  # to itself
    marked = mark_loops(rom, control_rows.predecode(rom))
    assert not marked[0x8000] & control_rows.WAITS
    assert marked[0x8010] & control_rows.WAITS


def counting_game(name: str, count: int, fill: bytes, timer: int, stores: bool) -> Cartridge:
    """Counts a register down again and again, interrupted by a timer whose handler keeps all
    registers where they can be compared. Without `stores` nothing but the count tells the first
    turn from one that comes next."""
    if name in PAIRS:
        load, dec, first, second = PAIRS[name]
        begin = bytes([load, count, count >> 1])
        turn = bytes([dec, *fill, first, second])
    else:
        begin = bytes([REGISTERS[name], count])
        turn = bytes([REGISTERS[name] - 1, *fill])  # dec r lies next to ld r, n
    turn += bytes([0x20, 254 - len(turn)])
    start = bytes([0x31, 0x00, 0xDF, 0x3E, timer, 0xE0, 0x06, 0xE0, 0x05, 0x3E, 0x05, 0xE0, 0x07])
    start += bytes([0x3E, 0x04, 0xE0, 0xFF, 0xAF, 0xE0, 0x0F, 0xFB])
    after = bytes([0xFA, 0x00, 0xC0, 0x3C, 0xEA, 0x00, 0xC0, 0x37]) if stores else bytes(50)  # C000; scf
    image = bytearray(0x8000)
    image[0x50:0x59] = bytes([0xF5, 0xC5, 0xD5, 0xE5, 0xE1, 0xD1, 0xC1, 0xF1, 0xD9])
    image[0x14D] = 0xE7  # checksum of an empty header
    image[0x100:0x104] = bytes([0x00, 0xC3, 0x50, 0x01])
    code = start + begin + turn + after
    code += bytes([0x18, 256 - (len(code) - len(start)) - 2])
    image[0x150 : 0x150 + len(code)] = code
    return Cartridge.from_bytes(bytes(image), f"{name} {count} {fill.hex()} {timer} {stores}")


def run_alike(games: list[Cartridge], device: str, launches: tuple[int, ...]) -> list[Emulator]:
    """The games in every executor of the device, skipping or not, after so many frames a launch:
    after each all states are equal."""
    executors = ("uniform", "native") if device == "cpu" else ("uniform",)
    emulators = [
        Emulator(games, len(games), device, executor=executor, idle_skip=skip)
        for executor in executors
        for skip in (True, False)
    ]
    for frames in launches:
        for emulator in emulators:
            emulator.run(None, frames)
        states = [emulator.state_hash() for emulator in emulators]
        assert all(state == states[0] for state in states)
    return emulators


@pytest.mark.warp
def test_counting_down_at_once_changes_nothing(device: str) -> None:
    counts = (0, 1, 2, 0x11, 0x42, 0x82, 0xC2, 0xFE)
    turns = ((b"", 0x00), (b"", 0xE3), (bytes.fromhex("1800 00 40"), 0xE3))
    games = [  # with every register and turn half of the counts store, and the others do not
        counting_game(name, count, fill, timer, (at + number + turn) % 2 == 0)
        for at, name in enumerate((*REGISTERS, *PAIRS))
        for number, count in enumerate(counts)
        for turn, (fill, timer) in enumerate(turns)
    ]
    emulators = run_alike(games, device, (1, 2))
    fast, slow = (emulators[i].work().astype(float) for i in (0, 1))
    assert (fast <= slow).all()
    assert (fast < slow / 4).sum() > len(games) // 6


def polling_game(register: int, test: int, n: int, jump: int, tac: int) -> Cartridge:
    """Polls a register by 'ldh a, (n8); and/xor/or/sub/cp n8; jr cc', again and again, interrupted
    by a timer whose handler leaves A and F on the stack."""
    image = bytearray(0x8000)
    image[0x50:0x53] = bytes([0xF5, 0xF1, 0xD9])  # push af; pop af; reti
    image[0x14D] = 0xE7  # checksum of an empty header
    image[0x100:0x104] = bytes([0x00, 0xC3, 0x50, 0x01])
    start = bytes([0x31, 0x00, 0xDF, 0x3E, 0x91, 0xE0, 0x06, 0xE0, 0x05, 0x3E, tac, 0xE0, 0x07])
    start += bytes([0x3E, 0x04, 0xE0, 0xFF, 0xAF, 0xE0, 0x0F, 0xFB])
    code = start + bytes([0xF0, register, test, n, jump, 0xFA, 0x18, 0xF8])
    image[0x150 : 0x150 + len(code)] = code
    return Cartridge.from_bytes(bytes(image), f"{register} {test} {n} {jump} {tac}")


@pytest.mark.warp
def test_polling_a_register_at_once_changes_nothing(device: str) -> None:
    games = [
        polling_game(register, test, n, jump, tac)
        for register in (0x41, 0x44)
        for test in (0xE6, 0xEE, 0xF6, 0xFE, 0xD6)
        for n in (0x00, 0x02, 0x90)
        for jump in (0x20, 0x28, 0x30, 0x38)
        for tac in (0x05, 0x04)  # every 444 M-cycles, or 28,416
    ]
    emulators = run_alike(games, device, (1, 2))
    minus = [i for i, game in enumerate(games) if game.name.startswith("68 214 144 32 ")]
    assert all(emulators[-2].work()[i] < emulators[-1].work()[i] / 4 for i in minus)
