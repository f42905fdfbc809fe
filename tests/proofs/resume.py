"""`python -m tests.proofs.resume --kills 20`: kill -9 at random instants, resume, compare.

One run is left alone. Each other run, with the same seed, is killed at a random instant and
resumed: its next update records must equal the first run's bit for bit (clocks apart), and every
line that was whole before the kill must still be there. docs/notebook/resume.md has figures.
"""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from trainer_core.lab.checkpoint_manifest import list_checkpoints, read_meta
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.log_check import check_log
from trainer_core.wire.errors import LabError

CLOCKS = ("time", "wall_time_s", "sps", "updates_per_s", "time_split", "machine", "seq", "run_id", "trace_id")
COMPARED = 3
LIMIT_S = 600


@dataclass(frozen=True)
class Options:
    task: str = "tiny_goal"
    """Task id."""
    kills: int = 20
    """Runs to kill."""
    num_envs: int = 64
    num_steps: int = 16
    updates: int = 16
    """Length of the run that is left alone."""
    checkpoint_every: int = 3
    eval_every: int = 7
    validate_on: Literal["device", "cpu"] = "device"
    """cpu: by a process beside the learner, whose best checkpoints come late."""
    seed: int = 1
    """Of the instants; the runs all train with seed 1."""
    home: Path | None = None
    """Where the runs go; default a temporary folder that is removed."""

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps


@dataclass(frozen=True)
class Verdict:
    """One kill. `resumed_from` is an update, 0 when no checkpoint had been announced."""

    instant_s: float
    killed_at_update: int
    resumed_from: int
    equal_records: int
    differing: tuple[str, ...]
    lost_lines: int
    log_errors: tuple[str, ...]

    @property
    def holds(self) -> bool:
        wrong = self.differing or self.lost_lines or self.log_errors
        return self.equal_records >= COMPARED and not wrong


def main() -> int:
    options = tyro.cli(Options, prog="python -m tests.proofs.resume")
    folder = Path(options.home or tempfile.mkdtemp(prefix="resume-proof-"))
    try:
        result = prove(options, folder)
    except LabError as error:
        result = {"ok": False, "error": str(error)}
    finally:
        if options.home is None:
            shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(result))
    return 0 if result["ok"] else 1


def prove(options: Options, folder: Path) -> dict[str, Any]:
    """Everything; returns the object that is printed."""
    whole, seconds = left_alone(options, folder / "whole")
    rng = random.Random(options.seed)
    verdicts: list[Verdict] = []
    while len(verdicts) < options.kills:
        home = folder / f"kill-{len(verdicts):02}"
        verdict = kill_and_resume(options, home, rng.uniform(0, seconds), whole)
        shutil.rmtree(home, ignore_errors=True)
        if verdict is None:
            continue
        verdicts.append(verdict)
        print(f"kill {len(verdicts)}: {dataclasses.asdict(verdict)}", file=sys.stderr, flush=True)
    held = sum(verdict.holds for verdict in verdicts)
    return {
        "ok": held == len(verdicts),
        "task": options.task,
        "num_envs": options.num_envs,
        "validate_on": options.validate_on,
        "kills": len(verdicts),
        "equal": held,
        "records_compared": sum(verdict.equal_records for verdict in verdicts),
        "before_the_first_checkpoint": sum(not verdict.resumed_from for verdict in verdicts),
        "run_seconds": round(seconds, 1),
        "failures": [dataclasses.asdict(v) for v in verdicts if not v.holds],
    }


def left_alone(options: Options, home: Path) -> tuple[dict[int, dict[str, Any]], float]:
    """(update records by number, seconds from the first line of the log to the end)."""
    worker = start(options, home)
    log = wait_for_log(worker, home)
    began = time.monotonic()
    if worker.wait(LIMIT_S):
        raise LabError(f"{home}: the run that was left alone failed with {worker.returncode}")
    return {record["update"]: record for record in updates(log)}, time.monotonic() - began


def kill_and_resume(options: Options, home: Path, instant_s: float, whole: dict[int, dict[str, Any]]) -> Verdict | None:
    """None when the run was nearly over at its instant."""
    worker = start(options, home)
    log = wait_for_log(worker, home)
    time.sleep(instant_s)
    worker.kill()
    if worker.wait() == 0:
        return None
    before = log.read_bytes()
    whole_lines = before[: before.rfind(b"\n") + 1]
    found = list_checkpoints(RunPaths(log.parent))
    resumed_from = read_meta(found[-1]).update if found else 0
    last = resumed_from + COMPARED
    if last > options.updates:
        return None  # the run that was left alone has nothing to compare with
    total = str(last * options.batch_size)
    resumed = command("resume", str(log.parent), "--total-env-steps", total, home)
    done = subprocess.run(resumed, capture_output=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise LabError(f"{home}: resume failed: {done.stdout.decode().strip()}")
    after = log.read_bytes()
    lost = 0 if after.startswith(whole_lines) else whole_lines.count(b"\n")
    again = updates_of(after[len(whole_lines) :])
    differing = [
        f"update {record['update']}: {', '.join(names)}"
        for record in again
        if (names := differences(record, whole[record["update"]]))
    ]
    return Verdict(
        instant_s=round(instant_s, 3),
        killed_at_update=max((r["update"] for r in updates_of(whole_lines)), default=0),
        resumed_from=resumed_from,
        equal_records=len(again) - len(differing),
        differing=tuple(differing),
        lost_lines=lost,
        log_errors=tuple(check_log(log).errors),
    )


def start(options: Options, home: Path) -> subprocess.Popen[bytes]:
    """A run of its own home, its checkpoints and validations between the updates."""
    options_of_run = {
        "--task": options.task,
        "--num-envs": options.num_envs,
        "--num-steps": options.num_steps,
        "--checkpoint-every": options.checkpoint_every,
        "--eval-every": options.eval_every,
        "--eval-episodes": 16,
        "--validate-on": options.validate_on,
        "--threads": 1,
        "--total-env-steps": options.updates * options.batch_size,
    }
    words = [str(word) for pair in options_of_run.items() for word in pair]
    return subprocess.Popen(command("train", *words, home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def command(verb: str, *words: str | Path) -> list[str]:
    """The last word is the home."""
    *rest, home = map(str, words)
    return [sys.executable, "-m", "trainer_core.cli.main", verb, *rest, "--home", home]


def wait_for_log(worker: subprocess.Popen[bytes], home: Path) -> Path:
    """The log once its first line is there; before that there is nothing to resume."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        for log in HomePaths(home).runs.glob("*/train_log.jsonl"):
            if b"\n" in log.read_bytes():
                return log
        if worker.poll() is not None:
            raise LabError(f"{home}: the run ended with {worker.returncode} before its first line")
        time.sleep(0.02)
    worker.kill()
    raise LabError(f"{home}: no log after {LIMIT_S} s")


def updates(log: Path) -> list[dict[str, Any]]:
    return updates_of(log.read_bytes())


def updates_of(lines: bytes) -> list[dict[str, Any]]:
    """Update records among whole lines, without clocks and names."""
    records = [json.loads(line) for line in lines.splitlines()]
    return [
        {name: value for name, value in record.items() if name not in CLOCKS}
        for record in records
        if record["type"] == "update"
    ]


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Names of the fields that are not the same to the last bit (JSON keeps every bit)."""
    return [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]


if __name__ == "__main__":
    sys.exit(main())
