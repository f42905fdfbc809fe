"""Start states of a task, from its snapshots or from the inputs that made them.

- starts.npz: snapshots (emulator.state.snapshot), fast to load, valid for one layout of the emulator's state.
- starts.json, optional: `wait_frames` and `actions` from power-on for each state, valid for any layout.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from emulator import Cartridge, EmulatorError, Snapshot, SnapshotError
from emulator.state.snapshot import load_snapshots
from emulator.tools.input_script import InputScript, replay
from trainer_core.envs.preparing import Preparing
from trainer_core.lab.tasks import Codec, Task
from trainer_core.wire.buttons import mask_of
from trainer_core.wire.errors import TaskError, shown
from trainer_core.wire.regular_files import read_regular

MAX_BYTES = 16 << 20
MAX_FRAMES = 216_000
"""Frames of one script: an hour of play, longer than any way to a start state."""
MOST_FRAMES = 4_000_000
"""Frames of all states together, which are played side by side for as long as the longest takes: some minutes of a CPU.
80 states may be a quarter of an hour of play away."""


class Script(msgspec.Struct):
    """Inputs that lead from power-on to a start state: frames without a button, then one action a step."""

    wait_frames: Annotated[int, Meta(ge=0, le=MAX_FRAMES)]
    actions: str
    """Names of the codec's actions, separated by blanks."""


def load_starts(task: Task, cartridge: Cartridge, tell: Preparing | None = None) -> list[Snapshot]:
    """Return a task's start states in order, from starts.npz or else starts.json. Raises TaskError if neither gives
    them."""
    try:
        return load_snapshots(task.starts_path)
    except SnapshotError as error:
        inputs = task.folder / "starts.json"
        if not inputs.is_file():
            raise TaskError(f"task {task.id}: {error}") from None
        print(f"task {task.id}: {error}; playing {inputs.name} instead", file=sys.stderr)
    scripts = read_scripts(inputs, task.manifest.codec)
    if len(scripts) != task.manifest.starts.count:
        raise TaskError(f"{inputs}: {len(scripts)} states, the manifest says {task.manifest.starts.count}")
    try:
        said = tell or Preparing(lambda text: print(text, file=sys.stderr, flush=True))
        return replay(cartridge, scripts, on_frame=lambda frame, of: said("frames of start states", frame, of))
    except EmulatorError as error:
        raise TaskError(f"{inputs}: {error}") from None


def read_scripts(path: Path, codec: Codec) -> list[InputScript]:
    """Return the input scripts of a file. Raises TaskError naming the file and the fault."""
    try:
        rows = msgspec.json.decode(read_regular(path, MAX_BYTES), type=list[Script])
        scripts = [
            InputScript(
                row.wait_frames,
                tuple(_mask_of(name, codec) for name in row.actions.split()),
                codec.frames_per_step,
                codec.release_after_frames,
            )
            for row in rows
        ]
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise TaskError(f"{path}: not a list of wait_frames and actions: {shown(error, 120)}") from None
    longest = max((script.frames for script in scripts), default=0)
    if longest > MAX_FRAMES:
        raise TaskError(f"{path}: a script of {longest} frames, {MAX_FRAMES} at most")
    if longest * len(scripts) > MOST_FRAMES:
        raise TaskError(
            f"{path}: {len(scripts):,} states of up to {longest:,} frames, {MOST_FRAMES:,} frames "
            "in all at most: give fewer states, or captured ones"
        )
    return scripts


def _mask_of(action: str, codec: Codec) -> int:
    """Return the joypad mask of an action's name. Raises ValueError for an action that the codec does not have."""
    if action not in codec.actions:
        raise ValueError(f"{action[:40]!r} is none of {', '.join(codec.actions)}")
    return mask_of(action)
