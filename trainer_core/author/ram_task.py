"""`dmglab ram task`: a task whose reward reads memory, from another task or from start states."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator import Emulator, EmulatorError, Snapshot
from emulator.state.snapshot import save_snapshots
from trainer_core.author.folder import (
    INPUTS,
    MANIFEST,
    STARTS,
    file_sha256,
    free_folder,
    held_out_share,
    manifest_toml,
    new_folder,
)
from trainer_core.author.rom_choice import choose_rom, register_rom
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.ram_reward import Ram, Term, check_ram
from trainer_core.lab.roms import load_profiles
from trainer_core.lab.tasks import NO_GOAL, Codec, Episode, Reward, Starts, TaskManifest, find_task, load_task
from trainer_core.wire.errors import TaskError, shown

HORIZON = 1024


@dataclass(frozen=True, slots=True)
class RamTask:
    """Request for a task; see the options of `dmglab ram task`."""

    id: str
    title: str
    base: str
    rom: str
    starts: tuple[Path, ...]
    watch: dict[str, Any]
    terms: tuple[tuple[str, str, float], ...]
    """Name, expression and weight of each."""
    maximise: str
    done: str
    reads_ram: bool
    profile: str
    keep_goal: bool
    horizon: int


def _profile(name: str) -> Ram:
    """Return the memory of a known game. Raises TaskError for an unknown one."""
    known = {profile.id: profile.ram for profile in load_profiles() if profile.ram is not None}
    if name not in known:
        raise TaskError(f"no profile '{shown(name)}' has addresses; there is {', '.join(known)}")
    return known[name]


def make_ram_task(request: RamTask, home: HomePaths) -> Path:
    """Write the task's folder and return it. Raises LabError; nothing is left then."""
    if not request.base and not request.starts:
        raise TaskError("where do episodes begin? give --base with a task of the same game, or --rom and --start")
    if request.keep_goal and not request.base:
        raise TaskError("--keep-goal needs --base, the task whose goal it is")
    base = find_task(request.base, home) if request.base else None
    terms = tuple(Term(name=name, value=value, weight=weight) for name, value, weight in request.terms)
    rom, cartridge = choose_rom(request.rom, request.base, home)
    try:  # refused before a folder is made
        ram = _profile(request.profile) if request.profile else Ram(watch={})
        ram = Ram(
            watch=ram.watch | request.watch,
            values=ram.values,
            terms=(*ram.terms, *terms),
            reads_ram=ram.reads_ram or request.reads_ram,
            maximise=request.maximise,
            done=request.done,
        )
        if not ram.watch:
            raise TaskError("no bytes are watched: give --watch NAME=PLACE, or --profile")
        check_ram(Path(request.id), ram, request.keep_goal)
        probe = Emulator(cartridge, max(1, len(request.starts)), "cpu")
        probe.watch(**ram.items)
        states = [Snapshot.load(path) for path in request.starts]
        if states:
            probe.reset(None, probe.state_cache(states), list(range(len(states))))  # type: ignore[arg-type]
    except (EmulatorError, OSError) as error:
        raise TaskError(str(error)) from None
    folder = free_folder(request.id, home)
    with new_folder(folder) as made:
        if states:
            save_snapshots(made / STARTS, states, pictures=probe.observations().numpy())
            starts = Starts(
                file=STARTS, count=len(states), sha256=file_sha256(made / STARTS), heldout=held_out_share(len(states))
            )
        else:
            assert base is not None
            starts = base.manifest.starts
            for path in (base.starts_path, base.folder / INPUTS):
                if path.is_file():
                    shutil.copyfile(path, made / path.name)
        goal, demo = NO_GOAL, None
        if request.keep_goal and base is not None:
            goal, demo = base.manifest.goal, base.manifest.demo
            for path in filter(None, (base.goal_path, base.demo_path)):
                shutil.copyfile(path, made / path.name)
        reward = base.manifest.reward if base and request.keep_goal else Reward(step_cost=0.0)
        horizon = request.horizon or (base.manifest.episode.horizon if base else HORIZON)
        manifest = TaskManifest(
            schema=1,
            id=request.id,
            title=request.title or request.id,
            description=base.manifest.description if base and request.keep_goal else "",
            rom=rom,
            codec=base.manifest.codec if base else Codec(),
            starts=starts,
            goal=goal,
            episode=Episode(horizon=horizon),
            reward=reward,
            demo=demo,
            ram=ram,
        )
        (made / MANIFEST).write_bytes(manifest_toml(manifest))
        load_task(made)
    register_rom(request.rom, cartridge.sha256, home)
    return folder
