"""Worker in which d3rlpy learns from recorded play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trainer_core.host import checkpoint as ckpt
from trainer_core.host.progress import RunProgress
from trainer_core.host.run import Host
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.lab.datasets import NAMED
from trainer_core.runners.d3rlpy import demonstrations
from trainer_core.runners.d3rlpy import model as learner
from trainer_core.runners.d3rlpy.model import d3rlpy
from trainer_core.runners.d3rlpy.runner import D3rlpyConfig
from trainer_core.runners.guest.trainee import GuestTrainee
from trainer_core.wire.buttons import ACTIONS

FOREVER = 10**9
"""Number of steps passed to d3rlpy, which requires one; the run's own limits end it earlier."""
CANONICAL = {"loss": "policy_loss"}
"""Fields of our update records by d3rlpy's metric name; every metric is kept in `metrics` as well."""
STATE = "run.pt"
DATASET = "minari"
"""Folder in the run for the dataset made from recordings."""


class D3rlpyTrainee(GuestTrainee):
    """Trainee that trains one of d3rlpy's algorithms, or our IQL, on a dataset of recordings."""

    policy, file, unpickles = "small", learner.MODEL, True

    def __init__(self, host: Host, config: D3rlpyConfig) -> None:
        super().__init__(host, config)
        folder, sha256 = demonstrations.make_dataset(
            config.data,
            config.task,
            host.home,
            host.paths.root / DATASET,
            limit=config.demonstrations,
            sha256=config.data_sha256,
        )
        episodes = demonstrations.read_minari(folder, config.demonstrations)
        steps = sum(len(episode.actions) for episode in episodes)
        print(f"learning from {len(episodes)} episodes, {steps} steps: {folder} ({sha256})")
        # Before the generators are seeded: d3rlpy draws from them while it inspects a dataset.
        self.dataset = learner.dataset_of(episodes, config.stack_k)
        d3rlpy.seed(config.seed)
        self.thumbnail = episodes[0].pictures[0]
        self.obs_shape = (config.stack_k, *episodes[0].pictures.shape[1:])
        self.num_actions = len(ACTIONS)
        self.versions = {"d3rlpy": d3rlpy.__version__, "dataset_sha256": sha256}
        self.offline_dataset = f"{folder.name}@{sha256[:NAMED]}"
        self.algo: Any = None

    def begin(self) -> None:
        self.algo = learner.make_model(self.config)
        if self.config.warm_start:
            layout.verify(Path(self.config.warm_start), (learner.MODEL,))
            learner.load_weights(self.algo, Path(self.config.warm_start))

    def restore(self, folder: Path) -> RunProgress:
        """Load the model, Adam's state included."""
        self.algo = learner.open_model(folder, self.config.device)
        state = torch.load(folder / STATE, weights_only=True)
        learner.load_loop_state(self.algo, state)
        return RunProgress.from_state(state["progress"])

    def logits(self, shades: Tensor) -> Tensor:
        return learner.action_logits(self.algo, shades)

    def train(self) -> None:
        """Run d3rlpy's own loop; the run can be interrupted between two gradient steps."""
        host, algo = self.host, self.algo
        host.boundary(algo.grad_step)
        fitting = algo.fitter(
            self.dataset,
            n_steps=FOREVER,
            n_steps_per_epoch=self.config.log_every,
            show_progress=False,
            save_interval=FOREVER,
            callback=self._after_step,
            logger_adapter=_ToRecords(host, algo.grad_step),
        )
        for _ in fitting:
            host.boundary(algo.grad_step)

    def _after_step(self, algo: Any, epoch: int, step: int) -> None:
        if self.host.control.stop_reason:
            self.host.boundary(algo.grad_step)

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        self.algo.save(str(folder / learner.MODEL))
        torch.save(learner.loop_state(self.algo) | {"progress": progress}, folder / STATE)
        (folder / layout.THUMBNAIL).write_bytes(ckpt.png_bytes(self.thumbnail))


def make_trainee(host: Host) -> D3rlpyTrainee:
    config = host.spec.configure(D3rlpyConfig)
    host.find_task()
    return D3rlpyTrainee(host, config)


class _ToRecords:
    """Logger for d3rlpy that writes to the run's log under d3rlpy's metric names; it is its own factory."""

    def __init__(self, host: Host, before: int) -> None:
        self._host, self._before = host, before
        self._metrics: dict[str, float] = {}

    def create(self, algo: Any, experiment_name: str, n_steps_per_epoch: int) -> _ToRecords:
        return self

    def write_params(self, params: dict[str, Any]) -> None:
        """Do nothing: config.json has the parameters."""

    def before_write_metric(self, epoch: int, step: int) -> None:
        self._metrics = {}

    def write_metric(self, epoch: int, step: int, name: str, value: float) -> None:
        self._metrics[name] = float(value)

    def after_write_metric(self, epoch: int, step: int) -> None:
        self._host.record(self._before + step, self._metrics, CANONICAL)
        self._host.tick(self._before + step)

    def save_model(self, epoch: int, algo: Any) -> None:
        """Do nothing: the host writes checkpoints."""

    def watch_model(self, epoch: int, step: int) -> None:
        """Do nothing: gradients are not logged."""

    def close(self) -> None:
        """Do nothing: the host owns the log."""
