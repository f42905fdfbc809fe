"""Bundle of a difference: one folder with everything needed to reproduce it."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from emulator.constants import BUTTON_NAMES
from emulator.rom.disassembler import instruction_text
from emulator.tools.jobs import write_json
from emulator.tools.png import write_screen
from emulator.verify.compare import Difference, Outcome, code_start

SHOWN_BYTES = 64


def write_bundle(folder: Path, rom: Path, masks: Sequence[int], outcome: Outcome, start_state: bytes) -> Path:
    """Write a difference to a folder: report.json, inputs.json, start.state, code.txt and three pictures.

    `masks`: joypad mask of each frame; `start_state`: PyBoy's state before the first. Returns the path of report.json.
    """
    found = outcome.difference
    assert found is not None
    folder.mkdir(parents=True, exist_ok=True)
    inputs = folder / "inputs.json"
    inputs.write_text(json.dumps(inputs_of(masks[: found.seen_at]), indent=1) + "\n")
    (folder / "start.state").write_bytes(start_state)
    write_screen(folder / "ours.png", found.ours)
    write_screen(folder / "pyboy.png", found.theirs)
    write_screen(folder / "difference.png", np.where(found.ours == found.theirs, 0, 3))
    (folder / "code.txt").write_text(
        "ours\n"
        + "\n".join(code_around(found.our_code, found.our_registers["pc"]))
        + "\n\nPyBoy\n"
        + "\n".join(code_around(found.their_code, found.their_registers["pc"]))
        + "\n"
    )
    command = (
        f"python -m emulator verify {shlex.quote(str(rom))} --frames {found.seen_at}"
        f" --inputs {shlex.quote(str(inputs))}"
    )
    write_json(folder / "report.json", report(rom, outcome, found, command))
    return folder / "report.json"


def report(rom: Path, outcome: Outcome, found: Difference, command: str) -> dict[str, object]:
    """Return the contents of report.json."""
    return {
        "rom": str(rom),
        "rom_sha256": hashlib.sha256(rom.read_bytes()).hexdigest(),
        "replay": command,
        "frame": found.frame,
        "pixels": int((found.ours != found.theirs).sum()),
        "registers_at_frame": found.seen_at,
        "registers": {"ours": found.our_registers, "pyboy": found.their_registers},
        "first_state_difference": outcome.first_state_difference,
        "wram_bytes_that_differ": len(found.wram),
        "wram": [
            {"address": f"0x{address:04X}", "ours": ours, "pyboy": theirs}
            for address, ours, theirs in found.wram[:SHOWN_BYTES]
        ],
    }


def inputs_of(masks: Sequence[int]) -> list[dict[str, object]]:
    """Return joypad masks, one a frame, as the JSON list that the option --inputs reads."""
    entries: list[dict[str, object]] = []
    held = 0
    for frame, mask in enumerate(masks, 1):
        if mask != held:
            names = [name for bit, name in enumerate(BUTTON_NAMES) if mask >> bit & 1]
            entries.append({"frame": frame, "buttons": names})
            held = mask
    return entries


def code_around(code: bytes, pc: int) -> list[str]:
    """Return the disassembled instructions around PC, PC marked; `code` begins at `code_start(pc)`."""
    start = code_start(pc)
    padded = code + bytes(3)
    for first in range(pc - start + 1):
        lines, place = [], first
        while place < len(code):
            text, length = instruction_text(padded[place : place + 3], start + place)
            mark = ">" if start + place == pc else " "
            octets = padded[place : place + length].hex(" ")
            lines.append(f"{mark} {start + place:04x}  {octets:8}  {text}")
            place += length
        if any(line.startswith(">") for line in lines):
            return lines
    return []
