"""Random play of many ROMs side by side with PyBoy, and the share of equal pictures."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from emulator.constants import T_CYCLES_PER_FRAME, T_CYCLES_PER_SECOND
from emulator.rom.cartridge import EmulatorError
from emulator.verify.compare import SideBySide, random_buttons

ROUND_FRAMES = 600
"""Frames after which PyBoy's state is loaded into this emulator, so that one difference is counted once."""


@dataclasses.dataclass(frozen=True, slots=True)
class SoakRow:
    """Result of comparing one ROM with PyBoy in a soak."""

    rom: str
    frames: int
    pictures: int
    equal: int
    rounds: int
    rounds_without_difference: int
    aligned: int
    """Number of frames after which both consoles stood at the same instruction."""
    error: str = ""


def soak(
    roms: Sequence[Path],
    seconds: float,
    seed: int = 0,
    device: str = "cpu",
    progress: Callable[[str], None] | None = None,
) -> list[SoakRow]:
    """Play `seconds` of emulated time on both emulators, divided among `roms`, in rounds of `ROUND_FRAMES`."""
    total = seconds * T_CYCLES_PER_SECOND / T_CYCLES_PER_FRAME
    rounds = max(1, round(total / len(roms) / ROUND_FRAMES))
    rows = []
    for number, rom in enumerate(roms, 1):
        try:
            row = soak_rom(rom, rounds, seed, device)
        except EmulatorError as error:
            row = SoakRow(rom.stem, 0, 0, 0, 0, 0, 0, str(error))
        rows.append(row)
        if progress:
            progress(f"{number} of {len(roms)}: {rom.stem} {row.equal} of {row.pictures} equal")
    return rows


def soak_rom(rom: Path, rounds: int, seed: int, device: str) -> SoakRow:
    """Play one ROM for `rounds` rounds with random buttons, which depend only on its name and `seed`."""
    masks = random_buttons(rounds * ROUND_FRAMES, seed + zlib.crc32(rom.stem.encode()))
    pair = SideBySide(rom, device)
    pictures = equal = clean = aligned = 0
    try:
        for start in range(0, len(masks), ROUND_FRAMES):
            outcome = pair.run(masks[start : start + ROUND_FRAMES], stop_at_difference=False)
            pictures += outcome.compared
            equal += outcome.equal
            aligned += outcome.aligned
            clean += int(outcome.difference is None)
            pair.meet()
    finally:
        pair.close()
    return SoakRow(rom.stem, len(masks), pictures, equal, rounds, clean, aligned)


def summary(rows: Sequence[SoakRow]) -> str:
    """Return a soak's results as a text table, worst ROM last, with totals."""
    ordered = sorted(rows, key=lambda row: -row.equal / max(row.pictures, 1))
    lines = [f"{'rom':40} {'frames':>7} {'equal':>7} {'rounds without difference':>26}"]
    for row in ordered:
        share = 100 * row.equal / max(row.pictures, 1)
        rounds = f"{row.rounds_without_difference} of {row.rounds}"
        lines.append(f"{row.rom[:40]:40} {row.frames:7} {share:6.2f}% {row.error or rounds:>26}")
    frames = sum(row.frames for row in rows)
    pictures = sum(row.pictures for row in rows)
    equal = sum(row.equal for row in rows)
    seconds = frames * T_CYCLES_PER_FRAME / T_CYCLES_PER_SECOND
    clean = sum(row.rounds_without_difference for row in rows)
    lines.append(
        f"{len(rows)} ROMs, {seconds:.0f} emulated seconds: {equal} of {pictures} pictures equal"
        f" ({100 * equal / max(pictures, 1):.2f} %), {clean} of"
        f" {sum(row.rounds for row in rows)} rounds of {ROUND_FRAMES} frames without a difference"
    )
    return "\n".join(lines)
