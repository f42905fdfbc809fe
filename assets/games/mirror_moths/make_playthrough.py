"""Record six levels, with bumps, thorns and second thoughts between: playthrough.json.

python assets/games/mirror_moths/make_playthrough.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import levels

FILE = Path(__file__).resolve().parent / "playthrough.json"
TITLE_FRAMES = 120
LEVELS = 8


def main() -> int:
    actions = ["B", "START", "B"]
    for number, level in enumerate(levels.load()[:LEVELS]):
        detour = ["LEFT", "UP", "UP", "RIGHT", "DOWN"][: number + 1]
        actions += [*detour, "START", *level.solution(), "B", "A", "B"]
    rows = {"wait_frames": TITLE_FRAMES, "actions": " ".join(actions)}
    FILE.write_text(json.dumps(rows, indent=0) + "\n")
    print(f"{FILE.name}: {len(actions)} actions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
