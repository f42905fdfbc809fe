"""echo_worker.py behind the real wait for an order; it loads nothing before."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from trainer_core import waiting_worker

if __name__ == "__main__":
    waiting_worker._load = lambda run_dir: None
    if order := os.environ.pop(waiting_worker.AHEAD, ""):
        os.environ.update(waiting_worker.wait_for_order(Path(sys.argv[1]), int(order)))
    runpy.run_path(str(Path(__file__).with_name("echo_worker.py")), run_name="__main__")
