"""Import of PyBoy's save states; `pyboy_state_writer` writes them.

Covered are the state versions of its releases: 7 and 9 (1.5, 1.6), 10 (2.0), 11 (2.2), 12 (2.4), 14 (2.5), 15 (2.6
and 2.7) and 29 (2.8). A state does not say which ROM it belongs to; the caller names it. PyBoy rounds some values that
this emulator keeps: see `to_snapshot`.
https://github.com/Baekalfen/PyBoy
"""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from emulator import constants as k
from emulator.rom.cartridge import Cartridge, MapperKind
from emulator.state.batch import FAR_TIME, move_times, row_bytes
from emulator.state.battery import put_ram
from emulator.state.console_check import ConsoleError, check_consoles, check_fit
from emulator.state.power_on import power_on_console, power_on_row
from emulator.state.snapshot import Snapshot, SnapshotError

VERSIONS = (7, 9, 10, 11, 12, 14, 15, 29)
RAM_BANKS = {0: 1, 1: 1, 2: 1, 3: 4, 4: 16, 5: 8}
"""Number of 8 KiB cartridge RAM banks in a PyBoy state, by header byte 0149."""
MOST_FILE_BYTES = 8 << 20
SGB_BYTES = 7 + 4 + 0x2000 + 0x800 + 0x80
LINE_PHASE = 4
"""T-cycles by which PyBoy's LY is ahead of its clock at the start of a line."""
RTC_TYPES = (0x0F, 0x10)
TONE = (
    "duty length volume up pace period:2 counting on timer:8 envelope:8 next:8 p:8 frame:8 v:8"
    " suppressed+ pending_duty+ pending+"
)
SWEEP = " sweep_pace sweep_down sweep_shift sweep_timer:8 check+:8 calc+:8 hold+:8 negated+ sweep_on shadow:8"
WAVE = (
    "dac length volume period:2 counting on timer:8 next:8 p:8 frame:8 suppressed+ shift:8 access+ restart+ sample+:8"
)
NOISE = (
    "length volume up pace shift width divisor counting on timer:8 next:8 envelope:8 p:8 register:8 feed:8 v:8"
    " c+:8 countdown+:8 alignment+:8 running+"
)
"""Layouts of the four sound channels; names with a plus are there from version 29 on."""


class _Reader:
    """Sequential reader of a state's bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def bytes(self, count: int) -> bytes:
        part = self.data[self.place : self.place + count]
        if len(part) < count:
            raise _MismatchError(f"it ends after {len(self.data)} bytes")
        self.place += count
        return part

    def skip(self, count: int) -> None:
        self.bytes(count)

    def u8(self) -> int:
        return self.bytes(1)[0]

    def u64(self) -> int:
        return int.from_bytes(self.bytes(8), "little")

    def named(self, layout: str) -> dict[str, int]:
        """Read consecutive values and return them by name.

        `layout`: names with sizes in bytes, such as "a b sp:2 clock:8"; 1 if no size is given.
        """
        values = {}
        for part in layout.split():
            name, _, size = part.partition(":")
            values[name] = int.from_bytes(self.bytes(int(size or 1)), "little")
        return values


class _MismatchError(Exception):
    """Error of reading a state with a layout that is not its own; another one is tried then."""


@dataclasses.dataclass(slots=True)
class PyBoyState:
    """Values of a PyBoy state from which a console is made."""

    version: int
    cpu: dict[str, int]
    dma: dict[str, int]
    vram: bytes
    oam: bytes
    lcd: dict[str, int]
    sound: dict[str, Any]
    """Sound registers; empty for states before version 14, which have none."""
    shades: np.ndarray
    wram: bytes
    io_ports: bytes
    hram: bytes
    timer: dict[str, int]
    mapper: dict[str, int]
    cart_ram: bytes
    rtc: dict[str, int]
    joypad: dict[str, int]
    serial: dict[str, int]


def parse(data: bytes, cartridge: Cartridge, in_boot: bool = False) -> PyBoyState:
    """Parse a PyBoy state of a game on `cartridge`; raise SnapshotError, one line, if it cannot be.

    `in_boot`: accept a state in which the boot program is mapped.
    """
    version = data[0] if data else -1
    if version not in VERSIONS:
        raise SnapshotError(
            f"PyBoy state version {version} is not read, only"
            f" {', '.join(map(str, VERSIONS))} (PyBoy 1.5 to 2.8); load it there and save it again"
        )
    problem = ""
    # PyBoy 2.7 added a byte (NR50) without a new version number.
    for nr50 in (True, False) if version == 15 else (version > 15,):
        try:
            state = _parse(_Reader(data), version, cartridge, nr50)
        except _MismatchError as error:
            problem = str(error)
            continue
        if state.cpu["boot_rom"] and not in_boot:
            raise SnapshotError("taken inside PyBoy's boot program; run until the game has started")
        return state
    raise SnapshotError(f"does not fit {cartridge.name} ({problem}); was it made with another ROM?")


def _parse(r: _Reader, version: int, cartridge: Cartridge, nr50: bool) -> PyBoyState:
    r.skip(1)
    new = version >= 29
    boot_rom = r.u8()
    r.skip(1 if new else 0)  # key0
    old = version < 8  # before the Game Boy Color
    r.skip(0 if old else 2)  # key1, double speed
    if not old and r.u8():
        raise SnapshotError("the state is of a Game Boy Color; run PyBoy with cgb=False and save again")
    cpu = r.named("a f b c d e hl:2 sp:2 pc:2 ime" + " delay" * new + " halted stopped ie" + " queued if" * (not old))
    cpu = {"if": 0, "boot_rom": boot_rom} | cpu
    r.skip(8 if version >= 12 else 0)  # cycles
    dma = r.named("active reading source index start:8") if new else {}
    vram, oam = r.bytes(0x2000), r.bytes(k.OAM_SIZE)
    lcd = r.named("lcdc bgp obp0 obp1 stat ly lyc scy scx wy wx")
    r.skip(1 if new else 0)  # object priority mode
    r.skip(5 * k.SCREEN_HEIGHT if version >= 11 else 0)  # scroll positions for PyBoy's API
    r.skip(0 if old else 2 + new)  # cgb, downgraded, speed
    lcd |= r.named("frame_done first reset") if version >= 14 else {"first": 0}
    r.skip(8 if version >= 12 else 0)  # last cycles
    lcd |= {"clock": 0, "target": 0} if old else r.named("clock:8 target:8 next_mode")
    r.skip(1 if new else 0)  # transition
    sound = _parse_sound(r, new, nr50) if version >= 14 else {}
    r.skip(5 * k.SCREEN_HEIGHT if version < 11 else 0)
    shades = _shades(r.bytes((5 if version >= 10 else 4) * k.SCREEN_HEIGHT * k.SCREEN_WIDTH))
    lcd["window"] = r.u8() if new else int(lcd["ly"] >= lcd["wy"])
    wram = r.bytes(0x2000)
    r.skip(0x60)  # FEA0-FEFF
    io_ports, hram = r.bytes(0x4C), r.bytes(0x7F)
    r.skip(1 if new else 0x34)  # WRAM bank; registers of the Game Boy Color
    timer = r.named("div tima counter:2 tima_counter:2 tma tac" + " reload" * new)
    r.skip(8 if version >= 12 else 0)
    r.skip(8 if version >= 14 else 0)
    mapper, cart_ram, rtc = _parse_cartridge(r, version, cartridge)
    joypad = r.named("directions actions")
    serial = {"sb": io_ports[1], "sc": io_ports[2], "active": 0, "internal": 0}
    if version >= 15:
        serial = r.named("sb sc active internal")
        r.skip(32)
    r.skip(SGB_BYTES if new else 0)
    if r.place != len(r.data):
        raise _MismatchError(f"{len(r.data) - r.place} bytes are left over")
    return PyBoyState(
        version, cpu, dma, vram, oam, lcd, sound, shades, wram, io_ports, hram, timer,
        mapper, cart_ram, rtc, joypad, serial,
    )  # fmt: skip


def _parse_sound(r: _Reader, new: bool, nr50: bool) -> dict[str, Any]:
    r.skip(8)
    samples = r.u64()
    if samples > 1 << 20:
        raise _MismatchError(f"{samples} sound samples a frame")
    r.skip(8 + 2 * (samples + 1) + 1 + 8 + 8 + 8 + 8 + 8)
    sound: dict[str, Any] = r.named("div_counter:8 sequencer:8" + " after_div" * new + " power off")
    sound["panning"] = [bool(r.u8()) for _ in range(8)]
    sound["nr50"] = r.u8() if nr50 else 0x77
    tone, sweep, wave, noise = TONE, SWEEP, WAVE, NOISE
    if not new:
        tone, sweep, wave, noise = (re.sub(r"\S+\+\S*", "", layout) for layout in (tone, sweep, wave, noise))
    tone, sweep, wave, noise = (layout.replace("+", "") for layout in (tone, sweep, wave, noise))
    sound["channels"] = [r.named(tone + sweep), r.named(tone)]
    sound["wave"] = r.bytes(16)
    sound["channels"] += [r.named(wave), r.named(noise)]
    return sound


def _parse_cartridge(r: _Reader, version: int, cartridge: Cartridge) -> tuple[dict[str, int], bytes, dict[str, int]]:
    kind, size = int(cartridge.rom[0x147]), int(cartridge.rom[0x149])
    mapper = r.named("rom_bank ram_bank ram_enabled mode")
    cart_ram = r.bytes(k.RAM_BANK_SIZE * RAM_BANKS.get(size, 1))
    rtc: dict[str, int] = {}
    if kind in RTC_TYPES:
        r.skip((8 if version >= 14 else 4) + 2)
        if version >= 29:
            rtc = r.named("seconds minutes hours day_low day_high halt carry cycles:8")
            r.skip(8)
    header = cartridge.header.mapper
    if header in (MapperKind.MBC1, MapperKind.MBC1_MULTICART):
        mapper |= r.named("low high")
    if header is MapperKind.MBC5 and version >= 29 and r.u8():
        r.skip(1)
    return mapper, cart_ram, rtc


def _shades(screen: bytes) -> np.ndarray:
    """Return the state's picture as shades, uint8[144, 160], by ranking its colours by brightness."""
    pixels = np.frombuffer(screen, np.uint8).reshape(k.SCREEN_HEIGHT, k.SCREEN_WIDTH, -1)
    brightness = pixels[..., 1:3].astype(np.int32).sum(axis=2)  # old versions have alpha first
    return np.clip(np.rint(3 - brightness / 170.0), 0, 3).astype(np.uint8)


# ---- conversion to a console ----------------------------------------------------------------


def to_snapshot(state: PyBoyState, cartridge: Cartridge) -> Snapshot:
    """Convert a PyBoy state into a state of this emulator.

    Exact: CPU, memory, mapper, registers, position in the frame. Approximate: a serial transfer on its way
    starts again; latched clock registers are taken from the running clock (which versions before 29 do not
    save: it starts at 0); sound counters before version 14 start at power-on.
    """
    console = power_on_console(cartridge, 0)
    row = power_on_row(cartridge, row_bytes(cartridge.ram_banks))
    _fill_memory(row, state, cartridge)
    _fill_registers(row, state)
    _fill_screen(row, state)
    values = (
        _cpu_fields(state)
        | _mapper_fields(state, cartridge)
        | _timer_fields(state)
        | _sound_fields(row, state)
        | _ppu_fields(state)
    )
    for name, value in values.items():
        console[name] = value & 0xFFFFFFFF
    move_times(console, row, _frame_start(state))
    try:
        check_consoles(console, row[np.newaxis])
        check_fit(console, row, cartridge)
    except ConsoleError as error:
        raise SnapshotError(f"the state is damaged ({error}); save it again") from None
    return Snapshot(console, row, cartridge.sha256)


def _frame_start(state: PyBoyState) -> int:
    """Return the M-cycles since PyBoy's frame began if it is in its first line, so that frames end together; else 0."""
    clock = state.lcd["clock"] if state.version >= 14 else k.DOTS_PER_LINE
    return clock // 4 if clock < k.DOTS_PER_LINE and state.lcd["lcdc"] & k.LCDC_ENABLE else 0


def _fill_memory(row: np.ndarray, state: PyBoyState, cartridge: Cartridge) -> None:
    places = {k.ROW_VRAM: state.vram, k.ROW_WRAM: state.wram, k.ROW_OAM: state.oam, k.ROW_HRAM: state.hram}
    for place, data in places.items():
        row[place : place + len(data)] = np.frombuffer(data, np.uint8)
    put_ram(row, cartridge, state.cart_ram)


def _fill_registers(row: np.ndarray, state: PyBoyState) -> None:
    lcd, timer, cpu = state.lcd, state.timer, state.cpu
    on = bool(lcd["lcdc"] & k.LCDC_ENABLE)
    reloading = timer.get("reload", 0) == 1
    for address, value in {
        k.P1: state.io_ports[0] & 0x30,
        k.SB: state.serial["sb"],
        k.SC: state.serial["sc"],
        k.TIMA: 0 if reloading else timer["tima"],
        k.TMA: timer["tma"],
        k.TAC: timer["tac"] & 7,
        k.IF: cpu["if"] & k.INTERRUPT_MASK,
        k.IE: cpu["ie"],
        k.LCDC: lcd["lcdc"],
        k.STAT: lcd["stat"] & (0x78 if on else 0x7C),
        k.SCY: lcd["scy"],
        k.SCX: lcd["scx"],
        k.LYC: lcd["lyc"],
        k.DMA: state.dma.get("source", state.io_ports[0x46]),
        k.BGP: lcd["bgp"],
        k.OBP0: lcd["obp0"],
        k.OBP1: lcd["obp1"],
        k.WY: lcd["wy"],
        k.WX: lcd["wx"],
    }.items():
        row[address - k.ROW_ORIGIN] = value


def _fill_screen(row: np.ndarray, state: PyBoyState) -> None:
    """Store the state's picture as the shown one, and the base registers of the next picture, in the memory row."""
    low = np.packbits(state.shades & 1, axis=1)
    high = np.packbits(state.shades >> 1, axis=1)
    packed = np.concatenate([low, high], axis=1).ravel()
    row[k.ROW_SCREENS : k.ROW_SCREENS + k.SCREEN_BYTES] = packed
    lcd = state.lcd
    names = ("lcdc", "scy", "scx", "bgp", "obp0", "obp1", "wy", "wx")
    base = bytes(lcd[name] for name in names) + bytes(4) + struct.pack("<i", k.NO_DMA_DOT)
    place = k.ROW_DRAFT_BASE
    row[place : place + len(base)] = np.frombuffer(base, np.uint8)


def _cpu_fields(state: PyBoyState) -> dict[str, int]:
    cpu = state.cpu
    waiting = bool(cpu.get("delay", 0)) and not cpu["ime"]
    dma = state.dma if state.dma.get("active") else {}
    held = ~state.joypad["directions"] & 15 | (~state.joypad["actions"] & 15) << 4
    return {
        "lo": cpu["c"] | cpu["b"] << 8 | cpu["e"] << 16 | cpu["d"] << 24,
        "hi": cpu["hl"] | (cpu["f"] & 0xF0) << 16 | cpu["a"] << 24,
        "sp": cpu["sp"],
        # PyBoy's PC stays on a HALT until it is over.
        "pc": (cpu["pc"] + bool(cpu["halted"])) & 0xFFFF,
        "ime": 2 if waiting else int(bool(cpu["ime"])),
        "run_state": 2 if cpu["stopped"] else int(bool(cpu["halted"])),
        "buttons": held,
        "dma_state": int(bool(dma)),
        "dma_start": -dma.get("index", 0),
        "dma_source": (dma.get("source", 0) << 8) - (0x2000 if dma.get("source", 0) >= 0xE0 else 0),
        "dma_done": dma.get("index", 0),
    }


def _mapper_fields(state: PyBoyState, cartridge: Cartridge) -> dict[str, int]:
    mapper, rtc = state.mapper, state.rtc
    fields = {
        "rom_bank": mapper.get("low", mapper["rom_bank"]),
        "ram_bank": mapper.get("high", mapper["ram_bank"]) & 15,
        "bank_mode": mapper["mode"] & 1,
        "ram_enabled": int(bool(mapper["ram_enabled"])),
    }
    if cartridge.header.mapper is MapperKind.NONE:
        fields = {}
    if rtc:
        days = rtc["day_low"] | (rtc["day_high"] & 1) << 8 | rtc["halt"] << 14 | rtc["carry"] << 15
        elapsed = rtc["cycles"] // 4
        fields |= {
            "rtc_seconds": rtc["seconds"],
            "rtc_minutes": rtc["minutes"],
            "rtc_hours": rtc["hours"],
            "rtc_days": days,
            "rtc_zero": elapsed if rtc["halt"] else -elapsed,
            "rtc_latched_low": rtc["seconds"] | rtc["minutes"] << 8 | rtc["hours"] << 16,
            "rtc_latched_days": days,
        }
    return fields


def _timer_fields(state: PyBoyState) -> dict[str, int]:
    """Return the fields of timer and serial port; time 0 is the moment of the PyBoy state."""
    timer, serial = state.timer, state.serial
    divider = timer["div"] << 8 | timer["counter"] & 0xFF
    zero = -(divider // 4)
    fields = {
        "div_zero": zero,
        "tima_state": int(timer.get("reload", 0) == 1),
        "timer_next": 0,  # the next launch works it out
        "serial_end": FAR_TIME,
    }
    if serial["active"] and serial["internal"]:
        half_period = 64
        fields |= {"serial_active": 1, "serial_end": zero + (-zero // half_period + 16) * half_period}
    return fields


def _sound_fields(row: np.ndarray, state: PyBoyState) -> dict[str, int]:
    sound = state.sound
    if not sound:
        return {"apu_status": 0}
    one, two, wave, noise = sound["channels"]
    on = bool(sound["power"])

    def envelope(channel: dict[str, int]) -> int:
        return channel["volume"] << 4 | channel["up"] << 3 | channel["pace"]

    def control(channel: dict[str, int]) -> int:
        return channel["counting"] << 6 | channel.get("period", 0) >> 8

    panning = sum(int(bit) << (7 - i) for i, bit in enumerate(sound["panning"]))
    registers: Sequence[int] = [
        one["sweep_pace"] << 4 | one["sweep_down"] << 3 | one["sweep_shift"],
        one["duty"] << 6 | one["length"], envelope(one), one["period"] & 255, control(one),
        0xFF, two["duty"] << 6 | two["length"], envelope(two), two["period"] & 255, control(two),
        wave["dac"] << 7, wave["length"], wave["volume"] << 5, wave["period"] & 255, control(wave),
        0xFF, noise["length"], envelope(noise),
        noise["shift"] << 4 | noise["width"] << 3 | noise["divisor"], control(noise),
        sound["nr50"], panning, int(on) << 7,
    ]  # fmt: skip
    if max(registers) > 0xFF:
        raise SnapshotError("the state is damaged (sound registers); save it again in PyBoy")
    first = k.NR10 - k.ROW_ORIGIN
    row[first : first + len(registers)] = registers
    place = k.WAVE_RAM - k.ROW_ORIGIN
    row[place : place + 16] = np.frombuffer(sound["wave"], np.uint8)
    channels = (one, two, wave, noise)
    playing = sum(int(bool(c["on"])) << i | c["counting"] << (4 + i) for i, c in enumerate(channels))
    return {
        "apu_status": playing if on else 0,
        "apu_step": sound["sequencer"] & 7 if on else 0,
        "apu_length_12": one["timer"] | two["timer"] << 16,
        "apu_length_34": wave["timer"] | noise["timer"] << 16,
        "apu_sweep_timer": one["sweep_timer"] & 15,
        "apu_sweep_shadow": one["shadow"] & 0x7FF,
        "apu_sweep_flags": int(bool(one["sweep_on"])) | int(bool(one.get("negated", 0))) << 1,
        "apu_wave_index": wave["frame"] & 31,
        "apu_wave_next": (wave["next"] & 0xFFFF) // 2 if wave["on"] else 0,
    }


def _ppu_fields(state: PyBoyState) -> dict[str, int]:
    lcd = state.lcd
    on = bool(lcd["lcdc"] & k.LCDC_ENABLE)
    fields = {
        "ppu_frames": 1,
        "ppu_late": 0xFFFFFFFF,
        "ppu_blank": int(not on or bool(lcd["first"])),
        "ppu_lyc_line": lcd["stat"] >> 2 & 1,
    }
    if not on:
        return fields | {"ppu_next": FAR_TIME}
    clock = lcd["clock"] % k.T_CYCLES_PER_FRAME
    if state.version < 14:
        # The clock of these versions does not follow LY: count back from the end of the mode.
        end_of_mode = (456, 456, 80, 250)[lcd["stat"] & 3]
        clock = k.DOTS_PER_LINE * lcd["ly"] + end_of_mode - (lcd["target"] - lcd["clock"])
    origin = -((clock + LINE_PHASE) // 4)
    mode, stat = lcd["stat"] & 3, lcd["stat"]
    by_mode = stat >> (mode + 3) & 1 if mode < 2 else 0
    return fields | {
        "ppu_origin": origin,
        "ppu_first": int(bool(lcd["first"])),
        "ppu_stat_line": by_mode | (stat >> 6 & stat >> 2 & 1),
        "ppu_window": int(bool(lcd["window"]) and bool(lcd["lcdc"] & k.LCDC_WINDOW_ENABLE)),
        "ppu_window_sync": -4 * origin - 1,
        "ppu_drafting": 1,
        "ppu_next": 0,  # the next launch works it out
    }
