"""`dmglab rollout`: play one episode and write rollout.gif, rollout.jsonl and meta.json."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer_core.cli.options import Home, home_paths, make_out, parse
from trainer_core.cli.output import Result
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import MAX_SEED, limits


@dataclass(frozen=True)
class Options:
    out: Path
    """Folder for rollout.gif, rollout.jsonl and meta.json."""
    checkpoint: str = "latest"
    """Checkpoint folder, or a run (name, id, folder, `latest`): its best checkpoint."""
    task: str = ""
    """Task id; default the checkpoint's, the first of several."""
    greedy: bool = False
    """Press the most likely button (the default)."""
    sample: bool = False
    """Press buttons by the policy's probabilities."""
    steps: int = field(default=0, metadata=limits(0, 100_000))
    """Largest number of steps; 0 = to the end of the episode."""
    start: int = field(default=-1, metadata=limits(-1, 10**6))
    """Start state; -1 = the first held-out one."""
    gif_every: int = field(default=2, metadata=limits(2, 3600))
    """Frames of the game from one picture to the next; a GIF cannot show more than one in 2."""
    per_step: bool = False
    """One picture for each agent step, at the speed of the game."""
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "rollout", argv)
    if options.greedy and options.sample:
        raise ConfigError("choose one of --greedy and --sample")
    home = home_paths(options.home)
    folder = find_checkpoint(options.checkpoint, home)
    make_out(options.out)
    from trainer_core.play.rollout import write_rollout

    found = write_rollout(
        options.out,
        folder,
        home,
        task=options.task,
        mode="sample" if options.sample else "greedy",
        steps=options.steps,
        start=options.start,
        gif_every=0 if options.per_step else options.gif_every,
        seed=options.seed,
    )
    end = "reached the goal" if found["success"] else "did not reach the goal"
    return Result(found, f"Wrote {found['gif']}: the episode {end} after {found['steps']:,} steps.")
