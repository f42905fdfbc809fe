"""failures/<trace_id>/: enough to see and repeat what went wrong."""

from __future__ import annotations

import io
import json
import shutil
import traceback
from pathlib import Path

import numpy as np

from trainer_core.protocol.paths import RunPaths
from trainer_core.runs import durable
from trainer_core.train.checkpoint import png_bytes
from trainer_core.train.measures import percentiles
from trainer_core.train.update import ActorLearner

CONSOLES = 16


def write_receipt(
    paths: RunPaths, trace_id: str, trainer: ActorLearner, error: BaseException
) -> Path:
    """Last pictures (NPY, PNG), last actions, distances, configuration and the traceback.

    Raises OSError; half a receipt is not left.
    """
    folder = paths.failures / trace_id
    partial = folder.with_name(f".{trace_id}.tmp")
    rollout = trainer.rollout
    pictures = rollout.obs[-8:, :CONSOLES, -1].cpu().numpy()
    low, middle, high = percentiles(rollout.dist).tolist()
    told = {
        "trace_id": trace_id,
        "error": f"{type(error).__name__}: {error}",
        "traceback": traceback.format_exception(error),
        "update": trainer.update,
        "env_steps": trainer.env_steps,
        "opt_steps": trainer.opt_steps,
        "dist": {"p10": low, "p50": middle, "p90": high},
        "config": trainer.config.to_dict(),
    }
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        contents = {
            "last_frames.npy": _npy(pictures),
            "last_actions.npy": _npy(rollout.actions[:, :CONSOLES].cpu().numpy()),
            "last_frames.png": png_bytes(np.concatenate(list(pictures[-1]), axis=1)),
            "receipt.json": json.dumps(told, indent=2, default=str).encode(),
        }
        for name, data in contents.items():
            durable.write_file(partial / name, data)
        shutil.rmtree(folder, ignore_errors=True)
        durable.rename(partial, folder)
    except OSError:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return folder


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()
