"""Two tasks of Nectar Run: fill the first jar but for a drop, fell the first hornet.

    PYTHONPATH=assets/games python assets/games/nectar_run/make_tasks.py [--replay | --check]

Seven drops are gathered and a drop falls every hundred frames, a hornet bears 24 shots and a press
of A sends two: both take far more than twelve actions. The jar's goal is its meter, masked as a
user would mask a counter: the page that follows a full jar says nothing on the way there. Who
catches the last two drops between two pictures sees only that page, so its letters count too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence

import numpy as np
from kit import task_folder
from kit.game_batch import MAX_SHADE, Snapshot
from kit.task_folder import HELDOUT_STARTS, TRAIN_STARTS, Start, Task
from pilot import ARCADE, ROM, TITLE_FRAMES, Pilot, opening

COUNT = TRAIN_STARTS + HELDOUT_STARTS
SEED = 20261122
DEMONSTRATIONS = 4
FLIGHTS = 8  # different ways to the hornet
FILL_JAR = Task(
    "nectar_run/fill_jar", "Fill the jar but for a drop",
    "Gather seven of the eight drops of nectar in the first garden before the third sting.",
    "Nectar Run", ROM, 0.06, 120, ARCADE,
)  # fmt: skip
ENOUGH = 7
METER_ROWS, METER_LEFT, CELL = slice(69, 71), 45, 4  # of an observation; a cell is two pixels wide
PAGE_ROWS = slice(16, 56)  # those of its text
PAGE_STEPS = 72 // ARCADE.frames_per_step  # until it is there
FELL_HORNET = Task(
    "nectar_run/fell_hornet", "Fell the hornet",
    "Dodge the stings of the first hornet and shoot until it falls.",
    "Nectar Run", ROM, 0.02, 64, ARCADE,
)  # fmt: skip


def garden_starts(rng: np.random.Generator) -> list[Start]:
    """The bee at different places of the garden just begun, the jar empty."""
    starts = []
    for _ in range(COUNT):
        walk = rng.choice(["UP", "LEFT", "RIGHT", "B"], int(rng.integers(0, 10)))
        wait = TITLE_FRAMES + int(rng.integers(0, 256))
        starts.append(Start(wait, (*opening(ARCADE), *map(str, walk))))
    return starts


def meter_goal() -> tuple[np.ndarray, np.ndarray]:
    """Pictures with ENOUGH drops in the jar and of the page after it; what counts of each: the
    insides of the meter's first cells, and the letters, which no garden has."""
    pilot = Pilot(TITLE_FRAMES, codec=ARCADE)
    pilot.fly_until(lambda: pilot.value("jar") == ENOUGH)
    meter = pilot.game.pictures()[0].copy()
    pilot.fill_the_jar()
    pilot.press(*["B"] * PAGE_STEPS)
    page = pilot.game.pictures()[0].copy()
    masks = np.zeros((2, 72, 80), bool)
    for cell in range(ENOUGH):
        left = METER_LEFT + CELL * cell
        masks[0, METER_ROWS, left : left + 2] = True
    masks[1, PAGE_ROWS] = page[PAGE_ROWS] == MAX_SHADE
    return np.stack([meter, page]), masks


def hornet_starts(rng: np.random.Generator) -> tuple[list[Start], np.ndarray]:
    """Ways to a hornet that is unhurt yet; the page seen after it."""
    starts: list[Start] = []
    pages: list[np.ndarray] = []
    for flight in range(FLIGHTS):
        pilot = Pilot(TITLE_FRAMES + 31 * flight, codec=ARCADE)
        pilot.fill_the_jar()
        pilot.press(*["B"] * PAGE_STEPS)
        pilot.wait_for_the_hornet()
        for _ in range(COUNT // FLIGHTS):
            moves = rng.choice(["LEFT", "RIGHT", "UP"], int(rng.integers(1, 10)))
            starts.append(Start(pilot.wait_frames, (*pilot.actions, *map(str, moves))))
        if not pages:
            pilot.fell_the_hornet()
            pages = [pilot.game.pictures()[0].copy()]
    order = rng.permutation(len(starts))
    return [starts[k] for k in order], pages[0][None]


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


def agreed(
    asked: dict[bytes, str], pilot: Pilot, before: Snapshot, actions: Sequence[str]
) -> dict[bytes, str] | None:
    """`asked` (picture: button) with those of a way from `before`; None if two disagree."""
    found = dict(asked)
    pilot.game.load([before])
    for name in actions:
        if found.setdefault(pilot.game.pictures()[0].tobytes(), name) != name:
            return None
        pilot.game.press(name)
    return found


def fill_the_jar(pilot: Pilot) -> None:
    pilot.fly_until(lambda: pilot.value("jar") >= ENOUGH)
    pilot.press("B")  # until the meter shows it


def main() -> int:
    tasks = (FILL_JAR, FELL_HORNET)
    if "--check" in sys.argv:
        for task in tasks:
            print(json.dumps({"task": task.id, **task_folder.chances(task, 512)}))
    elif "--replay" in sys.argv:
        for task in tasks:
            task_folder.remake(task)
    else:
        task_folder.write(FILL_JAR, garden_starts(np.random.default_rng(SEED)), *meter_goal())
        demonstrate(FILL_JAR, fill_the_jar)
        task_folder.write(FELL_HORNET, *hornet_starts(np.random.default_rng(SEED)))
        demonstrate(FELL_HORNET, Pilot.fell_the_hornet)
    return 0


if __name__ == "__main__":
    sys.exit(main())
