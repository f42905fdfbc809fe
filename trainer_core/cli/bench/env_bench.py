"""`dmglab bench env`: measure the consoles alone, with pictures, frame stack and resets.

Buttons are random and drawn on the device; the host does not wait for the device between the first
and the last step.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from trainer_core.cli.bench import rig
from trainer_core.cli.options import parse
from trainer_core.lab.tasks import Codec, Episode, Task
from trainer_core.wire.errors import ConfigError

if TYPE_CHECKING:
    import torch

    from trainer_core.envs.sharded_emulator import ShardedEmulator

InfoMode = Literal["full", "stats", "none"]
RESET_SHARE = 16  # with `--resets some`, one console in this many


@dataclass(frozen=True, kw_only=True)
class Options(rig.LoggedOptions):
    num_envs: int = 1
    frames_per_step: int = 24
    release_after: int = 8
    stack_k: int = 1
    warmup: int = 15
    """Steps before the measurement."""
    steps: int = 10
    resets: Literal["none", "some", "all"] = "none"
    """Consoles that are reset after every step: none, a sixteenth, or all."""
    through: Literal["machines", "env"] = "machines"
    """The bare consoles with a frame stack, or GameEnv: goal, rewards and its own autoreset too."""
    info_mode: InfoMode = "full"
    """Diagnostics of GameEnv beside the reward (with --through env)."""
    skip_reset_if_empty: Literal["auto", "yes", "no"] = "auto"
    """Launch the reset only if an episode ended (with --through env); auto = on a cpu only."""
    max_mem_delta: int = -1
    """Fail if the device memory grows by more bytes than this after the warm-up; -1 = no limit."""
    min_sps: float = 0.0
    """Fail below this number of environment steps per second."""


def run(argv: list[str]) -> dict[str, Any]:
    """Measure and append the record to `--jsonl`; its `ok` is False if a limit is broken."""
    options = parse(Options, "bench env", argv)
    _check(options)
    record = measure(options)
    failures = []
    if options.max_mem_delta >= 0 and record["memory_delta_bytes"] > options.max_mem_delta:
        failures.append(f"device memory grew by {record['memory_delta_bytes']} bytes")
    if record["env_steps_per_sec"] < options.min_sps:
        failures.append(f"{record['env_steps_per_sec']:.0f} env steps/s are fewer than {options.min_sps:g}")
    record = {"ok": not failures, **({"error": "; ".join(failures)} if failures else {}), **record}
    options.keep(record)
    return record


def _check(options: Options) -> None:
    rig.check_at_least(options, num_envs=1, frames_per_step=1, stack_k=1, steps=1, warmup=0, release_after=0, threads=0)
    if options.through == "env" and not options.observations:
        raise ConfigError("GameEnv always observes: leave --no-observations out")


class Subject(Protocol):
    """The measured object: its consoles, and one step of all of them."""

    machines: ShardedEmulator

    def step(self) -> None: ...

    def time_split(self) -> dict[str, float]:
        """Return the seconds of each measured part of the steps since the last call; empty without such parts."""
        ...


class BareMachines:
    """Consoles with a frame stack and the resets of `--resets`."""

    def __init__(self, game: rig.Game, options: Options, device: torch.device) -> None:
        import torch

        from trainer_core.envs.frame_stack import FrameStack

        n = options.num_envs
        self.options, self.buttons = options, rig.Buttons(n, device, options.seed)
        self.machines = rig.open_machines(game, n, device, options.threads)
        self._stack = FrameStack(n, options.stack_k, 72, 80, device)
        self._nobody = torch.zeros(n, dtype=torch.bool, device=device)
        self._everyone = torch.arange(n, device=device)

    def step(self) -> None:
        machines, options = self.machines, self.options
        machines.buttons.copy_(self.buttons.masks())
        machines.run(options.frames_per_step, options.release_after)
        if options.observations:
            pictures = machines.observe()
            self._stack.push(pictures, self._nobody, pictures, self._everyone)
        if options.resets != "none":
            if options.resets == "some":
                machines.mask.copy_(self.buttons.picked(RESET_SHARE))
            machines.reset()

    def time_split(self) -> dict[str, float]:
        return {}


class ThroughEnv:
    """GameEnv as in training; the length of episodes follows from `--resets`."""

    def __init__(self, game: rig.Game, options: Options, device: torch.device) -> None:
        import torch

        from trainer_core.envs.game_env import GameEnv, GameOptions

        n = options.num_envs
        horizon = {"none": rig.BENCH_HORIZON, "some": RESET_SHARE, "all": 1}[options.resets]
        with tempfile.TemporaryDirectory() as folder:
            task = rig.bench_task(game, Path(folder))
            manifest = msgspec.structs.replace(
                task.manifest,
                episode=Episode(horizon=horizon),
                codec=Codec(frames_per_step=options.frames_per_step, release_after_frames=options.release_after),
            )
            how = GameOptions(
                num_envs=n,
                device=str(device),
                stack_k=options.stack_k,
                seed=options.seed,
                info_mode=options.info_mode,
                skip_reset_if_empty={"auto": None, "yes": True, "no": False}[options.skip_reset_if_empty],
            )
            self._env = GameEnv.open(Task(task.folder, manifest), game.home, how)
        self.machines = self._env.emulator
        self.machines.wait_for_kernels()
        self._buttons = rig.Buttons(n, device, options.seed)
        self._env.reset(options.seed)
        if options.resets == "some":  # spread the ends of the episodes over RESET_SHARE steps
            self._env.episodes.steps.copy_(torch.arange(n, device=device) % RESET_SHARE)

    def step(self) -> None:
        self._env.step(self._buttons.actions())

    def time_split(self) -> dict[str, float]:
        taken = self._env.stopwatch.take()
        return {name: taken[name] for name in ("emulate", "observe")}


def measure(options: Options) -> dict[str, Any]:
    """Measure; return one record: configuration, versions, speed, load and memory."""
    device = rig.torch_device(options.device)
    game = rig.load_game(options)
    began = time.perf_counter()
    n = options.num_envs
    subject: Subject = {"machines": BareMachines, "env": ThroughEnv}[options.through](game, options, device)
    machines = subject.machines
    try:
        subject.step()
        ready = time.perf_counter() - began
        rig.timed(subject.step, options.warmup, device)  # the clock's own events warm up as well
        subject.time_split()
        counted, before = rig.allocator_counts(device), rig.memory_used(device)
        milliseconds = rig.timed(subject.step, options.steps, device)
        after = rig.memory_used(device)
        allocated = {k: v - counted[k] for k, v in rig.allocator_counts(device).items()}
        split = subject.time_split()
        machines.run(options.frames_per_step, options.release_after)  # a reset clears the counters
        work = [int(v) for emulator in machines.emulators for v in emulator.work()]
    finally:
        machines.close()
    seconds = sum(milliseconds) / 1000
    frames = options.steps * n * options.frames_per_step
    return {
        "what": "env",
        **rig.facts(device, game),
        "threads": len(machines.emulators),
        "start_s": ready,
        "ms_per_step": sorted(milliseconds)[len(milliseconds) // 2],
        "env_steps_per_sec": options.steps * n / seconds,
        "frames_per_sec": frames / seconds,
        "time_split": split,
        "instructions_per_frame": sum(work) / n / options.frames_per_step,
        "instructions_per_frame_max": max(work) / options.frames_per_step,
        "frames_rendered_share": float(options.observations) / options.frames_per_step,
        "memory_before_bytes": before,
        "memory_after_bytes": after,
        "memory_delta_bytes": after - before,
        "allocations": allocated,
        "config": {
            name: str(value) if isinstance(value, Path) else value
            for name, value in dataclasses.asdict(options).items()
            if name not in ("jsonl", "home")
        },
    }
