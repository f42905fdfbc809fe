"""Train with DMG Lab's own trainer and look on: `python 06_train_and_watch.py [TASK] [SECONDS]`."""

import sys

import dmglab

task = sys.argv[1] if sys.argv[1:] else "pocket_quest/leave_bedroom"
seconds = float(sys.argv[2]) if sys.argv[2:] else 60.0
run = dmglab.train(task, seconds=seconds, target_success=0.98, seed=1, wait=False)  # in a process of its own
while not run.wait(timeout=2).has_ended:
    if "success_rate" in run.curves:
        steps, success = run.curves["success_rate"][-1]
        print(f"{steps:,.0f} steps, {success:.2f} of the episodes reach the goal")
print(run, run.reason)
for name, points in run.curves.items():
    if name.startswith(("eval/", "success_rate")):
        print(f"{name}: {points[-1, 1]:.3f} at {points[-1, 0]:,.0f} steps")  # points: float64[P, 2]
print("best checkpoint:", run.best)
