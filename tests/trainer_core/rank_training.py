"""One rank of a training run in a process of its own; prints what the test compares.

RANK=0 WORLD_SIZE=2 MASTER_ADDR=... MASTER_PORT=... python rank_training.py HOME
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.trainer_core.building import tiny_config, weights_of
from trainer_core.cli.running import SilentWriter
from trainer_core.protocol.paths import HomePaths
from trainer_core.runs.writer import RunWriter
from trainer_core.train.control import Control
from trainer_core.train.ranks import Ranks
from trainer_core.train.run import TrainingRun


def main(home: HomePaths) -> None:
    ranks = Ranks()
    paths = home.run("run")
    writer = RunWriter(paths) if ranks.is_first else SilentWriter(paths)
    # Two ranks of 8 machines: 4 updates of 2 x 8 x 8 steps.
    config = tiny_config(num_envs=8, total_env_steps=4 * 128, checkpoint_every=2, eval_every=2)
    run = TrainingRun(config, paths, home, writer, Control(), ranks)
    run.prepare(["test"])
    trainer = run.trainer
    assert trainer is not None
    first = hashlib.sha256(trainer.obs.numpy().tobytes()).hexdigest()
    run.train()
    weights = hashlib.sha256(weights_of(trainer).numpy().tobytes()).hexdigest()
    found = {"first_obs": first, "weights": weights, "env_steps": trainer.env_steps}
    run.close()
    ranks.close()
    print(json.dumps(found), flush=True)
    os._exit(0)  # as trainer_core.cli.main leaves, and for its reason


if __name__ == "__main__":
    main(HomePaths(Path(sys.argv[1])))
