"""Superblocks as generated C++: the states, pictures and counts of single instructions."""

from __future__ import annotations

import numpy as np
import pytest

from emulator import Cartridge, Emulator
from emulator.hot_code import piece_finder
from emulator.hot_code.cpp_superblocks import MOST, native_plain
from emulator.rom import isa
from emulator.rom.idle_loops import marked_words
from emulator.state.batch import LOCKED
from emulator.verify import fuzz_roms

CONSOLES = 16
LAST = 0x7F00
"""Where a test program ends: JR to itself."""
SOME_ADDRESSES = (0x0200, 0x2100, 0x4100, 0x9000, 0xA100, 0xC200, 0xD300, 0xE000, 0xFE10, 0xFF44, 0xFF90)


def assert_equal(plain: Emulator, hot: Emulator, when: object) -> None:
    assert plain.state_hash() == hot.state_hash(), when
    assert np.array_equal(plain.screens.numpy(), hot.screens.numpy()), when
    assert np.array_equal(plain.work(), hot.work()), when


def course(emulator: Emulator, launch: int) -> None:
    """Some frames, one at a time, or several at once; then half of the consoles, and whoever has
    stopped, go on somewhere else."""
    random = np.random.default_rng(launch)
    buttons = random.integers(0, 256, emulator.num_envs).astype(np.uint8)
    emulator.run(buttons, (1, 1, 5, 24)[launch % 4], launch % 2)
    consoles = emulator.batch.console.numpy()
    consoles["run_state"][random.random(emulator.num_envs) < 0.5] = LOCKED
    emulator.batch.console.assign(consoles)
    fuzz_roms.set_going(random, emulator)


def pieces_of(cartridge: Cartridge, launches: int) -> list[tuple[int, ...]]:
    """What this ROM executes in that course."""
    emulator = Emulator(cartridge, CONSOLES, executor="uniform")
    counts = emulator.count_places()
    for launch in range(launches):
        course(emulator, launch)
    words = marked_words(cartridge.rom, ends=True)
    seen = piece_finder.Counts(*counts.numpy())
    return piece_finder.pieces(seen, words, native_plain(words))


def random_cartridge(seed: int) -> Cartridge:
    random = np.random.default_rng(seed)
    return Cartridge.from_bytes(fuzz_roms.random_rom(random, fuzz_roms.KINDS[seed % 5], True), f"{seed}")


@pytest.mark.warp
def test_random_roms_come_to_the_same_states() -> None:
    """Two ROMs in one batch, MBC1 and MBC5; loops that wait are skipped or not."""
    launches = 8
    cartridges = [random_cartridge(seed) for seed in (4, 6)]
    pieces = [pieces_of(cartridge, 3)[:40] for cartridge in cartridges]
    assert all(len(some) > 10 for some in pieces)
    for idle_skip in (True, False):
        plain, hot = (Emulator(cartridges, CONSOLES, idle_skip=idle_skip) for _ in range(2))
        for launch in range(launches):
            if launch == 1:
                hot.adopt(pieces)
            for emulator in (plain, hot):
                course(emulator, launch)
            assert_equal(plain, hot, (idle_skip, launch))


@pytest.mark.warp
def test_a_pointer_into_a_bank_reads_the_bank_that_was_chosen_since() -> None:
    """Within one superblock: what is known of HL's page ends with a write to 2000."""
    code = bytes.fromhex(
        "210040 3e01ea0020 46 3e02ea0020 4e 3e03ea0020 56"  # ld hl, 4000; b, c, d by bank 1, 2, 3
        "78ea00c0 79ea01c0 7aea02c0 18fe"
    )
    image = bytearray(0x10000)
    image[0x104:0x134] = fuzz_roms.LOGO
    image[0x100:0x104] = bytes([0x00, 0xC3, 0x50, 0x01])
    image[0x147:0x149] = 0x01, 1  # MBC1, four banks
    image[0x150 : 0x150 + len(code)] = code
    image[0x4000::0x4000] = bytes([1, 2, 3])
    image[0x14D] = -sum(byte + 1 for byte in image[0x134:0x14D]) & 0xFF
    cartridge = Cartridge.from_bytes(bytes(image), "banks")
    places, at = [], 0x150
    while at < 0x150 + len(code) - 2:
        places.append(at)
        at += isa.INSTRUCTIONS[image[at]].length
    plain, hot = (Emulator(cartridge) for _ in range(2))
    hot.adopt([[tuple(places)]])
    for emulator in (plain, hot):
        emulator.run(None, 1)
        assert emulator.peek(0, 0xC000, 3).tolist() == [1, 2, 3]
    assert_equal(plain, hot, "after a frame")


def every_plain_instruction(random: np.random.Generator) -> tuple[Cartridge, list[int]]:
    """A ROM with all of them in random order, and where its parts begin."""
    image = random.integers(0, 256, 0x8000, dtype=np.uint8)
    image[LAST : LAST + 2] = 0x18, 0xFE
    image[0x147:0x14A] = 0x03, 0, 2  # MBC1 with 8 KiB of RAM
    image[0x104:0x134] = list(fuzz_roms.LOGO)
    opcodes = [row.opcode for row in isa.INSTRUCTIONS if row.operation not in ("lock", "stop")]
    starts, at = [], 0x200
    for i, opcode in enumerate(random.permutation(opcodes * 2).tolist()):
        row = isa.INSTRUCTIONS[opcode]
        if i % 12 == 0:
            starts.append(at)
        if at & 0x3FFF > 0x3F00 or opcode == 0xCB:
            continue
        image[at : at + 2] = (0xCB, opcode & 0xFF) if opcode > 255 else (opcode, image[at + 1])
        if row.y == "e8":
            image[at + 1] = random.choice([0, 0, 1, 3, 0x80, 0xFE])
        elif row.destination in ("pc", "vector") and row.length == 3:
            image[at + 1 : at + 3] = LAST & 0xFF, LAST >> 8
        elif row.length == 3:
            address = int(random.choice(SOME_ADDRESSES))
            image[at + 1 : at + 3] = address & 0xFF, address >> 8
        elif row.access and row.access.address == "ff00+n8":
            image[at + 1] = random.choice([0x90, 0xFE, 0xFF, 0x41, 0x44])
        at += row.length
    image[0x14D] = -sum(int(byte) + 1 for byte in image[0x134:0x14D]) & 0xFF
    return Cartridge.from_bytes(image.tobytes(), "every"), starts


@pytest.mark.warp
def test_every_plain_instruction_does_what_its_own_function_does() -> None:
    random = np.random.default_rng(9)
    cartridge, starts = every_plain_instruction(random)
    words = marked_words(cartridge.rom, ends=True)
    plain_words = native_plain(words)
    executed = np.where(plain_words, 100, 0)
    arrived = np.zeros_like(executed)
    arrived[[at for at in starts if plain_words[at]]] = 100
    pieces = [
        places
        for places in piece_finder.pieces(piece_finder.Counts(executed, arrived), words, plain_words)
        if places[0] < LAST
    ]
    seen = {int(words[at]) & 511 for places in pieces for at in places}
    can = {int(word) & 511 for word in words[plain_words]}
    assert len(pieces) < MOST
    assert len(seen) > 0.9 * len(can)
    consoles = 512
    plain, hot = (Emulator(cartridge, consoles) for _ in range(2))
    hot.adopt([pieces])
    values: dict[str, np.ndarray] = {
        name: random.integers(0, 1 << 32, consoles, dtype=np.uint32) for name in ("lo", "hi")
    }
    points = random.random(consoles) < 0.8  # into WRAM
    values["lo"][points] = values["lo"][points] & 0x1FFF1FFF | 0xC000C000
    values["hi"][points] = values["hi"][points] & 0xFFFF1FFF | 0xC000
    values["hi"] &= np.uint32(0xFFF0FFFF)
    edges = [0xC000, 0xC001, 0xDFFE, 0xDFFF, 0xE000, 0xFE20, 0xFF80, 0xFF82, 0xFFFD, 0xFFFE, 0]
    stacks = [*edges, *random.integers(0xC100, 0xDF00, 40).tolist(), *range(0xFF90, 0xFFC0)]
    values["sp"] = random.choice(stacks, consoles)
    values["pc"] = random.choice([places[0] for places in pieces], consoles)
    values["ram_enabled"] = random.integers(0, 2, consoles)
    for emulator in (plain, hot):
        records = emulator.batch.console.numpy()
        for name, value in values.items():
            records[name] = value
        emulator.batch.console.assign(records)
    for launch in range(3):
        for emulator in (plain, hot):
            course(emulator, launch)
        assert_equal(plain, hot, launch)
