"""Worker that runs one unmodified CORL script.

The script runs as `__main__` in this process. A run can be saved, paused or ended when the script logs, once per
gradient step; its trainer is read from its own frame.
"""

from __future__ import annotations

import math
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trainer_core.host.run import Host
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.lab.datasets import DatasetCache
from trainer_core.lab.trust import require_trust
from trainer_core.runners.corl import shims
from trainer_core.runners.corl.flags import SCRIPTS, arguments, epoch_of
from trainer_core.runners.corl.runner import CorlConfig, check_spaces
from trainer_core.runners.guest.checkout import checkout_commit
from trainer_core.runners.guest.trainee import GuestTrainee
from trainer_core.wire.environment import tell_libraries
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.metric_names import PHASE

MODEL = "model.pt"
"""Name of our checkpoint file, whose content is the script's own checkpoint."""
CANONICAL = {
    "actor_loss": "policy_loss",
    "policy_loss": "policy_loss",
    "train_loss": "policy_loss",
    "value_loss": "value_loss",
    "critic_loss": "value_loss",
    "learning_rate": "learning_rate",
    "ReBRAC/actor_loss": "policy_loss",
    "ReBRAC/critic_loss": "value_loss",
}
"""Fields of our update records by CORL's metric name; every metric is kept in `metrics` as well."""


class CorlTrainee(GuestTrainee):
    """Trainee that runs one script, from its arguments to the last checkpoint."""

    file, unpickles, counts_steps = MODEL, True, True

    def __init__(self, host: Host, config: CorlConfig) -> None:
        super().__init__(host, config)
        host.intervals.validate = 0  # the script validates
        self.policy = config.algo
        self.flags = SCRIPTS[config.algo]
        self.steps = self.recorded = 0
        self.phase = 0.0
        self.metrics: dict[str, float] = {}
        self.names: dict[str, Any] = {}
        """Local variables of the script's function `train` or `main` by name."""
        self.module: Any = None
        """Module `__main__` of the script, kept since its name is restored when the script ends."""
        cache = DatasetCache(host.home)
        found = cache.find(config.data, config.data_sha256)
        check_spaces(found, config.environment)
        self.dataset = cache.keep(found, tell=lambda share: host.tell_state("starting", "copying the dataset", share))
        self.offline_dataset = self.dataset.label
        self.offline = shims.Offline(self.dataset, config.environment)
        seen, acted = self.offline.space
        self.obs_shape, self.num_actions = (1, 1, seen.shape[0]), acted.shape[0]
        self.versions = {
            "dataset_sha256": self.dataset.sha256,
            "dataset": self.dataset.words,
            "corl": _version(config.script),
        }

    def make_validator(self) -> None:
        return None

    def train(self) -> None:
        """Run the script to its end. Raises RunEnded when a limit or a person ends it."""
        config = self.config
        print(f"learning from {self.dataset.words} ({self.dataset.sha256})", flush=True)
        shims.install(self.offline, self.log)
        sys.argv = [
            str(config.script),
            *arguments(
                config.algo,
                environment=self.offline.name,
                device=config.device,
                seed=config.seed,
                steps=config.total_env_steps,
                online_steps=config.online_steps,
                eval_every=config.eval_every,
                episodes=config.eval_episodes,
                load=self._donor(),
                target_return=self.offline.best,
                more=config.arguments,
            ),
        ]
        try:
            runpy.run_path(str(config.script), run_name="__main__")
        except SystemExit as end:
            raise ConfigError(f"{config.script.name} refused its arguments, see worker.log") from end
        self._flush()

    def _donor(self) -> str:
        """Return the path of the weights file that a warm start loads, or "" for none.

        Raises CheckpointError for a file that is damaged or not trusted.
        """
        if not self.config.warm_start:
            return ""
        folder = Path(self.config.warm_start)
        layout.verify(folder, (MODEL,))
        require_trust(folder / MODEL, "CORL")
        if self.config.algo.endswith(("cql", "cal_ql")):
            # Its checkpoints hold objects of its own classes; the file's hash was checked against its manifest.
            tell_libraries(TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD="1")
        return str(folder / MODEL)

    # -- what the script calls ------------------------------------------------------------------

    def log(self, values: dict[str, Any], step: int | None) -> None:
        """Receive what the script passes to `wandb.log`, after each gradient step and after an evaluation.

        After a gradient step the run may be saved, paused or ended.
        """
        numbers = {name: float(np.mean(value)) for name, value in values.items()}
        is_evaluation = any("score" in name or "eval" in name for name in numbers)
        if self.flags.online_steps and not is_evaluation:
            self._turn_online("online_iter" in numbers)
        self.metrics |= {name: value for name, value in numbers.items() if math.isfinite(value)}
        if is_evaluation:
            self._flush()
            return
        self.names, self.module = _frame_of_script(), sys.modules["__main__"]
        self.steps = self.steps + self._steps_per_log() if step is None else step + 1 - self.flags.first_step
        self.host.tick(self.steps)
        if self.steps - self.recorded >= self.config.log_every:
            self._flush()
        self.host.boundary(self.steps)

    def _turn_online(self, is_online: bool) -> None:
        """Keep what the offline phase reached, in the log and as a checkpoint, at the first step of the online one."""
        if is_online and not self.phase and self.names:
            self._flush()
            self.host.save("periodic")
        self.phase = float(is_online)

    def _steps_per_log(self) -> int:
        return self.flags.steps_per_log or epoch_of(self.config.total_env_steps, self.config.eval_every)

    def _flush(self) -> None:
        if not self.metrics:
            return
        found, self.metrics, self.recorded = self.metrics, {}, self.steps
        if self.flags.online_steps:
            found[PHASE] = self.phase
        self.host.record(self.steps, found, CANONICAL)

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        trainer = self.names.get(self.flags.trainer)
        if trainer is None:
            raise ConfigError(f"{self.config.script}: it has no {self.flags.trainer!r}")
        state = shims.plain_tensors(trainer) if self.config.algo == "rebrac" else trainer.state_dict()
        if self.config.algo == "dt":
            data = self.names["dataset"]
            state = {"model_state": state, "state_mean": data.state_mean, "state_std": data.state_std}
        # cql.py saves objects of its own classes, which pickle looks up in `__main__`.
        ours, sys.modules["__main__"] = sys.modules["__main__"], self.module
        try:
            torch.save(state, folder / MODEL)
        finally:
            sys.modules["__main__"] = ours


def _frame_of_script() -> dict[str, Any]:
    """Return the local variables of the script's function `train` or `main`, found on the call stack."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in ("train", "main") and frame.f_globals.get("__name__") == "__main__":
            return dict(frame.f_locals)
        frame = frame.f_back
    return {}


def _version(script: Path) -> str:
    """Return the commit of the checkout, for the meta record, or ""."""
    root = next((up for up in script.parents if (up / ".git").exists()), script.parent)
    return checkout_commit(root)


def make_trainee(host: Host) -> CorlTrainee:
    config = host.spec.configure(CorlConfig)
    config.check()
    if host.writer.seq:
        raise ConfigError("CORL's scripts cannot go on with a run: warm start a new one")
    return CorlTrainee(host, config)
