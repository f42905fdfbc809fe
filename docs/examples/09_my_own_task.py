"""Make a task of a ROM and train on it: `python 09_my_own_task.py [SECONDS]`."""

import sys

import dmglab

rom = dmglab.roms()["pocket_quest"]  # or the path of your own .gb file
script = """
wait 212 START 2 UP 2 A   # frames without a button, then one button a step, held 8 of 24 frames
begin                     # episodes begin here; a number before a button repeats it
8 RIGHT UP DOWN 3 LEFT UP 4 LEFT 2 UP 4 RIGHT UP 2 RIGHT UP RIGHT A   # the last picture is the goal
"""
if "mine/first_door" not in dmglab.tasks():
    dmglab.make_task("mine/first_door", rom, script, title="To the first door")
run = dmglab.train("mine/first_door", seconds=float(sys.argv[1]) if sys.argv[1:] else 60.0, target_success=0.98)
print(run, run.best)
