"""`dmglab ram find GAME`: which bytes of memory behave like coordinates, a map, counters, health, flags, timers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, table
from trainer_core.cli.progress import PreparingLine
from trainer_core.lab.tasks import Codec, find_task
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.fields import limits

if TYPE_CHECKING:
    from emulator import Snapshot
    from trainer_core.envs.single_game import ConsoleGame

HEAD = ("kind", "rank", "address", "score", "behaves", "equal bytes")


@dataclass(frozen=True)
class FindOptions:
    game: Annotated[str, tyro.conf.Positional]
    """ROM file, task id or task folder."""
    start: int = field(default=0, metadata=limits(0, 65_535))
    """Start state of the task."""
    state: Path | None = None
    """Or a state file, of *Save start state*, `task capture --state` or PyBoy."""
    script: Path | None = None
    """Or what is pressed from power-on: an input script, or the folder of a recording."""
    rounds: int = field(default=48, metadata=limits(1, 10_000))
    """Rounds of two steps; more find maps that are farther away."""
    consoles: int = field(default=1024, metadata=limits(8, 65_536))
    """Consoles side by side, eight for each state; rounded down to eights."""
    frames_per_step: int = field(default=0, metadata=limits(0, 600))
    """Frames of a step; 0 = the task's, or 24 for a ROM."""
    release_after_frames: int = field(default=0, metadata=limits(0, 600))
    """Frames for which a button is held; 0 = the task's, or 16 for a ROM, which is a square in most games."""
    top: int = field(default=10, metadata=limits(1, 100))
    """Candidates of each kind."""
    seed: int = 1
    home: Home = None


def find(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.ram_branches import GROUP, branch
    from trainer_core.author.ram_roles import rank
    from trainer_core.envs.single_game import ConsoleGame, open_game

    options = parse(FindOptions, "ram find", argv)
    home = home_paths(options.home)
    game = open_game(options.game, home)
    if not isinstance(game, ConsoleGame) or game.cartridge is None:
        raise ConfigError(f"{options.game} has no memory to look at: it is no Game Boy game")
    codec = find_task(options.game, home).manifest.codec if game.judge else Codec(release_after_frames=16)
    held = options.release_after_frames or min(codec.release_after_frames, options.frames_per_step or 600)
    codec = Codec(frames_per_step=options.frames_per_step or codec.frames_per_step, release_after_frames=held)
    if held > codec.frames_per_step:
        raise ConfigError(f"--release-after-frames {held} is more than a step of {codec.frames_per_step} frames")
    began = time.monotonic()
    found = branch(
        game.cartridge, _start(options, game), codec,
        consoles=options.consoles // GROUP * GROUP, rounds=options.rounds, seed=options.seed, tell=PreparingLine(),
    )  # fmt: skip
    rows = [
        {
            "kind": kind,
            "rank": number,
            "address": _address(one.place),
            "score": one.score,
            "why": one.why,
            "also": [_address(place) for place in one.also],
        }
        for kind, candidates in rank(found, options.top).items()
        for number, one in enumerate(candidates, 1)
    ]
    seconds = round(time.monotonic() - began, 1)
    text = table(HEAD, [(*list(row.values())[:-1], " ".join(row["also"][:6])) for row in rows], "Nothing moved.")
    told = f"{found.steps:,} steps, {found.places:,} places, {len(found.place):,} bytes changed, {seconds:g} s"
    facts = {"steps": found.steps, "places": found.places, "changed": len(found.place), "seconds": seconds}
    return Result({"ok": True, "game": options.game, **facts, "rows": rows}, f"{text}\n\n{told}")


def _address(place: int) -> str:
    """Return C123, or 01:A123 in a bank of cartridge RAM, as a task's `[ram.watch]` has it."""
    bank, address = divmod(place, 0x10000)
    return f"{bank:02X}:{address:04X}" if 0xA000 <= address < 0xC000 else f"{address:04X}"


def _start(options: FindOptions, game: ConsoleGame) -> Snapshot:
    """Return the state from which the consoles go on."""
    from trainer_core.author.inputs import read_inputs

    if options.state and options.script:
        raise ConfigError("give --state or --script, not both")
    if options.start >= game.num_starts:
        raise ConfigError(f"--start {options.start}: {options.game} has the starts 0 to {game.num_starts - 1}")
    if options.state:
        if not options.state.is_file():
            raise LabError(f"{options.state}: no such state file")
        game.load_state(options.state)
    else:
        game.restart(options.start)
    if options.script:
        inputs = read_inputs(options.script, Codec())[0]
        if inputs.start is not None:
            game.restore(inputs.start)
        for mask in inputs.masks.tolist():
            game.frame(mask)
    return game.snapshot()
