"""Try every button from one state, side by side, and go on from one: `python 10_search_with_states.py [DEPTH]`."""

import sys

import numpy as np

import dmglab

buttons = ["a", "b", "start", "up", "down", "left", "right"]
consoles = dmglab.Emulator(dmglab.roms()["pocket_quest"], len(buttons))
consoles.run("start", frames=300, release_after=8)
state, seen, way = consoles.snapshot(0), set[bytes](), []
for _ in range(int(sys.argv[1]) if sys.argv[1:] else 20):
    consoles.restore(state)  # every console
    consoles.run(buttons, frames=24, release_after=8)
    pictures = [picture.tobytes() for picture in consoles.observations().numpy()]
    fresh = [n for n, picture in enumerate(pictures) if picture not in seen] or [np.random.default_rng(1).integers(7)]
    chosen = int(fresh[-1])
    seen.update(pictures)
    way.append(buttons[chosen])
    state = consoles.snapshot(chosen)
print(f"{len(seen)} pictures on the way {' '.join(way)}")
state.save("end.state")
