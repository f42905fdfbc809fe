"""Skills: trained policies of ours that plans use; they are copied into a checkpoint of the plans."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from trainer_core.host.agent import Agent
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.spade_bdi.runner import named_skills
from trainer_core.runs.names import find_checkpoint

FILES = (layout.META, layout.POLICY)
PREFIX = "skill-"


class Skill:
    """Trained policy that a plan can ask for a button, evaluated at most once per step."""

    def __init__(self, name: str, folder: Path) -> None:
        """Load the policy; raises CheckpointError when the checkpoint cannot be used."""
        self.name = name
        self._agent = Agent(folder, mode="greedy")
        self.files = {f"{PREFIX}{name}.{file}": (folder / file).read_bytes() for file in FILES}
        self.sha256 = self._agent.sha256
        self.probabilities = np.zeros(0)
        """Action probabilities f64[7] for the current picture; empty until `ask`."""

    def begin(self, observation: np.ndarray) -> None:
        self._agent.begin(observation)
        self.probabilities = np.zeros(0)

    def see(self, observation: np.ndarray) -> None:
        self._agent.see(observation)
        self.probabilities = np.zeros(0)

    def ask(self) -> np.ndarray:
        """Return the probabilities of the seven buttons, f64[7]."""
        if not len(self.probabilities):
            self._agent.act()
            found = np.array(self._agent.probabilities, np.float64)
            self.probabilities = found / found.sum()
        return self.probabilities


def open_skills(skills: str, home: HomePaths, asker: str) -> dict[str, Skill]:
    """Return the skills of a list `name=checkpoint, ...` by name, for the run `asker`.

    Raises ConfigError or CheckpointError naming the unusable entry.
    """
    return {name: Skill(name, find_checkpoint(text, home, asker)) for name, text in named_skills(skills).items()}


def unpack_skills(checkpoint: Path) -> dict[str, Skill]:
    """Return the skills stored in a checkpoint of plans, by name; the caller verified the hashes."""
    found = {}
    for meta in sorted(checkpoint.glob(f"{PREFIX}*.{layout.META}")):
        name = meta.name.removeprefix(PREFIX).removesuffix(f".{layout.META}")
        with tempfile.TemporaryDirectory(prefix="dmglab-skill-") as folder:
            for file in FILES:
                data = (checkpoint / f"{PREFIX}{name}.{file}").read_bytes()
                (Path(folder) / file).write_bytes(data)
            found[name] = Skill(name, Path(folder))
    return found
