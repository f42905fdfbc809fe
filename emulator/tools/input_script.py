"""Scripts of inputs that reproduce a state when they are played from power-on.

A script outlives the state layout of an emulator version; a snapshot does not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from emulator.emulator import Emulator
from emulator.rom.cartridge import Cartridge
from emulator.state.snapshot import Snapshot


@dataclasses.dataclass(frozen=True, slots=True)
class InputScript:
    """Script of inputs: a wait without buttons, then joypad masks, each held for some frames and then released."""

    wait_frames: int
    masks: tuple[int, ...]
    """Joypad masks as `Emulator.run` takes them, one for each step of the script."""
    frames_per_step: int = 24
    release_after: int = 8

    @property
    def frames(self) -> int:
        """Length of the script in frames."""
        return self.wait_frames + self.frames_per_step * len(self.masks)

    def held(self, frame: int) -> int:
        """Return the joypad mask during frame `frame`, counted from 0."""
        step, inside = divmod(frame - self.wait_frames, self.frames_per_step)
        if step < 0 or step >= len(self.masks) or inside >= self.release_after:
            return 0
        return self.masks[step]


def replay(
    cartridge: Cartridge,
    scripts: Sequence[InputScript],
    device: str = "cpu",
    on_frame: Callable[[int, int], None] = lambda frame, of: None,
) -> list[Snapshot]:
    """Play all scripts in one batch from power-on; return the state at the end of each, in order.

    `on_frame` is called with the number of frames played and their total.
    """
    emulator = Emulator(cartridge, len(scripts), device)
    ends: dict[int, list[int]] = {}
    for env, script in enumerate(scripts):
        ends.setdefault(script.frames, []).append(env)
    found = {env: emulator.snapshot(env) for env in ends.get(0, [])}
    longest = max(ends)
    for frame in range(longest):
        masks = np.array([script.held(frame) for script in scripts], dtype=np.uint8)
        emulator.run(masks, 1)
        for env in ends.get(frame + 1, []):
            found[env] = emulator.snapshot(env)
        on_frame(frame + 1, longest)
    return [found[env] for env in range(len(scripts))]
