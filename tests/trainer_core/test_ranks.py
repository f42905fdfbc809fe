"""Two processes over gloo are one learner."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from tests.trainer_core.building import read_log
from trainer_core.log_check import check_log
from trainer_core.protocol.checkpoints import list_checkpoints, verify
from trainer_core.protocol.paths import HomePaths

SCRIPT = Path(__file__).with_name("rank_training.py")


def test_two_ranks_keep_equal_weights_and_write_one_log(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(tmp_path)],
            env=os.environ | shared | {"RANK": rank, "LOCAL_RANK": rank, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in ("0", "1")
    ]  # fmt: skip
    told = [rank.communicate(timeout=120) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], told
    first, second = (json.loads(out) for out, _ in told)
    assert first["weights"] == second["weights"]
    assert first["first_obs"] != second["first_obs"], "each rank has machines of its own"
    assert first["env_steps"] == second["env_steps"] == 4 * 128
    log = HomePaths(tmp_path).run("run").train_log
    assert check_log(log).errors == []
    records = read_log(tmp_path)
    assert [r["env_steps"] for r in records if r["type"] == "update"] == [128, 256, 384, 512]
    assert all(sum(r["action_hist"]) == 128 for r in records if r["type"] == "update")
    newest = list_checkpoints(HomePaths(tmp_path).run("run"))[-1]
    verify(newest)
    assert {"machines.bin", "machines-1.bin"} <= {path.name for path in newest.iterdir()}
