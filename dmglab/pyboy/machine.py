"""The console below `PyBoy`: its ticks, the places where it stops for Python, the boot program at 0000.

A tick of PyBoy ends when LY returns to 0, when the LCD is switched on or off, and every 70,224 cycles while it is off.
Launches are aligned to that: time 0 is the end of a tick. With `TRAP_TICK` a launch also ends at an LCD switch, and in
front of an undefined opcode, which is what a hook puts into memory, as PyBoy does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dmglab.pyboy.boot import PROGRAM
from emulator import Cartridge, Emulator, Snapshot
from emulator import constants as k
from emulator.rom.idle_loops import marked_words
from emulator.state.batch import FAR_TIME, TRAP_STEP, TRAP_TICK, move_times, row_bytes
from emulator.state.power_on import power_on_console, power_on_row

BREAK = 0xDB
"""Undefined opcode that PyBoy writes over a hooked instruction."""
BOOT = -1
"""Bank number of the boot program."""
BOOT_BYTES = 0x100
BANK = 0x4000
FRAME = k.M_CYCLES_PER_FRAME
LINE_0_BEGINS = -1
"""Time at which line 0 begins: PyBoy's LY is an M-cycle behind, and its tick ends with it."""
Place = tuple[int, int]


class Machine:
    """One console that runs in PyBoy's ticks, on the CPU, from its boot program on.

    `boot`: 256 bytes, or None for our own. `on_stop(bank, address)` is called in front of an instruction of `stops`,
    which then runs; it returns whether it has gone on itself, so that it has seen the instruction at PC too.
    """

    def __init__(self, cartridge: Cartridge, boot: bytes | None, on_stop: Callable[[int, int], bool]) -> None:
        self.cartridge = cartridge
        self.emulator = Emulator(cartridge, 1, "cpu")
        batch = self.emulator.batch
        self.record: np.ndarray = batch.console.numpy()
        self.row: np.ndarray = batch.ram.numpy()[0]
        self.rom: np.ndarray = batch.rom.numpy()
        self._words: np.ndarray = batch.words.numpy()
        self.boot = np.frombuffer(boot or PROGRAM, np.uint8).copy()
        self.hidden = self.rom[:BOOT_BYTES].copy()
        """The ROM's first bytes, which the boot program covers."""
        self.booting = False
        self.stops: dict[Place, tuple[int, int]] = {}
        """Places where the console stops, each with the byte and the predecoded word that lie below."""
        self.held = np.zeros(1, np.uint8)
        """Joypad mask."""
        self.locks_clock = False
        self.touched = True
        """True once a program has changed the console, so that what follows it begins anew."""
        self._on_stop = on_stop
        self._epoch = 0
        self._switch_on()

    # ---- time --------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """M-cycles since the tick began."""
        return int(self.record["now"].view(np.int32)[0])

    @property
    def cycles(self) -> int:
        """T-cycles since power-on, as far as known."""
        return 4 * (self._epoch + self.now)

    def _move(self, span: int) -> None:
        move_times(self.record, self.row, span)
        self._epoch -= span

    def align(self) -> None:
        """Let ticks end where LY returns to 0, or while the LCD is off every frame from now on."""
        line_0 = int(self.record["ppu_origin"].view(np.int32)[0])
        self._move((self.now - line_0 + LINE_0_BEGINS) % FRAME * self.lcd_on - self.now)

    def set_divider(self, value: int) -> None:
        """Let DIV be `value` now; the bits below it stay."""
        low = (self.now - int(self.record["div_zero"].view(np.int32)[0])) & 0x3F
        self.record["div_zero"] = self.now - (value << 6 | low) & 0xFFFFFFFF
        self.record["timer_next"] = self.record["now"]  # the next launch works it out

    @property
    def lcd_on(self) -> bool:
        """True while the LCD is on."""
        return bool(self.row[k.LCDC - k.ROW_ORIGIN] & k.LCDC_ENABLE)

    def run(self, ticks: int) -> int:
        """Run at most `ticks` ticks; return how many passed, at least 1. Raises what `on_stop` raises."""
        passed = 0
        while True:
            if self.locks_clock:
                for name in ("rtc_seconds", "rtc_minutes", "rtc_hours", "rtc_days"):
                    self.record[name] = 0
                self.record["rtc_zero"] = self.record["now"]
            on, left = self.lcd_on, ticks - passed
            self.emulator.run(self.held, left)
            self._epoch += left * FRAME
            if self.now >= 0:
                return ticks
            passed += (self.now + left * FRAME) // FRAME
            self._move((ticks - passed) * FRAME)
            if self.lcd_on == on:
                self._stop()
            if self.lcd_on != on:
                self._move(-self.now)
                return passed + 1

    def _stop(self) -> None:
        """Let Python look at the instruction at PC, run it, and put the stop back."""
        place = self.place()
        if self.booting and place == (0, BOOT_BYTES):
            self.unmap_boot()
        elif place not in self.stops:
            self.record["trap"] = 0  # the game's own undefined opcode: the CPU locks up
        if place in self.stops and (self._on_stop(*place) or self.place() == place):
            self.step()

    def step(self) -> None:
        """Run one instruction, without a stop in front of it."""
        place = self.place()
        below = self.stops.get(place)
        if below:
            self.unset(place)
        self.record["trap"] = TRAP_STEP
        self.emulator.run(self.held, 1)
        self.record["trap"] = TRAP_TICK
        if below:
            self.set(place, below)

    # ---- stops -------------------------------------------------------------------------------

    def place(self) -> Place:
        """Return bank and address of PC as PyBoy numbers them."""
        pc = int(self.record["pc"][0]) & 0xFFFF
        if pc < BANK:
            return (BOOT if self.booting and pc < BOOT_BYTES else 0), pc
        if pc < k.VRAM:
            return (int(self.record["rom_high"][0]) + BANK & 0xFFFFFFFF) // BANK, pc
        return (int(self.record["ram_bank"][0]) if k.CART_RAM <= pc < k.WRAM else 0), pc

    def bank(self, bank: int, address: int) -> np.ndarray:
        """Return the bytes of a bank, uint8[n], that begins at 0000, 4000, 8000, A000 or C000 and holds `address`.

        They are the console's own memory, but empty where it has no such bank.
        """
        if bank == BOOT:
            return self.boot
        if address < k.VRAM:
            return self.rom[bank * BANK : (bank + 1) * BANK] if bank >= 0 else self.rom[:0]
        if k.CART_RAM <= address < k.WRAM and bank > 0:
            return self.row[k.ROW_CART_RAM_BANK_1 + (bank - 1) * k.RAM_BANK_SIZE :][: k.RAM_BANK_SIZE]
        start = (address & 0xE000) - k.ROW_ORIGIN
        return self.row[start : start + k.RAM_BANK_SIZE] if bank == 0 and address < k.ECHO else self.row[:0]

    def set(self, place: Place, below: tuple[int, int] | None = None) -> None:
        """Stop in front of the instruction at `place` from now on; `below` is what `stops` had for it."""
        self.stops[place] = below or (self._put(place, BREAK), self._word(place, BREAK))
        if below:
            self._put(place, BREAK)
            self._word(place, BREAK)

    def unset(self, place: Place) -> None:
        """Stop there no more."""
        byte, word = self.stops.pop(place)
        self._put(place, byte)
        self._word(place, word)

    def _is_covered(self, place: Place) -> bool:
        """Return whether this place lies behind the boot program, or in it while it is not mapped."""
        return place[0] <= 0 and place[1] < BOOT_BYTES and self.booting != (place[0] == BOOT)

    def _put(self, place: Place, value: int) -> int:
        """Write a byte and return the old one."""
        bank, address = place
        if bank == BOOT and self.booting:
            self.rom[address] = value
        bytes_ = self.hidden if bank == 0 and self._is_covered(place) else self.bank(bank, address)
        at = address % (BANK if address < k.VRAM else k.RAM_BANK_SIZE)
        old = int(bytes_[at])
        bytes_[at] = value
        return old

    def _word(self, place: Place, value: int) -> int:
        """Write a predecoded word, if there is one at this place now, and return the old one."""
        bank, address = place
        if address >= k.VRAM or self._is_covered(place):
            return BREAK
        at = max(bank, 0) * BANK + address % BANK
        old = int(self._words[at])
        self._words[at] = value
        return old

    def patch(self, bank: int, offset: int, values: np.ndarray) -> None:
        """Write bytes into a ROM bank from `offset` on, or into the boot program (bank -1)."""
        whole = self.bank(bank, 0)
        covered = BOOT_BYTES - offset if self.booting and bank == 0 and offset < BOOT_BYTES else 0
        self.hidden[offset : offset + covered] = values[:covered]
        whole[offset + covered : offset + len(values)] = values[covered:]
        if bank == BOOT and self.booting:
            self.rom[:BOOT_BYTES] = self.boot
        if bank != BOOT or self.booting:
            self._decode(max(bank, 0))

    def _decode(self, bank: int) -> None:
        """Predecode a ROM bank again, after a change, and let it stop where it did."""
        clean = self.rom[bank * BANK : (bank + 1) * BANK].copy()
        words = self._words[bank * BANK : (bank + 1) * BANK]
        here = [p for p in self.stops if p[1] < k.VRAM and max(p[0], 0) == bank and not self._is_covered(p)]
        for place in here:
            clean[place[1] % BANK] = self.stops[place][0]
        words[:] = marked_words(clean, True)
        for place in here:
            at = place[1] % BANK
            self.stops[place] = (self.stops[place][0], int(words[at]))
            words[at] = BREAK
        if bank == 0 and self.booting:
            words[BOOT_BYTES] = BREAK

    # ---- states ------------------------------------------------------------------------------

    def _switch_on(self) -> None:
        """Go to the moment of power-on: registers and memory 0, the LCD off, the boot program mapped."""
        cartridge = self.cartridge
        console, row = power_on_console(cartridge, 0), power_on_row(cartridge, row_bytes(cartridge.ram_banks))
        row[: k.ROW_CART_RAM] = row[k.ROW_IO : k.ROW_HRAM] = 0
        for name in ("lo", "hi", "sp", "pc", "div_zero", "apu_status"):
            console[name] = 0
        for name, value in {"ppu_frames": 1, "ppu_late": 0xFFFFFFFF, "ppu_blank": 1, "ppu_next": FAR_TIME}.items():
            console[name] = value
        self.restore(Snapshot(console, row, cartridge.sha256), True)
        self._epoch = 0

    def restore(self, state: Snapshot, booting: bool) -> None:
        """Continue from a state, in which the boot program is mapped or not."""
        if booting and not self.booting:
            self.hidden = self.rom[:BOOT_BYTES].copy()
            self.rom[:BOOT_BYTES] = self.boot
            self.booting = True
            self._decode(0)
        elif not booting:
            self.unmap_boot()
        self.emulator.restore(state)
        self.touched = True
        self.record["trap"] = TRAP_TICK
        self.align()

    def unmap_boot(self) -> None:
        """Let ROM appear at 0000 in place of the boot program."""
        if self.booting:
            self.booting = False
            self.rom[:BOOT_BYTES] = self.hidden
            self._decode(0)
