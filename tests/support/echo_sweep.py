"""`dmglab sweep` itself, whose trials are echo_worker.py: all is real but the training.

python -m tests.support.echo_sweep ECHO_OPTIONS [OPTIONS OF DMGLAB SWEEP]
"""

from __future__ import annotations

import functools
import json
import sys

from tests.support.scripted_native import scripted_native
from trainer_core.cli import main, sweep
from trainer_core.service import StopLadder
from trainer_core.sweeps.slot import TrialSlot

if __name__ == "__main__":
    runner = scripted_native(**json.loads(sys.argv[1]))
    ladder = StopLadder(2.0, 0.5)
    sweep.TrialSlot = functools.partial(TrialSlot, runners=(runner,), ladder=ladder)
    main.leave(lambda: main.main(["sweep", *sys.argv[2:]]))
