"""Record the whole errand, at a stroller's pace, as inputs from power-on: playthrough.json.

    PYTHONPATH=assets/games python assets/games/pocket_quest/make_playthrough.py

Doors, signs, every villager, the menu and the diary are visited. The tests replay the inputs in
this emulator and in PyBoy.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kit.game_batch import FRAMES_PER_STEP
from walker import GameBatch, Walker

TITLE_FRAMES = 180
FILE = Path(__file__).resolve().parent / "playthrough.json"
LINGER = 40  # actions at the title and at the ending
ENDING_STAGE = 2


def at_home(pip: Walker) -> None:
    pip.press("START")
    for _ in range(8):
        pip.press("A")
    pip.settle()
    for x, y, facing in (
        (1, 7, "LEFT"),
        (1, 7, "UP"),
        (3, 3, "RIGHT"),
        (1, 2, "UP"),
        (3, 2, "UP"),
        (4, 2, "UP"),
        (8, 2, "UP"),
        (7, 7, "UP"),
        (4, 7, "DOWN"),
    ):
        pip.walk(x, y)
        pip.read(facing)
    pip.press("START")  # no satchel yet: only a sound
    pip.walk(9, 2)
    pip.press("START", "A", "DOWN", "A")
    pip.press("A", "A", "A", "B", "B", "B")
    pip.settle()
    pip.talk_to(1)
    for x in (0, 1, 2, 3, 4, 6):
        pip.walk(x, 2)
        pip.read("UP")
    pip.walk(1, 8)
    pip.press("DOWN")
    pip.settle()


def through_the_village(pip: Walker) -> None:
    pip.walk(6, 9)
    pip.read("UP")
    pip.walk(3, 10)
    pip.read("UP")
    pip.talk_to(1)
    pip.walk(12, 10)
    pip.read("UP")
    pip.walk(11, 7)
    pip.read("UP")
    pip.walk(9, 14)
    pip.read("UP")
    pip.talk_to(4)
    pip.talk_to(2)
    pip.walk(18, 17)
    pip.read("UP")
    pip.talk_to(3)


def the_errand(pip: Walker) -> None:
    pip.walk(17, 6)
    pip.walk(10, 2)
    pip.talk_to(1)
    pip.walk(2, 9)
    pip.press("DOWN")
    pip.settle()
    pip.walk(16, 15)
    pip.walk(2, 5)
    pip.read("UP")
    pip.talk_to(2)
    pip.walk(1, 3)
    pip.read("UP")
    pip.walk(8, 4)
    pip.read("UP")
    pip.press("START", "A", "A", "A", "A", "B", "B", "DOWN", "A")
    pip.press("B", "B", "A", "A", "A", "A", "B", "B", "B")
    pip.settle()
    pip.walk(4, 8)
    pip.press("DOWN")
    pip.settle()
    pip.talk_to(1)
    pip.walk(11, 7)
    pip.read("UP")
    pip.walk(17, 6)
    for x, y, facing in ((12, 3, "UP"), (12, 4, "RIGHT"), (8, 2, "UP"), (6, 2, "UP"), (1, 2, "LEFT")):
        pip.walk(x, y)
        pip.read(facing)
    pip.talk_to(1)


def main() -> int:
    game = GameBatch(1)
    game.emulator.run(None, TITLE_FRAMES)
    pip = Walker(game)
    pip.press(*["B"] * LINGER)
    for part in (at_home, through_the_village, the_errand):
        part(pip)
        print(f"{part.__name__}: {len(pip.actions)} actions")
    if pip.story != ENDING_STAGE:
        raise SystemExit("make_playthrough.py: the errand did not end")
    pip.press(*["B"] * LINGER)
    rows = {"wait_frames": TITLE_FRAMES, "actions": " ".join(pip.actions)}
    FILE.write_text(json.dumps(rows, indent=0) + "\n")
    frames = TITLE_FRAMES + FRAMES_PER_STEP * len(pip.actions)
    print(f"{FILE.name}: {len(pip.actions)} actions, {frames} frames, {frames / 59.73:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
