"""`dmglab import PATH`: read files of another program or computer into the data folder.

Curves (a `run-ID.wandb` or `history.jsonl` of W&B, event files of TensorBoard) become runs, as does
the folder of a checkpoint. With `--out FOLDER` a rollout, GIF, movie, receipt or recording of the
ARC-AGI-3 library becomes a recording.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result
from trainer_core.cli.progress import tell_progress
from trainer_core.formats.import_curves import import_curves, is_logged
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.import_run import import_checkpoint
from trainer_core.wire.errors import ConfigError


@dataclass(frozen=True)
class Options:
    path: Annotated[Path, tyro.conf.Positional]
    """run-ID.wandb or history.jsonl of W&B, event file of TensorBoard or a folder of them, or folder of
    a checkpoint. With --out: folder of a rollout or receipt, GIF, APNG or PNG, movie of PyBoy (.replay)
    or VisualBoyAdvance (.vbm), recording of the ARC-AGI-3 library (.jsonl)."""
    out: Path | None = None
    """New folder; makes a recording."""
    rom: str = ""
    """With --out: the ROM of the movie, by path or name; default the registered ROM with its hash or header."""
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "import", argv)
    home = home_paths(options.home)
    if options.out is not None:
        return _recording(options.path.expanduser(), options.out, options.rom, home)
    if options.rom:
        raise ConfigError("--rom names the game of a movie: give --out FOLDER too")
    return _run(options.path, home)


def _recording(path: Path, out: Path, rom: str, home: HomePaths) -> Result:
    from trainer_core.play.clips.opening import open_clip

    found = open_clip(path, out, rom, home, on_progress=tell_progress)
    note = f" {found['note']}" if found["note"] else ""
    return Result({"ok": True, "progress": 1.0, **found}, f"Wrote {out}: {found['frames']:,} frames.{note}")


def _run(path: Path, home: HomePaths) -> Result:
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder; name curves of W&B or TensorBoard, or a checkpoint")
    if path.is_dir() and not is_logged(path):
        record, folder = import_checkpoint(path, home)
        found = {"ok": True, "run_id": record.run_id, "name": record.name, "checkpoint": str(folder)}
        return Result(found, f"Imported the checkpoint as run {record.title}: {folder}")
    done = import_curves(path, home)
    names, lost = [record.run_id for record in done.runs], "; ".join(done.lost)
    folder = home.run(names[0]).root
    found = {
        "ok": True,
        "run_id": names[0],
        "name": done.runs[0].name,
        "folder": str(folder),
        "runs": names,
        "lost": lost,
    }
    left = f"\nNot imported: {lost}" if lost else ""
    return Result(found, f"Imported {len(names)} runs: {', '.join(record.title for record in done.runs)}{left}")
