"""One rank of a training run in a process of its own; prints what the test compares.

RANK=0 WORLD_SIZE=2 MASTER_ADDR=... MASTER_PORT=... python rank_training.py HOME
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.trainer_core.building import tiny_config, trainer_of, weights_of
from trainer_core.cli.local_run import SilentWriter
from trainer_core.host import commands_while_validating, validations
from trainer_core.host.commands_while_validating import Attending
from trainer_core.host.control import Control
from trainer_core.host.evaluate import Course
from trainer_core.host.native import native_host
from trainer_core.host.ranks import Ranks
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire.config import RunConfig


def main(home: HomePaths) -> None:
    ranks = Ranks()
    commands_while_validating.SAVE_AFTER_S = commands_while_validating.TELL_S = (
        0.0  # as in a validation that takes long
    )
    # Two ranks of 8 machines: 4 updates of 2 x 8 x 8 steps.
    config = tiny_config(num_envs=8, total_env_steps=4 * 128, checkpoint_every=2, eval_every=2)
    found = train(home, "run", config, ranks, asking(ranks))
    # The same over a record of three updates, whole and in two lives, one of them twice.
    config = dataclasses.replace(config, eval_every=0, log_every=3, total_env_steps=3 * 128)
    found["whole"] = train(home, "whole", config, ranks)["weights"]
    for life, steps in (("begun", 2 * 128), ("resumed", 3 * 128)):
        changed = dataclasses.replace(config, total_env_steps=steps)
        found[life] = train(home, "parted", changed, ranks)["weights"]
    if ranks.is_first:
        spoil(home.run("parted").checkpoint(3 * 128) / "machines-1.bin")
    ranks.agree(None)
    found["repaired"] = train(home, "parted", config, ranks)["weights"]
    config = dataclasses.replace(config, eval_every=1)
    found["stopped"] = train(home, "validated", config, ranks, asking_within(ranks))["env_steps"]
    ranks.close()
    print(json.dumps(found), flush=True)
    os._exit(0)  # as trainer_core.cli.main leaves, and for its reason


def asking(ranks: Ranks) -> Control:
    """As when rank 0 finds in its mail: save, hold, save while held, go on."""
    control = Control()
    if ranks.is_first:
        control.request_checkpoint()
        control.pause(True)
        threading.Timer(2.0, control.request_checkpoint).start()
        threading.Timer(3.0, control.pause, [False]).start()
    return control


def asking_within(ranks: Ranks) -> Control:
    """As when rank 0 is held within its first validation, saves then, goes on, and is stopped."""
    control, seen = Control(), list[Course]()

    class Watched(Attending):
        def __call__(self, course: Course) -> None:
            seen.append(course)
            if len(seen) == 3:
                control.pause(True)
                control.request_checkpoint()
                threading.Timer(0.5, control.request_checkpoint).start()
                threading.Timer(1.0, control.pause, [False]).start()
            elif len(seen) == 6:
                control.stop("test")
            super().__call__(course)

    validations.Attending = Watched
    return control


def train(
    home: HomePaths, run_id: str, config: RunConfig, ranks: Ranks, control: Control | None = None
) -> dict[str, Any]:
    """One life of a run."""
    paths = home.run(run_id)
    writer = RunWriter(paths) if ranks.is_first else SilentWriter(paths)
    run = native_host(config, paths, home, writer, control or Control(), ranks=ranks)
    run.prepare()
    trainer = trainer_of(run)
    first = hashlib.sha256(trainer.obs.numpy().tobytes()).hexdigest()
    run.train()
    weights = hashlib.sha256(weights_of(trainer).numpy().tobytes()).hexdigest()
    run.close()
    writer.close()
    return {"first_obs": first, "weights": weights, "env_steps": trainer.env_steps}


def spoil(path: Path) -> None:
    """One byte in the middle is another."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


if __name__ == "__main__":
    main(HomePaths(Path(sys.argv[1])))
