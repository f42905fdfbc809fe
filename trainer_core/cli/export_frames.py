"""`dmglab export SOURCE --to minari, webdataset or inputs`: labelled frames for world models and offline learning."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

from trainer_core.cli import eval as evaluation
from trainer_core.cli.options import home_paths, make_out
from trainer_core.cli.output import Result
from trainer_core.cli.progress import tell_progress
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import one_of
from trainer_core.lab.tasks import find_task
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire.errors import ConfigError, DiskError, LabError

if TYPE_CHECKING:
    from trainer_core.cli.export import Options
    from trainer_core.play.labelled.sources import Source


def export_frames(options: Options) -> Result:
    """Play the source's episodes, write their labelled frames, and compare the hashes if the source has some."""
    from trainer_core.play.demonstrating import require_new_folder
    from trainer_core.play.labelled.frames import label, parse_watch
    from trainer_core.play.labelled.sources import find_source
    from trainer_core.play.labelled.writers import WRITERS

    if options.out is None:
        raise ConfigError(f"name a new folder for --to {options.to} with --out")
    home, watch = home_paths(options.home), parse_watch(options.watch)
    how = {"episodes": options.episodes, "frames": options.frames, "seed": options.seed}
    source = find_source(options.source, home, **how) or _policy(options, home)
    every = options.every or (source.about.every if source.about else 1)
    require_new_folder(options.out)
    make_out(options.out)
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
        hashes = WRITERS[options.to](options.out, source, labelled, every)
    except OSError as error:
        raise DiskError(f"{options.out}: {error.strerror or error}") from None
    seconds = time.monotonic() - began
    frames = sum(len(episode.masks) // every for episode in source.episodes)
    found: dict[str, Any] = {"ok": True, "out": str(options.out), "format": options.to, "episodes": len(hashes)}
    found |= {"frames": frames, "seconds": round(seconds, 2), "frames_per_second": round(frames / seconds)}
    text = f"Wrote {frames:,} labelled frames of {len(hashes):,} episodes to {options.out}"
    text += f" ({frames / seconds:,.0f} a second)."
    if source.about and source.about.every == every:
        wrong = [n for n, (one, two) in enumerate(zip(hashes, source.about.hashes, strict=True)) if one != two]
        found |= {"equal_hashes": len(hashes) - len(wrong)}
        if wrong:
            return Result(
                found | {"ok": False, "error": f"episode {wrong[0]} and {len(wrong) - 1} more have other hashes"}
            )
        text += f"\nAll {len(hashes):,} hashes are those of {options.source}."
    return Result(found, text)


def _policy(options: Options, home: HomePaths) -> Source:
    """Return episodes that a checkpoint plays from the training starts. Raises LabError."""
    from trainer_core.envs.demonstrations import Demonstration, play_actions
    from trainer_core.envs.start_states import load_starts
    from trainer_core.envs.task_files import load_rom
    from trainer_core.play.labelled.sources import Source

    try:
        folder = find_checkpoint(options.source, home)
    except LabError as error:
        raise ConfigError(
            f"{options.source}: no folder of recordings or inputs, no demo.npz, task or ROM, and no policy ({error})"
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
    episodes = [Demonstration(states[e.start], play_actions(list(e.actions), codec)) for e in played.episodes]
    return Source(f"{folder.parent.parent.name} on {task.id}", cartridge, episodes, task)
