"""Train a list of tasks with several seeds and one reward for all; print the table.

    python scripts/learning_suite.py --home /tmp/suite pocket_quest/leave_bedroom my_task.zip
    python scripts/learning_suite.py --home /tmp/suite --seeds 1 2 3 --seconds 240 --all

Tasks are ids, or archives of `dmglab task export`, so that tasks on ROMs of your own need not lie
in a repository; register those ROMs first (`dmglab rom add PATH --home HOME`). Each task is copied
into the home with the default reward of new tasks (`--reward task` keeps its own), trained in a
process of its own until greedy validation reaches the target, and its best checkpoint is then
played on held-out starts: greedy, drawn, and greedy but leaving loops. A row that misses the
target makes exit status 1.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.author.archive import import_task
from trainer_core.author.folder import MANIFEST, manifest_toml, new_folder
from trainer_core.author.suggestions import suggest_reward
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import find_task, list_tasks
from trainer_core.wire.errors import LabError

MODES = ("greedy", "sample", "leave_loops")


def dmglab(*words: object) -> dict[str, Any]:
    """Return what a command prints; its progress is thrown away. Raises LabError when it fails."""
    command = [sys.executable, "-m", "trainer_core.cli.main", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    found = json.loads(lines[-1]) if lines else {"ok": False, "error": done.stderr[-500:]}
    if not found.get("ok"):
        raise LabError(f"{' '.join(map(str, words[:3]))}: {found.get('error', 'failed')}")
    return found


def entered(name: str, home: HomePaths, *, own_reward: bool) -> str:
    """Return the id of the copy of task `name` (an id or an archive) that the suite trains."""
    if name.endswith(".zip"):
        target = home.tasks / "archive" / Path(name).stem.lower()
        if not target.exists():
            import_task(Path(name), target.relative_to(home.tasks).as_posix(), home)
        name = target.relative_to(home.tasks).as_posix()
    task = find_task(name, home)
    if own_reward:
        return task.id
    task_id = f"suite/{task.id}"
    shutil.rmtree(home.tasks / task_id, ignore_errors=True)
    manifest = msgspec.structs.replace(task.manifest, id=task_id, reward=suggest_reward(None)[0])
    with new_folder(home.tasks / task_id) as made:
        shutil.copytree(task.folder, made, dirs_exist_ok=True)
        (made / MANIFEST).write_bytes(manifest_toml(manifest))
    return task_id


def measure(task_id: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Train once and play the best checkpoint."""
    began = time.monotonic()
    run = dmglab(
        "train", "--task", task_id, "--device", options.device, "--seed", seed, "--seconds",
        options.seconds, "--target-success", options.target, "--home", options.home,
    )  # fmt: skip
    seconds = time.monotonic() - began
    rates = {
        mode: dmglab("eval", "--checkpoint", run["run_id"], "--mode", mode, "--home", options.home)["success_rate"]
        for mode in MODES
    }
    return {"task": task_id, "seed": seed, "env_steps": run["env_steps"], "s": seconds, **rates}


def main() -> int:
    parser = argparse.ArgumentParser(description="Train tasks with one reward; print the table.")
    parser.add_argument("tasks", nargs="*", help="task ids or archives")
    parser.add_argument("--all", action="store_true", help="every shipped task too")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--target", type=float, default=0.95)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--reward", choices=("default", "task"), default="default")
    options = parser.parse_args()
    home = HomePaths(options.home.resolve())
    shipped = [task.id for task in list_tasks(HomePaths(Path("/nonexistent")))]
    names = [*options.tasks, *(shipped if options.all else [])]
    if not names:
        parser.error("name a task, or --all")
    print(f"| task | seed | env steps | s | {' | '.join(MODES)} |\n|---|---|---|---|---|---|---|")
    missed = 0
    for name in names:
        try:
            task_id = entered(name, home, own_reward=options.reward == "task")
            for seed in options.seeds:
                row = measure(task_id, seed, options)
                missed += row["greedy"] < options.target
                rates = " | ".join(f"{row[mode]:.3f}" for mode in MODES)
                print(f"| {task_id} | {seed} | {row['env_steps']:,} | {row['s']:.0f} | {rates} |", flush=True)
        except LabError as error:
            missed += 1
            print(f"| {name} | | | | {error} | | |")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
