"""d3rlpy learns from recorded play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from trainer_core.host import checkpoint as ckpt
from trainer_core.host.progress import RunProgress
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.d3rlpy import demonstrations
from trainer_core.runners.d3rlpy import model as learner
from trainer_core.runners.d3rlpy.model import d3rlpy
from trainer_core.runners.d3rlpy.runner import D3rlpyConfig
from trainer_core.runners.guest.run import GuestRun, Intervals, Model

FOREVER = 10**9
"""d3rlpy asks for an end; ours comes from the run's limits."""
CANONICAL = {"loss": "policy_loss"}
"""d3rlpy's names that our records have a field for; every name is kept in `metrics` as well."""
STATE = "run.pt"
DATASET = "minari"
"""Folder of the run with the dataset that its recordings became."""


def train(run: GuestRun) -> None:
    config = run.spec.configure(D3rlpyConfig)
    run.find_task()
    torch.set_num_threads(config.threads or run.threads)
    run.intervals = Intervals(
        config.eval_every, config.checkpoint_every, config.keep_checkpoints, config.eval_episodes
    )
    folder, sha256 = demonstrations.make_dataset(
        config.data, config.task, run.home, run.paths.root / DATASET,
        limit=config.demonstrations, sha256=config.data_sha256,
    )  # fmt: skip
    episodes = demonstrations.read_minari(folder, config.demonstrations)
    steps = sum(len(episode.actions) for episode in episodes)
    print(f"learning from {len(episodes)} episodes, {steps} steps: {folder} ({sha256})")
    # Before the generators are set: d3rlpy draws from them while it looks at a dataset.
    dataset = learner.dataset_of(episodes, config.stack_k)
    d3rlpy.seed(config.seed)
    obs_shape = (config.stack_k, *episodes[0].pictures.shape[1:])
    if run.writer.seq:
        algo = _resumed(run, obs_shape)
    else:
        algo = learner.make_model(config)
        if config.warm_start:
            layout.verify(Path(config.warm_start), (learner.MODEL,))
            learner.load_weights(algo, Path(config.warm_start))
        run.begin(
            obs_shape, algo.impl.action_size, 1, d3rlpy=d3rlpy.__version__, dataset_sha256=sha256
        )
    _learn(run, algo, dataset, _model(run, algo, episodes[0].pictures[0]), config.log_every)


def _learn(run: GuestRun, algo: Any, dataset: Any, model: Model, log_every: int) -> None:
    """d3rlpy's own loop; between two of its epochs nothing is half done."""
    before = algo.grad_step
    run.boundary(before, model)
    fitting = algo.fitter(
        dataset, n_steps=FOREVER, n_steps_per_epoch=log_every, show_progress=False,
        save_interval=FOREVER, logger_adapter=_ToRecords(run, before),
    )  # fmt: skip
    for _ in fitting:
        run.boundary(algo.grad_step, model)


def _model(run: GuestRun, algo: Any, thumbnail: np.ndarray) -> Model:
    def fill(folder: Path) -> None:
        algo.save(str(folder / learner.MODEL))
        state = learner.loop_state(algo) | {"progress": run.progress.state_dict(run.wall_s)}
        torch.save(state, folder / STATE)
        (folder / layout.THUMBNAIL).write_bytes(ckpt.png_bytes(thumbnail))

    return Model(
        policy="small", file=learner.MODEL, fill=fill, unpickles=True,
        logits=lambda shades: learner.action_logits(algo, shades),
    )  # fmt: skip


def _resumed(run: GuestRun, obs_shape: tuple[int, int, int]) -> Any:
    """The model of the newest whole checkpoint, Adam included. Raises CheckpointError."""
    folder, meta = run.newest_checkpoint()
    algo = learner.open_model(folder, run.spec.device)
    state = torch.load(folder / STATE, weights_only=True)
    learner.load_loop_state(algo, state)
    progress = RunProgress.from_state(state["progress"])
    run.resume(obs_shape, meta.num_actions, algo.grad_step, folder, progress)
    return algo


class _ToRecords:
    """d3rlpy's logger into the run's log, by d3rlpy's own names; it is its own factory."""

    def __init__(self, run: GuestRun, before: int) -> None:
        self._run, self._before = run, before
        self._metrics: dict[str, float] = {}

    def create(self, algo: Any, experiment_name: str, n_steps_per_epoch: int) -> _ToRecords:
        return self

    def write_params(self, params: dict[str, Any]) -> None:
        """config.json has them."""

    def before_write_metric(self, epoch: int, step: int) -> None:
        self._metrics = {}

    def write_metric(self, epoch: int, step: int, name: str, value: float) -> None:
        self._metrics[name] = float(value)

    def after_write_metric(self, epoch: int, step: int) -> None:
        flat = {CANONICAL[k]: v for k, v in self._metrics.items() if k in CANONICAL}
        self._run.record(self._before + step, self._metrics, **flat)
        self._run.tick(self._before + step)

    def save_model(self, epoch: int, algo: Any) -> None:
        """Checkpoints are ours to write."""

    def watch_model(self, epoch: int, step: int) -> None:
        """A file for each weight's gradient is not wanted."""

    def close(self) -> None:
        """The log is the run's."""
