"""The echo worker or player behind the real wait for an order; it loads nothing before."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from trainer_core.host import wait_for_order

if __name__ == "__main__":
    if order := os.environ.pop(wait_for_order.AHEAD, ""):
        os.environ.update(wait_for_order.wait_for_order(int(order)))
    name = "gui/echo_player.py" if sys.argv[2:] == [] else "support/echo_worker.py"
    runpy.run_path(str(Path(__file__).parents[1] / name), run_name="__main__")
