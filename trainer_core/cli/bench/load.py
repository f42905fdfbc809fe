"""`dmglab bench load`: check that the consoles of a benchmark do different work and repeat exactly.

After many steps with random buttons the record gives the number of distinct states, the instructions
per frame, the number of drawn frames and the time of drawing. Some consoles are then played again
alone, with the same buttons from the same start, and must end in the same state.

    dmglab bench load --rom GAME.gb --device cuda:0 --num-envs 16384 --save FILE.npz
    dmglab bench load --rom GAME.gb --replay FILE.npz --device cpu      # here, or on another host
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trainer_core.cli.bench import rig
from trainer_core.cli.bench.replays import Played, play_again
from trainer_core.cli.options import parse

if TYPE_CHECKING:
    import torch

    from trainer_core.envs.sharded_emulator import ShardedEmulator

CHECK_EVERY = 50  # steps between two looks at the clock, for which the host waits
PIXEL_ROUNDS = 4


@dataclass(frozen=True, kw_only=True)
class Options(rig.BatchOptions):
    num_envs: int = 256
    steps: int = 2000
    frames_per_step: int = 8
    """Frames per step; the default is a third of the training's, so that 16,384 consoles take minutes."""
    release_after: int = 4
    max_seconds: float = 300.0
    """Time limit of the steps in seconds; the record has the number of finished steps."""
    replays: int = 64
    """Number of random consoles that are played again alone."""
    min_distinct: float = 0.9
    """Fail if the share of consoles with a distinct state is smaller than this."""
    pixel_steps: int = 10
    """Steps of each of eight timings, in turns with and without observations; 0 = no timing."""
    save: Path | None = None
    """File for the buttons, start and hashes of the replayed consoles, for a check on another computer."""
    replay: Path | None = None
    """Check such a file on --device instead of measuring."""


def run(argv: list[str]) -> dict[str, Any]:
    """Measure; return one record, whose `ok` is False if the consoles are too alike or a replay differs."""
    options = parse(Options, "bench load", argv)
    rig.check_at_least(options, num_envs=1, steps=1, frames_per_step=1, release_after=0, replays=0, pixel_steps=0)
    device = rig.torch_device(options.device)
    game = rig.load_game(options)
    if options.replay is not None:
        played = Played.load(options.replay, game)
        record = {
            "what": "load_replay",
            **rig.facts(device, game),
            "file": str(options.replay),
            "made_on": played.made_on,
        }
        record["replays"] = play_again(played, game, str(device))
    else:
        record = measure(options, game, device)
    failures = [
        f"{row['how']}: {len(row['different'])} of {row['machines']} replays end differently"
        for row in record["replays"]
        if row["different"]
    ]
    share = record.get("distinct", {}).get("share", 1.0)
    if share < options.min_distinct:
        failures.append(f"{share:.1%} distinct states, {options.min_distinct:.0%} wanted")
    return {"ok": not failures, **({"error": "; ".join(failures)} if failures else {}), **record}


def measure(options: Options, game: rig.Game, device: torch.device) -> dict[str, Any]:
    """Play, compare the consoles, time the drawing, replay some consoles; return the record."""
    import torch

    machines = rig.open_machines(game, options.num_envs, device, options.threads)
    try:
        tally = Tally(machines, options.frames_per_step)
        history = torch.zeros(options.steps, options.num_envs, dtype=torch.uint8, device=device)
        done, seconds = _play(machines, options, tally, history)
        hashes = [h for emulator in machines.emulators for h in emulator.state_hash()]
        draw = np.random.default_rng(options.seed)
        chosen = draw.permutation(options.num_envs)[: options.replays]
        numbers = torch.from_numpy(chosen).to(device)
        played = Played(
            start=game.start,
            buttons=history[:done, numbers].cpu().numpy(),
            machines=chosen,
            hashes=[hashes[number] for number in chosen],
            pictures=machines.pictures[numbers].cpu().numpy(),
            frames_per_step=options.frames_per_step,
            release_after=options.release_after,
            made_on=rig.facts(device, game)["device_name"],
        )
        pixels = _time_pixels(machines, options, device)
        shape = machines.emulators[0].shape
    finally:
        machines.close()
    del machines
    if options.save is not None:
        played.save(options.save)
    frames = done * options.num_envs * options.frames_per_step
    cut = f"stopped by --max-seconds after {done} of {options.steps} steps"
    return {
        "what": "load",
        **rig.facts(device, game),
        "steps": done,
        "note": "" if done == options.steps else cut,
        "frames_per_sec": frames / seconds,
        "seconds": seconds,
        "distinct": {
            "states": len(set(hashes)),
            "share": len(set(hashes)) / len(hashes),
            "wanted": options.min_distinct,
            "hashed": "every machine, on the host",
        },
        "instructions_per_frame": tally.instructions(done),
        "frames_rendered_share": tally.drawn() / frames,
        "pixels": pixels,
        "replays": play_again(played, game, _replay_device(options), shape) if len(chosen) else [],
        "config": {
            name: str(value) if isinstance(value, Path) else value
            for name, value in dataclasses.asdict(options).items()
            if name not in ("home", "replay")
        },
    }


def _replay_device(options: Options) -> str:
    """Return `cpu`, whose kernels come from another compiler, if Warp supports it; else `--device`."""
    return "cpu" if rig.cpu_works() else options.device


def _play(machines: ShardedEmulator, options: Options, tally: Tally, history: torch.Tensor) -> tuple[int, float]:
    """Step with observations until the end or the time limit; return (finished steps, seconds)."""
    device = history.device
    buttons = rig.Buttons(options.num_envs, device, options.seed)
    _settle(device)
    began, seconds = time.perf_counter(), 0.0
    for step, row in enumerate(history, 1):
        row.copy_(buttons.masks())
        machines.buttons.copy_(row)
        machines.run(options.frames_per_step, options.release_after)
        tally.add()
        machines.observe()
        if step % CHECK_EVERY == 0 or step == len(history):
            _settle(device)
            seconds = time.perf_counter() - began
            if seconds > options.max_seconds:
                return step, seconds
    return len(history), seconds


def _time_pixels(machines: ShardedEmulator, options: Options, device: torch.device) -> dict[str, float | str]:
    """Return the milliseconds of a step with and without observations, timed in turns, and the share of drawing."""
    if options.pixel_steps == 0:
        return {}
    buttons = rig.Buttons(options.num_envs, device, options.seed + 1)

    def blind() -> None:
        machines.buttons.copy_(buttons.masks())
        machines.run(options.frames_per_step, options.release_after)

    def seeing() -> None:
        blind()
        machines.observe()

    times = {blind: 0.0, seeing: 0.0}
    for turn in range(PIXEL_ROUNDS):
        for work in (blind, seeing) if turn % 2 == 0 else (seeing, blind):
            times[work] += sum(rig.timed(work, options.pixel_steps, device))
    steps = PIXEL_ROUNDS * options.pixel_steps
    return {
        "ms_with": times[seeing] / steps,
        "ms_without": times[blind] / steps,
        "share": 1 - times[blind] / times[seeing],
        "clock": "CUDA events" if device.type == "cuda" else "host",
    }


class Tally:
    """Instructions and drawn pictures of a run, added up on the device."""

    def __init__(self, machines: ShardedEmulator, frames: int) -> None:
        import torch

        self._torch, self._frames = torch, frames
        self._work = [column(emulator, "work") for emulator in machines.emulators]
        self._finished = [column(emulator, "ppu_finished") for emulator in machines.emulators]
        device = machines.buttons.device
        self._per_machine = torch.zeros(len(machines.buttons), dtype=torch.int64, device=device)
        self._busiest_launch, self._ratio, self._drawn = torch.zeros(3, dtype=torch.float64, device=device)

    def add(self) -> None:
        """Add the counts of the launch that just ended, before its picture is drawn."""
        work = self._torch.cat(self._work)
        self._per_machine += work
        self._torch.maximum(self._busiest_launch, work.max(), out=self._busiest_launch)
        self._ratio += work.max() / work.double().mean().clamp_min(1)
        self._drawn += sum((finished != 0).sum() for finished in self._finished)

    def instructions(self, steps: int) -> dict[str, float]:
        """Return instructions per frame: the mean, the busiest console of the run, the busiest of any launch.

        `longest_to_mean` is the average ratio of a launch's busiest console to the mean console.
        """
        per_frame = self._per_machine.double() / (steps * self._frames)
        return {
            "mean": float(per_frame.mean()),
            "max": float(per_frame.max()),
            "max_of_a_launch": float(self._busiest_launch) / self._frames,
            "longest_to_mean": float(self._ratio) / steps,
        }

    def drawn(self) -> int:
        return int(self._drawn)


def column(emulator: Any, name: str) -> torch.Tensor:
    """Return one field of every console, i32[N], a view of the device's memory."""
    import warp as wp

    from emulator.state.batch import CONSOLE_DTYPE

    names = CONSOLE_DTYPE.names or ()
    console = emulator.batch.console
    words = wp.array(ptr=console.ptr, shape=(len(console), len(names)), dtype=wp.int32, device=console.device)
    return wp.to_torch(words)[:, names.index(name)]


def _settle(device: torch.device) -> None:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)
