"""`dmglab storage`: profiles and trash; `move`, `apply` and `undo`: move runs, tidy old ones, take them back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, say, table
from trainer_core.cli.progress import tell_progress
from trainer_core.lab.storage_profiles import HOME_ITSELF, make_template, read_storage, switch_policy
from trainer_core.runs import storage
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.names import the_one
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.run_record import STORAGE_TAG


@dataclass(frozen=True)
class Options:
    on: bool = False
    """Switch the policy on: the app applies it when it starts and every hour."""
    off: bool = False
    """Switch the policy off."""
    home: Home = None


@dataclass(frozen=True)
class MoveOptions:
    runs: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Run names or ids."""
    to: str
    """Storage profile, or `home` to bring the runs back."""
    home: Home = None


@dataclass(frozen=True)
class ApplyOptions:
    dry_run: bool = False
    """List what would happen, and how many bytes it concerns."""
    home: Home = None


@dataclass(frozen=True)
class UndoOptions:
    runs: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Run names or ids; without any, all runs in the trash."""
    home: Home = None


def show(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "storage", argv)
    home = home_paths(options.home)
    if options.on and options.off:
        raise ConfigError("choose one of --on and --off")
    if options.on or options.off:
        switch_policy(home, options.on)
    file, found = make_template(home), read_storage(home)
    runs = RunRegistry(home).reconcile().values()
    rows = [
        (name, profile.kind, profile.folder, sum(run.tags.get(STORAGE_TAG, "").startswith(f"{name} (") for run in runs))
        for name, profile in found.profiles.items()
    ]
    keys = ("name", "kind", "folder", "runs")
    trash = sorted(storage.in_trash(home))
    result = {
        "ok": True,
        "file": str(file),
        "policy": msgspec.to_builtins(found.policy),
        "profiles": [dict(zip(keys, row, strict=True)) for row in rows],
        "trash": trash,
    }
    state = f"The policy is {'on' if found.policy.on else 'off'}; {len(trash)} runs are in the trash. Edit {file}."
    return Result(result, f"{table(keys, rows, 'No storage profiles.')}\n{state}")


def move(argv: list[str]) -> dict[str, Any]:
    options = parse(MoveOptions, "storage move", argv)
    home = home_paths(options.home)
    found, known = read_storage(home), RunRegistry(home).reconcile()
    if options.to != HOME_ITSELF:
        found.folder(options.to)
    moved = {}
    for number, text in enumerate(options.runs):
        run = the_one(text, known.values(), home)
        tell_progress(number / len(options.runs), run.name)
        moved[run.run_id] = str(storage.move(home, run.run_id, options.to, found))
    return Result(
        {"ok": True, "moved": moved}, "\n".join(f"{run_id} is in {folder}" for run_id, folder in moved.items())
    )


def apply(argv: list[str]) -> dict[str, Any]:
    options = parse(ApplyOptions, "storage apply", argv)
    home = home_paths(options.home)
    found = read_storage(home)
    steps, errors = storage.plan(home, found), []
    for number, step in enumerate(steps if not options.dry_run else ()):
        tell_progress(number / len(steps), f"{step.action} {Path(step.name).name}")
        try:
            storage.carry_out(home, step, found)
        except LabError as error:
            errors.append(f"{step.action} {step.name}: {error}")
            say(errors[-1])
    rows = [tuple(asdict(step).values()) for step in steps]
    total = sum(step.bytes for step in steps)
    result = {
        "ok": not errors,
        "applied": not options.dry_run,
        "bytes": total,
        "steps": [asdict(step) for step in steps],
        "errors": errors,
    }
    words = table(("action", "what", "bytes"), [*rows, ("all", "", total)] if rows else [], "Nothing is old enough.")
    return Result(result, words)


def undo(argv: list[str]) -> dict[str, Any]:
    options = parse(UndoOptions, "storage undo", argv)
    home = home_paths(options.home)
    known = RunRegistry(home).reconcile().values()
    names = [the_one(text, known, home).run_id for text in options.runs]
    restored = storage.undo(home, names)
    return Result(
        {"ok": True, "restored": restored}, f"Restored: {', '.join(restored) or 'nothing, the trash is empty'}"
    )
