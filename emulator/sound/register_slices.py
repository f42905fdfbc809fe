"""Console run in slices of a frame, which show how its sound registers change within the frame.

A launch runs whole frames. A console whose times are all `n` M-cycles later reaches the launch's end `n` M-cycles
sooner, so that a launch of one frame runs the rest only: the shift is that of `launch/launch_boundary.py:
launch_end` with another length, written on the host.

The console is a copy of the played one: it gets the same state and the same buttons. Bit 7 of NRx4 (the trigger), which
no program can read, is cleared here before each slice: if it is set afterwards, the channel was triggered in it. So the
copy differs from the played console in these four bits of memory only, and executes the same instructions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator import constants as k
from emulator.emulator import Emulator
from emulator.rom.cartridge import Cartridge, MapperKind
from emulator.state.batch import CONSOLE_DTYPE, RUNNING, STOPPED
from emulator.state.snapshot import Snapshot

SLICES = 8
"""Slices of a frame, 2.1 ms each. A music driver runs once a frame or by the timer, some 60 to 240 times a second."""
FIRST = k.NR10 - k.IO
REGISTERS = 0x30
"""Number of bytes FF10-FF3F."""
CONTROLS = tuple(register - k.NR10 for register in (k.NR14, k.NR24, k.NR34, k.NR44))
TRIGGER = 0x80
LCDC = k.ROW_IO + 0x40
RTC_HALT = 1 << 14
NEVER = 0xFFFFFFFF
NAMES = CONSOLE_DTYPE.names or ()
PLACES = {name: place for place, name in enumerate(NAMES)}


class Slice(NamedTuple):
    """Sound registers at the end of a slice."""

    m_cycles: int
    registers: bytes
    """Bytes FF10-FF3F as written, except that NR13 and NR14 have the frequency after the sweep."""
    on: int
    """Bits 0-3: channel is on."""
    triggered: int
    """Bits 0-3: channel was triggered in this slice."""
    envelope_clocks: int
    """Number of 64 Hz envelope clocks in the slice: 0 or 1."""


class SlicedConsole:
    """Console on the CPU that is run in slices of a frame."""

    def __init__(self, cartridge: Cartridge) -> None:
        """Create the console in its power-on state."""
        self._emulator = Emulator(cartridge, 1, "cpu")
        self._buttons = np.zeros(1, np.uint8)
        # Both are views: on a CPU they are the batch's own memory.
        self._words = self._emulator.batch.console.numpy().view(np.uint32)
        self._row = self._emulator.batch.ram.numpy()[0]
        self._sound = self._row[k.ROW_IO + FIRST : k.ROW_IO + FIRST + REGISTERS]
        ends = [k.M_CYCLES_PER_FRAME * (i + 1) // SLICES for i in range(SLICES)]
        self._lengths = np.diff([0, *ends]).tolist()

    def restore(self, snapshot: Snapshot) -> None:
        """Put the console into the state `snapshot`."""
        self._emulator.restore(snapshot)

    def registers(self) -> bytes:
        """Return the bytes FF10-FF3F at this moment."""
        return self._sound.tobytes()

    def state_hash(self) -> str:
        """Return the hash of the console's state with the trigger bits cleared."""
        self._clear_triggers()
        return self._emulator.state_hash()[0]

    def frame(self, buttons: int) -> list[Slice]:
        """Run one frame with the joypad mask `buttons` held; return its slices in order."""
        self._buttons[0] = buttons
        return [self._slice(length) for length in self._lengths]

    def _slice(self, m_cycles: int) -> Slice:
        step = self._step()
        self._clear_triggers()
        self._later(k.M_CYCLES_PER_FRAME - m_cycles)
        self._emulator.run(self._buttons, 1)
        registers = self._sound.tobytes()
        triggered = sum(1 << channel for channel, place in enumerate(CONTROLS) if registers[place] & TRIGGER)
        clocks = (step + (self._step() - step) % 8) // 8
        on = int(self._words[PLACES["apu_status"]]) & 0xF
        return Slice(m_cycles, registers, on, triggered, clocks)

    def _step(self) -> int:
        """Return the frame sequencer's step; step 7 clocks the envelopes."""
        return int(self._words[PLACES["apu_step"]])

    def _clear_triggers(self) -> None:
        for place in CONTROLS:
            self._sound[place] &= ~np.uint8(TRIGGER)

    def _later(self, by: int) -> None:
        """Add `by` M-cycles to every time of the console, so that the next launch ends earlier."""
        if not by:
            return
        c = dict(zip(NAMES, self._words.tolist(), strict=True))
        still = c["run_state"] != RUNNING and (c["dma_state"] or c["run_state"] == STOPPED)
        lcd_is_on = bool(self._row[LCDC] & 0x80)
        counts_seconds = c["mapper"] == MapperKind.MBC3 and not c["rtc_days"] & RTC_HALT
        moved: list[tuple[bool | int, str, int]] = [
            (True, "now", 1),
            (True, "div_zero", 1),
            (True, "tima_mark", 1),
            (True, "timer_next", 1),
            (True, "apu_mark", 1),
            (True, "ppu_next", 1),
            (still, "stop_time", 1),
            (c["ime"] == 2, "ei_time", 1),
            (c["serial_active"], "serial_start", 1),
            (c["serial_active"], "serial_end", 1),
            (c["dma_state"], "dma_start", 1),
            (counts_seconds, "rtc_zero", 1),
            (c["joypad_target"], "joypad_settles", 1),
            (c["ppu_late"] != NEVER, "ppu_late", 1),
            (c["apu_status"] & 4, "apu_wave_next", 2),
            (lcd_is_on, "ppu_origin", 1),
            (lcd_is_on, "ppu_sync", 4),
            (c["ppu_dma"], "ppu_dma_start", 4),
        ]
        for does_count, name, unit in moved:
            if does_count:
                self._words[PLACES[name]] = (c[name] + by * unit) & 0xFFFFFFFF
