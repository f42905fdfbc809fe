"""Measurement of launch shapes on this machine's GPU; the best are stored (see launch_shapes.py).

For each batch size a hill climb over the candidates of one field of `Shape` at a time: every measurement runs
the same frames from the same states, so that two shapes do exactly equal work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from emulator.emulator import Emulator
from emulator.launch import launch_shapes
from emulator.launch.launch_shapes import CANDIDATES, Shape
from emulator.launch.warp_start import start_warp
from emulator.rom.cartridge import Cartridge

NUM_ENVS = (256, 1024, 4096, 8192, 16384, 32768, 65536)
BUTTONS = np.array([1, 2, 4, 8, 16, 32, 128], dtype=np.uint8)
RELEASE_AFTER = 8
WARM_UP = 15
"""Launches before the state from which every measurement starts: past the titles of most games."""
LEAST_GAIN = 0.99
"""Share of the best shape's time below which another shape replaces it."""
TRIED_ALONE = 4096
"""Most consoles for which threaded code is measured too, for all or for the last of them."""
GIVE_UP = 1.5
"""Multiple of the best shape's time above which a shape is not measured again."""


def tune(
    cartridges: Sequence[Cartridge],
    device: str,
    num_envs: Sequence[int] = NUM_ENVS,
    *,
    frames: int = 24,
    launches: int = 3,
    keep: bool = True,
    path: Path | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Measure launch shapes on this GPU and return one record; with `keep` also write the tuned table.

    `path`: the table's file, by default the user's. Several cartridges count alike: shapes are compared by the
    geometric mean of their times.
    """
    start_warp()
    name = launch_shapes.gpu_name(device)
    record: dict[str, Any] = {
        "ok": True,
        "what": "tune",
        "device": device,
        "device_name": name,
        "kernels": launch_shapes.kernel_version(),
        "frames_per_launch": frames,
        "roms": [cartridge.sha256 for cartridge in cartridges],
    }
    if not name:
        note = "a CPU has one launch shape: there is nothing to tune"
        return record | {"stored": "", "shapes": [], "note": note}
    began = time.perf_counter()
    rows = [_tune_size(cartridges, device, n, frames, launches, progress) for n in num_envs]
    table = {row["num_envs"]: Shape(**row["shape"]) for row in rows}
    stored = note = ""
    if keep:
        try:
            stored = str(launch_shapes.store(name, table, path))
        except OSError as error:  # the measurements took minutes: they are returned all the same
            note = f"not stored: {error}"
    seconds = time.perf_counter() - began
    return record | {"stored": stored, "seconds": seconds, "shapes": rows, "note": note}


def _tune_size(
    cartridges: Sequence[Cartridge],
    device: str,
    num_envs: int,
    frames: int,
    launches: int,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Return a record of the best shape for one batch size, with all measurements."""
    courses = [Course(cartridge, device, num_envs, frames, launches) for cartridge in cartridges]
    begin = launch_shapes.built_in(num_envs)
    seconds: dict[Shape, float] = {}

    def measure(shape: Shape) -> float:
        if launch_shapes.impossible(shape):
            return math.inf
        if shape not in seconds:
            logs = [math.log(course.seconds(shape)) for course in courses]
            seconds[shape] = math.exp(sum(logs) / len(logs))
            progress(f"N={num_envs} {shape}: {1000 * seconds[shape]:.2f} ms")
        return seconds[shape]

    best = climb(begin, measure)
    if num_envs <= TRIED_ALONE:
        for other in (launch_shapes.ALONE, launch_shapes.MIXED):
            best = min(best, climb(other, measure), key=measure)
    rate = num_envs * frames
    return {
        "num_envs": num_envs,
        "shape": best._asdict(),
        "frames_per_sec": rate / seconds[best],
        "gain_over_built_in": seconds[begin] / seconds[best],
        "measured": [
            shape._asdict() | {"frames_per_sec": rate / taken}
            for shape, taken in sorted(seconds.items(), key=lambda pair: pair[1])
        ],
    }


def climb(shape: Shape, measure: Callable[[Shape], float]) -> Shape:
    """Return the fastest shape reached from `shape` by changes of one field; `measure` returns a shape's seconds."""
    while True:
        before = shape
        for name in Shape._fields:
            for step in (-1, 1):
                shape = _climb_field(shape, name, step, measure)
        if shape == before:
            return shape


def _climb_field(shape: Shape, name: str, step: int, measure: Callable[[Shape], float]) -> Shape:
    values = CANDIDATES[name]
    while True:
        place = values.index(getattr(shape, name)) + step
        if not 0 <= place < len(values):
            return shape
        tried = shape._replace(**{name: values[place]})
        if measure(tried) > LEAST_GAIN * measure(shape):
            return shape
        shape = tried


class Course:
    """Launches by which every shape is measured: one ROM, one batch, fixed start states and buttons."""

    def __init__(self, cartridge: Cartridge, device: str, num_envs: int, frames: int, launches: int) -> None:
        self.emulator = Emulator(cartridge, num_envs, device, shape=launch_shapes.built_in(num_envs))
        self.frames = frames
        draw = np.random.default_rng(num_envs)
        for _ in range(WARM_UP):
            self.emulator.run(draw.choice(BUTTONS, num_envs), frames, RELEASE_AFTER)
        drawn = draw.choice(BUTTONS, (launches + 1, num_envs))
        self.buttons = [wp.array(row, dtype=wp.uint8, device=device) for row in drawn]
        batch = self.emulator.batch
        self.console, self.ram = wp.clone(batch.console), wp.clone(batch.ram)
        self.best = math.inf

    def seconds(self, shape: Shape) -> float:
        """Return the mean seconds of a launch with `shape`; the first one, which may compile, is not counted."""
        emulator = self.emulator
        wp.copy(emulator.batch.console, self.console)
        wp.copy(emulator.batch.ram, self.ram)
        emulator.shape = shape
        emulator.wait_for_kernels()
        taken = []
        for launch, buttons in enumerate(self.buttons):
            wp.synchronize_device(emulator.device)
            began = time.perf_counter()
            emulator.run(buttons, self.frames, RELEASE_AFTER)
            wp.synchronize_device(emulator.device)
            if launch:
                taken.append(time.perf_counter() - began)
                if taken[-1] > GIVE_UP * self.best:
                    break
        mean = sum(taken) / len(taken)
        self.best = min(self.best, mean)
        return mean
