"""Device layout: the memory layout of a batch of consoles, known only here.

`Console` is one array-of-structs record per env with all of a DMG's state but its RAM, which the memory row
(`constants.ROW_*`) holds. Snapshot, reset cache and save file are copies of those two. Times are uint32
M-cycles relative to the start of the current launch; every time mark is re-based when a launch ends. All
fields of `Console` are uint32.
"""

import dataclasses
import hashlib
from collections.abc import Sequence

import numpy as np
import warp as wp

from emulator import constants as k
from emulator.rom.control_rows import HOOK_TABLE_WORDS

MEANINGS = 1
"""Version number, raised when a field of `Console`, or an offset in the memory row, changes its meaning but not its
name.
"""


# Values of Console.run_state
RUNNING = 0
HALTED = 1
STOPPED = 2
LOCKED = 3

# Values of Console.trap
TRAP_LD_B_B = 1
TRAP_STEP = 2
TRAP_STEPPED = 3
TRAP_TICK = 4


@wp.struct
class Console:
    """State of one DMG except its memory row."""

    # ---- CPU: registers packed as the data path uses them (byte 0 first)
    lo: wp.uint32  # C, B, E, D
    hi: wp.uint32  # L, H, F, A
    sp: wp.uint32
    pc: wp.uint32
    now: wp.uint32  # time of the instruction boundary
    deadline: wp.uint32  # next time at which the PPU, timer or another device may act
    ime: wp.uint32  # 0 off, 1 on, 2 = EI executed, on after the next instruction
    ei_time: wp.uint32  # boundary after that EI
    run_state: wp.uint32  # RUNNING, HALTED, STOPPED, LOCKED (by an undefined opcode)
    stop_time: wp.uint32  # STOP, or no CPU during OAM DMA: time up to which marks were moved along
    halt_bug: wp.uint32  # 1: the next opcode byte is read twice
    # ---- address map as seen by the CPU now
    fast: wp.uint32  # bit per 8 KiB page that needs no call: reads 0-8, writes 16-24 (8 = HRAM)
    rom_low: wp.uint32  # ROM blob offset of the bank at 0000
    rom_high: wp.uint32  # ROM blob offset of the bank at 4000, minus 4000
    ram_offset: wp.uint32  # row offset of the cartridge RAM bank, minus ROW_CART_RAM
    # ---- cartridge (constant while a ROM is in)
    mapper: wp.uint32  # MapperKind
    rom_base: wp.uint32  # ROM blob offset of bank 0
    rom_banks: wp.uint32  # 16 KiB banks, a power of two
    ram_size: wp.uint32  # bytes of cartridge RAM
    has_rtc: wp.uint32  # 1: MBC3 with clock
    # ---- mapper registers
    rom_bank: wp.uint32
    ram_bank: wp.uint32
    bank_mode: wp.uint32
    ram_enabled: wp.uint32
    open_bus: wp.uint32  # value that a read of closed cartridge RAM finds on the data bus
    rtc_zero: wp.uint32  # time at which the running RTC second began
    rtc_seconds: wp.uint32
    rtc_minutes: wp.uint32
    rtc_hours: wp.uint32
    rtc_days: wp.uint32  # bits 0-8 day, bit 14 halt, bit 15 carry
    rtc_latch: wp.uint32  # last value written to 6000-7FFF
    rtc_latched_low: wp.uint32  # latched seconds, minutes << 8, hours << 16
    rtc_latched_days: wp.uint32
    # ---- timer
    div_zero: wp.uint32  # time at which the divider was zero
    tima_mark: wp.uint32  # TIMA in the row is right at this time
    tima_state: wp.uint32  # at tima_mark: 0 plain, 1 overflowed, 2 reloaded in this M-cycle
    timer_next: wp.uint32  # time of the next reload and interrupt
    # ---- serial
    serial_active: wp.uint32
    serial_start: wp.uint32
    serial_edges: wp.uint32  # half-periods seen at serial_start
    serial_end: wp.uint32  # time of the interrupt; far away while idle
    serial_count: wp.uint32  # bytes sent with the internal clock so far
    serial_capacity: wp.uint32  # bytes of log behind the row
    serial_log: wp.uint32  # row offset of that log
    # ---- OAM DMA
    dma_state: wp.uint32  # 0 idle, 1 requested or running
    dma_start: wp.uint32  # time of the first byte's M-cycle
    dma_source: wp.uint32
    dma_done: wp.uint32  # bytes already copied
    dma_blocked: wp.uint32  # 1: an older transfer runs until dma_start (restart)
    # ---- joypad
    buttons: wp.uint32
    joypad_target: wp.uint32  # 0, or 80 | row selection that takes effect at joypad_settles
    joypad_settles: wp.uint32
    release_at: wp.uint32  # time at which the buttons of this launch are let go
    # ---- sound registers' hidden state (io/sound_registers.py)
    apu_mark: wp.uint32
    apu_step: wp.uint32  # frame sequencer events, modulo 8
    apu_skip: wp.uint32  # events lost after power-on
    apu_status: wp.uint32  # bits 0-3 channel on, bits 4-7 length counter enabled
    apu_length_12: wp.uint32  # length counters of channels 1 and 2, 16 bits each
    apu_length_34: wp.uint32
    apu_sweep_timer: wp.uint32
    apu_sweep_shadow: wp.uint32
    apu_sweep_flags: wp.uint32
    apu_wave_index: wp.uint32  # sample 0-31
    apu_wave_next: wp.uint32  # half M-cycle at which the next sample is read
    # ---- launch bookkeeping and scratch (not part of the console's state)
    launch_end: wp.uint32
    stopped: wp.uint32  # 1: a trapped LD B,B froze this console
    trap: wp.uint32  # TRAP_*: stop at LD B,B, after an instruction, or at an LCD switch and an undefined opcode
    work: wp.uint32  # instructions executed in the last launch
    stable: wp.uint32  # time until which the last slow read stays the same
    env: wp.uint32

    # ==== PPU SECTION (used by kernels/ppu); every name begins with ppu_
    ppu_next: wp.uint32  # time of the next PPU event that can raise an interrupt or needs work
    ppu_vram_fast: wp.uint32  # bits of `fast` that let VRAM accesses pass without a call
    ppu_origin: wp.uint32  # time at which line 0 of the current frame began
    ppu_first: wp.uint32  # 1: first frame after LCD-on (short line 0, blank picture)
    ppu_sync: wp.uint32  # T-cycle time up to which the STAT line has been followed
    ppu_stat_line: wp.uint32  # level of the STAT interrupt line at ppu_sync
    ppu_lyc_line: wp.uint32  # latched LY=LYC comparison at ppu_sync
    ppu_late: wp.uint32  # boundary that saw a request made in the second half of the M-cycle
    ppu_window: wp.uint32  # 1: LY has met WY in this frame with the window on
    ppu_window_sync: wp.uint32  # dot of the frame up to which ppu_window holds
    ppu_carry: wp.uint32  # 1: WX=166 left the window active across the frame's end
    ppu_dma: wp.uint32  # 1: an OAM DMA runs or ended not long ago; 2: one stands still
    ppu_dma_start: wp.uint32  # T-cycle time at which it was started
    ppu_end_line: wp.uint32  # line + 1 whose end of mode 3 is known, else 0
    ppu_end: wp.uint32  # dot of that line at which mode 3 ends
    ppu_log_line: wp.uint32  # line + 1 of the last register write
    ppu_log_start: wp.uint32  # index of that line's first entry in the register log
    ppu_log_count: wp.uint32  # entries in the register log
    ppu_draft_log: wp.uint32  # first entry that belongs to the picture in the making
    ppu_undo_count: wp.uint32  # entries in the VRAM/OAM undo log
    ppu_undo_done: wp.uint32  # entries that belong to the finished picture's own lines
    ppu_draft_undo: wp.uint32  # first entry that belongs to the picture in the making
    ppu_finished: wp.uint32  # 1: a finished picture waits to be drawn
    ppu_drafting: wp.uint32  # 1: the picture in the making is logged
    ppu_front: wp.uint32  # which of the row's two screens is shown
    ppu_blank: wp.uint32  # 1: the shown picture is blank
    ppu_frames: wp.uint32  # frames of this launch
    # ==== end of PPU SECTION


CONSOLE_DTYPE = np.dtype([(name, np.uint32) for name in Console.vars])
"""NumPy dtype of a `Console` record."""
Console.numpy_dtype = lambda: CONSOLE_DTYPE  # Warp works it out anew, for 3 ms, at every copy

NUMBERED_LAYOUTS = {0xA4E589E4: 1}
"""Version numbers of older layouts whose files store such a number instead of a hash, by layout hash."""


def layout_version(fields: Sequence[str]) -> int:
    """Return the version number of a state's layout, a hash of `Console`'s fields, the row's offsets and `MEANINGS`."""
    places = sorted((name, place) for name, place in vars(k).items() if name.startswith("ROW_"))
    text = f"{MEANINGS} {' '.join(fields)} {places}"
    version = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
    return NUMBERED_LAYOUTS.get(version, version)


LAYOUT_VERSION = layout_version(CONSOLE_DTYPE.names or ())
"""Layout of the states that this version writes and reads."""

FAR_TIME = 0x3FFFFFFF
"""Time that never comes within a launch."""

BOOKKEEPING = frozenset(
    """
    deadline launch_end release_at work stable env trap serial_capacity serial_log
    fast rom_low rom_high ram_offset rom_base
    ppu_next ppu_log_line ppu_log_start ppu_log_count ppu_draft_log ppu_undo_count ppu_undo_done
    ppu_draft_undo ppu_finished ppu_drafting ppu_vram_fast ppu_front ppu_blank ppu_frames
    """.split()  # noqa: SIM905 - a list of words
)
"""Fields of `Console` that have no effect on the console's future, or follow from other fields."""


@wp.struct
class Batch:
    """N consoles and their shared arrays, passed to every kernel. N = num_envs."""

    console: wp.array[Console]  # [N]
    ram: wp.array2d[wp.uint8]  # [N, row_stride]
    rom: wp.array[wp.uint8]  # all ROMs, one after another
    words: wp.array[wp.uint32]  # per ROM byte: control row and marks | immediate << 16
    control: wp.array[wp.uint32]  # control rows (isa.py): ROWS of ROW_WORDS words, and the hooks
    order: wp.array[wp.int32]  # [N] env by launch slot
    tail: wp.array[wp.uint32]  # [2 + N] consoles that are left (launch/launch_tail.py); 0 between launches
    ram_base: wp.uint64  # the same arrays as raw addresses
    rom_base: wp.uint64
    words_base: wp.uint64
    control_base: wp.uint64
    tail_base: wp.uint64
    row_stride: wp.uint32
    scratch: wp.uint32  # row offset of 128 bytes of padding, used by the CPU kernel
    num_envs: wp.uint32


PADDING = 128


def row_stride(ram_banks: int, serial_capacity: int = 0) -> int:
    """Return the number of bytes from one env's memory row to the next.

    Padding keeps equal addresses of neighbouring envs out of the same cache set.
    """
    return (row_bytes(ram_banks) + serial_capacity + 127) // 128 * 128 + PADDING


def row_bytes(ram_banks: int) -> int:
    """Return the number of bytes of a memory row that belong to a console's state: without serial log and padding."""
    return k.ROW_CART_RAM_BANK_1 + max(0, ram_banks - 1) * k.RAM_BANK_SIZE


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of a batch that `allocate` needs."""

    num_envs: int
    ram_banks: int = 1
    serial_capacity: int = 0


def allocate(layout: Layout, rom: np.ndarray, words: np.ndarray, control: np.ndarray, device: str) -> Batch:
    """Allocate a zeroed batch on `device` and upload the constant data.

    `rom` uint8, `words` uint32 of the same length, `control` as `rom.control_rows` makes it.
    """
    n = layout.num_envs
    stride = row_stride(layout.ram_banks, layout.serial_capacity)
    batch = Batch()
    batch.console = wp.zeros(n, dtype=Console, device=device)
    batch.ram = wp.zeros((n, stride), dtype=wp.uint8, device=device)
    batch.rom = wp.array(rom, dtype=wp.uint8, device=device)
    batch.words = wp.array(words, dtype=wp.uint32, device=device)
    hooks = np.zeros(HOOK_TABLE_WORDS, np.uint32)
    batch.control = wp.array(np.concatenate([control, hooks]), dtype=wp.uint32, device=device)
    batch.order = wp.array(np.arange(n, dtype=np.int32), dtype=wp.int32, device=device)
    batch.tail = wp.zeros(2 + n, dtype=wp.uint32, device=device)
    batch.ram_base = batch.ram.ptr
    batch.rom_base = batch.rom.ptr
    batch.words_base = batch.words.ptr
    batch.control_base = batch.control.ptr
    batch.tail_base = batch.tail.ptr
    batch.row_stride = stride
    batch.scratch = stride - PADDING
    batch.num_envs = n
    return batch


_TIME_NAMES = (
    "now stop_time ei_time rtc_zero div_zero tima_mark timer_next serial_start serial_end dma_start joypad_settles"
    " apu_mark apu_wave_next ppu_origin ppu_next ppu_sync ppu_dma_start ppu_late"
)
_TIMES = dict.fromkeys(_TIME_NAMES.split(), 1) | {"apu_wave_next": 2, "ppu_sync": 4, "ppu_dma_start": 4}
"""Fields of `Console` that are times, and how many of their units an M-cycle has."""


def move_times(console: np.ndarray, row: np.ndarray, span: int) -> None:
    """Add `span` M-cycles, which may be negative, to every time of a record, shape (1,), whose memory row is `row`.

    The console's moment stays the same: a launch then ends `span` M-cycles sooner. `launch_end` does it on the device.
    """
    state, dma = int(console["run_state"][0]), int(console["dma_state"][0])
    halted_clock = not console["has_rtc"][0] or bool(console["rtc_days"][0] & 0x4000)
    kept = {
        "stop_time": state == RUNNING or (state != STOPPED and not dma),
        "ei_time": console["ime"][0] != 2,
        "serial_start": not console["serial_active"][0],
        "serial_end": not console["serial_active"][0],
        "dma_start": not dma,
        "rtc_zero": halted_clock,
        "joypad_settles": not console["joypad_target"][0],
        "apu_wave_next": not console["apu_status"][0] & 4,
        "ppu_dma_start": not console["ppu_dma"][0],
        "ppu_late": console["ppu_late"][0] == 0xFFFFFFFF,
    }
    if not row[k.LCDC - k.ROW_ORIGIN] & k.LCDC_ENABLE:
        kept |= {"ppu_origin": True, "ppu_sync": True}
    for name, units in _TIMES.items():
        if not kept.get(name):
            console[name] = int(console[name][0]) + units * span & 0xFFFFFFFF
