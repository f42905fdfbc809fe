"""Record somebody who knows the way: 50 recordings of a task's training starts.

    PYTHONPATH=assets/games python assets/games/pocket_quest/make_demonstrations.py OUT --task TASK

The walker reads positions from memory; what is recorded are pictures and buttons, as a person's
play would be. `dmglab train --runner d3rlpy --data OUT` learns from them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from kit.game_batch import ACTIONS
from walker import GameBatch, Walker

from trainer_core.envs.single_game import open_game
from trainer_core.envs.task_files import load_task_parts
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.lab.tasks import find_task
from trainer_core.play.demonstrating import record_demonstrations
from trainer_core.play.episode import Script
from trainer_core.wire.errors import LabError


def leave_bedroom(pip: Walker) -> None:
    pip.walk(9, 2)


def leave_house(pip: Walker) -> None:
    pip.walk(1, 8)
    pip.press("DOWN", "B")


WAYS: dict[str, Callable[[Walker], None]] = {
    "pocket_quest/leave_bedroom": leave_bedroom,
    "pocket_quest/leave_house": leave_house,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="new folder for the recordings")
    parser.add_argument("--task", default="pocket_quest/leave_bedroom", choices=sorted(WAYS))
    parser.add_argument("--episodes", type=int, default=50)
    arguments = parser.parse_args()
    home = HomePaths(default_home())
    starts = load_task_parts(find_task(arguments.task, home), home).starts

    def script(start: int) -> Script:
        batch = GameBatch(1)
        batch.load([starts[start]])
        pip = Walker(batch)
        WAYS[arguments.task](pip)
        return Script([ACTIONS.index(name) for name in pip.actions])

    try:
        found = record_demonstrations(
            arguments.out, open_game(arguments.task, home), script, arguments.episodes, "script"
        )
    except LabError as error:
        print(f"make_demonstrations.py: {error}", file=sys.stderr)
        return 1
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
