"""The echo worker or player behind the real wait for an order; it loads nothing before."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from trainer_core.host import preload

if __name__ == "__main__":
    if order := os.environ.pop(preload.AHEAD, ""):
        os.environ.update(preload.wait_for_order(lambda: None, int(order)))
    name = "gui/echo_player.py" if sys.argv[2:] == [] else "support/echo_worker.py"
    runpy.run_path(str(Path(__file__).parents[1] / name), run_name="__main__")
