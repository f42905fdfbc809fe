"""failures/<trace_id>/: enough to see and repeat what went wrong."""

from __future__ import annotations

import traceback
from pathlib import Path

import numpy as np

from trainer_core.checkpoint import save_png
from trainer_core.loop import Trainer
from trainer_core.metrics import percentiles
from trainer_core.protocol.paths import RunPaths
from trainer_core.run_dir import write_json

MACHINES = 16


def write_receipt(paths: RunPaths, trace_id: str, trainer: Trainer, error: BaseException) -> Path:
    """Last pictures (NPY, PNG), last actions, distances, configuration and the traceback."""
    folder = paths.failures / trace_id
    folder.mkdir(parents=True, exist_ok=True)
    rollout = trainer.rollout
    pictures = rollout.obs[-8:, :MACHINES, -1].cpu().numpy()
    np.save(folder / "last_frames.npy", pictures)
    np.save(folder / "last_actions.npy", rollout.actions[:, :MACHINES].cpu().numpy())
    save_png(folder / "last_frames.png", np.concatenate(list(pictures[-1]), axis=1))
    low, middle, high = percentiles(rollout.dist).tolist()
    write_json(
        folder / "receipt.json",
        {
            "trace_id": trace_id,
            "error": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exception(error),
            "update": trainer.update,
            "env_steps": trainer.env_steps,
            "opt_steps": trainer.opt_steps,
            "dist": {"p10": low, "p50": middle, "p90": high},
            "config": trainer.config.to_dict(),
        },
    )
    return folder
