"""`dmglab record`: save successful episodes of a checkpoint as recordings, for offline learning."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trainer_core.cli.options import Home, home_paths, new_folder, parse
from trainer_core.cli.output import Result
from trainer_core.cli.progress import tell_progress
from trainer_core.envs.single_game import open_game
from trainer_core.lab.checkpoint_manifest import POLICY, read_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import one_of
from trainer_core.play.demonstrating import record_demonstrations, require_new_folder
from trainer_core.play.episode import Played
from trainer_core.play.league.players import Settings, open_checkpoint
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire.fields import MAX_SEED, limits


@dataclass(frozen=True)
class Options:
    out: Path
    """New folder for the recordings, one folder each."""
    checkpoint: str = "latest"
    """Checkpoint folder, or a run (name, id, folder, `latest`): its best checkpoint."""
    task: str = ""
    """Task id; default the checkpoint's, the first of several."""
    episodes: int = field(default=50, metadata=limits(1, 10_000))
    """Number of recordings, from the training starts in turn; only episodes that reach the goal are
    kept. The command gives up if fewer than one episode in ten succeeds, or none of the first 20."""
    mode: Literal["greedy", "sample", "leave_loops"] = "sample"
    """Buttons drawn by the probabilities of the policy, so that episodes differ, or the most likely ones."""
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "record", argv)
    home = home_paths(options.home)
    folder = find_checkpoint(options.checkpoint, home)
    require_new_folder(options.out)
    with new_folder(options.out):
        return _record(options, home, folder)


def _record(options: Options, home: HomePaths, folder: Path) -> dict[str, Any]:
    """Play with the checkpoint `folder` and keep the episodes that reach the goal."""
    meta = read_meta(folder)
    settings = Settings(task=options.task or one_of(meta.task), home=home, mode=options.mode, seed=options.seed)
    game = open_game(settings.task, home)
    agent = open_checkpoint(str(folder), settings)

    def tell(kept: int, played: Played) -> None:
        tell_progress(kept / options.episodes, f"{kept} recordings")

    try:
        found = record_demonstrations(
            options.out,
            game,
            lambda start: agent,
            options.episodes,
            options.mode,
            tell=tell,
            checkpoint=str(folder),
            checkpoint_sha256=meta.files.get(POLICY, ""),
        )
    finally:
        agent.close()
    text = f"Wrote {found['recordings']} recordings of {found['attempts']} episodes to {found['out']}."
    return Result({"ok": True, "checkpoint": str(folder), "mode": options.mode, **found}, text)
