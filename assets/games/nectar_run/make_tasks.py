"""Two tasks of Nectar Run: fill the first jar, fell the first hornet.

    PYTHONPATH=assets/games python assets/games/nectar_run/make_tasks.py [--replay | --check]

A drop falls every 32 frames, a hornet bears 16 shots and flees from every second: both take far
more than twelve actions. Both goals are the meter of the status row, masked as a user would mask a
counter: each drop and each second hit is a step nearer, where a page that follows says nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence

import numpy as np
from kit import task_folder
from kit.game_batch import Snapshot
from kit.task_folder import HELDOUT_STARTS, TRAIN_STARTS, Start, Task
from pilot import ARCADE, ROM, TITLE_FRAMES, Pilot, opening

COUNT = TRAIN_STARTS + HELDOUT_STARTS
SEED = 20261122
DEMONSTRATIONS = 4
FLIGHTS = 8  # different ways to the hornet
FILL_JAR = Task(
    "nectar_run/fill_jar",
    "Fill the jar",
    "Gather the eight drops of nectar that fill the first jar before the third sting.",
    "Nectar Run",
    ROM,
    0.06,
    56,
    ARCADE,
)
CELLS = 8  # of the meter; a drop fills one
INSIDE, ABOVE = slice(69, 71), slice(68, 69)  # rows of an observation: a cell's inside, its edge
METER_LEFT, CELL = 45, 4  # columns; a cell's inside is two wide
PAGE_STEPS = 72 // ARCADE.frames_per_step  # until the page before the hornet is there
FELL_HORNET = Task(
    "nectar_run/fell_hornet",
    "Fell the hornet",
    "Dodge the stings of the first hornet and shoot until its meter is empty.",
    "Nectar Run",
    ROM,
    0.04,
    96,
    ARCADE,
)


def garden_starts(rng: np.random.Generator) -> list[Start]:
    """The bee at different places of the garden just begun, the jar empty."""
    starts = []
    for _ in range(COUNT):
        walk = rng.choice(["UP", "LEFT", "RIGHT", "B"], int(rng.integers(0, 10)))
        wait = TITLE_FRAMES + int(rng.integers(0, 256))
        starts.append(Start(wait, (*opening(ARCADE), *map(str, walk))))
    return starts


def meter(*rows: slice) -> np.ndarray:
    """bool[1, 72, 80]: these rows of the meter's cells count, and nothing else."""
    mask = np.zeros((1, 72, 80), bool)
    for cell in range(CELLS):
        left = METER_LEFT + CELL * cell
        for each in rows:
            mask[0, each, left : left + 2] = True
    return mask


def jar_goal() -> tuple[np.ndarray, np.ndarray]:
    """A picture with a full jar; what counts are the insides of its cells."""
    pilot = Pilot(TITLE_FRAMES, codec=ARCADE)
    gather(pilot)
    return pilot.game.pictures().copy(), meter(INSIDE)


def hornet_starts(rng: np.random.Generator) -> tuple[list[Start], tuple[np.ndarray, np.ndarray]]:
    """Ways to a hornet that is unhurt yet; the goal is its empty meter, with the edge above the
    cells: a screen that fades to white has none."""
    starts: list[Start] = []
    goal = None
    for flight in range(FLIGHTS):
        pilot = Pilot(TITLE_FRAMES + 31 * flight, codec=ARCADE)
        pilot.fill_the_jar()
        pilot.press(*["B"] * PAGE_STEPS)
        pilot.wait_for_the_hornet()
        for _ in range(COUNT // FLIGHTS):
            moves = rng.choice(["LEFT", "RIGHT", "UP"], int(rng.integers(1, 10)))
            starts.append(Start(pilot.wait_frames, (*pilot.actions, *map(str, moves))))
        if goal is None:
            fell(pilot)
            goal = pilot.game.pictures().copy(), meter(INSIDE, ABOVE)
    order = rng.permutation(len(starts))
    assert goal is not None
    return [starts[k] for k in order], goal


def demonstrate(task: Task, fly: Callable[[Pilot], None]) -> None:
    """Fly to the goal from the first starts from which the pilot manages to.

    Left out is a way that asks for another button where a picture is one of its own, or of an
    earlier way's: who sees one picture cannot follow both.
    """
    ways: list[tuple[int, list[str]]] = []
    asked: dict[bytes, str] = {}
    for number, start in enumerate(task_folder.read_starts(task)[:TRAIN_STARTS]):
        pilot = Pilot(start.wait_frames, start.actions, ARCADE)
        before = pilot.game.emulator.snapshot(0)
        try:
            fly(pilot)
        except RuntimeError:
            continue
        actions = pilot.actions[len(start.actions) :]
        asked_now = agreed(asked, pilot, before, actions)
        if asked_now is None:
            continue
        asked = asked_now
        ways.append((number, actions))
        if len(ways) == DEMONSTRATIONS:
            break
    task_folder.add_demonstrations(task, ways)


def agreed(asked: dict[bytes, str], pilot: Pilot, before: Snapshot, actions: Sequence[str]) -> dict[bytes, str] | None:
    """`asked` (picture: button) with those of a way from `before`; None if two disagree."""
    found = dict(asked)
    pilot.game.load([before])
    for name in actions:
        if found.setdefault(pilot.game.pictures()[0].tobytes(), name) != name:
            return None
        pilot.game.press(name)
    return found


def gather(pilot: Pilot) -> None:
    pilot.fill_the_jar()
    pilot.press("B")  # until the meter shows it


def fell(pilot: Pilot) -> None:
    pilot.fly_until(lambda: pilot.value("hornet_health") == 0)
    pilot.press("B")


def main() -> int:
    tasks = (FILL_JAR, FELL_HORNET)
    if "--check" in sys.argv:
        for task in tasks:
            print(json.dumps({"task": task.id, **task_folder.chances(task, 512)}))
    elif "--replay" in sys.argv:
        for task in tasks:
            task_folder.remake(task)
    else:
        task_folder.write(FILL_JAR, garden_starts(np.random.default_rng(SEED)), *jar_goal())
        demonstrate(FILL_JAR, gather)
        starts, goal = hornet_starts(np.random.default_rng(SEED))
        task_folder.write(FELL_HORNET, starts, *goal)
        demonstrate(FELL_HORNET, fell)
    return 0


if __name__ == "__main__":
    sys.exit(main())
