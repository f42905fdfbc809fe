"""Measure when a launch should go over to threaded code (ADR 18), by the same frames for each answer.

    python scripts/bench_tail.py --rom A.gb --rom B.gb --num-envs 4096,16384 --tail 0,128,256,512
    python scripts/bench_tail.py --task pocket_quest/leave_bedroom --num-envs 8192

A line for each game and batch size: milliseconds of 24 frames with observations for each number of
consoles that are left, how many instructions the longest consoles executed, and whether the states
of all consoles are those of the first. Ends with status 1 if any is not. With a task: steps of the
environment of training with random buttons, which go on, so that there is nothing to compare.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
import warp as wp

from emulator import Cartridge, Emulator
from emulator.launch.launch_shapes import SERVED, Shape, built_in
from emulator.state.batch import BOOKKEEPING
from trainer_core.envs.build import make_env
from trainer_core.envs.game_env import GameEnv
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.wire.config import RunConfig

FRAMES, RELEASE_AFTER = 24, 8
WARM_UP, LAUNCHES, ROUNDS = 10, 4, 3
PLACES = (0, 64, 128, 256, 512, 1024)
"""In the order of work: whose instructions are printed."""


def plain_shape(num_envs: int) -> Shape:
    """Return the data path in its built-in shape, without a tail."""
    shape = built_in(num_envs)
    return (shape if shape.serving else SERVED)._replace(tail=0)


def digest(emulator: Emulator) -> str:
    """Return a digest of all consoles' records, instruction counts and observations."""
    consoles = emulator.batch.console.numpy()
    found = hashlib.sha256(emulator.observations().numpy().tobytes())
    for name in consoles.dtype.names or ():
        if name not in BOOKKEEPING or name == "work":
            found.update(np.ascontiguousarray(consoles[name]).tobytes())
    return found.hexdigest()


class Course:
    """Launches that begin from kept states."""

    def __init__(self, path: Path, num_envs: int, device: str) -> None:
        cartridge = Cartridge.from_bytes(path.read_bytes(), path.name)
        self.emulator = Emulator(cartridge, num_envs, device, shape=plain_shape(num_envs), executor="uniform")
        random = np.random.default_rng(1)
        buttons = (1 << random.integers(0, 8, (WARM_UP + LAUNCHES, num_envs))).astype(np.uint8)
        for held in buttons[:WARM_UP]:
            self.emulator.run(held, FRAMES, RELEASE_AFTER)
        self.emulator.observations()
        self.buttons = [wp.array(held, dtype=wp.uint8, device=device) for held in buttons[WARM_UP:]]
        batch = self.emulator.batch
        self._kept = [(array, wp.clone(array)) for array in (batch.console, batch.ram)]

    def run(self, tail: int) -> list[float]:
        """Return the seconds of each launch but the first, from the kept states on."""
        emulator = self.emulator
        for array, kept in self._kept:
            wp.copy(array, kept)
        emulator.shape = plain_shape(emulator.num_envs)._replace(tail=tail)
        emulator.wait_for_kernels()
        taken = []
        for held in self.buttons:
            wp.synchronize_device(emulator.device)
            began = time.perf_counter()
            emulator.run(held, FRAMES, RELEASE_AFTER)
            emulator.observations()
            wp.synchronize_device(emulator.device)
            taken.append(time.perf_counter() - began)
        return taken[1:]


def measure_rom(path: Path, num_envs: int, device: str, tails: list[int]) -> bool:
    """Print one line; return whether all states were equal."""
    course = Course(path, num_envs, device)
    digests = []
    for tail in tails:  # compiles as well
        course.run(tail)
        digests.append(digest(course.emulator))
    work = np.sort(course.emulator.work())[::-1]
    found: dict[int, list[float]] = {tail: [] for tail in tails}
    for turn in range(ROUNDS):
        for tail in tails if turn % 2 else tails[::-1]:
            found[tail] += course.run(tail)
    equal = len(set(digests)) == 1
    longest = [int(work[place]) for place in PLACES if place < num_envs]
    print(
        f"{num_envs:6d} {path.stem:16s} {in_ms(found)} {'equal' if equal else 'DIFFERENT'}"
        f" longest {longest}, mean {work.mean():.0f}",
        flush=True,
    )
    return equal


def measure_task(task: str, num_envs: int, device: str, tails: list[int]) -> None:
    """Print one line for the environment of training."""
    config = RunConfig(task=task, num_envs=num_envs, device=device)
    env = make_env(config, HomePaths(default_home()), demo_share=config.demo_starts)
    assert isinstance(env, GameEnv)
    env.reset(1)
    random = torch.Generator(device).manual_seed(1)

    def steps(tail: int, count: int) -> list[float]:
        for emulator in env.emulator.emulators:
            emulator.shape = plain_shape(num_envs)._replace(tail=tail)
            emulator.wait_for_kernels()
        taken = []
        for _ in range(count):
            actions = torch.randint(env.num_actions, (num_envs,), generator=random, device=device)
            wp.synchronize_device(device)
            began = time.perf_counter()
            env.step(actions)
            wp.synchronize_device(device)
            taken.append(time.perf_counter() - began)
        return taken[1:]

    for tail in tails:
        steps(tail, WARM_UP)
    found: dict[int, list[float]] = {tail: [] for tail in tails}
    for turn in range(ROUNDS):
        for tail in tails if turn % 2 else tails[::-1]:
            found[tail] += steps(tail, WARM_UP)
    env.close()
    print(f"{num_envs:6d} {task} {in_ms(found)}", flush=True)


def in_ms(found: dict[int, list[float]]) -> str:
    """Return medians by the number of consoles left."""
    return ", ".join(f"{tail}: {1e3 * statistics.median(one):.2f}" for tail, one in found.items())


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description="When a launch goes over to threaded code")
    parser.add_argument("--rom", action="append", default=[], type=Path)
    parser.add_argument("--task", action="append", default=[])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--num-envs", default="4096,16384")
    parser.add_argument("--tail", default="0,64,128,256,512,1024")
    options = parser.parse_args()
    tails = [int(tail) for tail in options.tail.split(",")]
    equal = True
    for num_envs in map(int, options.num_envs.split(",")):
        for path in options.rom:
            equal &= measure_rom(path, num_envs, options.device, tails)
        for task in options.task:
            measure_task(task, num_envs, options.device, tails)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
