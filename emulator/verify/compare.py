"""Comparison side by side: the same buttons, frame by frame, until a picture differs.

Both start from the moment at which PyBoy leaves its boot program. A picture of this emulator is the same as
PyBoy's if it equals one of PyBoy's from two frames earlier to two frames later: the two count a frame's end a
few T-cycles apart, and a game that switches the LCD off moves PyBoy's. WRAM and registers are compared where
both consoles stand at the same instruction.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from emulator import constants as k
from emulator.emulator import Emulator
from emulator.verify.pyboy_reference import Reference

PHASE = 2
"""Frames by which this emulator's picture may be earlier or later than PyBoy's."""
COMPARED_REGISTERS = "afbcdehl"


@dataclasses.dataclass(slots=True)
class Difference:
    """First picture of this emulator that PyBoy does not show within `PHASE` frames."""

    frame: int
    ours: np.ndarray
    """This emulator's picture, shades uint8[144, 160]; `theirs` is PyBoy's."""
    theirs: np.ndarray
    our_registers: dict[str, int]
    """Registers at the end of frame `seen_at`."""
    their_registers: dict[str, int]
    seen_at: int
    wram: list[tuple[int, int, int]]
    """(address, our byte, PyBoy's byte) for each byte of WRAM that differs at that time."""
    our_code: bytes
    """64 bytes of memory around this emulator's PC."""
    their_code: bytes


@dataclasses.dataclass(slots=True)
class Outcome:
    """Result of a comparison."""

    frames: int = 0
    compared: int = 0
    """Number of pictures compared; the last ones have no later frames to be compared with."""
    equal: int = 0
    aligned: int = 0
    """Number of frames after which both consoles stood at the same instruction."""
    first_state_difference: int = 0
    """First aligned frame in which registers or WRAM differed; 0: none."""
    difference: Difference | None = None


def random_buttons(frames: int, seed: int) -> list[int]:
    """Return a random joypad mask for every frame: mostly directions held for a while, A and START early on."""
    random = np.random.default_rng(seed)
    early = ["start", "a", "start", "a"]
    masks = [0] * int(random.integers(30, 120))
    while len(masks) < frames:
        hold = int(random.integers(4, 30))
        if early or random.random() < 0.4:
            names = [early.pop()] if early else [str(random.choice(["a", "b", "start", "select"]))]
            hold = min(hold, 10)
        else:
            names = [str(random.choice(["right", "left", "up", "down"]))]
            if random.random() < 0.2:
                names.append(str(random.choice(["a", "b"])))
        masks += [sum(1 << k.BUTTON_NAMES.index(name) for name in names)] * hold
        masks += [0] * int(random.integers(2, 25))
    return masks[:frames]


def masks_of(inputs: Sequence[tuple[int, int]], frames: int) -> list[int]:
    """Return the joypad mask of every frame from (frame, mask) pairs in time order, frames counted from 1."""
    masks = [0] * frames
    for frame, mask in inputs:
        masks[max(frame - 1, 0) :] = [mask] * (frames - max(frame - 1, 0))
    return masks[:frames]


class SideBySide:
    """This emulator and PyBoy with the same ROM, run from the same state with the same buttons."""

    def __init__(self, rom: Path, device: str = "cpu") -> None:
        self.reference = Reference(rom)
        self.emulator = Emulator(self.reference.cartridge, 1, device)
        self.start_state = b""
        self.meet()

    def meet(self) -> None:
        """Load PyBoy's present state into this emulator."""
        self.start_state = self.reference.state()
        self.emulator.restore(self.reference.snapshot())

    def run(self, masks: Sequence[int], stop_at_difference: bool = True) -> Outcome:
        """Run both consoles with one of `masks` a frame, and compare their pictures; frames count from 1."""
        outcome = Outcome()
        ours: deque[tuple[int, np.ndarray]] = deque()
        theirs: dict[int, bytes] = {0: self.reference.shades.tobytes()}
        for frame, mask in enumerate(masks, 1):
            self.reference.run_frame(mask)
            self.emulator.run(np.array([mask]), 1)
            outcome.frames = frame
            ours.append((frame, self.emulator.screens.numpy()[0].copy()))
            theirs[frame] = self.reference.shades.tobytes()
            theirs.pop(frame - 2 * PHASE - 1, None)
            self._compare_state(outcome)
            if len(ours) <= PHASE:
                continue
            number, picture = ours.popleft()
            outcome.compared += 1
            if picture.tobytes() in theirs.values():
                outcome.equal += 1
            elif outcome.difference is None:
                outcome.difference = self._difference(number, picture, theirs[number], frame)
                if stop_at_difference:
                    break
        return outcome

    def _compare_state(self, outcome: Outcome) -> None:
        ours, theirs = self.emulator.registers(), self.reference.registers()
        halted = int(self.reference.peek(theirs["pc"], 1)[0] == 0x76)
        if ours["pc"] != theirs["pc"] + halted or ours["sp"] != theirs["sp"]:
            return
        outcome.aligned += 1
        if not outcome.first_state_difference:
            same = all(ours[name] == theirs[name] for name in COMPARED_REGISTERS)
            if not same or not np.array_equal(self._wram(), self.reference.wram):
                outcome.first_state_difference = outcome.frames

    def _wram(self) -> np.ndarray:
        return self.emulator.batch.ram[0, k.ROW_WRAM : k.ROW_WRAM + 0x2000].numpy()

    def _difference(self, frame: int, ours: np.ndarray, theirs: bytes, at: int) -> Difference:
        mine, other = self._wram(), self.reference.wram
        ours_now, theirs_now = self.emulator.registers(), self.reference.registers()
        return Difference(
            frame=frame,
            ours=ours,
            theirs=np.frombuffer(theirs, np.uint8).reshape(ours.shape),
            our_registers={name: value for name, value in ours_now.items() if name != "ime"},
            their_registers=theirs_now,
            seen_at=at,
            wram=[
                (k.WRAM + int(place), int(mine[place]), int(other[place])) for place in np.flatnonzero(mine != other)
            ],
            our_code=self.emulator.peek(0, code_start(ours_now["pc"]), 64).tobytes(),
            their_code=self.reference.peek(code_start(theirs_now["pc"]), 64),
        )

    def close(self) -> None:
        """Close PyBoy."""
        self.reference.close()


def code_start(pc: int) -> int:
    """Return the address of the first of the 64 bytes around PC."""
    return min(max(pc - 24, 0), 0x10000 - 64)
