"""`dmglab task new|make|capture|update|demo`: write a task or a part of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, say
from trainer_core.cli.progress import PreparingLine
from trainer_core.cli.task_reports import one_thread
from trainer_core.lab.tasks import Codec
from trainer_core.wire.buttons import CODEC_ID, CODECS
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import limits


@dataclass(frozen=True)
class NewOptions:
    id: str
    """Name of the new task, for example mine/first_door."""
    rom: str = ""
    """The ROM: its path, or its file name, title or hash in `dmglab rom list`."""
    base: str = ""
    """Or a task of the same game; its buttons are taken over too."""
    from_goal_of: str = ""
    """Or the task before this one; scripts begin at the end of its demonstration."""
    script: tuple[Path, ...] = ()
    """Input scripts (`wait 180 START 3 UP A`) or folders of recordings that reach the goal."""
    from_step: int = 0
    """Step of the scripts at which episodes begin; steps count from the first button. 0 = where a
    script says `begin`, else at its first button."""
    goal_step: tuple[int, ...] = ()
    """Steps whose pictures are the goal, any of them; default the last."""
    start: tuple[Path, ...] = ()
    """Captured start states, in place of walks around the scripts."""
    goal: tuple[Path, ...] = ()
    """Captured goal pictures, any of them, in place of the scripts' last."""
    way: Path | None = None
    """Demonstration from a start to a captured goal, a demo.npz of the app; left out, with the reason in
    the result, if an agent cannot repeat it."""
    around: bool = False
    """Make --count starts in place of the captured ones: around the steps of --way, or without --way by
    random walks from the captured ones."""
    mask: tuple[str, ...] = ()
    """Rectangles X,Y,WIDTH,HEIGHT in screen pixels (160 x 144) that count; default all."""
    distance: Literal["l1", "mse"] = "l1"
    tau: float = 0.0
    """Distance below which a picture counts as the goal; 0 = choose it by measurement."""
    hold_steps: int = 1
    """Steps in a row for which the picture must stay the goal."""
    count: int = 48
    """Start states to make around the scripts."""
    heldout: int = -1
    """Start states that are kept out of training; -1 = a third."""
    walk: int = 8
    """Largest number of random steps from the script to a start."""
    spread: float = 0.5
    """Part of the way to the goal from which the random walks begin, 0 to 1."""
    min_distinct: int = 0
    """Smallest number of different start pictures; 0 = half of --count."""
    seed: int = 1
    horizon: int = 0
    """Agent steps before an episode is cut off; 0 = choose it from the demonstration."""
    frames_per_step: int = 24
    release_after_frames: int = 8
    codec: str = ""
    """Buttons of a step: buttons7.v1, or buttons21.v1 with SELECT and pairs; default the codec of --base,
    else buttons7.v1, or buttons21.v1 if --way needs it."""
    title: str = ""
    description: str = ""
    random_episodes: int = field(default=64, metadata=limits(0, 100_000))
    """Episodes of random buttons that measure whether the goal is too easy; 0 = no measurement."""
    home: Home = None


@dataclass(frozen=True)
class MakeOptions:
    id: str
    """Name of the new task, for example mine/first_door."""
    base: str
    """Task of the same game; its ROM, buttons and reward are taken over."""
    start: tuple[Path, ...]
    """Files of `dmglab task capture --state` or of the app's *Save start state*."""
    goal: Path
    """File of `dmglab task capture --goal` or of the app's *Capture goal*."""
    title: str = ""
    tau: float = 0.0
    """Distance below which a picture counts as the goal; 0 = choose it from the starts."""
    horizon: int = 128
    """Agent steps before an episode is cut off."""
    home: Home = None


@dataclass(frozen=True)
class CaptureOptions:
    script: Annotated[Path, tyro.conf.Positional]
    """Input script or folder of a recording."""
    rom: str = ""
    """The ROM: its path, or its file name, title or hash in `dmglab rom list`."""
    base: str = ""
    """Or a task of the same game."""
    step: int = -1
    """Step of the script, from its first button; -1 = the last."""
    state: Path | None = None
    """File for the state of the console, for `task new --start`."""
    goal: Path | None = None
    """File for the goal picture, for `task new --goal`."""
    picture: Path | None = None
    """File for the screen as a PNG."""
    sheet: Path | None = None
    """File for the numbered screens of all steps as one PNG."""
    frames_per_step: int = 24
    release_after_frames: int = 8
    codec: str = CODEC_ID
    """Buttons of a step, as for `task new`; with --base those of that task."""
    home: Home = None


@dataclass(frozen=True)
class DemoOptions:
    source: Annotated[Path, tyro.conf.Positional]
    """Folder of a recording, or an input script from power-on."""
    task: str
    """Task whose goal the recording reaches."""
    from_frame: int = 0
    """First frame that belongs to the task."""
    to_frame: int = 0
    """Frame after the last one; 0 = the step in which the goal is reached."""
    out: Path | None = None
    """File for the demonstrations, instead of the folder of the task."""
    minari: str = ""
    """Also write a Minari dataset of this id, such as dmglab/door-v0; needs minari."""
    home: Home = None


@dataclass(frozen=True)
class UpdateOptions:
    task: Annotated[str, tyro.conf.Positional]
    """Id of an own task."""
    home: Home = None


def new(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.new_task import NewTask, make_task, random_play

    options = parse(NewOptions, "task new", argv)
    codec = _codec(options)
    request = NewTask(
        id=options.id, title=options.title, description=options.description, rom=options.rom,
        base=options.base, from_goal_of=options.from_goal_of, scripts=options.script,
        starts=options.start, goals=options.goal, way=options.way, around=options.around,
        from_step=options.from_step,
        goal_steps=options.goal_step, count=options.count, heldout=options.heldout,
        walk=options.walk, spread=options.spread, min_distinct=options.min_distinct,
        seed=options.seed, mask=options.mask, distance=options.distance, tau=options.tau,
        hold_steps=options.hold_steps, horizon=options.horizon, codec=codec,
        buttons=options.codec,
    )  # fmt: skip
    home = home_paths(options.home)
    folder, chosen = make_task(request, home, PreparingLine())
    if options.random_episodes:
        say(f"the task is written; {options.random_episodes} episodes of random buttons measure its difficulty")
        one_thread()
        chosen["random"] = random_play(options.id, home, options.random_episodes, options.seed)
    return Result({"ok": True, "task": options.id, "folder": str(folder), **chosen})


def make(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.new_task import NewTask, make_task

    options = parse(MakeOptions, "task make", argv)
    request = NewTask(
        id=options.id,
        title=options.title,
        base=options.base,
        starts=options.start,
        goals=(options.goal,),
        tau=options.tau,
        horizon=options.horizon,
    )
    folder, chosen = make_task(request, home_paths(options.home), PreparingLine())
    return Result({"ok": True, "task": options.id, "folder": str(folder), **chosen})


def capture(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.capturing import capture_step

    options = parse(CaptureOptions, "task capture", argv)
    files = {"state": options.state, "goal": options.goal, "picture": options.picture, "sheet": options.sheet}
    if not any(files.values()):
        raise ConfigError("name an output: --state, --goal, --picture or --sheet FILE")
    found = capture_step(
        options.script,
        options.rom,
        options.base,
        options.step,
        home_paths(options.home),
        _codec(options),
        {kind: path for kind, path in files.items() if path is not None},
    )
    return {"ok": True, **found}


def _codec(options: NewOptions | CaptureOptions) -> Codec:
    """Return the codec of the options. Raises ConfigError for an unknown id or invalid frames."""
    if options.codec not in ("", *CODECS):
        raise ConfigError(f"--codec {options.codec[:80]!r}: give {' or '.join(CODECS)}")
    codec = Codec(
        id=options.codec or CODEC_ID,
        frames_per_step=options.frames_per_step,
        release_after_frames=options.release_after_frames,
    )
    if not 1 <= codec.release_after_frames <= codec.frames_per_step <= 600:
        raise ConfigError("give 1 <= release-after-frames <= frames-per-step <= 600")
    return codec


def update(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.folder import update_reward

    options = parse(UpdateOptions, "task update", argv)
    return {"ok": True, **update_reward(options.task, home_paths(options.home))}


def demo(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.capturing import add_demonstration

    options = parse(DemoOptions, "task demo", argv)
    found = add_demonstration(
        options.source,
        options.task,
        home_paths(options.home),
        frames=(options.from_frame, options.to_frame),
        out=options.out,
        minari=options.minari,
    )
    return {"ok": True, **found}
