"""Two processes over gloo are one learner."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from tests.support.sockets import listening
from tests.trainer_core.building import read_log, without_clocks
from trainer_core.cli import launch_ranks
from trainer_core.cli.launch_ranks import Nodes, interface_towards, spread, start_ranks, supervise
from trainer_core.cli.main import main
from trainer_core.lab.checkpoint_manifest import list_checkpoints, verify
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_check import check_log
from trainer_core.wire.environment import MEETING

SCRIPT = Path(__file__).with_name("rank_training.py")


@pytest.mark.usefixtures("warm")
def test_two_ranks_keep_equal_weights_and_write_one_log(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(tmp_path)],
            env=os.environ | shared | {"RANK": rank, "LOCAL_RANK": rank, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in ("0", "1")
    ]
    told = [rank.communicate(timeout=300) for rank in ranks]
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
    asked = [r["env_steps"] for r in records if r["type"] == "checkpoint" and r["reason"] == "request"]
    assert asked == [128], "rank 0 alone was asked, and held in the meantime; all obey"
    newest = list_checkpoints(HomePaths(tmp_path).run("run"))[-1]
    verify(newest)
    assert {"machines.bin", "machines-1.bin"} <= {path.name for path in newest.iterdir()}
    _assert_resumed_as_one(tmp_path, first, second)
    _assert_obeyed_within(tmp_path, first, second)


def _assert_resumed_as_one(home: Path, first: dict[str, str], second: dict[str, str]) -> None:
    """A run in two lives equals one in one; with its newest checkpoint damaged, both ranks fall
    back to the one before and repeat the same update."""
    for told in (first, second):
        assert told["resumed"] == told["whole"] != told["begun"]
    whole, parted = (
        [without_clocks(r) for r in read_log(home, run_id) if r["type"] == "update"] for run_id in ("whole", "parted")
    )
    for record in (*whole, *parted):
        del record["run_id"], record["trace_id"]
    assert whole == parted[:1], "sums and random numbers of both ranks went on"
    resumes = [r["checkpoint"] for r in read_log(home, "parted") if r["type"] == "resume"]
    assert resumes == [f"checkpoints/{256:012d}", f"checkpoints/{256:012d}"]
    assert first["repaired"] == second["repaired"], "a rank took another checkpoint"
    assert len(parted) == 2, "the update that the damage cost was made again"
    verify(list_checkpoints(HomePaths(home).run("parted"))[-1])


def _assert_obeyed_within(home: Path, first: dict[str, int], second: dict[str, int]) -> None:
    """Rank 0 was held, saved and was stopped while it validated; the other waited and saved too."""
    assert first["stopped"] == second["stopped"] == 128
    assert [r["type"] for r in read_log(home, "validated")] == ["meta", "checkpoint"]
    (folder,) = list_checkpoints(HomePaths(home).run("validated"))
    assert (folder / "machines-1.bin").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nodes", "2"], "--rendezvous HOST:PORT"),
        (["--nodes", "2", "--rendezvous", "here"], "--rendezvous HOST:PORT"),
        (["--nodes", "2", "--rendezvous", "h:99999"], "--rendezvous HOST:PORT"),
        (["--nodes", "2", "--node-rank", "2", "--rendezvous", "h:1"], "counts from 0 to 1"),
        (["--node-rank", "1"], "belong to --nodes"),
        (["--nodes", "0"], "nodes must be 1 to 1024"),
    ],
)
@pytest.mark.parametrize("command", ["train", "resume"])
def test_a_place_among_nodes_that_cannot_be_is_one_line(
    command: str, words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "training" / "runs" / "r").mkdir(parents=True)
    (tmp_path / "training" / "runs" / "r" / "config.json").write_text("{}")
    task = ["--task", "tiny_goal", "--seconds", "1"] if command == "train" else []
    assert main([command, *task, *words, "--home", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1


def test_numbers_of_ranks_count_over_all_nodes() -> None:
    told: list[dict[str, str]] = []

    def start(environment: dict[str, str]) -> subprocess.Popen[bytes]:
        told.append(environment)
        return subprocess.Popen([sys.executable, "-c", ""])

    nodes = Nodes(nodes=3, node_rank=2, rendezvous="127.0.0.1:29500")
    assert supervise(list(start_ranks(start, 2, Path("unused"), nodes))) == 0
    assert [(e["RANK"], e["LOCAL_RANK"], e["WORLD_SIZE"]) for e in told] == [("4", "0", "6"), ("5", "1", "6")]
    assert {e[MEETING] for e in told} == {"tcp://127.0.0.1:29500"}
    assert {e["GLOO_SOCKET_IFNAME"] for e in told} == {interface_towards("127.0.0.1")}


def test_one_rank_that_fails_ends_the_others() -> None:
    good, bad = "import time; time.sleep(60)", "raise SystemExit(3)"
    ranks = [subprocess.Popen([sys.executable, "-c", code]) for code in (good, bad)]
    assert supervise(list(ranks)) == 3
    assert [rank.returncode for rank in ranks] == [-signal.SIGTERM, 3]


def test_ranks_that_are_stopped_before_they_begin_did_not_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rank = tmp_path / "rank"
    rank.write_text("#!/bin/sh\nexec sleep 60\n")
    rank.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(rank))
    monkeypatch.setattr(launch_ranks, "on_stop_signals", lambda stop: stop(signal.SIGTERM))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert spread(["train"], 2)["error"] == "terminated before there was anything to save"


def test_the_folders_of_killed_launchers_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(psutil, "pid_exists", lambda pid: pid == 70)
    for name in ("dmglab-ranks-70-a", "dmglab-ranks-71-b", "dmglab-ranks-72-new", "other-71-c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meeting").write_text("")
        if "new" not in name:
            os.utime(tmp_path / name, (0, 0))
    launch_ranks.remove_left_meetings()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"dmglab-ranks-70-a", "dmglab-ranks-72-new", "other-71-c"}


@pytest.mark.usefixtures("warm")
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_ranks_end_with_the_command_that_started_them(how: int, tmp_path: Path) -> None:
    if how == signal.SIGINT and not os.environ.get("DMGLAB_SLOW_PROOFS"):
        pytest.skip("set DMGLAB_SLOW_PROOFS=1")
    command = [
        sys.executable, "-m", "trainer_core.cli.main", "train", "--task", "tiny_goal", "--gpus",
        "2", "--num-envs", "8", "--num-steps", "8", "--seconds", "120", "--home", str(tmp_path),
    ]  # fmt: skip
    train = subprocess.Popen(
        command,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)},
        text=True,
    )
    logs = HomePaths(tmp_path).runs
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not any(
        b'"update"' in log.read_bytes() for log in logs.glob("*/train_log.jsonl")
    ):
        time.sleep(0.1)
    ranks = [p for p in psutil.Process(train.pid).children(recursive=True) if p.is_running()]
    assert len(ranks) == 4, "two ranks, and the guard of each"
    found = listening([train.pid, *(rank.pid for rank in ranks)])
    assert {address for _, address, _ in found} <= {"127.0.0.1", "::1"}
    assert train.pid not in {pid for pid, _, _ in found}, "the ranks meet through a file"
    if how == signal.SIGINT:
        os.killpg(train.pid, how)  # as a terminal does
        assert json.loads(train.communicate(timeout=60)[0])["state"] == "stopped"
        assert train.returncode == 0
    else:
        train.kill()
        train.wait()
    _, alive = psutil.wait_procs(ranks, timeout=60)
    assert not alive
    log = next(logs.glob("*/train_log.jsonl"))
    assert check_log(log).errors == []
    assert '"stop"' in log.read_text(), "what was learnt is saved"
