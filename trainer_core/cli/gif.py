"""`dmglab gif RECORDING --out X.gif`: progress as JSON lines, the result last."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.options import parse
from trainer_core.cli.output import tell_progress
from trainer_core.formats.gif import DEFAULT_DELAY_CS, MAX_DELAY_CS, MAX_SCALE, export_gif
from trainer_core.wire.fields import limits


@dataclass(frozen=True)
class Options:
    recording: Annotated[Path, tyro.conf.Positional]
    """Folder of a finished recording."""
    out: Path
    """The GIF to write."""
    scale: int = field(default=2, metadata=limits(1, MAX_SCALE))
    """Screen pixels per Game Boy pixel, 1 to 8."""
    palette: Literal["green", "grey"] = "green"
    delay_cs: int = field(default=2, metadata=limits(DEFAULT_DELAY_CS, MAX_DELAY_CS))
    """Hundredths of a second per picture; 2 is the least that viewers honour."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "gif", argv)
    found = export_gif(
        options.recording,
        options.out,
        scale=options.scale,
        palette=options.palette,
        delay_cs=options.delay_cs,
        on_progress=tell_progress,
    )
    return {"ok": True, "progress": 1.0, **found}
