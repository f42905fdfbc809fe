"""Example dataset for CORL: `python -m trainer_core.runners.corl.pendulum OUT` in its environment.

40 episodes of Gymnasium's Pendulum-v1 by a controller that mostly succeeds: 8,000 steps, 0.8 MB.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from trainer_core.wire.environment import tell_libraries

NAME = "dmglab/pendulum-v0"


def make(root: Path, episodes: int = 40) -> Path:
    """Write the dataset; return its folder below `root`."""
    tell_libraries(MINARI_DATASETS_PATH=str(root))
    minari: Any = importlib.import_module("minari")
    buffer: Any = importlib.import_module("minari.data_collector").EpisodeBuffer
    env, rng = gymnasium.make("Pendulum-v1"), np.random.default_rng(0)
    buffers = []
    for number in range(episodes):
        seen = [env.reset(seed=number)[0]]
        actions, rewards, ends, cuts = [], [], [], []
        while not (cuts and (cuts[-1] or ends[-1])):
            actions.append(np.array([torque(seen[-1], rng)], np.float32))
            observation, reward, end, cut, _ = env.step(actions[-1])
            seen.append(observation)
            rewards.append(float(reward))
            ends.append(end)
            cuts.append(cut)
        buffers.append(
            buffer(
                id=number,
                seed=number,
                observations=np.stack(seen),
                actions=np.stack(actions),
                rewards=rewards,
                terminations=ends,
                truncations=cuts,
            )
        )
    minari.create_dataset_from_buffers(
        dataset_id=NAME,
        buffer=buffers,
        env="Pendulum-v1",
        algorithm_name="scripted",
        author="dmglab",
        author_email="none@localhost",
        code_permalink="none",
        description="Swings up by energy, then balances; a fifth of the steps is random.",
    )
    return root / NAME


def torque(observation: np.ndarray, rng: np.random.Generator) -> float:
    cos, sin, speed = observation
    if rng.random() < 0.2:
        return float(rng.uniform(-2, 2))
    if cos > 0.9:  # near the top: hold it there
        return float(np.clip(-(10 * np.arctan2(sin, cos) + 2 * speed), -2, 2))
    energy = 0.5 * speed**2 + 10 * (cos - 1)
    return float(np.clip(-0.5 * np.sign(speed or 1.0) * energy, -2, 2))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m trainer_core.runners.corl.pendulum OUT")
    print(make(Path(sys.argv[1]).resolve()))
