"""`dmglab export RECORDING --out X.mp4`: progress as JSON lines, the result last."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.options import parse
from trainer_core.cli.output import tell_progress
from trainer_core.formats.gif import MAX_SCALE
from trainer_core.formats.video import MAX_SPEED, Clip, export_clip
from trainer_core.lab.recording import MAX_FRAMES
from trainer_core.wire.fields import limits


@dataclass(frozen=True)
class Options:
    recording: Annotated[Path, tyro.conf.Positional]
    """Folder of a finished recording."""
    out: Path
    """What to write: .gif, .apng, .mp4 (needs ffmpeg), or a new folder for PNGs."""
    scale: int = field(default=2, metadata=limits(1, MAX_SCALE))
    """Screen pixels per Game Boy pixel, 1 to 8."""
    palette: Literal["green", "grey", "screen-green", "screen-grey", "screen-pocket", "screen-light"] = "green"
    """Pale greens, greys, or the colours of one of the app's screens."""
    from_frame: int = field(default=0, metadata=limits(0, MAX_FRAMES))
    to_frame: int = field(default=-1, metadata=limits(-1, MAX_FRAMES))
    """Last frame to show; -1 = the recording's."""
    speed: float = field(default=1.0, metadata=limits(0.01, MAX_SPEED))


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "export", argv)
    clip = Clip(options.from_frame, options.to_frame, options.speed, options.scale, options.palette)
    found = export_clip(options.recording, options.out, clip, on_progress=tell_progress)
    return {"ok": True, "progress": 1.0, **found}
