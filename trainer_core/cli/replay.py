"""`dmglab replay RECORDING`: press the buttons of a recording again and compare every picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result
from trainer_core.lab.recording import read_recording
from trainer_core.lab.roms import find_game_again


@dataclass(frozen=True)
class Options:
    recording: Annotated[Path, tyro.conf.Positional]
    """Folder of a finished recording."""
    verify: bool = True
    """Accepted for older scripts; the pictures are always compared."""
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "replay", argv)
    recording = read_recording(options.recording)
    from trainer_core.envs.recording_writer import first_difference
    from trainer_core.envs.single_game import open_game

    home = home_paths(options.home)
    game = open_game(find_game_again(recording.task, recording.rom_sha256, home), home)
    frame = first_difference(options.recording, game)
    result = {
        "recording": str(options.recording),
        "task": recording.task,
        "frames": recording.frames,
        "rom_matches": game.rom_sha256 == recording.rom_sha256,
    }
    if frame >= 0:
        return {"ok": False, "error": f"frame {frame} shows another picture", **result}
    return Result({"ok": True, **result}, f"All {recording.frames:,} pictures are equal.")
