"""Commands of `python -m emulator verify`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from emulator.rom.cartridge import EmulatorError
from emulator.verify.compare import SideBySide, masks_of, random_buttons
from emulator.verify.repro_bundle import write_bundle
from emulator.verify.soak import soak, summary


def verify_command(
    roms: Sequence[Path],
    frames: int,
    seed: int,
    inputs: Sequence[tuple[int, int]] | None,
    out: Path | None,
    device: str,
) -> int:
    """Compare each ROM's pictures with PyBoy's and print one line each; return 1 if a picture differs, else 0."""
    if frames < 1:
        raise EmulatorError(f"--frames {frames}: give at least 1")
    differing = 0
    for rom in roms:
        masks = random_buttons(frames, seed) if inputs is None else masks_of(inputs, frames)
        pair = SideBySide(rom, device)
        try:
            outcome = pair.run(masks)
        finally:
            pair.close()
        found = outcome.difference
        if found is None:
            state = outcome.first_state_difference
            more = f"; registers or WRAM differ from frame {state} on" if state else ""
            print(f"{rom}: {outcome.equal} of {outcome.compared} pictures equal{more}")
            continue
        differing += 1
        line = f"{rom}: picture {found.frame} differs in {(found.ours != found.theirs).sum()} pixels"
        if out is not None:
            folder = out if len(roms) == 1 else out / rom.stem
            line += f"; see {write_bundle(folder, rom, masks, outcome, pair.start_state)}"
        print(line)
    return int(differing > 0)


def soak_command(roms: Sequence[Path], seconds: float, seed: int, device: str) -> int:
    """Play ROMs with random buttons and print how often pictures equal PyBoy's; return 1 if one could not be run."""
    rows = soak(roms, seconds, seed, device, lambda text: print(text, file=sys.stderr))
    print(summary(rows))
    return int(any(row.error for row in rows))
