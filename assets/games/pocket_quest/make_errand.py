"""The later stages of Pocket Quest as tasks: reach the shop, get the parcel, deliver it, all of it.

    PYTHONPATH=assets/games python assets/games/pocket_quest/make_errand.py [--replay | --check]

It writes the tasks; with `--replay` it remakes the states, with `--check` it prints what chance and
one button do.

Villagers wander, so states are not searched: a start's distance on the map, where no step covers
more than a square, bounds the shortest solution from below.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import numpy as np
import world
from kit import task_folder
from kit.task_folder import HELDOUT_STARTS, TRAIN_STARTS, Start, Task, load_snapshots
from make_tasks import OPENING, STAGES, TITLE_FRAMES, TO_DOOR, TO_STAIRS
from walker import MOVES, ROM, GameBatch, Walker

SHOP_DOOR, COUNTER, STUDY_DOOR, ELDER = (16, 15), (8, 4), (17, 6), 1
PAGES = 4  # presses of A that the clerk's talk takes
SHORTEST = 12
MAX_TEMPLATES = 8


def task(name: str, title: str, description: str, tau: float, horizon: int) -> Task:
    return Task(f"pocket_quest/{name}", title, description, "Pocket Quest", ROM, tau, horizon)


REACH_SHOP = task(
    "reach_shop", "Reach the shop", "Cross the village, round the villagers, and enter the shop.", 0.02, 256
)
GET_PARCEL = task(
    "get_parcel", "Get the parcel", "Find the way between the stands to the counter and hear the clerk out.", 0.001, 176
)
DELIVER = task(
    "deliver",
    "Deliver the parcel",
    "Carry the parcel to the elder's study and talk to him: the errand ends.",
    0.02,
    512,
)
ERRAND = task("whole_errand", "The whole errand", "From the bed to the evening on which the lantern burns.", 0.02, 1024)


def to_village() -> Walker:
    game = GameBatch(1)
    game.emulator.run(None, TITLE_FRAMES)
    pip = Walker(game)
    pip.press(*OPENING, *TO_STAIRS, *TO_DOOR)
    pip.settle()
    return pip


def to_shop() -> Walker:
    pip = to_village()
    pip.walk(*SHOP_DOOR)
    return pip


def take_parcel(pip: Walker) -> None:
    pip.walk(*COUNTER)
    pip.read("UP")


def to_village_with_parcel() -> Walker:
    pip = to_shop()
    take_parcel(pip)
    leave_shop(pip)
    return pip


def deliver(pip: Walker) -> None:
    pip.walk(*STUDY_DOOR)
    pip.walk(10, 2)
    pip.talk_to(ELDER)
    pip.press(*["B"] * 4)


def leave_home(pip: Walker) -> None:
    pip.walk(9, 2)
    pip.walk(1, 8)
    pip.press("DOWN")
    pip.settle()


def leave_shop(pip: Walker) -> None:
    pip.walk(4, 8)
    pip.press("DOWN")
    pip.settle()


def run_the_errand(pip: Walker) -> None:
    leave_home(pip)
    pip.walk(*SHOP_DOOR)
    take_parcel(pip)
    leave_shop(pip)
    deliver(pip)


def demonstrate(task: Task, finish: Callable[[Walker], None], count: int = 4) -> None:
    """Walk to the goal from the first `count` starts."""
    ways = []
    for number, snapshot in enumerate(load_snapshots(task.folder / "starts.npz")[:count]):
        pip = Walker(GameBatch(1))
        pip.game.load([snapshot])
        finish(pip)
        pip.press("B")  # the picture of the goal may come a step later
        ways.append((number, tuple(pip.actions)))
    task_folder.add_demonstrations(task, ways)


def distances(room: str, goal: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Steps to `goal` from every free square, with nobody in the way."""
    number = [r.name for r in world.ROOMS].index(room)
    solid = Walker(GameBatch(1)).solid[number]
    found, wave = {goal: 0}, [goal]
    for x, y in wave:
        for dx, dy in MOVES.values():
            to = x + dx, y + dy
            inside = 0 <= to[1] < len(solid) and 0 <= to[0] < len(solid[0])
            if inside and to not in found and not solid[to[1]][to[0]]:
                found[to] = found[x, y] + 1
                wave.append(to)
    return found


def choose_starts(pip: Walker, goal: tuple[int, int], presses: int, rng: np.random.Generator) -> list[Start]:
    """Walks from where `pip` is to squares at least SHORTEST presses from the solution."""
    way_in, origin, room = list(pip.actions), pip.game.emulator.snapshot(0), pip.room
    far = distances(room, goal)
    here = next(r for r in world.ROOMS if r.name == room)
    taken = {(thing.x, thing.y) for thing in (*here.warps, *here.people)}
    squares = [s for s in sorted(far) if far[s] + presses >= SHORTEST and s not in taken]
    starts: dict[tuple, Start] = {}
    while len(starts) < TRAIN_STARTS + HELDOUT_STARTS:
        pip.game.load([origin])
        pip.actions = list(way_in)
        pip.press(*["B"] * int(rng.integers(0, 6)))
        pip.walk(*squares[int(rng.integers(len(squares)))])
        pip.press(str(rng.choice(["UP", "DOWN", "LEFT", "RIGHT"])))
        pip.settle()
        x, y, facing = pip.actor(0)
        if pip.room == room and far[x, y] + presses >= SHORTEST:
            key = (x, y, facing, pip.game.pictures().tobytes())
            starts[key] = Start(TITLE_FRAMES, tuple(pip.actions))
    print(f"{len(squares)} squares, {len({k[:3] for k in starts})} places and facings")
    return list(starts.values())


def templates(pip: Walker, finish: Callable[[Walker], None]) -> np.ndarray:
    """Pictures of the arrival after different waits, uint8[G, 72, 80]."""
    origin, kept = pip.game.emulator.snapshot(0), []
    for wait in range(24):
        pip.game.load([origin])
        pip.press(*["B"] * wait)
        finish(pip)
        picture = pip.game.pictures()[0].copy()
        if not any(np.array_equal(picture, other) for other in kept):
            kept.append(picture)
        if len(kept) == MAX_TEMPLATES:
            break
    return np.stack(kept)


def make() -> None:
    rng = np.random.default_rng(20261122)
    arrival = templates(to_village(), lambda pip: pip.walk(*SHOP_DOOR))
    task_folder.write(REACH_SHOP, choose_starts(to_village(), SHOP_DOOR, 0, rng), arrival)
    demonstrate(REACH_SHOP, lambda pip: pip.walk(*SHOP_DOOR))
    parcel = templates(to_shop(), take_parcel)
    task_folder.write(GET_PARCEL, choose_starts(to_shop(), COUNTER, PAGES, rng), parcel)
    demonstrate(GET_PARCEL, take_parcel)
    pip = to_village_with_parcel()
    starts = choose_starts(pip, STUDY_DOOR, 0, rng)
    ending = templates(to_village_with_parcel(), deliver)[:1]
    task_folder.write(DELIVER, starts, ending)
    demonstrate(DELIVER, deliver)
    task_folder.write(ERRAND, task_folder.read_starts(STAGES[0].task), ending)
    demonstrate(ERRAND, run_the_errand, count=2)


TASKS = (REACH_SHOP, GET_PARCEL, DELIVER, ERRAND)


def main() -> int:
    if "--check" in sys.argv:
        for each in TASKS:
            print(json.dumps({"task": each.id, **task_folder.chances(each, 500)}))
    elif "--replay" in sys.argv:
        for each in TASKS:
            task_folder.remake(each)
    else:
        make()
    return 0


if __name__ == "__main__":
    sys.exit(main())
