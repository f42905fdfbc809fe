"""Measure what a batch of several tasks costs beside batches of one task each, in one process.

    python scripts/mixed_batch.py --num-envs 64 --steps 60
    python scripts/mixed_batch.py --device cuda:0 --num-envs 8192 --tasks A,B --tasks A,B,C

For each list of tasks: the environment of training (starts along demonstrations, goals, resets) is
stepped with random buttons, alone for each task and mixed, in turns; medians of a step's time. On a
CPU that is processor time of all threads, which other programs' load hardly moves. The fair measure
of a mixture is the mean of its tasks alone, since a game that is twice the work is twice the work
here too. `ratio` is the mixture's time over that mean.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from trainer_core.envs.build import make_env
from trainer_core.envs.vec_env import VecEnv
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.wire.config import RunConfig

LISTS = (
    "pocket_quest/leave_bedroom,pocket_quest/leave_house",
    "pocket_quest/leave_bedroom,nectar_run/fill_jar",
    "pocket_quest/leave_bedroom,nectar_run/fill_jar,mirror_moths/level_2",
)
ROUNDS = 3


def timed(env: VecEnv, steps: int, rng: torch.Generator) -> list[float]:
    """Return the milliseconds of each step."""
    found = []
    for _ in range(steps):
        actions = torch.randint(env.num_actions, (env.num_envs,), generator=rng, device=env.device)
        if env.device.type == "cuda":
            torch.cuda.synchronize()
        clock = time.perf_counter if env.device.type == "cuda" else time.process_time
        began = clock()
        env.step(actions)
        if env.device.type == "cuda":
            torch.cuda.synchronize()
        found.append((clock() - began) * 1000)
    return found


def measure(text: str, options: argparse.Namespace) -> dict[str, object]:
    """Return step times of the mixture and of each of its tasks, the same number of consoles each."""
    home = HomePaths(default_home())
    names = [*text.split(","), text]
    times: dict[str, list[float]] = {name: [] for name in names}
    envs, built = {}, {}
    for name in names:
        began = time.perf_counter()
        config = RunConfig(task=name, num_envs=options.num_envs, device=options.device)
        envs[name] = make_env(config, home, demo_share=0.75)
        envs[name].reset(1)
        built[name] = round(time.perf_counter() - began, 2)
    rng = torch.Generator(options.device).manual_seed(1)
    for env in envs.values():
        timed(env, 10, rng)
    for _ in range(ROUNDS):
        for name, env in envs.items():
            times[name] += timed(env, options.steps, rng)
    medians = {name: statistics.median(found) for name, found in times.items()}
    for env in envs.values():
        env.close()
    alone = statistics.mean(medians[name] for name in names[:-1])
    return {
        "tasks": names[:-1],
        "device": options.device,
        "num_envs": options.num_envs,
        "ms_alone": {name: round(medians[name], 3) for name in names[:-1]},
        "ms_mixed": round(medians[text], 3),
        "ratio": round(medians[text] / alone, 3),
        "build_s": built,
        "load": Path("/proc/loadavg").read_text().split()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--steps", type=int, default=60, help="per round, of three")
    parser.add_argument("--tasks", action="append", default=[], help="a,b; more than once")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for text in options.tasks or LISTS:
        print(json.dumps(measure(text, options)), flush=True)


if __name__ == "__main__":
    main()
