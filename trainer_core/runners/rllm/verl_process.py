"""VERL as a child process of the run: reads its metrics and checkpoints, and ends it.

VERL saves on its own schedule and at no signal: a stop keeps the checkpoint of the last `save_freq`.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, Any

from trainer_core.host.persistence import vouch_for
from trainer_core.host.progress import RunProgress
from trainer_core.host.run import Host
from trainer_core.host.trainee import RunEnded
from trainer_core.lab.trust import require_trust, sha256_of
from trainer_core.runners.guest.checkout import checkout_commit
from trainer_core.runners.guest.trainee import GuestTrainee
from trainer_core.runners.rllm import verl
from trainer_core.runners.rllm.runner import RllmConfig, find_verl
from trainer_core.wire import records
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.run_record import RunState

POINTER = "verl.json"
"""Our checkpoint of a VERL run: the path of VERL's own, which may be many gigabytes."""
POLL_S, GRACE_S = 0.5, 4.0
FLAT = {
    "critic/score/mean": "reward_mean",
    "actor/pg_loss": "policy_loss",
    "actor/entropy": "entropy_mean",
    "grad_norm": "grad_norm",
    "lr": "learning_rate",
    "actor/grad_norm": "grad_norm",
    "actor/lr": "learning_rate",
    "actor/ppo_kl": "approx_kl",
    "actor/pg_clipfrac": "clipfrac",
    "critic/vf_loss": "value_loss",
    "critic/vf_explained_var": "explained_variance",
}
"""Fields of our update records by VERL's metric name."""


def make_supervisor(host: Host, config: RllmConfig, model: Path, prefill: str) -> Supervisor:
    """Write VERL's input files and return the trainee whose `train` starts VERL. Raises ConfigError."""
    if not config.verl_python:
        raise ConfigError("no interpreter with VERL was named: give it as --verl-python")
    versions = find_verl(config)
    train, held_out = config.rows()
    held_out = held_out[: config.eval_episodes]
    verl.write_rows(host.paths.root / "rows", train, held_out, prefill, config.shaping)
    supervisor = Supervisor(host, config, len(held_out), verl.command(config, model, host.paths.root))
    supervisor.versions = {"verl": versions, "rllm": checkout_commit(config.source)}
    return supervisor


class Supervisor(GuestTrainee):
    """Trainee that runs VERL as a child process and reads its output files; VERL validates and saves by itself."""

    policy, file, needs = "verl", POINTER, (POINTER,)

    def __init__(self, host: Host, config: RllmConfig, questions: int, argv: list[str]) -> None:
        """Set up; `questions` is the number of held-out questions, `argv` starts VERL."""
        super().__init__(host, config)
        self.questions, self.argv = questions, argv
        self.num_envs = config.prompts * config.generations
        self.step, self.evaluated_at = 0, -1
        self.began = time.monotonic()

    def restore(self, folder: Path) -> RunProgress:
        """Return the run's progress; VERL resumes from its own last checkpoint when it starts.

        Raises CheckpointError if that checkpoint is not trusted.
        """
        if step := verl.saved_step(self.host.paths.root / "verl"):  # VERL's checkpoint unpickles
            require_trust(self.host.paths.root / "verl" / f"global_step_{step}", "VERL")
        self.step = int(folder.name)
        return RunProgress.from_state(json.loads((folder / POINTER).read_text())["progress"])

    def make_validator(self) -> None:
        return None

    def train(self) -> None:
        self.follow(self.argv)
        raise RunEnded(RunState.FINISHED, "")  # VERL has saved its last checkpoint

    def follow(self, argv: list[str]) -> None:
        """Start VERL and read its metrics until it ends. Raises RunEnded."""
        metrics = self.host.paths.root / verl.METRICS
        metrics.write_bytes(b"")  # VERL empties it as well; earlier lines are in our log
        env = child_environment(argv[0]) | verl.environment(self.config, self.host.paths.root)
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, cwd=self.host.paths.root, env=env)
        try:
            with metrics.open() as file:
                while process.poll() is None:
                    self._read(file)
                    self._obey()
                    time.sleep(POLL_S)
                self._read(file)
        finally:
            _end(process)
        if process.returncode:
            raise ConfigError(f"VERL ended with status {process.returncode}, see worker.log")

    def _read(self, file: IO[str]) -> None:
        while True:
            place = file.tell()
            line = file.readline()
            if not line.endswith("\n"):
                file.seek(place)  # VERL is still writing it
                break
            if (found := verl.parse_metrics(line)) is not None:
                self._record(*found)
        saved = verl.saved_step(self.host.paths.root / "verl")
        if saved > max(self.host.checkpoints.saved_env_steps, 0):
            self.host.counters.env_steps = saved
            self.host.save("periodic")
            self.host.counters.env_steps = self.step

    def _record(self, step: int, metrics: dict[str, float]) -> None:
        last = self.config.total_env_steps
        if last and step > last:  # this is the validation after the last update
            self._evaluated(metrics)
            return
        self.step = max(self.step, step)
        self.host.tick(self.step)
        self._evaluated(metrics)
        self.host.record(self.step, metrics, FLAT)

    def _evaluated(self, metrics: dict[str, float]) -> None:
        """Write an eval record if `metrics` contain results of a validation."""
        if verl.PASS_AT_1 not in metrics or self.evaluated_at == self.step:
            return
        self.evaluated_at = self.step
        share = metrics[verl.PASS_AT_1]
        n = self.config.rollouts
        self.host.progress.success = share
        # VERL does not report the lengths of right answers separately.
        tokens = max(metrics.get("response_length/mean", 1.0), 1.0) if share else 0.0
        fields: dict[str, Any] = {
            "env_steps": self.step,
            "task": self.config.task,
            "mode": "sample",
            "episodes": self.questions * n,
            "distinct_starts": self.questions,
            "success_rate": share,
            "pass_at_1": share,
            "pass_at_n": metrics.get(f"val/{self.config.task}/pass@{n}", share),
            "n": n,
            "median_steps_to_goal": tokens,
            "mean_return": share,
            "wall_time_s": 0.0,
        }
        self.host.writer.append(records.EvalRecord, **fields)

    def _obey(self) -> None:
        """Raise RunEnded on a stop, or on a limit that VERL does not know."""
        control, config = self.host.control, self.config
        if control.stop_reason:
            raise RunEnded(RunState.STOPPED, control.stop_reason)
        if config.seconds and time.monotonic() - self.began >= config.seconds:
            raise RunEnded(RunState.FINISHED, f"time limit of {config.seconds:g} s")
        success = self.host.progress.success
        if config.target_success and success >= config.target_success:
            raise RunEnded(RunState.FINISHED, f"validation reached {success:.3f}")

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        step = verl.saved_step(self.host.paths.root / "verl")
        pointer = {"path": f"verl/global_step_{step}", "step": step, "progress": progress}
        (folder / POINTER).write_text(json.dumps(pointer))
        vouch_for(sha256_of(self.host.paths.root / pointer["path"]))


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
