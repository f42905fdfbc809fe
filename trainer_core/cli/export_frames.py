"""`dmglab export SOURCE --to minari, webdataset or inputs`: labelled frames for world models and offline learning."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np

from trainer_core.author.minari_export import load_minari
from trainer_core.cli import eval as evaluation
from trainer_core.cli.options import FrameOptions, new_folder
from trainer_core.cli.output import Result
from trainer_core.cli.progress import tell_progress
from trainer_core.envs.demonstrations import Demonstration, play_actions
from trainer_core.envs.start_states import load_starts
from trainer_core.envs.task_files import load_rom
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import one_of
from trainer_core.lab.tasks import find_task
from trainer_core.play.demonstrating import require_new_folder
from trainer_core.play.labelled.frames import label, parse_watch
from trainer_core.play.labelled.sources import Source, find_source
from trainer_core.play.labelled.writers import WRITERS
from trainer_core.runs.log_writer import disk_error
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire.errors import ConfigError, LabError


def export_frames(name: str, to: str, out: Path | None, home: HomePaths, options: FrameOptions) -> Result:
    """Play the source's episodes, write their labelled frames, and compare the hashes if the source has some."""
    if out is None:
        raise ConfigError(f"name a new folder for --to {to} with --out")
    if to == "minari":
        load_minari()
    watch = parse_watch(options.watch)
    how = {"episodes": options.episodes, "frames": options.frames, "seed": options.seed}
    source = find_source(name, home, **how) or _policy(name, home, options)
    every = options.every or (source.about.every if source.about else 1)
    require_new_folder(out)
    began = time.monotonic()
    labelled = label(
        source.cartridge,
        source.episodes,
        every=every,
        watch=watch,
        symbols=options.symbols,
        device=options.device,
        tell=tell_progress,
    )
    try:
        with new_folder(out):
            hashes = WRITERS[to](out, source, labelled, every)
    except OSError as error:
        raise disk_error(out, error, "--out") from None
    seconds = time.monotonic() - began
    frames = sum(len(episode.masks) // every for episode in source.episodes)
    found: dict[str, Any] = {"ok": True, "out": str(out), "format": to, "episodes": len(hashes)}
    found |= {"frames": frames, "seconds": round(seconds, 2), "frames_per_second": round(frames / seconds)}
    text = f"Wrote {frames:,} labelled frames of {len(hashes):,} episodes to {out}"
    text += f" ({frames / seconds:,.0f} a second)."
    if source.about and source.about.every == every:
        wrong = [n for n, (one, two) in enumerate(zip(hashes, source.about.hashes, strict=True)) if one != two]
        found |= {"equal_hashes": len(hashes) - len(wrong)}
        if wrong:
            return Result(
                found | {"ok": False, "error": f"episode {wrong[0]} and {len(wrong) - 1} more have other hashes"}
            )
        text += f"\nAll {len(hashes):,} hashes are those of {name}."
    return Result(found, text)


def _policy(name: str, home: HomePaths, options: FrameOptions) -> Source:
    """Return episodes that a checkpoint plays from the training starts. Raises LabError."""
    try:
        folder = find_checkpoint(name, home)
    except LabError as error:
        raise ConfigError(
            f"{name}: no folder of recordings or inputs, no demo.npz, task or ROM, and no policy ({error})"
        ) from None
    asked = evaluation.Options(
        checkpoint=str(folder), episodes=options.episodes, mode="sample", starts="train", seed=options.seed
    )
    config = evaluation.config_of(asked, folder)
    config = dataclasses.replace(config, task=one_of(config.task))
    task = find_task(config.task, home)
    played, _ = evaluation.evaluate(asked, config, folder, home)
    cartridge, codec = load_rom(task, home), task.manifest.codec
    states = load_starts(task, cartridge)
    episodes = [Demonstration(states[e.start], play_actions(np.array(e.actions), codec)) for e in played.episodes]
    return Source(f"{folder.parent.parent.name} on {task.id}", cartridge, episodes, task)
