"""Export of PyBoy's save states, of version 29, which PyBoy 2.8 loads.

Exact: CPU, memory, mapper, registers, position in the frame. Approximate: positions inside a sound's wave, which PyBoy
hears and no game reads; the lines' scroll positions are those of the end. https://github.com/Baekalfen/PyBoy
"""

from __future__ import annotations

import struct
import time
from typing import Any

import numpy as np

from emulator import constants as k
from emulator.rom.cartridge import Cartridge, MapperKind
from emulator.state.battery import ram_bytes
from emulator.state.pyboy_state import LINE_PHASE, NOISE, RAM_BANKS, RTC_TYPES, SGB_BYTES, SWEEP, TONE, WAVE
from emulator.state.snapshot import Snapshot

VERSION = 29
NEVER = 1 << 31
"""Number of cycles by which PyBoy means that no interrupt will come."""
SAMPLES = 804
"""Samples a frame of PyBoy's sound at its default rate; it loads no state with another number."""
CYCLES_PER_SAMPLE = k.T_CYCLES_PER_SECOND / 48_000
CYCLES_PER_STEP = k.T_CYCLES_PER_SECOND / 512
DIVISORS = (8, 16, 32, 48, 64, 80, 96, 112)
"""Periods of the noise channel, in T-cycles."""
MODES = ((80, 2, 3), (252, 3, 0), (k.DOTS_PER_LINE, 0, 2))
"""Parts of a visible line in PyBoy: the dot at which each ends, its mode, the next one."""


def state_bytes(
    snapshot: Snapshot, cartridge: Cartridge, io: list[int], booting: bool, cycles: int, picture: np.ndarray
) -> bytes:
    """Return a console's state as a PyBoy state.

    `io`: the bytes FF00-FF7F as the CPU reads them; `booting`: whether a boot program is mapped; `cycles`: T-cycles
    since power-on; `picture` uint8[144, 160, 4].
    """
    return _Writer(snapshot, cartridge, io, cycles).state(booting, picture)


def _packed(layout: str, values: dict[str, int]) -> bytes:
    """Return `values` in the order and sizes of a layout of pyboy_state.py; names that are missing are 0."""
    found = b""
    for part in layout.replace("+", "").split():
        name, _, size = part.partition(":")
        bits = 8 * int(size or 1)
        found += (int(values.get(name, 0)) & (1 << bits) - 1).to_bytes(bits // 8, "little")
    return found


class _Writer:
    """One console's record and row, as the parts of a state."""

    def __init__(self, snapshot: Snapshot, cartridge: Cartridge, io: list[int], cycles: int) -> None:
        self.c = {name: int(snapshot.console[name][0]) for name in snapshot.console.dtype.names or ()}
        self.row, self.cartridge, self.io, self.cycles = snapshot.row, cartridge, io, cycles

    def state(self, booting: bool, picture: np.ndarray) -> bytes:
        c, row = self.c, self.row
        head = bytes([VERSION, booting, 0, 0, 0, 0])
        pixels = np.zeros((k.SCREEN_HEIGHT, k.SCREEN_WIDTH, 5), np.uint8)
        pixels[..., :4] = picture
        screen = pixels.tobytes() + bytes([c["ppu_window"] & 1])
        ram = row[k.ROW_WRAM : k.ROW_WRAM + 0x2000].tobytes() + bytes(0x60) + bytes(self.io[:0x4C])
        ram += row[k.ROW_HRAM : k.ROW_HRAM + 0x7F].tobytes() + b"\0"
        parts = (head, self._cpu(), self._lcd(), self._sound(), screen, ram, self._timer(), self._cartridge())
        return b"".join(parts) + self._ends()

    def _cpu(self) -> bytes:
        c = self.c
        halted, waiting = c["run_state"] == 1, c["ime"] == 2
        hi, lo = c["hi"], c["lo"]
        values = {"a": hi >> 24, "f": hi >> 16 & 0xF0, "b": lo >> 8, "c": lo, "d": lo >> 24, "e": lo >> 16, "hl": hi}
        values |= {"sp": c["sp"], "pc": c["pc"] - halted, "ime": c["ime"] == 1, "delay": waiting, "halted": halted}
        values |= {"stopped": c["run_state"] == 2, "ie": self._byte(k.IE), "cycles": self.cycles}
        values["if"] = self.io[k.IF - k.IO] & k.INTERRUPT_MASK
        cpu = _packed("a f b c d e hl:2 sp:2 pc:2 ime delay halted stopped ie queued if cycles:8", values)
        start = self._ago(c["dma_start"]) if c["dma_state"] else 0
        dma = {"active": c["dma_state"], "source": self.io[k.DMA - k.IO], "index": c["dma_done"], "start": start}
        return cpu + _packed("active reading source index start:8", dma)

    def _byte(self, address: int) -> int:
        return int(self.row[address - k.ROW_ORIGIN])

    def _ago(self, mark: int) -> int:
        """Return a time of the record as T-cycles since power-on."""
        return self.cycles - 4 * _signed(self.c["now"] - mark)

    def _lcd(self) -> bytes:
        c, io = self.c, self.io
        on = bool(self._byte(k.LCDC) & k.LCDC_ENABLE)
        clock = 4 * _signed(c["now"] - c["ppu_origin"]) - LINE_PHASE if on else 4 * _signed(c["now"])
        clock %= k.T_CYCLES_PER_FRAME
        line, dot = divmod(clock, k.DOTS_PER_LINE)
        end, mode, following = next(part for part in MODES if dot < part[0])
        if line >= k.SCREEN_HEIGHT:
            end, mode, following = k.DOTS_PER_LINE, 1, 1
        elif mode == 0 and line == k.SCREEN_HEIGHT - 1:
            following = 1
        target = line * k.DOTS_PER_LINE + end if on else k.T_CYCLES_PER_FRAME
        stat = (io[k.STAT - k.IO] & 0xFC) | (mode if on else 0)
        names = ("lcdc", "bgp", "obp0", "obp1", "stat", "ly", "lyc", "scy", "scx", "wy", "wx")
        at = (k.LCDC, k.BGP, k.OBP0, k.OBP1, k.STAT, k.LY, k.LYC, k.SCY, k.SCX, k.WY, k.WX)
        values = {name: io[address - k.IO] for name, address in zip(names, at, strict=True)}
        values |= {"stat": stat, "ly": line if on else 0, "priority": 0xFF}
        scroll = bytes([values["scx"], values["scy"], values["wx"], values["wy"], values["lcdc"] & k.LCDC_TILE_DATA])
        rest = {"frame_done": 1, "first": c["ppu_first"], "last": self.cycles, "clock": clock, "target": target}
        rest["next_mode"] = following if on else 2
        return (
            self.row[: k.ROW_CART_RAM].tobytes()
            + self.row[k.ROW_OAM : k.ROW_OAM + k.OAM_SIZE].tobytes()
            + _packed(" ".join(names) + " priority", values)
            + scroll * k.SCREEN_HEIGHT
            + bytes(3)
            + _packed("frame_done first reset last:8 clock:8 target:8 next_mode transition", rest)
        )

    def _sound(self) -> bytes:
        c = self.c
        reg = {name: self._byte(getattr(k, name)) for name in dir(k) if name.startswith("NR")}
        on, playing = c["apu_status"] & 15, reg["NR52"] & 0x80
        divider = 4 * _signed(c["now"] - c["div_zero"])
        head = struct.pack("<QQd", 0, SAMPLES, CYCLES_PER_SAMPLE) + bytes(2 * (SAMPLES + 1) + 1)
        head += struct.pack("<ddQQQ", CYCLES_PER_SAMPLE, CYCLES_PER_STEP, 4, 0, self.cycles)
        head += struct.pack("<QQBBB", divider & 0x1FFF, c["apu_step"], 0, playing, 0)
        head += bytes(reg["NR51"] & 0x80 >> i for i in range(8)) + bytes([reg["NR50"]])
        sounds: list[dict[str, Any]] = []
        for n, first in enumerate(("NR1", "NR2", "NR3", "NR4")):
            length, volume, low, high = (reg[f"{first}{i}"] for i in range(1, 5))
            lengths = c["apu_length_12"] if n < 2 else c["apu_length_34"]
            values = {"duty": length >> 6, "length": length & 63, "period": low | (high & 7) << 8, "on": on & 1 << n}
            values |= {"volume": volume >> 4, "v": volume >> 4, "up": volume >> 3 & 1, "counting": high >> 6 & 1}
            values |= {"pace": volume & 7, "envelope": volume & 7, "timer": lengths >> 16 * (n & 1) & 0xFFFF}
            period = 4 * (2048 - values["period"])
            sounds.append(values | {"p": period, "next": period})
        sweep, timer = reg["NR10"], c["apu_sweep_timer"] & 7
        sounds[0] |= {"sweep_pace": sweep >> 4 & 7, "sweep_down": sweep >> 3 & 1, "sweep_shift": sweep & 7}
        sounds[0] |= {
            "negated": c["apu_sweep_flags"] >> 13 & 1,
            "sweep_on": sweep & 0x77 != 0,
            "sweep_timer": timer or 8,
        }
        sounds[0]["shadow"] = sounds[0]["period"]
        volume = reg["NR32"] >> 5 & 3
        period, index = sounds[2]["p"] // 2, c["apu_wave_index"]
        sounds[2] |= {"dac": reg["NR30"] >> 7, "length": reg["NR31"], "volume": volume, "shift": (4, 0, 1, 2)[volume]}
        sounds[2] |= {"p": period, "next": period, "frame": index, "sample": index}
        noise = reg["NR43"]
        period = DIVISORS[noise & 7] << (noise >> 4)
        sounds[3] |= {"shift": noise >> 4, "width": noise >> 3 & 1, "divisor": noise & 7, "p": period, "next": period}
        sounds[3] |= {"register": 1, "feed": 0x4040 if noise & 8 else 0x4000}
        waves = bytes(self.row[k.WAVE_RAM - k.ROW_ORIGIN :][:16])
        tones = _packed(TONE + SWEEP, sounds[0]) + _packed(TONE, sounds[1])
        return head + tones + waves + _packed(WAVE, sounds[2]) + _packed(NOISE, sounds[3])

    def _timer(self) -> bytes:
        divider = 4 * _signed(self.c["now"] - self.c["div_zero"]) & 0xFFFF
        tima, tma, tac = (self.io[at - k.IO] for at in (k.TIMA, k.TMA, k.TAC))
        reloads = self.c["tima_state"] == 1
        values = {"div": divider >> 8, "counter": divider, "tima": tma if reloads else tima, "tma": tma, "tac": tac & 7}
        values |= {"tima_counter": 4 * reloads, "reload": reloads, "last": self.cycles}
        values["next"] = 4 if tac & 4 else NEVER
        return _packed("div tima counter:2 tima_counter:2 tma tac reload last:8 next:8", values)

    def _cartridge(self) -> bytes:
        c, cartridge = self.c, self.cartridge
        kind = cartridge.header.mapper
        mbc1 = kind in (MapperKind.MBC1, MapperKind.MBC1_MULTICART)
        bank = (c["rom_high"] - c["rom_base"] + 0x4000 & 0xFFFFFFFF) >> 14
        found = bytes([bank & 0xFF, c["ram_bank"], c["ram_enabled"], c["bank_mode"]])
        ram = bytearray(b"\xff" * k.RAM_BANK_SIZE * RAM_BANKS.get(int(cartridge.rom[0x149]), 1))
        kept = ram_bytes(self.row, cartridge)[: len(ram)]
        ram[: len(kept)] = kept
        found += bytes(ram)
        if int(cartridge.rom[0x147]) in RTC_TYPES:
            found += self._clock()
        if mbc1:
            found += bytes([c["rom_bank"] & 0xFF, c["ram_bank"]])
        return found + b"\0" * (kind is MapperKind.MBC5)

    def _clock(self) -> bytes:
        c = self.c
        days, halted = c["rtc_days"], c["rtc_days"] >> 14 & 1
        elapsed = c["rtc_zero"] if halted else _signed(c["now"] - c["rtc_zero"])
        now = time.time()
        flags = (halted, days >> 15 & 1)
        times = (c["rtc_seconds"], c["rtc_minutes"], c["rtc_hours"], days & 0xFF, days >> 8 & 1)
        return struct.pack("<d9BQd", now, *flags, *times, *flags, 4 * elapsed, now)

    def _ends(self) -> bytes:
        c = self.c
        held = c["buttons"]
        active = c["serial_active"]
        left = 4 * _signed(c["serial_end"] - c["now"]) if active else NEVER - self.cycles
        serial = {"sb": self.io[1], "sc": self.io[2], "active": 0x80 * active, "internal": self.io[2] & 1}
        serial |= {"last": self.cycles, "clock": self.cycles, "next": left, "target": self.cycles + left}
        joypad = bytes([~held & 15, ~(held >> 4) & 15])
        super_game_boy = bytes.fromhex("00000100000000ffffffff")
        found = joypad + _packed("sb sc active internal last:8 next:8 clock:8 target:8", serial)
        return found + super_game_boy + bytes(SGB_BYTES - len(super_game_boy))


def _signed(value: int) -> int:
    """Return a difference of two times of the record, which wrap at 32 bits."""
    return (value + (1 << 31) & 0xFFFFFFFF) - (1 << 31)
