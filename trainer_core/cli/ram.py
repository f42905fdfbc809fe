"""`dmglab ram find GAME`: which bytes of memory behave like coordinates, a map, counters, health, flags, timers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from emulator import EmulatorError, Symbols
from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, table
from trainer_core.cli.progress import PreparingLine
from trainer_core.lab.ram_reward import MOST_BYTES
from trainer_core.lab.tasks import Codec, find_task
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.fields import limits

if TYPE_CHECKING:
    from emulator import Snapshot
    from trainer_core.envs.single_game import ConsoleGame

HEAD = ("kind", "rank", "address", "name", "score", "behaves", "equal bytes")


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
    symbols: Path | None = None
    """Symbol file of the game (.sym, .map), which names the addresses in the result."""
    top: int = field(default=10, metadata=limits(1, 100))
    """Candidates of each kind."""
    seed: int = 1
    home: Home = None


def find(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.ram_branches import GROUP, branch
    from trainer_core.author.ram_roles import rank
    from trainer_core.envs.single_game import ConsoleGame, open_game

    options = parse(FindOptions, "ram find", argv)
    names = _names(options.symbols)
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
            "name": names.get(one.place, ""),
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


def _names(path: Path | None) -> dict[int, str]:
    """Return the name of each named byte of RAM by its place, with an offset where a name has several bytes."""
    if path is None:
        return {}
    try:
        symbols = Symbols(path)
    except EmulatorError as error:
        raise LabError(str(error)) from None
    found = {}
    for bank, places in symbols.by_place.items():
        for address, (name, *_) in places.items():
            if address >= 0xA000:
                place = address + bank * 0x10000 * (address < 0xC000)
                found[place] = name
                for offset in range(1, min(symbols.size(name), 0x100)):
                    found.setdefault(place + offset, f"{name}+{offset}")
    return found


@dataclass(frozen=True)
class TaskOptions:
    id: str
    """Name of the new task, for example mine/explore."""
    watch: tuple[str, ...] = ()
    """Watched bytes, NAME=PLACE: C1FD, 01:A123 in a bank, or D747+320 for a length; joined by commas to one name."""
    base: str = ""
    """Task of the same game; its start states, buttons and horizon are taken over."""
    rom: str = ""
    """Or the ROM, with --start: its path, or its file name, title or hash in `dmglab rom list`."""
    start: tuple[Path, ...] = ()
    """Start states, in place of the base's."""
    term: tuple[str, ...] = ()
    """Terms of the reward, NAME=EXPRESSION or NAME=WEIGHT*EXPRESSION."""
    maximise: str = ""
    """Expression whose increase is paid, and which is reported as the score."""
    done: str = ""
    """Expression that ends an episode with success where it is not 0."""
    reads_ram: bool = False
    """The policy sees the watched bytes, too."""
    profile: str = ""
    """Take bytes and terms of a known game, such as pokemon_red; --watch and --term are added."""
    keep_goal: bool = False
    """Keep the base's goal picture and its reward beside the terms."""
    horizon: int = field(default=0, metadata=limits(0, 100_000))
    """Steps of an episode; 0 = the base's, or 1,024."""
    title: str = ""
    home: Home = None


def task(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.ram_task import RamTask, make_ram_task

    options = parse(TaskOptions, "ram task", argv)
    home = home_paths(options.home)
    terms = []
    for text in options.term:
        name, _, value = text.partition("=")
        weight, star, rest = value.partition("*")
        try:
            terms.append((name.strip(), rest if star else value, float(weight) if star else 1.0))
        except ValueError:  # a product without a weight
            terms.append((name.strip(), value, 1.0))
    watch = dict(map(_watched, options.watch))
    if len(watch) < len(options.watch):
        raise ConfigError("--watch: a name is given twice; join its places by commas, as hp=D16C,D16D")
    request = RamTask(
        options.id, options.title, options.base, options.rom, options.start, watch,
        tuple(terms), options.maximise, options.done, options.reads_ram, options.profile, options.keep_goal,
        options.horizon,
    )  # fmt: skip
    folder = make_ram_task(request, home)
    return Result({"ok": True, "task": options.id, "folder": str(folder)}, f"{options.id}: {folder / 'task.toml'}")


def _watched(text: str) -> tuple[str, Any]:
    """Return name and places of a watched name, such as `x=C1FD` or `events=D747+320`."""
    name, equals, given = text.partition("=")
    places: list[Any] = []
    for part in given.split(","):
        address, plus, length = part.strip().removeprefix("$").partition("+")
        try:
            place = address if ":" in address else int(address, 16)
            places.append([place, int(length)] if plus else place)
        except ValueError:
            equals = ""
        if plus and length.isdigit() and not 0 < int(length) <= MOST_BYTES:
            raise ConfigError(f"--watch {text!r:.60}: a length is 1 to {MOST_BYTES}")
    if not equals:
        raise ConfigError(f"--watch {text!r:.60}: give NAME=PLACE, such as x=C1FD, events=D747+320 or hp=D16C,D16D")
    return name.strip(), places[0] if len(places) == 1 else places


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
