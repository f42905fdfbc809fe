"""The validator accepts every log that the lab can write: runs that are killed, resumed, cut short.

A small model of the training loop writes through the real RunWriter. What it knows of the loop is
stated anew: the order of records in an update, what a checkpoint remembers, what a kill leaves.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.made_checkpoints import make_checkpoint
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.import_run import import_checkpoint
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire import records

SHA = "ab" * 32


class Killed(Exception):
    """The process ends here, as by SIGKILL."""


@dataclass
class Saved:
    """What a checkpoint folder remembers."""

    update: int
    opt_steps: int
    wall: float
    presses: list[int]
    """Sums since the last record, which the resumed process goes on adding to."""


class Model:
    """One run directory and the processes that train in it, one after the other."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.paths, self.rng = RunPaths(folder), rng
        self.envs, self.steps = rng.choice([1, 4, 16]), rng.choice([1, 8])
        self.world = rng.choice([1, 1, 2])
        self.log_every = rng.choice([1, 1, 2, 3, 5])
        self.eval_every, self.save_every = rng.choice([0, 1, 4]), rng.choice([0, 1, 2, 3])
        self.disk: dict[int, Saved] = {}
        """Checkpoint folders that were renamed into place, announced or not."""
        self.kill_in = 0

    @property
    def batch(self) -> int:
        return self.envs * self.steps * self.world

    def live(self, updates: int, kill_in: int, error_at: int, reason: str) -> None:
        """A process: begins or resumes, makes up to `updates`, dies after `kill_in` actions."""
        self.kill_in = kill_in
        self.writer = RunWriter(self.paths)
        try:
            self._begin()
            for _ in range(updates):
                self._update()
                if self.now.update == error_at:
                    self._error(self.now.update * self.batch)
                    return
            if self.saved_at != self.now.update:
                self._save(reason)
        except Killed:
            self._tear()
        finally:
            self.writer.close()

    def fail_to_begin(self) -> None:
        """A process that ends before it can resume: its trainer stands at 0."""
        self.writer = RunWriter(self.paths)
        if self.writer.seq:
            self._error(0)
        self.writer.close()

    # -- the loop -----------------------------------------------------------------------------

    def _begin(self) -> None:
        self.now, self.saved_at = Saved(0, 0, 0.0, [0] * 7), -1
        self.recorded_wall = 0.0
        if not self.writer.seq:
            config = {"num_envs": self.envs, "num_steps": self.steps, "seed": 1, "log_every": self.log_every}
            self._append(
                records.MetaRecord,
                runner="native",
                task="t",
                algo="ppo",
                config=config,
                argv=["x"],
                codec="c",
                device="cpu",
                num_envs=self.envs * self.world,
                seed=1,
                versions={"python": "3"},
            )
            return
        found = max(self.disk) if self.disk else None
        if found is not None:
            saved = self.disk[found]
            self.now = Saved(saved.update, saved.opt_steps, saved.wall, [*saved.presses])
            self.saved_at = saved.update
        self._append(
            records.ResumeRecord,
            env_steps=self.now.update * self.batch,
            update=self.now.update,
            checkpoint="" if found is None else f"checkpoints/{found:012d}",
            previous_seq=self.writer.seq - 1,
        )

    def _update(self) -> None:
        now, rng = self.now, self.rng
        self._act()
        now.update, now.opt_steps = now.update + 1, now.opt_steps + rng.randint(1, 9)
        now.wall += rng.random()
        for _ in range(self.batch):
            now.presses[rng.randrange(7)] += 1
        if now.update % self.log_every == 0:
            self._record()
        best = False
        if self.eval_every and now.update % self.eval_every == 0:
            self._validate()
            best = rng.random() < 0.3
        if best or (self.save_every and now.update % self.save_every == 0):
            self._save("best" if best else "periodic")

    def _record(self) -> None:
        now, presses = self.now, self.now.presses
        steps, ended = sum(presses), self.rng.randint(0, sum(presses))
        won = self.rng.randint(0, ended)
        now.presses = [0] * 7
        self._append(
            records.UpdateRecord, update=now.update, env_steps=now.update * self.batch, opt_steps=now.opt_steps,
            wall_time_s=now.wall, sps=1.0, updates_per_s=1.0, reward_mean=0.0,
            done_rate=won / steps, trunc_rate=(ended - won) / steps, reset_rate=ended / steps,
            success_rate=won / ended if ended else 0.0, episodes=ended, dist_p10=0.0,
            dist_p50=0.5, dist_p90=1.0, entropy_mean=1.9, value_mean=0.0, value_std=0.0,
            action_hist=presses, grad_norm=0.0, learning_rate=0.1,
            time_split=dict.fromkeys(("emulate", "observe", "forward", "learn", "log"), 0.0),
        )  # fmt: skip

    def _validate(self) -> None:
        at, rng = self.now.update * self.batch, self.rng
        for mode, n in (("greedy", 1), ("sample", 3)):
            wins = [rng.randint(0, n) for _ in range(5)]
            share = sum(wins) / (5 * n)
            if mode == "greedy":
                self._append(
                    records.EpisodeRecord,
                    env_steps=at,
                    start_index=3,
                    mode=mode,
                    success=False,
                    steps=2,
                    episode_return=0.0,
                    actions=[0, 6],
                )
            self._append(
                records.EvalRecord,
                env_steps=at,
                task="t",
                mode=mode,
                episodes=5 * n,
                distinct_starts=5,
                success_rate=share,
                pass_at_1=share,
                pass_at_n=sum(win > 0 for win in wins) / 5,
                n=n,
                median_steps_to_goal=7.0 if share else 0.0,
                mean_return=-1.0,
                wall_time_s=0.1,
            )

    def _save(self, reason: str) -> None:
        """Renamed into place first, announced after it."""
        now = self.now
        self._act()
        self.disk[now.update * self.batch] = Saved(now.update, now.opt_steps, now.wall, [*now.presses])
        at = now.update * self.batch
        self._append(
            records.CheckpointRecord,
            env_steps=at,
            path=f"checkpoints/{at:012d}",
            sha256=SHA,
            size_bytes=1,
            success_rate=0.0,
            reason=reason,
        )
        self.saved_at = now.update

    def _error(self, env_steps: int) -> None:
        self.writer.append(records.ErrorRecord, kind="DiskError", message="full", env_steps=env_steps)

    def _append(self, kind: type[records.Record], **fields: Any) -> None:
        self._act()
        self.writer.append(kind, trace_id=records.trace_of(self.paths.run_id, self.now.update), **fields)

    def _act(self) -> None:
        self.kill_in -= 1
        if self.kill_in == 0:
            raise Killed

    def _tear(self) -> None:
        """The line that was being written is there in part, or not at all."""
        with self.paths.train_log.open("ab") as log:
            log.write(b'{"type":"update","env_st'[: self.rng.randint(0, 24)])


def lived(folder: Path, seed: int) -> Model:
    rng = random.Random(seed)
    model = Model(folder, rng)
    for _ in range(rng.randint(1, 6)):
        if rng.random() < 0.15:
            model.fail_to_begin()
        kill_in = rng.randint(1, 40) if rng.random() < 0.7 else 0
        error_at = rng.randint(1, 12) if rng.random() < 0.2 else 0
        model.live(rng.randint(0, 12), kill_in, error_at, rng.choice(["final", "stop"]))
    return model


@settings(max_examples=int(os.environ.get("DMGLAB_FUZZ_EXAMPLES", "150")), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_log_that_the_loop_can_write_is_valid(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("run")
    model = lived(folder, seed)
    if model.paths.train_log.exists():
        report = check_log(model.paths.train_log)
        if report.records:  # a kill before the meta record leaves an empty log
            assert report.errors == []


def test_the_model_meets_what_it_is_there_for(tmp_path: Path) -> None:
    """Without these the property could hold of runs that are never disturbed."""
    met: set[str] = set()
    for seed in range(120):
        model = lived(tmp_path / str(seed), seed)
        lines = [json.loads(line) for line in _whole_lines(model.paths.train_log)]
        announced: set[str] = set()
        for before, record in itertools.pairwise(lines):
            if record["type"] == "checkpoint":
                announced.add(record["path"])
            if record["type"] == "resume":
                met.add(f"resume after {before['type']}")
                if record["checkpoint"] and record["checkpoint"] not in announced:
                    met.add("unannounced")
                if record["update"] % model.log_every:
                    met.add("between records")
    ends = ("meta", "resume", "error", "episode", "checkpoint")
    assert {"unannounced", "between records", *(f"resume after {end}" for end in ends)} <= met


def test_the_log_of_an_imported_checkpoint_is_valid_and_can_go_on(tmp_path: Path) -> None:
    """Its meta record knows no command line, and sums that began elsewhere may not be whole."""
    record, _ = import_checkpoint(make_checkpoint(tmp_path / "from"), HomePaths(tmp_path))
    paths = HomePaths(tmp_path).run(record.run_id)
    assert check_log(paths.train_log).errors == []
    writer = RunWriter(paths)
    steps, path = 4096, "checkpoints/000000004096"
    writer.append(records.ResumeRecord, env_steps=steps, update=4, checkpoint=path, previous_seq=1)
    writer.close()
    assert check_log(paths.train_log).errors == []


def _whole_lines(log: Path) -> list[bytes]:
    return log.read_bytes().split(b"\n")[:-1] if log.exists() else []
