"""Allowed values of the fields of a console: a record from outside is checked before it runs.

The kernels trust a record: an index beyond its log reaches memory that is not the console's, and a time far
away makes a launch last for ever. Bytes of a memory row need no check: the kernels mask them (`python -m
emulator.verify.fuzz_states` proves both).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from emulator import constants as k
from emulator.rom.cartridge import RAM_SIZES, Cartridge, MapperKind
from emulator.state.batch import CONSOLE_DTYPE, FAR_TIME, HALTED, LOCKED, STOPPED, row_bytes

LOG_CAPACITY = (k.ROW_UNDO_TOP - k.ROW_REGISTER_LOG) // 4
"""Most register entries and undo entries of a row together."""
FRAME = k.M_CYCLES_PER_FRAME
LATEST = FRAME
"""Greatest `now` in a state. Launches leave it at a few M-cycles; `Emulator.step` adds its M-cycles without end."""


class Range(NamedTuple):
    """Rule for a field: a whole number from `low` to `high`."""

    low: int
    high: int


class Bits(NamedTuple):
    """Rule for a field: no bits other than those of `mask`."""

    mask: int


class OneOf(NamedTuple):
    """Rule for a field: one of a few numbers."""

    values: tuple[int, ...]


class Near(NamedTuple):
    """Rule for a field: a time from `low` to `high` M-cycles after `now`, if the condition `when` holds (or always)."""

    low: int
    high: int
    when: str = ""


class Free:
    """Rule for a field: any number, since it is overwritten when a state is loaded, or only compared."""


Rule = Range | Bits | OneOf | Near | Free
FLAG = Range(0, 1)
BYTE = Range(0, 0xFF)
WORD = Range(0, 0xFFFF)
ANY = Free()

RULES: Mapping[str, Rule] = {
    "lo": ANY, "hi": Bits(0xFFF0FFFF), "sp": WORD, "pc": WORD,
    "now": Range(0, LATEST), "deadline": OneOf((0,)), "ime": Range(0, 2), "ei_time": ANY,
    "run_state": Range(0, 3), "stop_time": ANY, "halt_bug": FLAG,
    "fast": ANY, "rom_low": ANY, "rom_high": ANY, "ram_offset": ANY,
    "mapper": OneOf(tuple(int(kind) for kind in MapperKind)), "rom_base": ANY,
    "rom_banks": OneOf(tuple(2 << i for i in range(9))),
    "ram_size": OneOf((*sorted(RAM_SIZES.values()), 0x200)), "has_rtc": Range(0, 2),
    "rom_bank": Range(0, 511), "ram_bank": Range(0, 15), "bank_mode": Range(0, 15), "ram_enabled": FLAG,
    "open_bus": BYTE,
    "rtc_zero": Near(-k.M_CYCLES_PER_SECOND - 16, k.M_CYCLES_PER_SECOND + 16, "has_rtc"),
    "rtc_seconds": Range(0, 63), "rtc_minutes": Range(0, 63), "rtc_hours": Range(0, 31),
    "rtc_days": Bits(0xCFFF), "rtc_latch": BYTE, "rtc_latched_low": Bits(0x1F3FFF),
    "rtc_latched_days": Bits(0xC1FF),
    "div_zero": Near(-0x4000, 0), "tima_mark": Near(0, 0), "tima_state": Range(0, 2),
    "timer_next": Near(-FRAME, FAR_TIME + FRAME),
    "serial_active": FLAG, "serial_start": Near(-FRAME, FRAME, "serial_active"),
    "serial_edges": Range(0, 16), "serial_end": ANY, "serial_count": ANY, "serial_capacity": ANY,
    "serial_log": ANY,
    "dma_state": FLAG, "dma_start": Near(-k.OAM_SIZE - 16, 16, "dma_state"),
    "dma_source": Range(0, 0xDFFF), "dma_done": Range(0, k.OAM_SIZE), "dma_blocked": FLAG,
    "buttons": BYTE, "joypad_target": BYTE, "joypad_settles": ANY, "release_at": ANY,
    "apu_mark": Near(0, 0), "apu_step": Range(0, 7), "apu_skip": Range(0, 2),
    "apu_status": Range(0, 0x1FF), "apu_length_12": Bits(0x01FF01FF),
    "apu_length_34": Bits(0x01FF01FF), "apu_sweep_timer": Range(0, 15),
    "apu_sweep_shadow": Bits(0x3FFFFF), "apu_sweep_flags": Bits(0x1FFFFFFF),
    "apu_wave_index": Range(0, 31), "apu_wave_next": ANY,
    "launch_end": OneOf((0,)), "stopped": FLAG, "trap": ANY, "work": ANY, "stable": OneOf((0,)),
    "env": ANY,
    "ppu_next": Near(-FRAME, FAR_TIME + FRAME), "ppu_vram_fast": Bits(0x00100010),
    "ppu_origin": Near(-FRAME - 16, 0, "lcd"), "ppu_first": FLAG, "ppu_sync": ANY,
    "ppu_stat_line": FLAG, "ppu_lyc_line": FLAG, "ppu_late": ANY, "ppu_window": FLAG,
    "ppu_window_sync": ANY, "ppu_carry": FLAG, "ppu_dma": Range(0, 2), "ppu_dma_start": ANY,
    "ppu_end_line": Range(0, k.LINES_PER_FRAME), "ppu_end": Range(0, k.DOTS_PER_LINE),
    "ppu_log_line": Range(0, k.LINES_PER_FRAME), "ppu_log_start": Range(0, LOG_CAPACITY),
    "ppu_log_count": Range(0, LOG_CAPACITY), "ppu_draft_log": Range(0, LOG_CAPACITY),
    "ppu_undo_count": Range(0, LOG_CAPACITY), "ppu_undo_done": Range(0, LOG_CAPACITY),
    "ppu_draft_undo": Range(0, LOG_CAPACITY), "ppu_finished": FLAG, "ppu_drafting": FLAG,
    "ppu_front": FLAG, "ppu_blank": FLAG, "ppu_frames": Range(0, 10_000),
}  # fmt: skip
"""Allowed values of each field of `Console` in a state."""

AT_MOST = (
    ("ppu_log_start", "ppu_log_count"),
    ("ppu_draft_log", "ppu_log_count"),
    ("ppu_undo_done", "ppu_undo_count"),
    ("ppu_draft_undo", "ppu_undo_count"),
)
"""Pairs of fields of which the first is never greater than the second."""


class ConsoleError(ValueError):
    """State that no console of this emulator can be in; `index` is its position among those checked."""

    def __init__(self, index: int, text: str) -> None:
        super().__init__(text)
        self.index = index


def check_consoles(consoles: np.ndarray, rows: np.ndarray) -> None:
    """Raise ConsoleError for a state that no console can be in.

    The states are records [K] of `CONSOLE_DTYPE` and memory rows uint8[K, bytes], which may be longer than a state, as
    in a batch.
    """
    if rows.shape[1] < k.ROW_CART_RAM_BANK_1:
        raise ConsoleError(0, f"a memory row of {rows.shape[1]} bytes is too short")
    lcd = rows[:, k.LCDC - k.ROW_ORIGIN] & k.LCDC_ENABLE != 0
    for name in CONSOLE_DTYPE.names or ():
        _check(consoles, name, RULES[name], lcd)
    for low, high in AT_MOST:
        _refuse(consoles, consoles[low] > consoles[high], low, f"more than {high}")
    full = consoles["ppu_log_count"] + consoles["ppu_undo_count"] > LOG_CAPACITY
    _refuse(consoles, full, "ppu_undo_count", f"more than {LOG_CAPACITY} with ppu_log_count")
    now = consoles["now"]
    _refuse(consoles, lcd & (consoles["ppu_sync"] != 4 * now), "ppu_sync", "4 times now")
    waits = np.isin(consoles["run_state"], (HALTED, LOCKED)) & (consoles["dma_state"] != 0)
    stands_still = waits | (consoles["run_state"] == STOPPED)
    wrong = consoles["stop_time"] != np.where(stands_still, now, 0)
    _refuse(consoles, wrong, "stop_time", "now while time stands still, else 0")


def check_fit(console: np.ndarray, row: np.ndarray, cartridge: Cartridge) -> None:
    """Raise ConsoleError unless a record, shape (1,), and its memory row fit the cartridge."""
    check_cartridge(console, cartridge)
    size = row_bytes(cartridge.ram_banks)
    if row.shape != (size,) or row.dtype != np.uint8:
        raise ConsoleError(0, f"a memory row {row.dtype}{list(row.shape)}, the cartridge needs uint8[{size}]")


def check_cartridge(consoles: np.ndarray, cartridge: Cartridge) -> None:
    """Raise ConsoleError unless records [K] are of consoles with this cartridge."""
    header = cartridge.header
    expected = {
        "mapper": int(header.mapper),
        "rom_banks": cartridge.rom_banks,
        "ram_size": header.ram_size,
        "has_rtc": cartridge.rtc,
    }
    for name, value in expected.items():
        _refuse(consoles, consoles[name] != value, name, f"the cartridge has {value}")


def _check(consoles: np.ndarray, name: str, rule: Rule, lcd: np.ndarray) -> None:
    values = consoles[name]
    if isinstance(rule, Range):
        out = (values < rule.low) | (values > rule.high)
        _refuse(consoles, out, name, f"{rule.low} to {rule.high}")
    elif isinstance(rule, Bits):
        _refuse(consoles, values & np.uint32(~rule.mask & 0xFFFFFFFF) != 0, name, f"bits of {rule.mask:#x} only")
    elif isinstance(rule, OneOf):
        text = "0" if rule.values == (0,) else f"one of {', '.join(map(str, rule.values))}"
        _refuse(consoles, ~np.isin(values, rule.values), name, text)
    elif isinstance(rule, Near):
        after = (values - consoles["now"]).view(np.int32)
        active = lcd if rule.when == "lcd" else _active(consoles, rule.when)
        out = active & ((after < rule.low) | (after > rule.high))
        _refuse(consoles, out, name, f"{rule.low} to {rule.high} after now")


def _active(consoles: np.ndarray, when: str) -> np.ndarray:
    return consoles[when] != 0 if when else np.ones(len(consoles), bool)


def _refuse(consoles: np.ndarray, out: np.ndarray, name: str, allowed: str) -> None:
    if out.any():
        index = int(np.argmax(out))
        raise ConsoleError(index, f"{name} is {consoles[name][index]}, allowed: {allowed}")
