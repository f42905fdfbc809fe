"""Two tasks of Mirror Moths: light the lamps of level 2, and of level 3.

    PYTHONPATH=assets/games python assets/games/mirror_moths/make_tasks.py [--replay | --check]

Starts are places of the two moths from which the solver of levels.py needs twelve moves or more.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import levels
import numpy as np
from kit import task_folder
from kit.task_folder import HELDOUT_STARTS, TRAIN_STARTS, Start, Task
from make_playthrough import TITLE_FRAMES

ROM = Path(__file__).resolve().parent / "mirror_moths.gb"
SHORTEST = 12
DEMONSTRATIONS = 4
OPENING = ("B", "START", "B")
NEXT_LEVEL = ("B", "A", "B")


def task(number: int) -> Task:
    return Task(
        f"mirror_moths/level_{number}",
        f"Light the lamps of level {number}",
        "Bring both moths, each the other's mirror image, onto their lamps at the same time.",
        "Mirror Moths",
        ROM,
        0.003,
        160,
    )


def way_in(number: int) -> tuple[str, ...]:
    """From power-on to the beginning of a level, counted from 1."""
    actions = list(OPENING)
    for level in levels.load()[: number - 1]:
        actions += [*level.solution(), *NEXT_LEVEL]
    return tuple(actions)


def make(number: int, rng: np.random.Generator) -> None:
    level, opening = levels.load()[number - 1], way_in(number)
    solved = Start(TITLE_FRAMES, (*opening, *level.solution(), "B"))
    _, pictures = task_folder.play(ROM, [solved])
    ways = level.distances()
    far = [state for state in ways if len(level.solution(state)) >= SHORTEST]
    count = TRAIN_STARTS + HELDOUT_STARTS
    chosen = [far[k % len(far)] for k in rng.permutation(max(count, len(far)))[:count]]
    print(f"level {number}: {len(far)} states are far enough, {len(set(chosen))} are used")
    starts = [Start(TITLE_FRAMES + int(rng.integers(0, 64)), (*opening, *ways[state])) for state in chosen]
    task_folder.write(task(number), starts, pictures)
    solutions = [(*level.solution(state), "B") for state in chosen[:DEMONSTRATIONS]]
    task_folder.add_demonstrations(task(number), list(enumerate(solutions)))


def main() -> int:
    numbers = (2, 3)
    if "--check" in sys.argv:
        for number in numbers:
            print(json.dumps({"task": task(number).id, **task_folder.chances(task(number), 512)}))
    elif "--replay" in sys.argv:
        for number in numbers:
            task_folder.remake(task(number))
    else:
        rng = np.random.default_rng(20261122)
        for number in numbers:
            make(number, rng)
    return 0


if __name__ == "__main__":
    sys.exit(main())
