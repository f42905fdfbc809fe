"""Worker process code of a run that explores: rounds, records, and archives as checkpoints."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from emulator import Cartridge, Emulator, EmulatorError, Snapshot
from trainer_core.envs.build import TaskFacts
from trainer_core.envs.episodes import GoalTemplates
from trainer_core.envs.picture_reader_serial import fast_reader
from trainer_core.envs.startable import find_device
from trainer_core.envs.task_files import load_task_parts
from trainer_core.host.checkpoint import pack_state, read_state
from trainer_core.host.progress import RunProgress
from trainer_core.host.run import Host
from trainer_core.host.trainee import Intervals, RunEnded, Trainee
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import named_rom
from trainer_core.lab.tasks import Codec, find_task
from trainer_core.runners.explore.explorer import Explorer, Goal, Search
from trainer_core.runners.explore.runner import ExploreConfig
from trainer_core.runners.guest.trainee import write_thumbnail
from trainer_core.wire import records
from trainer_core.wire.errors import CheckpointError, TaskError
from trainer_core.wire.run_record import RunState

FILE = "archive.bin"
LEAN = True
MOST_BYTES, MOST_BYTES_A_CELL = 64 << 20, 1 << 12
"""Most bytes of an archive's file, and those for each cell besides."""


def make_trainee(host: Host) -> Trainee:
    return ExploreTrainee(host, host.spec.configure(ExploreConfig))


def read_archive(folder: Path, config: ExploreConfig) -> dict[str, Any]:
    """Return the state in a checkpoint's folder. Raises CheckpointError."""
    return read_state(folder / FILE, 1, MOST_BYTES + config.cells * MOST_BYTES_A_CELL)


def open_explorer(config: ExploreConfig, home: HomePaths, device: torch.device) -> Explorer:
    """Return the explorer of a run's game, start, codec and goal. Raises LabError."""
    search = Search(
        num_envs=config.num_envs,
        capacity=config.cells,
        branch_steps=config.branch_steps,
        hold=config.hold,
        seed=config.seed,
    )
    task = None if config.is_rom else find_task(config.task, home)
    parts = load_task_parts(task, home) if task else None
    try:
        if task and parts:
            cartridge, starts, codec = parts.cartridge, parts.starts, task.manifest.codec
        else:
            cartridge = Cartridge.from_file(named_rom(config.task, home))
            starts = [Emulator(cartridge).snapshot()]
            codec = Codec(
                id=config.codec,
                frames_per_step=config.frames_per_step,
                release_after_frames=config.release_after_frames,
            )
        number = int(config.start) if config.start.isdecimal() else 0
        if not config.start.isdecimal():
            starts = [Snapshot.load(config.start)]
        if number >= len(starts):
            raise TaskError(f"start {number}: {config.task} has the starts 0 to {len(starts) - 1}")
        explorer = Explorer(cartridge, starts[number], codec, search, device)
    except EmulatorError as error:
        raise TaskError(str(error)) from None
    if task and parts and task.manifest.has_goal:
        pictures, mask = (torch.from_numpy(each.copy()).to(device) for each in (parts.templates, parts.mask))
        goal = GoalTemplates(pictures, mask, task.manifest.goal.distance)
        explorer.goal = Goal(fast_reader(goal, search.num_envs, device).read, task.manifest.goal.tau)
    return explorer


class ExploreTrainee(Trainee):
    """Explorer of one run; its archive is the checkpoint."""

    policy, file, needs = "archive", FILE, (FILE,)

    def __init__(self, host: Host, config: ExploreConfig) -> None:
        self.host, self.config = host, config
        device = find_device(host.spec.device)
        torch.set_num_threads(1)  # the consoles take the other cores
        if not config.is_rom:
            host.find_task()
        host.intervals = Intervals(0, config.checkpoint_every, config.keep_checkpoints)
        host.tell_state("starting", f"{records.PREPARING} {config.num_envs} consoles", 0.4)
        self.explorer = open_explorer(config, host.home, device)
        host.closing.callback(self.explorer.close)
        if config.is_rom:
            codec = self.explorer.codec
            host.facts = TaskFacts(
                id=config.task,
                rom_sha256=self.explorer.rom_sha256,
                codec=codec.id,
                frames_per_step=codec.frames_per_step,
                release_after_frames=codec.release_after_frames,
            )
        self.num_envs, self.num_actions = config.num_envs, len(self.explorer.codec.masks)
        self.obs_shape = (1, 72, 80)

    def begin(self) -> None:
        self.explorer.begin()

    def load(self, folder: Path) -> None:
        super().load(folder)
        self._loaded = read_archive(folder, self.config)

    def restore(self, folder: Path) -> RunProgress:
        state = dict(self._loaded)
        progress = state.pop("run", None)
        if not isinstance(progress, dict):
            raise CheckpointError("an archive without the progress of its run")
        self.host.tell_state("starting", "playing the ways to all cells again", 0.6)
        self.explorer.load_state_dict(state)
        return RunProgress.from_state(progress)

    def train(self) -> None:
        host, explorer, archive = self.host, self.explorer, self.explorer.archive
        host.watch(explorer)
        host.end_at_limit()
        rounds, found, full, crowded = 0, int(archive.found), explorer.dropped > 0, archive.is_crowded
        began = time.monotonic()
        while True:
            explorer.round(lambda: host.tick(explorer.env_steps))
            rounds += 1
            if explorer.dropped and not full:
                full = True
                host.tell_state("running", f"all {self.config.cells:,} cells are taken: those that promise least go")
            if not crowded and archive.is_crowded:
                crowded = True
                host.tell_state("running", "the table of pictures is half full: few more become cells; use more cells")
            if rounds % self.config.log_every == 0 or time.monotonic() - began > 10:
                host.record(explorer.env_steps, self._measures(int(archive.found) - found, rounds))
                rounds, found, began = 0, int(archive.found), time.monotonic()
            if self.config.until_goal and (goal := explorer.goal_cell()) >= 0:
                host.record(explorer.env_steps, self._measures(int(archive.found) - found, max(1, rounds)))
                host.save("final")
                depth = int(archive.cells["depth"][goal])
                raise RunEnded(RunState.FINISHED, f"goal found: cell {goal}, {depth} steps from the start")
            host.boundary(explorer.env_steps)

    def _measures(self, fresh: int, rounds: int) -> dict[str, float]:
        """Return the metrics of a record; `fresh` cells were found in the last `rounds`."""
        explorer, archive = self.explorer, self.explorer.archive
        alive = archive.alive[:-1]
        depth = archive.cells["depth"][:-1][alive]
        count = int(archive.views.count)
        goal = explorer.goal_cell()
        return {
            "explore/cells": float(alive.sum()),
            "explore/found": float(archive.found),
            "explore/new_share": fresh / (rounds * self.config.branch_steps * self.config.num_envs),
            "explore/depth": float(depth.max()),
            "explore/scenes": float(len(set(archive.views.scene[:count].tolist()))),
            "explore/dropped": float(explorer.dropped),
            "explore/goal_depth": float(archive.cells["depth"][goal]) if goal >= 0 else 0.0,
        }

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        (folder / FILE).write_bytes(pack_state(self.explorer.state_dict() | {"run": progress}))
        write_thumbnail(folder, self.explorer)
