"""Try every button from one state, side by side, and go on from one: `python 10_search_with_states.py [DEPTH]`."""

import sys

import numpy as np

import dmglab

buttons = ["a", "b", "start", "up", "down", "left", "right"]
consoles = dmglab.Emulator(dmglab.roms()["pocket_quest"], len(buttons))
consoles.run(None, frames=212)
for button in ["start", "up", "up", "a", "a"]:  # through the title screen
    consoles.run(button, frames=24, release_after=8)
state, seen, way, chance = consoles.snapshot(0), set[bytes](), [], np.random.default_rng(1)
for _ in range(int(sys.argv[1]) if sys.argv[1:] else 20):
    consoles.restore(state)  # every console
    consoles.run(buttons, frames=24, release_after=8)
    pictures = [picture.tobytes() for picture in consoles.observations().numpy()]
    fresh = [n for n, picture in enumerate(pictures) if picture not in seen] or list(range(len(buttons)))
    chosen = int(chance.choice(fresh))
    seen.update(pictures)
    way.append(buttons[chosen])
    state = consoles.snapshot(chosen)
print(f"{len(seen)} pictures on the way {' '.join(way)}")
state.save("end.state")
