"""Adapter of PyBoy, a development dependency, with the few calls that a comparison needs."""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from emulator.constants import BUTTON_NAMES, T_CYCLES_PER_FRAME
from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.state.pyboy_state import parse, to_snapshot
from emulator.state.snapshot import Snapshot

LONGEST_BOOT = 1000
SHADE_OF_GREY = np.rint(3 - np.arange(256) / 85.0).astype(np.uint8)
WRAM = slice(0xC000, 0xE000)


class Reference:
    """PyBoy with a DMG ROM, run past its boot ROM; a frame is 70224 T-cycles as in this emulator."""

    def __init__(self, rom: Path) -> None:
        try:
            pyboy: Any = importlib.import_module("pyboy")
        except ImportError as error:
            raise EmulatorError(
                "PyBoy is not installed, and verify compares with it: pip install pyboy==2.8.1"
            ) from error
        self.cartridge = Cartridge.from_file(rom)
        self._machine = pyboy.PyBoy(str(rom), window="null", cgb=False, sound_emulated=True, log_level="CRITICAL")
        self._machine.set_emulation_speed(0)
        self._held = 0
        started: list[int] = []
        self._machine.hook_register(0, 0x100, started.append, 1)
        for _ in range(LONGEST_BOOT):
            self._machine.tick(1, True)
            if started:
                break
        self._machine.hook_deregister(0, 0x100)
        self._frame_end = self._machine._cycles()

    def run_frame(self, mask: int, draws: bool = True) -> None:
        """Hold the joypad mask `mask` and run PyBoy to the end of its picture nearest to the next frame's end.

        PyBoy stops where its own frames end, which move when a game switches the LCD off. With `draws` False the
        picture stays as it was.
        """
        for bit, name in enumerate(BUTTON_NAMES):
            if (self._held ^ mask) >> bit & 1:
                change = self._machine.button_press if mask >> bit & 1 else None
                (change or self._machine.button_release)(name)
        self._held = mask
        self._frame_end += T_CYCLES_PER_FRAME
        while self._machine._cycles() < self._frame_end - T_CYCLES_PER_FRAME // 2:
            self._machine.tick(1, draws)

    @property
    def shades(self) -> np.ndarray:
        """Present picture as shades 0 to 3, uint8[144, 160]."""
        return SHADE_OF_GREY[self._machine.screen.ndarray[..., 0]]

    @property
    def wram(self) -> np.ndarray:
        """Copy of C000-DFFF, uint8[0x2000]."""
        return np.array(self._machine.memory[WRAM], dtype=np.uint8)

    def peek(self, address: int, count: int) -> bytes:
        """Return bytes as the CPU sees them."""
        end = address + count
        return bytes(self._machine.memory[address:end])

    def registers(self) -> dict[str, int]:
        """Return the registers a f b c d e h l sp pc; in HALT PyBoy's PC still points at the HALT."""
        file = self._machine.register_file
        values = {name.lower(): int(getattr(file, name)) for name in "AFBCDE"}
        values |= {"h": file.HL >> 8, "l": file.HL & 0xFF, "sp": file.SP, "pc": file.PC}
        return values

    def snapshot(self) -> Snapshot:
        """Return the present state as a snapshot of this emulator, and count frames from here on."""
        self._frame_end = self._machine._cycles()
        state = parse(self.state(), self.cartridge)
        return to_snapshot(state, self.cartridge)

    def state(self) -> bytes:
        """Return the present state as the bytes of a .state file."""
        buffer = io.BytesIO()
        self._machine.save_state(buffer)
        return buffer.getvalue()

    def load(self, state: bytes) -> None:
        """Load a state."""
        self._machine.load_state(io.BytesIO(state))

    def close(self) -> None:
        """Stop this PyBoy."""
        self._machine.stop(save=False)
