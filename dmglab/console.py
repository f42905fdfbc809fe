"""One Game Boy with a cartridge, controlled by the names of its buttons: `GameBoy`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from emulator import Cartridge, Emulator, EmulatorError, Snapshot
from emulator.state.arguments import button_mask, whole_number
from trainer_core.wire.shades import GREY_LEVELS, MAX_SHADE

Names = str | Sequence[str]
"""Buttons: `"A"`, `"a+up"` or a list of such names; right, left, up, down, a, b, select, start."""
_GREYS = np.array(GREY_LEVELS, np.uint8)
_ADDRESSES = 0x10000


class GameBoy:
    """One Game Boy, switched on with a cartridge.

    `rom`: the path of a .gb file, its bytes, or a `Cartridge`. `device`: `cpu` or `cuda:N`. Raises
    EmulatorError, one line, for a file that is no ROM and for a missing device. Use it in a `with`
    statement, or call `close`, to free its memory early.
    """

    def __init__(self, rom: str | os.PathLike[str] | bytes | Cartridge, device: str = "cpu") -> None:
        self._open: Emulator | None = Emulator(rom, 1, device)
        self._held = 0
        self.frames = 0
        """Number of frames that this object has run."""
        self.memory = Memory(self)
        """Memory as the CPU sees it: `memory[0xC000]` is an int, `memory[0xC000:0xC010]` uint8[16]."""

    def __repr__(self) -> str:
        if self._open is None:
            return "<GameBoy, closed>"
        return f"<GameBoy: {self.title}, frame {self.frames}, on {self._open.device}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the console's memory; every later use is an error. A second call does nothing."""
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def emulator(self) -> Emulator:
        """Batch of one console behind this object. Raises EmulatorError once it is closed."""
        if self._open is None:
            raise EmulatorError("this GameBoy is closed; open the ROM again with dmglab.GameBoy(...)")
        return self._open

    @property
    def title(self) -> str:
        """Title in the cartridge's header, or the file's name if the header has none."""
        cartridge = self.emulator.cartridges[0]
        return cartridge.header.title or cartridge.name

    def run(self, frames: int = 1) -> None:
        """Run 1 to 10,000 frames of 1/59.7 s with the buttons of `hold` pressed."""
        self._run(self._held, frames)

    def press(self, buttons: Names, frames: int = 24, hold: int = 8) -> None:
        """Press buttons, release them after `hold` frames, and run `frames` frames in total.

        Buttons pressed by the method `hold` stay pressed. A `hold` of `frames` or more releases at the end.
        """
        hold, frames = whole_number("hold", hold, 1, 10_000), whole_number("frames", frames, 1, 10_000)
        pressed = self._held | button_mask(buttons)
        self._run(pressed, min(hold, frames))
        if frames > hold:
            self._run(self._held, frames - hold)

    def hold(self, buttons: Names) -> None:
        """Keep buttons pressed in every later `run` and `press`, until `release`."""
        self._held |= button_mask(buttons)

    def release(self, buttons: Names | None = None) -> None:
        """Release buttons that `hold` pressed; without an argument all of them."""
        self._held &= 0 if buttons is None else ~button_mask(buttons)

    def screen(self, rgb: bool = False) -> NDArray[np.uint8]:
        """Return the last completed picture as a new array.

        uint8[144, 160] shades, 0 the lightest to 3; with `rgb` uint8[144, 160, 3], 255 the lightest
        to 0, which Pillow's `Image.fromarray` and matplotlib's `imshow` show.
        """
        shades = self.emulator.screens.numpy()[0]
        return np.repeat(_GREYS[shades][..., None], 3, axis=2) if rgb else shades.copy()

    def observation(self) -> NDArray[np.uint8]:
        """Return the observation of an agent, uint8[72, 80]: means of 2 by 2 pixels, 0 the lightest to 255."""
        return self.emulator.observations().numpy()[0] * np.uint8(255 // MAX_SHADE)

    def registers(self) -> dict[str, int]:
        """Return the CPU registers a f b c d e h l sp pc, and ime."""
        return self.emulator.registers()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state of the console to a file. Raises OSError if the file cannot be written."""
        self.emulator.save_state(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue from a file of `save`, BESS (SameBoy, BGB) or PyBoy's `.state`.

        Raises EmulatorError for another ROM's state, and for any other file.
        """
        self.emulator.load_state(path)

    def snapshot(self) -> Snapshot:
        """Return the whole state of the console, for `restore`."""
        return self.emulator.snapshot()

    def restore(self, state: Snapshot) -> None:
        """Continue from a state of `snapshot`. Raises EmulatorError for another ROM's state."""
        self.emulator.restore(state)

    def reset(self) -> None:
        """Switch the console off and on again."""
        self.emulator.reset()

    def _run(self, mask: int, frames: int) -> None:
        self.emulator.run(np.array([mask], np.uint8), frames)
        self.frames += frames


class Memory:
    """The 65,536 bytes of a console's address space, with the banks that are mapped now.

    Reading has no side effects. Only RAM can be written: 8000-FE9F and FF80-FFFE. Slices have no
    step. Raises EmulatorError for an address outside the address space.
    """

    def __init__(self, console: GameBoy) -> None:
        self._console = console

    def __repr__(self) -> str:
        return f"<Memory of {self._console!r}>"

    def __len__(self) -> int:
        return _ADDRESSES

    @overload
    def __getitem__(self, address: int) -> int: ...
    @overload
    def __getitem__(self, address: slice) -> NDArray[np.uint8]: ...
    def __getitem__(self, address: int | slice) -> int | NDArray[np.uint8]:
        first, count = _span(address)
        found = self._console.emulator.peek(0, first, count)
        return found if isinstance(address, slice) else int(found[0])

    def __setitem__(self, address: int | slice, value: int | bytes | Sequence[int] | NDArray[Any]) -> None:
        first, count = _span(address)
        given = 1 if isinstance(value, int) else len(value)
        if isinstance(address, slice) and given == 1:  # one byte for all addresses
            value = [value if isinstance(value, int) else int(value[0])] * count
        elif given != count:
            raise EmulatorError(f"{given} bytes for {count} addresses from 0x{first:04X} on: give one, or {count}")
        self._console.emulator.poke(range(first, first + count), value)


def _span(address: int | slice) -> tuple[int, int]:
    """Return the first address and the number of addresses. Raises EmulatorError for invalid ones."""
    if not isinstance(address, slice):
        return whole_number("address", address, 0, _ADDRESSES - 1), 1
    start = whole_number("address", 0 if address.start is None else address.start, 0, _ADDRESSES - 1)
    stop = whole_number("address", _ADDRESSES if address.stop is None else address.stop, 0, _ADDRESSES)
    if address.step not in (None, 1) or stop <= start:
        raise EmulatorError(f"addresses {start}:{stop}:{address.step}: give first:end without a step, end after first")
    return start, stop - start
