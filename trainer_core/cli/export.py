"""`dmglab export RECORDING --out X.mp4`: a recording for other programs; with --to curves or labelled frames."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.options import FrameOptions, Home, home_paths, parse
from trainer_core.cli.output import Result
from trainer_core.cli.progress import tell_progress
from trainer_core.formats.gif import MAX_SCALE
from trainer_core.formats.video import MAX_SPEED, Clip, export_clip
from trainer_core.lab.recording import MAX_FRAMES
from trainer_core.runs.names import find_run
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import limits

FRAMES = ("webdataset", "minari", "inputs")


@dataclass(frozen=True)
class Options(FrameOptions):
    source: Annotated[str, tyro.conf.Positional] = "latest"
    """Folder of a finished recording; for curves a run name, id or folder, or `latest`. For labelled frames a folder of
    recordings or of inputs, a demo.npz, a checkpoint or run, whose policy plays, or a task or ROM, played at random."""
    out: Path | None = None
    """File for a recording: .gif, .apng, .mp4 (needs ffmpeg), or a new folder for PNGs. Folder for the
    curves of a run; default a folder named like --to in the folder of the run. New folder for labelled frames."""
    to: Literal["", "tensorboard", "wandb_history", "wandb_offline", "webdataset", "minari", "inputs"] = ""
    """Write the curves of a run: event files of TensorBoard, JSON lines as W&B's history, or an offline run for
    `wandb sync`, which needs the extra wandb. Or labelled frames: shards for WebDataset, a Minari dataset (needs
    minari), or only the inputs, from which any computer makes the same frames again."""
    scale: int = field(default=2, metadata=limits(1, MAX_SCALE))
    """Screen pixels per Game Boy pixel, 1 to 8."""
    palette: Literal["green", "grey", "screen-dmg", "screen-grey", "screen-pocket", "screen-light"] = "green"
    """Pale greens, greys, or the colours of one of the app's screens."""
    from_frame: int = field(default=0, metadata=limits(0, MAX_FRAMES))
    """First frame."""
    to_frame: int = field(default=-1, metadata=limits(-1, MAX_FRAMES))
    """Last frame; -1 = the last one of the recording."""
    speed: float = field(default=1.0, metadata=limits(0.01, MAX_SPEED))
    """1.0 is the speed of a Game Boy."""
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "export", argv)
    if options.to in FRAMES:
        from trainer_core.cli.export_frames import export_frames

        return export_frames(options.source, options.to, options.out, home_paths(options.home), options)
    if options.to:
        return _curves(options)
    if options.out is None:
        raise ConfigError("name the file of a recording with --out, or the format of a run's curves with --to")
    clip = Clip(options.from_frame, options.to_frame, options.speed, options.scale, options.palette)
    found = export_clip(Path(options.source), options.out, clip, on_progress=tell_progress)
    text = f"Wrote {found['out']}: {found['format']}, {found['pictures']:,} pictures, {found['seconds']:g} s."
    return Result({"ok": True, "progress": 1.0, **found}, text)


def _curves(options: Options) -> Result:
    paths = find_run(options.source, home_paths(options.home))
    out = options.out or paths.root / options.to
    shares = importlib.import_module(f"trainer_core.formats.{options.to}").export(paths, out)
    while True:
        try:
            tell_progress(next(shares))
        except StopIteration as done:
            out = done.value
            break
    found = {"ok": True, "run_id": paths.run_id, "folder": str(out)}
    return Result(found, f"Wrote the curves of run {paths.run_id} to {out}.")
