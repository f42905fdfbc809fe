"""The start states of a task: from its snapshots, or from the inputs that made them.

starts.npz    snapshots (emulator.state.snapshot_set), fast, bound to one layout of the state
starts.json   optional: for each state `wait_frames` and `actions`, from power-on, for any layout
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from emulator import Cartridge, Snapshot, SnapshotError
from emulator.state.snapshot_set import load_snapshots
from emulator.tools.replay import InputScript, replay
from trainer_core.protocol.buttons import ACTION_MASKS, ACTIONS
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.tasks import Codec, Task


def load_starts(task: Task, cartridge: Cartridge) -> list[Snapshot]:
    """The states in order. Raises TaskError if neither file gives them."""
    try:
        return load_snapshots(task.starts_path)
    except SnapshotError as error:
        inputs = task.folder / "starts.json"
        if not inputs.is_file():
            raise TaskError(f"task {task.id}: {error}") from None
        print(f"task {task.id}: {error}; playing {inputs.name} instead", file=sys.stderr)
    scripts = read_scripts(inputs, task.manifest.codec)
    if len(scripts) != task.manifest.starts.count:
        raise TaskError(
            f"{inputs}: {len(scripts)} states, the manifest says {task.manifest.starts.count}"
        )
    return replay(cartridge, scripts)


def read_scripts(path: Path, codec: Codec) -> list[InputScript]:
    """Raises TaskError naming the file and what is wrong with it."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [
            InputScript(
                int(row["wait_frames"]),
                tuple(ACTION_MASKS[ACTIONS.index(name)] for name in row["actions"].split()),
                codec.frames_per_step,
                codec.release_after_frames,
            )
            for row in rows
        ]
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TaskError(f"{path}: not a list of wait_frames and actions: {error}") from None
