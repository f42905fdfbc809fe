"""Measure what learning from different pictures and tiles only saves on a CPU (learn/parts.py).

    python scripts/compare_learning.py TASK ... [--rounds 5]

Rollouts of random play with the preset `laptop`; from each, a whole update by autograd on all
pictures and by `PartsLearner`, in turns: processor time of an optimizer step in ms, least and
median. Prints one JSON object a task.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from trainer_core.envs.build import make_env
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.lab.presets import preset_config
from trainer_core.learn.distinct import distinct_rows
from trainer_core.learn.learner import Learner, LossSums
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.ppo import ppo_learner
from trainer_core.learn.update import ActorLearner

WAYS = {"autograd": Learner, "parts": ppo_learner}


def compare(task: str, rounds: int) -> dict[str, object]:
    config = dataclasses.replace(preset_config("laptop"), task=task, threads=1)
    torch.set_num_threads(1)
    env = make_env(config, HomePaths(default_home()), demo_share=config.demo_starts)
    network = PixelActorCritic("small", env.obs_shape, env.num_actions)
    trainer = ActorLearner(env, Learner(network, config, env.device), config)
    taken: dict[str, list[float]] = {way: [] for way in WAYS}
    pictures = 0
    for _ in range(rounds):
        trainer._collect()
        pictures = len(distinct_rows(trainer.rollout.obs.flatten(0, 1).flatten(1))[0])
        for way, learner_of in WAYS.items():
            torch.manual_seed(1)
            policy = PixelActorCritic("small", env.obs_shape, env.num_actions)
            learner = learner_of(policy, config, env.device)
            began = time.process_time()
            steps = learn(trainer, learner)
            taken[way].append(1000 * (time.process_time() - began) / steps)
            learner.close()
    env.close()
    told = {
        f"{way}_ms": {"least": round(min(ms), 2), "median": round(statistics.median(ms), 2)}
        for way, ms in taken.items()
    }
    return {"task": task, "different_pictures": pictures, "of": config.batch_size, **told}


def learn(trainer: ActorLearner, learner: Learner) -> int:
    """Update another learner from the trainer's rollout; return how many optimizer steps it took."""
    sums = LossSums(trainer.algorithm.losses, trainer.device)
    trainer.algorithm.update(learner, trainer.rollout, trainer.config, trainer.rng, sums)
    return sums.opt_steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="+", metavar="TASK")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for task in options.tasks:
        print(json.dumps(compare(task, options.rounds)), flush=True)


if __name__ == "__main__":
    main()
