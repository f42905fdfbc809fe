"""Kill what acts on a running training: `stop`, `pause`, and the app while it trains."""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from scripts.endurance.forked import run_forked, start
from scripts.endurance.kills import Found, list_all
from scripts.endurance.verbs import CHECKOUT
from tests.proofs.kills import GONE_S, reap_within
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.log_check import check_log
from trainer_core.wire.errors import LabError

ENDLESS = shlex.split(
    "train --task tiny_goal --num-envs 16 --num-steps 8 --num-minibatches 2 --update-epochs 1 "
    "--eval-every 0 --checkpoint-every 5 --threads 1 --seconds 120 --home"
)
BEGIN_S = 60.0


def kill_all(folder: Path, least: int, seed: int, only: str) -> dict[str, Found]:
    """Kill `stop`, `pause` and the app, each at `least` random times."""
    rng, results = random.Random(seed), {}
    roles: dict[str, Callable[[Path, Path, random.Random], tuple[str, list[str], float]]] = {
        "stop": lambda home, said, rng: kill_a_wish("stop", home, said, rng),
        "pause": lambda home, said, rng: kill_a_wish("pause", home, said, rng),
        "app": kill_the_app,
    }
    for name, role in roles.items():
        if only not in name:
            continue
        found = results[name] = Found()
        while found.hits < least and found.missed < 6 * least:
            home = folder / f"live-{name}-{found.hits + found.missed}"
            home.mkdir(parents=True)
            what, wrong, seconds = role(home, folder / "said.txt", rng)
            found.hits += bool(what)
            found.missed += not what
            found.slowest_end_s = max(found.slowest_end_s, seconds)
            if wrong:
                found.failures.append(f"{what}: {'; '.join(wrong)}")
                print(f"{name}: {found.failures[-1]}", file=sys.stderr)
        print(f"{name:<18} {found.hits} hits, {len(found.failures)} failed", file=sys.stderr)
    return results


def kill_a_wish(verb: str, home: Path, said: Path, rng: random.Random) -> tuple[str, list[str], float]:
    """Kill `dmglab stop` or `pause` of a running training; the next one has to work."""
    start([*ENDLESS, str(home)], home / "run.txt")
    paths = _begun(home)
    wait_s = rng.uniform(0, 0.15)
    wish = start([verb, paths.run_id, "--home", str(home)], said)
    time.sleep(wait_s)
    os.kill(wish.pid, signal.SIGKILL)
    hit = wish.wait() == -signal.SIGKILL
    wrong = []
    for again in dict.fromkeys((verb, "stop")):
        done = run_forked([again, paths.run_id, "--home", str(home)], said)
        ended = "ended already" in done.said or "stopped" in done.said
        if "Traceback" in done.said or (done.code and not ended):
            wrong.append(f"{again} again: status {done.code}: {done.said[-300:]}")
    end = reap_within(30.0)
    if end.left:
        wrong.append(f"the training goes on after stop: {end.left}")
    wrong += [f"log: {text}" for text in check_log(paths.train_log).errors]
    return (f"KILL after {wait_s:.3f} s" if hit else ""), wrong, end.seconds


def kill_the_app(home: Path, said: Path, rng: random.Random) -> tuple[str, list[str], float]:
    """Kill an app with SIGKILL at a random time of a training; nothing may outlive it."""
    command = [sys.executable, "-m", "scripts.endurance.app_at_work", str(home)]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    with said.open("wb") as file:
        app = subprocess.Popen(command, cwd=CHECKOUT, stdout=file, stderr=file, env=environment)
    deadline = time.monotonic() + BEGIN_S
    while not (home / "clicked").exists() and app.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    wait_s = rng.uniform(0, 5)
    time.sleep(wait_s)
    app.kill()
    if app.wait() != -signal.SIGKILL:
        return "", [f"the app ended by itself: {said.read_text(errors='replace')[-400:]}"], 0.0
    end = reap_within(GONE_S)
    wrong = [f"left behind: {end.left}"] if end.left else []
    wrong += list_all(home, said)
    for log in HomePaths(home).runs.glob("*/train_log.jsonl"):
        if log.stat().st_size:
            wrong += [f"log: {text}" for text in check_log(log).errors]
    return f"KILL {wait_s:.2f} s after the click", wrong, end.seconds - end.queued_s


def _begun(home: Path) -> RunPaths:
    """Wait until the run of `home` has logged an update. Raises LabError when it does not."""
    deadline = time.monotonic() + BEGIN_S
    while time.monotonic() < deadline:
        for log in HomePaths(home).runs.glob("*/train_log.jsonl"):
            if b'"update"' in log.read_bytes():
                return RunPaths(log.parent)
        time.sleep(0.02)
    raise LabError(f"{home}: no update within {BEGIN_S:g} s")
