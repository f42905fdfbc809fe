"""`dmglab demo`: train the first stage, measure it, write a plot and a GIF; `./run` without a display does this."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, say
from trainer_core.formats.plot import plot_logs
from trainer_core.host.process_start import load_torch
from trainer_core.lab.presets import preset_config, suggest_preset
from trainer_core.runs.names import find_checkpoint


def dmglab_command() -> str:
    """Return the command that starts this installation's `dmglab`, quoted for a shell.

    The bare word if PATH leads to this installation, else the program beside the interpreter,
    else the module (not installed).
    """
    program = Path(sys.executable).with_name("dmglab")
    if not os.access(program, os.X_OK):
        return f"{shlex.quote(sys.executable)} -m trainer_core.cli.main"
    found = shutil.which("dmglab")
    if found and os.path.samefile(found, program):
        return "dmglab"
    return shlex.quote(str(program))


LEGEND = """\
  success     share of the episodes since the line before that reached the goal
  entropy     how undecided the policy is; dist: how far its pictures are from the goal's
  validation  episodes from start states that are never trained on: greedy presses the likeliest
              button, sample draws one, leave_loops is greedy where no picture came back"""
"""The meaning of the words in the lines of a training."""


@dataclass(frozen=True)
class Options:
    task: str = "pocket_quest/leave_bedroom"
    """Task id."""
    device: str = "cpu"
    """cpu or cuda:N."""
    seconds: float = 600.0
    """Time limit in seconds."""
    target_success: float = 0.98
    """Greedy success on held-out starts that ends the training."""
    seed: int = 1
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "demo", argv)
    began = time.monotonic()
    config = dataclasses.replace(
        preset_config(suggest_preset(options.device)),
        task=options.task,
        device=options.device,
        seconds=options.seconds,
        target_success=options.target_success,
        seed=options.seed,
    )
    home = home_paths(options.home)
    say(f"training {config.task} on {config.device}; Ctrl-C saves and ends\n{LEGEND}")
    load_torch(config.device)
    from trainer_core.cli.local_run import train_new
    from trainer_core.play.rollout import write_rollout

    trained = train_new(config, home)
    paths = home.run(trained["run_id"])
    checkpoint = find_checkpoint(str(paths.root), home)
    plot_logs([paths.train_log], paths.root / "train.png", smoothing=0.6)
    rollout = write_rollout(paths.videos, checkpoint, home, mode="greedy", steps=0, start=-1, gif_every=2, seed=1)
    dmglab = dmglab_command()
    # With its old target, which it has reached, the resumed run would end at once.
    beyond = " --target-success 0" if trained["reason"].startswith("validation") else ""
    solved = round(100 * trained["success_rate"])
    text = (
        f"Reached the goal from {solved} % of the start states that were never trained on.\n"
        f"  curves      {paths.root / 'train.png'}\n"
        f"  checkpoint  {checkpoint}\n"
        f"  one episode {paths.videos / 'rollout.gif'}\n"
        f"Continue with\n"
        f"  {dmglab} resume {trained['name']}{beyond}\n"
        f"  {dmglab} eval --checkpoint {trained['name']}\n"
        f"  {dmglab} --help"
    )
    found = {
        "ok": True,
        "run_id": trained["run_id"],
        "name": trained["name"],
        "task": config.task,
        "success_rate": trained["success_rate"],
        "env_steps": trained["env_steps"],
        "seconds": round(time.monotonic() - began, 1),
        "rollout_success": rollout["success"],
        "run_dir": str(paths.root),
        "checkpoint": str(checkpoint),
        "plot": str(paths.root / "train.png"),
        "gif": str(paths.videos / "rollout.gif"),
    }
    return Result(found, text)
