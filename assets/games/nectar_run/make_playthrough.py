"""Record the first garden, its hornet and the way into the second: playthrough.json.

PYTHONPATH=assets/games python assets/games/nectar_run/make_playthrough.py
"""

from __future__ import annotations

import json
import sys

from pilot import ROM, TITLE_FRAMES, Pilot

SECOND_GARDEN = 90  # actions


def main() -> int:
    pilot = Pilot(TITLE_FRAMES)
    for part in (pilot.fill_the_jar, pilot.wait_for_the_hornet, pilot.fell_the_hornet):
        part()
        print(f"{part.__name__}: {len(pilot.actions)} actions, {pilot.value('lives')} lives")
    pilot.press("START", *["B"] * 5)
    for _ in range(SECOND_GARDEN):
        pilot.step()
    rows = {"wait_frames": pilot.wait_frames, "actions": " ".join(pilot.actions)}
    ROM.with_name("playthrough.json").write_text(json.dumps(rows, indent=0) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
