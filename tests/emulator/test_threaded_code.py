"""Threaded code, which a GPU runs for few consoles, against the data path."""

from __future__ import annotations

import os
from typing import Any, no_type_check

import numpy as np
import pytest
import warp as wp

from emulator import Cartridge, Emulator
from emulator.hot_code import piece_finder
from emulator.hot_code.ptx_superblocks import Superblocks
from emulator.kernels.intrinsics import Q, U
from emulator.kernels.sm83 import ptx_threaded_code
from emulator.kernels.sm83.cpu_registers import Bases, Registers, load_row, load_word
from emulator.kernels.sm83.data_path import CONTROL, FETCH, READ, WATCH, WRITE, Operands, execute, watch_for_loop
from emulator.kernels.sm83.ptx_as_cpp import statements
from emulator.kernels.sm83.ptx_instructions import LDH_A_N8, SETTLED, STATUS_PLAIN, WAITING
from emulator.kernels.sm83.ptx_threaded_code import NOTHING_MORE
from emulator.kernels.sm83.service_inline import reads_plainly
from emulator.launch.launch_shapes import FEW
from emulator.launch.threaded import make_kernels
from emulator.rom import control_rows, isa
from emulator.rom.idle_loops import mark_loops
from emulator.verify import fuzz_roms

RUNS = 4096
PIECES = 200
ROW = 0x8000
ROW_IO = 0x7F00
LOOPS = [
    bytes.fromhex("f041 e602 20fa"),  # ldh a, (STAT); and 2; jr nz
    bytes.fromhex("fa80c0 b8 38fa"),  # ld a, (C080); cp b; jr c
    bytes.fromhex("05 28fd"),  # dec b; jr z
    bytes.fromhex("f041 cb4f c20000"),  # ldh a, (STAT); bit 1, a; jp nz
]
"""That wait. What JP ends with becomes the loop's own address."""
PLAIN = 0x0140014F  # pages of ROM, WRAM and HRAM, two of which may be written
VRAM_AND_RAM = (0x10, 0x100010, 0x200020, 0x300030)
RARE = READ | WRITE | CONTROL | WATCH | FETCH  # control bits of what the data path leaves to others
NAMES = ("lo", "hi", "sp", "pc", "now", "stable", "work", "seen_lo", "seen_hi", "seen_place", "seen_time")


@no_type_check
@wp.func(inline=True)
def start(r: wp.ref[Registers], values: wp.array2d[wp.uint32], run: int, mem: Q):
    r.lo = values[run, 0]
    r.hi = values[run, 1]
    r.sp = values[run, 2]
    r.pc = values[run, 3]
    r.now = values[run, 4]
    r.deadline = values[run, 5]
    r.due = r.deadline + values[run, 7]
    r.vram_until = r.deadline + values[run, 8]
    r.fast = values[run, 6]
    r.seen_lo = r.lo
    r.seen_hi = r.hi
    r.seen_place = U(0)
    r.seen_time = r.now
    r.mem = mem
    r.memory = U(0)
    r.given = U(0)
    r.asked = U(0)
    r.work = U(0)
    r.ram_offset = U(32)
    r.stable = values[run, 9]


@no_type_check
@wp.func(inline=True)
def keep(r: wp.ref[Registers], found: wp.array2d[wp.uint32], run: int):
    found[run, 0] = r.lo
    found[run, 1] = r.hi
    found[run, 2] = r.sp
    found[run, 3] = r.pc
    found[run, 4] = r.now
    found[run, 5] = r.stable
    found[run, 6] = r.work
    found[run, 7] = r.seen_lo
    found[run, 8] = r.seen_hi
    found[run, 9] = r.seen_place
    found[run, 10] = r.seen_time


def comparison(more: ptx_threaded_code.More, device: str) -> Any:
    """The kernel that compares threaded code with `more` blocks with the data path.

    On a CPU not optimized: that compiles in a third of the time, and little is run.
    """
    run_threads = make_kernels(more, "compared_threads").run
    options = {"optimization_level": 0} if device == "cpu" else {}

    @no_type_check
    @wp.kernel(enable_backward=False, module="unique", module_options=options)
    def run_both(
        rom: Q,
        words: Q,
        control: Q,
        code: Q,
        rows: Q,
        values: wp.array2d[wp.uint32],
        found: wp.array2d[wp.uint32],
        wanted: wp.array2d[wp.uint32],
        rare: wp.array[wp.uint32],
        threads: int,
    ):
        """Run each start by threaded code, and for as many instructions by the data path: every
        `threads`-th thread one, alone in its warp."""
        run = wp.tid() / threads
        if wp.tid() != run * threads:
            return
        b = Bases()
        b.rom = rom
        b.words = words
        b.control = control
        b.idle_skip = U(1)
        r = Registers()
        start(r, values, run, rows + Q(2 * run) * Q(ROW))
        run_threads(r, b, code)
        keep(r, found, run)
        s = Registers()
        o = Operands()
        start(s, values, run, rows + Q(2 * run + 1) * Q(ROW))
        while s.work < r.work and rare[run] == U(0):
            load_word(s, b)
            load_row(s, b)
            execute(s, b, o)
            if (o.rest & U(READ)) != U(0) and reads_plainly(s, o.a, o.start):
                o.rest = o.rest & U(RARE & ~READ)
            if (o.rest & U(RARE & ~WATCH)) != U(0):
                rare[run] = U(1)
            elif (o.ctl & U(WATCH)) != U(0):
                watch_for_loop(s, o.word)
        keep(s, wanted, run)

    return run_both


def some_pieces(words: np.ndarray, random: np.random.Generator) -> list[tuple[int, ...]]:
    """Pieces of random code that begin everywhere, jump and all."""
    plain = ptx_threaded_code.own_numbers(words) != 0
    executed = np.where(plain, 100, 0)
    arrived = np.where((random.random(len(words)) < 0.01) & plain, 100, 0)
    found = piece_finder.pieces(piece_finder.Counts(executed, arrived), words, plain)
    return [found[i] for i in random.permutation(len(found))[:PIECES]]


@pytest.mark.warp
def test_every_plain_instruction_does_what_the_data_path_does(device: str) -> None:
    """Each by its own block, and many in superblocks."""
    random = np.random.default_rng(11)
    rom = random.integers(0, 256, 0x8000, dtype=np.uint8)
    waiting = random.integers(0, 0x7FFE, 1000)
    rom[waiting], rom[waiting + 1] = 0x18, 0  # jr to the next one: within a superblock
    rows = random.integers(0, 256, (RUNS, 1, ROW), dtype=np.uint8).repeat(2, axis=1)
    values = random.integers(0, 1 << 32, (RUNS, 10), dtype=np.uint32)
    most = random.random(RUNS) < 0.7  # point into WRAM
    values[most, 0] = values[most, 0] & 0x1FFF1FFF | 0xC000C000
    values[most, 1] = values[most, 1] & 0xFFFF1FFF | 0xC000
    values[:, 1] &= np.uint32(0xFFF0FFFF)  # the lower bits of F are 0
    values[:, 2] = random.integers(0xC100, 0xDFFF, RUNS)
    other = random.random(RUNS) < 0.3  # stacks in HRAM, and near the ends of both
    edges = [0xC000, 0xC002, 0xDFFE, 0xDFFF, 0xE000, 0xFF80, 0xFF82, 0xFFFD, 0xFFFE, 0xFFFF, 0, 1]
    values[other, 2] = random.choice([*edges, *range(0xFF90, 0xFFC0)], other.sum())
    values[:, 3] = random.integers(0, 0x7FF0, RUNS)
    values[:, 4] = random.integers(0, 1000, RUNS)
    values[:, 5] = values[:, 4] + random.integers(1, 400, RUNS).astype(np.uint32)
    values[:, 6] = PLAIN | np.where(random.random(RUNS) < 0.5, STATUS_PLAIN, 0)
    values[:, 6] |= random.choice([0, *VRAM_AND_RAM], RUNS).astype(np.uint32)
    values[:, 7] = random.integers(0, 12, RUNS)  # what is due, behind the deadline
    values[:, 8] = random.integers(0, 40, RUNS)  # and the end of HBlank, and STATUS_MARGIN
    values[:, 9] = values[:, 4] + random.integers(0, 400, RUNS).astype(np.uint32)
    rows[:, :, ROW_IO] |= random.choice([0, SETTLED], (RUNS, 1)).astype(np.uint8)
    much = np.flatnonzero(rom[:-2] == LDH_A_N8)  # LDH A,(n8): mostly of what reads as it lies there
    rom[much + 1] = random.choice([0x00, 0x40, 0x41, 0x41, 0x44, 0x4B, 0x90], len(much))
    loops = random.choice(0x7F00 // 16, 600, replace=False) * 16
    for at, code in zip(loops.tolist(), LOOPS * 150, strict=True):
        rom[at : at + len(code)] = list(code)
        if code[-3] == 0xC2:
            rom[at + len(code) - 2 : at + len(code)] = at & 0xFF, at >> 8
    waiting = random.random(RUNS) < 0.2
    values[waiting, 3] = random.choice(loops, waiting.sum())
    rom[0x7F10:0x7F12] = 0x3A  # ld a, (hl-), where HL passes from 0 to FFFF
    values[:16, 3], values[:16, 1] = 0x7F10, values[:16, 1] & np.uint32(0xFFFF0000)
    marked = mark_loops(rom, control_rows.predecode(rom))
    ends = mark_loops(rom, control_rows.predecode(rom, ends=True))
    blocks = Superblocks()
    pieces = some_pieces(ends, random)
    numbers = blocks.add_rom(ends, pieces)
    run_both = comparison(blocks.more(), device)
    alone = ptx_threaded_code.code_table(rom, ends)
    compare(run_both, device, [rom, marked, control_rows.control_words(), alone, rows], values)
    table = ptx_threaded_code.code_table(rom, ends, numbers)
    assert (table[:, 1] >> 20 > len(ptx_threaded_code.BLOCKS)).sum() == len(pieces) == PIECES
    begin = random.random(RUNS) < 0.8
    values[begin, 3] = random.choice([places[0] for places in pieces], RUNS)[begin]
    compare(run_both, device, [rom, marked, control_rows.control_words(), table, rows], values)


def compare(run_both: wp.Kernel, device: str, given: list[np.ndarray], values: np.ndarray) -> None:
    """Run every start both ways. `given`: the arrays whose addresses the kernel takes."""
    with wp.ScopedDevice(device):
        arrays = [wp.array(array, dtype=wp.dtype_from_numpy(array.dtype)) for array in given]
        found, wanted = (wp.zeros((RUNS, len(NAMES)), dtype=wp.uint32) for _ in range(2))
        rare = wp.zeros(RUNS, dtype=wp.uint32)
        inputs = [*(array.ptr for array in arrays), wp.array(values, dtype=wp.uint32)]
        threads = 1 if device == "cpu" else 32
        wp.launch(run_both, RUNS * threads, [*inputs, found, wanted, rare, threads])
    assert not rare.numpy().any(), "an instruction that is not plain was executed"
    for column, name in enumerate(NAMES):
        assert np.array_equal(found.numpy()[:, column], wanted.numpy()[:, column]), name
    after = arrays[4].numpy()
    assert np.array_equal(after[:, 0], after[:, 1]), "memory"
    assert found.numpy()[:, 6].sum() > 4 * RUNS, "too few instructions to say anything"
    assert (found.numpy()[:, 9] != 0).sum() > 50, "too few branches were watched"


def test_the_table_names_the_blocks_of_what_comes_next() -> None:
    rom = np.random.default_rng(3).integers(0, 256, 0x10000, dtype=np.uint8)
    words = mark_loops(rom, control_rows.predecode(rom, ends=True))
    table = ptx_threaded_code.code_table(rom, words)
    own = table[:, 1] >> 20
    rows = words & 511
    waits = words & control_rows.WAITS != 0
    immediate = words >> 16
    writes_register = (rows == 0xE0) & (immediate & 0x80 == 0)  # ldh (n8), a
    writes_mapper = (rows == 0xEA) & (immediate < 0x8000)  # ld (n16), a
    leaves = ptx_threaded_code.always_leave(words)
    assert leaves[writes_register | writes_mapper].all()
    assert not leaves[(rows == 0xFA) & (immediate < 0xE000)].any()  # ld a, (n16)
    leaves |= words & control_rows.SLOW_FETCH != 0
    assert not own[leaves | (waits & ~np.isin(rows, WAITING))].any()
    assert np.array_equal(own[~leaves & ~waits], ptx_threaded_code.NUMBER[rows[~leaves & ~waits]])
    labels = [*ptx_threaded_code.BLOCKS]
    waiting = np.flatnonzero(waits & np.isin(rows, WAITING)).tolist()
    assert waiting
    assert all(labels[own[at] - 1] == f"wait{rows[at]:03x}" for at in waiting)
    for at in np.flatnonzero(own)[:5000].tolist():
        row = isa.INSTRUCTIONS[rows[at]]
        assert table[at, 1] & 1023 == own[at + row.length], row.mnemonic
        target = table[at, 1] >> 10 & 1023
        if row.mnemonic in ("jp n16", "call n16"):
            to = int(words[at]) >> 16
            bank = at >> 14
            place = to if to < 0x4000 else (bank << 14) + (to & 0x3FFF)
            known = to < 0x4000 or (to < 0x8000 and bank > 0)
            assert target == (own[place] if known else 0)


def test_every_line_has_both_forms() -> None:
    """What is written for PTX says the same for a CPU: no line is left over or not understood."""
    jumps = sum(one.startswith("brx.idx.uni") for one in statements(ptx_threaded_code.text(NOTHING_MORE)))
    assert jumps == ptx_threaded_code.as_cpp(NOTHING_MORE).count("goto dispatch;") == 1
    assert ptx_threaded_code.as_ptx(NOTHING_MORE).count("brx.idx.uni") == 1
    assert len(ptx_threaded_code.BLOCKS) == ptx_threaded_code.NUMBER.max() + len(WAITING)


def test_a_superblock_leaves_by_one_number_and_only_where_it_must() -> None:
    """Compiling takes as long as there are exits, and what they consist of."""
    rom = np.zeros(0x8000, np.uint8)
    code = [0x13, 0x1A, 0x13, 0x12, 0x14, 0x13, 0xC9]  # de: inc, read, inc, write; inc d; inc de
    rom[0x200 : 0x200 + len(code)] = code
    words = control_rows.predecode(rom, ends=True)
    blocks = Superblocks()
    blocks.add_rom(words, [tuple(range(0x200, 0x200 + len(code)))])
    lines = statements(blocks.more().lines)
    exits = [line for line in lines if line.startswith("SB0L")]
    assert exits == ["SB0LATE:", *(f"SB0LEAVE{k}:" for k in (0, 1, 3, 5, 6))]
    for label in exits:
        first, second, *_ = lines[lines.index(label) + 1 :]
        assert first.startswith("mov.b32 x,")
        assert second == "brx.idx.uni one, TO_EXIT;", label


@pytest.mark.slow
@pytest.mark.warp
@pytest.mark.parametrize("idle_skip", [True, False])
def test_random_roms_come_to_the_same_states(device: str, idle_skip: bool) -> None:
    """On a CPU only if asked for: it compiles for 20 s what nothing else uses."""
    if device == "cpu" and not os.environ.get("DMGLAB_SLOW_PROOFS"):
        pytest.skip("set DMGLAB_SLOW_PROOFS=1")
    random = np.random.default_rng(7)
    cartridges = [
        Cartridge.from_bytes(fuzz_roms.random_rom(random, fuzz_roms.KINDS[i % 5], bool(i // 5 % 2)), f"{i}")
        for i in range(20)
    ]
    pair = [
        Emulator(cartridges, 20, device, executor="uniform", shape=FEW._replace(tail=tail), idle_skip=idle_skip)
        for tail in (0, 20)
    ]
    for launch in range(12):
        buttons = random.integers(0, 256, 20).astype(np.uint8)
        for emulator in pair:
            emulator.run(buttons, 1 + launch, launch // 2)
        assert pair[0].state_hash() == pair[1].state_hash()
        assert np.array_equal(pair[0].screens.numpy(), pair[1].screens.numpy())
        for emulator in pair:
            fuzz_roms.set_going(np.random.default_rng(launch), emulator)
