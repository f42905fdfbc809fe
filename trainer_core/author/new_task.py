"""`dmglab task new`: a task from scripts, recordings or captured states, with reasons for its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from emulator import Cartridge, Emulator, EmulatorError, Snapshot
from trainer_core.author import suggestions
from trainer_core.author.folder import TaskContents, free_folder, held_out_share, write_task
from trainer_core.author.goals import GoalPictures, gather_goal, parse_mask, suggest_tau
from trainer_core.author.inputs import beyond_codec, wide_enough
from trainer_core.author.lost import Way, find_lost
from trainer_core.author.reports import RANDOM_ALLOWED, random_success
from trainer_core.author.rom_choice import choose_rom, register_rom
from trainer_core.author.segments import (
    Segment,
    anchor_steps,
    goal_state_of,
    inputs_of,
    passes_by,
    read_segments,
    until_goal,
    way_of,
)
from trainer_core.author.walks import Walk, random_walks
from trainer_core.envs.demonstrations import load_demonstrations
from trainer_core.envs.preparing import Preparing
from trainer_core.envs.scoring import find_success_function
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import Codec, Reward, TaskManifest, Training, find_task
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import TaskError

INSTANT = (
    "; warning: gone a step later when nothing is pressed, so play has to hit the instant: choose "
    "a picture that stays (--goal-step), or the region that does (--mask)"
)


TINY_TAU = (
    f"; warning: below {suggestions.LEAST_TAU:g} the same page with a letter more, or a picture "
    "scrolled by a pixel, is no goal: choose the region that counts (--mask), or another picture"
)
ONE_START = ": one start only, validation repeats it; --around makes more by random walks from a captured one"
WHY_KNOWN = "nothing that was played needs more"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """Request for a new task; numbers of 0 and empty values are chosen from measurements."""

    id: str
    title: str = ""
    description: str = ""
    rom: str = ""
    """Path, name or SHA-256 of the ROM; or give `base`, a task of the same game."""
    base: str = ""
    from_goal_of: str = ""
    """Id of a task at the end of whose demonstration the scripts begin, instead of power-on."""
    scripts: tuple[Path, ...] = ()
    starts: tuple[Path, ...] = ()
    goals: tuple[Path, ...] = ()
    way: Path | None = None
    """File of a demonstration played by a person; ignored if no agent could press its buttons."""
    around: bool = False
    """Make `count` starts by random walks from the demonstration, or from the given starts if there is none."""
    from_step: int = 0
    goal_steps: tuple[int, ...] = ()
    count: int = 48
    heldout: int = -1
    walk: int = 8
    spread: float = 0.5
    min_distinct: int = 0
    seed: int = 1
    mask: tuple[str, ...] = ()
    distance: str = "l1"
    tau: float = 0.0
    hold_steps: int = 1
    horizon: int = 0
    success: str = "goal_template"
    codec: Codec = field(default_factory=Codec)
    buttons: str = ""
    """Id of the codec; empty takes that of `base` or of `codec`, or a wider one if the demonstration needs it."""


def make_task(request: NewTask, home: HomePaths, tell: Preparing | None = None) -> tuple[Path, dict[str, Any]]:
    """Write the task's folder in the home's tasks atomically.

    Returns the folder and the chosen numbers, each with its reason; `tell` receives progress. Raises LabError naming
    what is wrong.
    """
    folder = free_folder(request.id, home)
    _check(request)
    base = find_task(request.base, home).manifest if request.base else None
    rom, cartridge = choose_rom(request.rom, request.base or request.from_goal_of, home)
    codec, why_codec = choose_codec(request, base.codec if base else request.codec)
    begun = goal_state_of(request.from_goal_of, home) if request.from_goal_of else None
    segments = read_segments(request.scripts, cartridge, codec, begun, request.from_step, request.goal_steps, tell)
    pictures = [part.trace.pictures[step] for part in segments for step in part.goal_steps]
    if request.goals:  # a captured goal replaces the scripts' ends
        pictures = [] if not request.goal_steps else pictures
    goal = gather_goal(pictures, request.goals, parse_mask(request.mask), request.distance)
    segments = [until_goal(part, goal, request.hold_steps) for part in segments]
    way, why_no_way = read_way(request, cartridge, codec, goal)
    segments += way
    given = [_load_state(path, rom.sha256) for path in request.starts]
    around = given if request.around and not segments else []
    given = [] if request.around else given
    walks, apart = _starts(request, cartridge, codec, segments, given, around, goal, tell)
    tau, why_tau = (request.tau, "as asked") if request.tau else suggest_tau(apart)
    shown = way_of(segments)
    walks, lost = _without_lost(walks, cartridge, shown, goal, tau, codec, request.seed, tell)
    chosen = _numbers(request, segments, goal, base)
    stack = _stack(codec, shown)
    heldout = _heldout(request, len(walks))
    demos = [part.demonstration() for part in segments if part.arrives]
    rows = [] if given or around else inputs_of(walks, segments, request.spread)
    registered = register_rom(request.rom, rom.sha256, home)
    contents = TaskContents(
        id=request.id,
        title=request.title or request.id.rsplit("/", 1)[-1].replace("_", " ").capitalize(),
        description=request.description or "Made from captured states and scripts.",
        rom=rom,
        codec=codec,
        starts=[walk.state for walk in walks],
        start_pictures=np.stack([walk.picture for walk in walks]),
        start_inputs=rows,
        heldout=heldout,
        goal=goal,
        tau=tau,
        hold_steps=request.hold_steps,
        horizon=chosen["horizon"][0],
        reward=chosen["reward"][0],
        demos=demos,
        success=request.success,
        training=_training(chosen["gamma"][0], stack[0]),
    )
    write_task(folder, contents)
    return folder, {
        "starts": f"{len(walks)} start states, {heldout} held out"
        + (f"; {lost} dropped, from which every play ended in one dead picture" if lost else "")
        + ("" if heldout else ONE_START),
        **({"way": why_no_way or "kept as a demonstration"} if request.way else {}),
        "buttons": f"{codec.id}: {why_codec}",
        "goal": f"{len(goal.templates)} templates, {int(goal.mask[0].sum())} pixels count"
        + (INSTANT if passes_by(segments, cartridge, goal, tau) else ""),
        "tau": f"{tau:g}: {why_tau}" + (TINY_TAU if tau < suggestions.LEAST_TAU else ""),
        **({"registered": f"{registered}, see `dmglab rom list`"} if registered else {}),
        **_told(request.id, chosen, stack),
    }


def _training(gamma: float, stack_k: int) -> Training:
    """Return the training settings that differ from a run's defaults."""
    usual = RunConfig()
    return Training(
        gamma=None if gamma == usual.gamma else gamma, stack_k=None if stack_k == usual.stack_k else stack_k
    )


def _stack(codec: Codec, way: Way) -> tuple[int, str]:
    """Return how many stacked pictures the policy should receive, and the reason."""
    ambiguous = suggestions.ambiguous_share(list(way.pictures), way.actions.tolist())
    return suggestions.suggest_stack(codec.frames_per_step, ambiguous)


def random_play(task_id: str, home: HomePaths, episodes: int, seed: int) -> str:
    """Return a sentence on how often random buttons reach the goal of a task. Raises LabError."""
    share = random_success(find_task(task_id, home), home, episodes, seed)
    said = f"reaches the goal in {share:.0%} of {episodes} episodes"
    if share <= RANDOM_ALLOWED:
        return said
    return (
        f"{said}; warning: too easy, at most {RANDOM_ALLOWED:.0%} are wanted: begin farther away "
        "(--from-step, a smaller --spread), or look at the goal's region and tau (--mask, --tau)"
    )


def _told(task: str, chosen: dict[str, tuple[Any, str]], stack: tuple[int, str]) -> dict[str, str]:
    """Return the chosen numbers as text with their reasons, and the next commands for the task."""
    (horizon, why_horizon), (reward, why_reward) = chosen["horizon"], chosen["reward"]
    gamma, why_gamma = chosen["gamma"]
    return {
        "horizon": f"{horizon}: {why_horizon}",
        "alpha": f"{reward.alpha:g}: {why_reward}",
        "gamma": f"{gamma:g}: {why_gamma}",
        **({"stack_k": f"{stack[0]}: {stack[1]}"} if stack[0] > 1 else {}),
        "check": f"dmglab task check {task}",
        "train": f"dmglab train --task {task}",
    }


def choose_codec(request: NewTask, known: Codec) -> tuple[Codec, str]:
    """Return the task's codec and the reason for it.

    It is the requested one, or a wider one if the demonstration needs it, or else `known`.
    """
    if request.buttons:
        return msgspec.structs.replace(known, id=request.buttons), "as asked"
    if request.way is not None:
        try:
            masks = np.concatenate([demo.masks for demo in load_demonstrations(request.way)])
        except TaskError:
            return known, WHY_KNOWN  # `read_way` reports the file's error
        wider = wide_enough(masks, known)
        if wider != known:
            frames = sum(beyond_codec(masks, known).values())
            return wider, f"the way holds SELECT or two buttons at once in {frames} frames"
    return known, WHY_KNOWN


def read_way(request: NewTask, cartridge: Cartridge, codec: Codec, goal: GoalPictures) -> tuple[list[Segment], str]:
    """Return the person's demonstration as segments, and "" or the reason why it is left out.

    It must reach the goal and use only the codec's buttons.
    """
    if request.way is None:
        return [], ""
    try:
        parts = read_segments((request.way,), cartridge, codec, None, 0, ())
        found = [until_goal(part, goal, request.hold_steps) for part in parts]
    except TaskError as error:
        return [], f"left out: {error}"
    if not all(part.arrives for part in found):
        return [], "left out: its steps pass the goal's picture without ending on it"
    return found, ""


def _heldout(request: NewTask, count: int) -> int:
    """Return how many of `count` starts are held out, as requested or by default.

    Raises TaskError when none of several would be held out.
    """
    heldout = held_out_share(count) if request.heldout < 0 else request.heldout
    if heldout == 0 < count - 1 or heldout >= count:
        raise TaskError(
            f"heldout {heldout} of {count} starts: hold out at least one, so that validation "
            "is not on what training saw, and leave at least one to train on"
        )
    return heldout


def _check(request: NewTask) -> None:
    """Raise TaskError for a number out of range, before anything is played."""
    find_success_function(request.success)
    if not request.scripts and not request.starts:
        raise TaskError("a task needs a --script or at least one start state (--start)")
    for name, value, least, most in (
        ("count", request.count, 1, 4_096),
        ("walk", request.walk, 0, 1_000),
        ("spread", request.spread, 0, 1),
        ("min-distinct", request.min_distinct, 0, request.count),
        ("heldout", request.heldout, -1, 4_095),
        ("seed", request.seed, 0, 2**63 - 1),
        ("tau", request.tau, 0, 1),
        ("hold-steps", request.hold_steps, 1, 10_000),
        ("horizon", request.horizon, 0, 100_000),
    ):
        if not least <= value <= most:  # false for NaN too
            raise TaskError(f"--{name} must lie in {least:,} to {most:,}, got {value:g}")


def _starts(
    request: NewTask,
    cartridge: Cartridge,
    codec: Codec,
    segments: list[Segment],
    given: list[Snapshot],
    around: list[Snapshot],
    goal: GoalPictures,
    tell: Preparing | None,
) -> tuple[list[Walk], np.ndarray]:
    """Return the start states, and the distances f32[K] to the goal of all other pictures seen.

    The starts are `given`, or random walks from the states `around`, or walks from the demonstrations `segments`.
    """
    if given:
        pictures = _pictures_of(cartridge, given)
        walks = [
            Walk(number, (), state, picture)
            for number, (state, picture) in enumerate(zip(given, pictures, strict=True))
        ]
        before = [part.before for part in segments]
        return walks, goal.distances(np.concatenate([pictures, *before]))
    anchors = around or [part.trace.states[step] for part, step in anchor_steps(segments, request.spread)]
    before = [part.before for part in segments] or [_pictures_of(cartridge, around)]
    apart = goal.distances(np.concatenate(before))
    tau = request.tau or suggest_tau(apart)[0]
    count = request.count
    walks = random_walks(
        cartridge,
        anchors,
        goal,
        tau,
        codec,
        count=count,
        longest=request.walk,
        least=request.min_distinct or (count + 1) // 2,
        seed=request.seed,
        tell=tell,
    )
    near = goal.distances(np.stack([walk.picture for walk in walks]))
    return walks, np.concatenate([apart, near])


def _without_lost(
    walks: list[Walk],
    cartridge: Cartridge,
    way: Way,
    goal: GoalPictures,
    tau: float,
    codec: Codec,
    seed: int,
    tell: Preparing | None,
) -> tuple[list[Walk], int]:
    """Return the starts that are not lost, and the number of lost ones. Raises TaskError when none is left."""
    states = [walk.state for walk in walks]
    lost = find_lost(cartridge, states, way, goal, tau, codec, seed=seed, tell=tell)
    kept = [walk for walk, gone in zip(walks, lost, strict=True) if not gone]
    if not kept:
        raise TaskError(
            f"from all {len(walks)} starts every play ended in one dead picture: the game is lost "
            "there; begin earlier (--from-step), or give shorter walks (--walk)"
        )
    return kept, int(lost.sum())


def _numbers(
    request: NewTask, segments: list[Segment], goal: GoalPictures, base: TaskManifest | None
) -> dict[str, tuple[Any, str]]:
    """Return horizon, gamma and reward, each with its reason."""
    ways = [part for part in segments if part.arrives]
    if not ways:
        reward: tuple[Reward, str] = suggestions.suggest_reward(None)
        if base:
            reward = base.reward, f"as in {request.base}"
        return {
            "horizon": (request.horizon or 128, "as asked" if request.horizon else "the default"),
            "gamma": (suggestions.LEAST_GAMMA, "the default; no demonstration to measure"),
            "reward": reward,
        }
    longest = max(ways, key=lambda part: part.arrival - part.first)
    steps = longest.arrival - longest.first
    along = goal.distances(longest.trace.pictures[longest.first : longest.arrival + 1])
    horizon = (request.horizon, "as asked") if request.horizon else None
    return {
        "horizon": horizon or suggestions.suggest_horizon(steps),
        "gamma": suggestions.suggest_gamma(steps),
        "reward": suggestions.suggest_reward(along),
    }


def _pictures_of(cartridge: Cartridge, states: list[Snapshot]) -> np.ndarray:
    emulator = Emulator(cartridge, len(states), "cpu")
    cache = emulator.state_cache(states)
    emulator.reset(None, cache, np.arange(len(states), dtype=np.int32))
    return emulator.observations().numpy().copy()


def _load_state(path: Path, rom_sha256: str) -> Snapshot:
    try:
        snapshot = Snapshot.load(path)
    except EmulatorError as error:
        raise TaskError(str(error)) from None
    if snapshot.rom_sha256 != rom_sha256:
        raise TaskError(f"{path}: a state of another ROM than {rom_sha256[:12]}...")
    return snapshot
