"""Run a ROM, press buttons, keep a screenshot: `python 01_run_a_rom.py [ROM]`."""

import sys

from PIL import Image

import dmglab

rom = sys.argv[1] if sys.argv[1:] else dmglab.roms()["pocket_quest"]
with dmglab.GameBoy(rom) as game:
    game.run(120)  # two seconds without a button
    game.press("start", frames=60)
    game.press("a+right")
    print(game, game.screen().shape, game.registers())
    Image.fromarray(game.screen(rgb=True)).save("screen.png")
