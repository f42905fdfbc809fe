"""Failure receipts, folders failures/<trace_id>/ in a run, with the data to inspect and repeat an error."""

from __future__ import annotations

import io
import json
import shutil
import traceback
from pathlib import Path

import numpy as np

from trainer_core.host.checkpoint import png_bytes
from trainer_core.lab import durable_files
from trainer_core.lab.paths import RunPaths
from trainer_core.learn.measures import percentiles
from trainer_core.learn.registry import Storage

CONSOLES = 16
STEPS = 32
"""Steps kept of the last rollout: 3 MB of pictures at most."""


def write_receipt(
    paths: RunPaths, trace_id: str, error: BaseException, told: dict[str, object], files: dict[str, bytes]
) -> Path:
    """Write a receipt folder: receipt.json with the error's traceback and the fields `told`, and `files` beside it.

    Returns the folder. Raises OSError; no partial receipt is left then.
    """
    folder = paths.failures / trace_id
    partial = folder.with_name(f".{trace_id}.tmp")
    told = {
        "trace_id": trace_id,
        "error": f"{type(error).__name__}: {error}",
        "traceback": traceback.format_exception(error),
        **told,
    }
    files = {**files, "receipt.json": json.dumps(told, indent=2, default=str).encode()}
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.parent.mkdir(exist_ok=True)  # without `parents`: never recreates a run folder that was moved away
        partial.mkdir()
        for name, data in files.items():
            durable_files.write_file(partial / name, data)
        shutil.rmtree(folder, ignore_errors=True)
        durable_files.rename(partial, folder)
    except OSError:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return folder


def rollout_evidence(rollout: Storage) -> tuple[dict[str, object], dict[str, bytes]]:
    """Return fields of receipt.json and files about our learner's last rollout: pictures (NPY, PNG), actions, steps."""
    pictures = rollout.obs[-8:, :CONSOLES, -1].cpu().numpy()
    wrong, steps = last_steps(rollout)
    low, middle, high = percentiles(rollout.dist).tolist()
    files = {
        "last_frames.npy": _npy(pictures),
        "last_actions.npy": _npy(rollout.actions[:, :CONSOLES].cpu().numpy()),
        "last_frames.png": png_bytes(np.concatenate(list(pictures[-1]), axis=1)),
        "last_steps.npz": steps,
    }
    return {"wrong": wrong, "dist": {"p10": low, "p50": middle, "p90": high}}, files


def last_steps(rollout: Storage) -> tuple[dict[str, object], bytes]:
    """Return the place of the first non-finite number in a rollout's last STEPS steps, and these steps as .npz.

    Keeps CONSOLES consoles, the faulty one first; without a fault the last step is named. Arrays are [steps, consoles];
    `pictures` u8[steps, consoles, 72, 80] holds the newest picture seen before each step.
    """
    kept = min(STEPS, rollout.num_steps)
    numbers = {name: _kept(rollout, name, kept) for name in ("rewards", "values", "logprobs", "dist")}
    step, env, what = kept - 1, 0, "no number of the rollout is to blame: the update failed"
    for name, found in numbers.items():
        broken = np.argwhere(~np.isfinite(found))
        if len(broken) and (what.startswith("no number") or broken[0][0] < step):
            step, env = (int(index) for index in broken[0])
            what = f"{name} is {found[step, env]}"
    envs = [env, *(other for other in range(rollout.obs.shape[1]) if other != env)][:CONSOLES]
    arrays = {name: numbers[name][:, envs] for name in ("rewards", "values", "dist")}
    arrays |= {name: _kept(rollout, name, kept)[:, envs] for name in ("actions", "done", "trunc", "success")}
    arrays["pictures"] = rollout.obs[-kept:, envs, -1].cpu().numpy()
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # pyright: ignore[reportArgumentType]
    return {"step": step, "env": env, "what": what, "envs": envs}, buffer.getvalue()


def _kept(rollout: Storage, name: str, kept: int) -> np.ndarray:
    """Return the last `kept` steps of a field [T, N]; zeros where an algorithm has no such field."""
    found = getattr(rollout, name, None)
    if found is not None:
        return found[-kept:].cpu().numpy()
    kind = bool if name in ("done", "trunc", "success") else np.float32
    return np.zeros((kept, rollout.obs.shape[1]), kind)


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()
