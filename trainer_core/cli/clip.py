"""`dmglab clip SOURCE --out FOLDER`: a rollout, GIF, movie, ARC lines, receipt as a recording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.cli.output import tell_progress


@dataclass(frozen=True)
class Options:
    source: Annotated[Path, tyro.conf.Positional]
    """A rollout's or receipt's folder, a GIF, APNG or PNG, a movie of PyBoy (.replay) or
    VisualBoyAdvance (.vbm), a recording of the ARC-AGI-3 library (.jsonl)."""
    out: Path
    """New folder for the recording."""
    rom: str = ""
    """The movie's game, by path or name; default one that is known, by its hash or its header."""
    home: Path | None = None
    """Where ROMs and tasks are known; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "clip", argv)
    from trainer_core.play.clips.opening import open_clip

    found = open_clip(
        options.source.expanduser(), options.out, options.rom, home_paths(options.home), on_progress=tell_progress
    )
    return {"ok": True, "progress": 1.0, **found}
