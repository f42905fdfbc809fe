"""Compare the four sound channels' outputs, in every M-cycle, with those of SameBoy as a DMG-CPU B.

    python scripts/compare_sound.py SAMEBOY ROM... [--seconds 60] [--json FILE]

SAMEBOY is a checkout of https://github.com/LIJI32/SameBoy; its Core is copied, compiled with gcc and compare_sound.c,
and run from the state in which the boot program ends, with the same buttons, which are drawn anew every few frames.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from emulator import Cartridge, Emulator, EmulatorError
from emulator import constants as k
from emulator.sound import Channels

PROBE_BEHIND = (
    "gb->apu_output.sample_cycles += (gb->apu_output.sample_rate << !gb->cgb_double_speed) << 1;\n        GB_SLEEP"
)
LEFT_OUT = ("debugger", "symbol_hash", "rewind", "sm83_disassembler", "cheats", "cheat_search")
DISABLED = ("DEBUGGER", "REWIND", "CHEATS", "CHEAT_SEARCH", "TIMEKEEPING")
PRESSED = (0, 0, 0x80, 0x10, 0x20, 1, 2, 4, 8, 0x11)
NAMES = ("pulse 1", "pulse 2", "wave", "noise")


def build(sameboy: Path, folder: Path) -> Path:
    """Compile SameBoy's Core with the probe in it; return the program."""
    core = folder / "Core"
    shutil.copytree(sameboy / "Core", core)
    timing = core / "timing.c"
    text = timing.read_text()
    if PROBE_BEHIND not in text:
        raise SystemExit(f"{sameboy}/Core/timing.c: no place for the probe; give a checkout of version 1.0")
    call = PROBE_BEHIND.replace("GB_SLEEP", "sound_probe(gb);\n        GB_SLEEP")
    timing.write_text(
        "struct GB_gameboy_s; void sound_probe(struct GB_gameboy_s *);\n" + text.replace(PROBE_BEHIND, call)
    )
    sources = [path for path in core.glob("*.c") if path.stem not in LEFT_OUT]
    defines = [f"-DGB_DISABLE_{name}" for name in DISABLED] + ['-DGB_VERSION="1"', '-DGB_COPYRIGHT_YEAR="1"']
    program = folder / "compare_sound"
    harness = Path(__file__).with_suffix(".c")
    command = ["gcc", "-O2", "-w", "-std=gnu11", "-D_GNU_SOURCE", "-DGB_INTERNAL", *defines, f"-I{core}"]
    subprocess.run([*command, harness, *sources, "-lm", "-o", program], check=True)
    return program


def drawn_buttons(frames: int) -> np.ndarray:
    """Return a joypad mask for each frame, uint8[frames]."""
    drawn, masks = random.Random(1), list[int]()
    while len(masks) < frames:
        masks += [drawn.choice(PRESSED)] * drawn.randint(4, 24)
    return np.array(masks[:frames], np.uint8)


def compare(program: Path, rom: Path, frames: int, folder: Path) -> dict[str, Any]:
    """Return how much of each channel is sound, how many samples differ and where the first does."""
    emulator, buttons = Emulator(Cartridge.from_file(rom), serial_capacity=1 << 17), drawn_buttons(frames)
    row, keys, out = folder / "row", folder / "buttons", folder / "out"
    emulator.batch.ram.numpy()[0][: k.ROW_SCREENS].tofile(row)
    buttons.tofile(keys)
    step = int(emulator.batch.console.numpy()["apu_step"][0])
    subprocess.run([program, rom, row, str(frames), keys, out, str(step)], check=True, stderr=subprocess.DEVNULL)
    theirs = np.memmap(out, np.uint8, mode="r").reshape(frames, -1, 2)
    channels, heard, differ = Channels(emulator), np.zeros(4, int), np.zeros(4, int)
    first: list[list[int] | None] = [None] * 4
    for frame in range(frames):
        ours = channels.run(buttons[frame : frame + 1]).numpy()[0, :, :4]
        same = np.stack([theirs[frame] & 15, theirs[frame] >> 4], 2).reshape(-1, 4)
        heard += (same != 0).sum(axis=0)
        wrong = ours != same
        differ += wrong.sum(axis=0)
        for channel in np.flatnonzero(wrong.any(axis=0)):
            first[channel] = first[channel] or [frame, int(wrong[:, channel].argmax())]
    share = (heard / (frames * k.M_CYCLES_PER_FRAME)).round(3).tolist()
    return {"rom": rom.stem, "sound": share, "differ": differ.tolist(), "first": first}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sameboy", type=Path)
    parser.add_argument("roms", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    frames = round(given.seconds * k.M_CYCLES_PER_SECOND / k.M_CYCLES_PER_FRAME)
    found = []
    with tempfile.TemporaryDirectory() as name:
        program = build(given.sameboy, Path(name))
        print(f"{'samples that differ, of':30} {', '.join(NAMES)} ({frames * k.M_CYCLES_PER_FRAME} each)")
        for rom in given.roms:
            try:
                found.append(compare(program, rom, frames, Path(name)))
            except EmulatorError as error:
                sys.exit(str(error))
            print(f"{rom.stem:30} {found[-1]['differ']}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(any(any(one["differ"]) for one in found))


if __name__ == "__main__":
    main()
