"""Checkpoint of a BDI agent: its plans, what it learned and believes, and its skills.

    mind.json                      state of mind, and the SHA-256 of everything below
    plans.asl, coach.asl           AgentSpeak source of the agents
    skill-NAME.policy.safetensors  weights of a skill, skill-NAME.meta.json its description

The hash that a record announces is mind.json's: it covers the plans as well as the weights.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.spade_bdi.mind import Mind, Plans
from trainer_core.runners.spade_bdi.skills import unpack_skills
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import CheckpointError

MIND, PLANS, COACH = "mind.json", "plans.asl", "coach.asl"


def write(mind: Mind, state: dict[str, Any], loop: dict[str, Any], folder: Path) -> None:
    """Write the checkpoint's files: `state` is the mind's state between two episodes, `loop` the worker's."""
    files = {PLANS: mind.plans.text.encode()}
    if mind.coach is not None:
        files[COACH] = mind.coach.text.encode()
    for skill in mind.skills.values():
        files |= skill.files
    names = {PLANS: mind.plans.name} | ({COACH: mind.coach.name} if mind.coach else {})
    whole = {
        "names": names,
        "mind": state,
        "loop": loop,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / MIND).write_text(json.dumps(whole, sort_keys=True) + "\n")


def read(folder: Path) -> dict[str, Any]:
    """Return mind.json after checking every file against meta.json. Raises CheckpointError."""
    layout.verify(folder)
    with parsing(f"{folder / MIND}", CheckpointError, "; use another checkpoint"):
        whole = json.loads((folder / MIND).read_text())
        for name, sha256 in whole["sha256"].items():
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != sha256:
                raise CheckpointError(f"{folder / name}: not the file that {MIND} speaks of")
    return whole


def open_mind(folder: Path, *, greedy: bool, exploration: float, seed: int) -> Mind:
    """Return the agents of a checkpoint in their saved state. Raises CheckpointError or LabError."""
    whole = read(folder)
    plans = Plans(whole["names"][PLANS], (folder / PLANS).read_text(encoding="utf-8"))
    coach = None
    if COACH in whole["names"]:
        coach = Plans(whole["names"][COACH], (folder / COACH).read_text(encoding="utf-8"))
    mind = Mind(plans, coach, unpack_skills(folder), greedy=greedy, exploration=exploration, seed=seed)
    mind.load_state(whole["mind"])
    return mind
