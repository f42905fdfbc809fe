"""Documented defaults for each scale of hardware, and for A2C. Every number has a source, in `why`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import expand_tasks, is_list, split_tasks
from trainer_core.lab.tasks import known_task
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import LabError

DEFAULT_TARGET = 0.98
"""Greedy success rate at which a run without any limit ends."""
WISHES = ("gamma", "stack_k")
"""Fields of RunConfig for which a task's manifest may suggest a value (`trainer_core.lab.tasks.Training`)."""


GPU_BYTES, BIG_GPU_BYTES = 7 << 30, 36 << 30
"""Memory of a GPU from which the presets gpu and big_gpu are chosen; cards sold as 8 or 40 GB have a little less."""


@dataclass(frozen=True, slots=True)
class Preset:
    """Set of defaults for RunConfig: `fields` are those that differ from its own, `why` gives the source of each."""

    title: str
    summary: str
    fields: dict[str, Any]
    why: dict[str, str]


_PPO_SOURCES = {
    "gae_lambda": "0.95, Schulman et al. 2017, table 3",
    "clip_range": "0.2, Schulman et al. 2017, section 6.1",
    "vf_coef": "0.5, CleanRL ppo_atari.py",
    "max_grad_norm": "0.5, CleanRL ppo_atari.py",
    "ent_coef": "0.01, Schulman et al. 2017, table 5",
    "gamma": "0.97: episodes end within tens of steps, so a horizon of about 33 steps is enough",
}

PRESETS: dict[str, Preset] = {
    "laptop": Preset(
        "Laptop",
        "32 Game Boys and a small network: a first stage within a minute on two cores.",
        {
            "device": "cpu", "num_envs": 32, "num_steps": 32, "num_minibatches": 8,
            "update_epochs": 4, "policy": "small", "learning_rate": 1e-3, "eval_every": 20,
            "eval_episodes": 32, "obs_source": "marked",
        },
        {
            **_PPO_SOURCES,
            "num_envs": "32, docs/notebook/learning.md: half the steps of 64, as many updates",
            "num_minibatches": "8 of 128 samples, docs/notebook/learning.md: half the steps of 4",
            "update_epochs": "4, CleanRL ppo_atari.py",
            "learning_rate": "1e-3, docs/notebook/learning.md: half the steps of 5e-4",
            "policy": "docs/notebook/learning.md: a third of the Nature network's time on a CPU",
            "obs_source": "marked, docs/notebook/learning.md: greedy play leaves walls, half the steps",
        },
    ),
    "gpu": Preset(
        "One GPU",
        "1,024 Game Boys: a first stage in seconds of training, fits 8 GiB.",
        {
            "device": "cuda:0", "num_envs": 1024, "num_steps": 32, "num_minibatches": 64,
            "update_epochs": 4, "policy": "small", "learning_rate": 1e-3, "eval_every": 20,
            "eval_episodes": 32, "obs_source": "marked",
        },
        {
            **_PPO_SOURCES,
            "num_envs": "1,024, docs/notebook/learning.md: more envs need as many updates",
            "num_minibatches": "64 of 512 samples, docs/notebook/learning.md: 10 updates instead of 13",
            "update_epochs": "4, CleanRL ppo_atari.py",
            "learning_rate": "1e-3, as on a laptop",
            "policy": "small: docs/notebook/learning.md, twice the speed of nature on these tasks",
            "obs_source": "marked, docs/notebook/learning.md: no more steps, 2 % of the speed",
        },
    ),
    "big_gpu": Preset(
        "Big GPU",
        "8,192 Game Boys: one H100 or H200, for long stages.",
        {
            "device": "cuda:0", "num_envs": 8192, "num_steps": 16, "num_minibatches": 64,
            "update_epochs": 4, "policy": "small", "learning_rate": 1e-3, "eval_every": 20,
            "eval_episodes": 32, "checkpoint_every": 50,
            "obs_source": "marked",
        },
        {
            **_PPO_SOURCES,
            "num_steps": "16: short rollouts of many envs, Rudin et al. 2022, section 4",
            "num_minibatches": "64 of 2,048 samples: the batch that learned at 4,096 envs",
            "update_epochs": "4, CleanRL ppo_atari.py",
            "learning_rate": "1e-3, as on a laptop",
            "obs_source": "marked, as on one GPU",
        },
    ),
    "a2c": Preset(
        "Streaming A2C",
        "A2C in rollouts of 5 steps: a first stage in a minute on two cores, little memory on any device.",
        {
            "device": "cpu", "algo": "a2c", "num_envs": 32, "num_steps": 5, "num_minibatches": 1, "policy": "small",
            "learning_rate": 1e-3, "normalize_advantage": False, "eval_every": 128, "eval_episodes": 32,
            "obs_source": "marked",
        },
        {
            **{name: why for name, why in _PPO_SOURCES.items() if name != "clip_range"},
            "num_steps": "5, Mnih et al. 2016, section 5.1: one optimizer step per rollout, so rollouts are short",
            "num_minibatches": "1: 160 samples need no slices",
            "learning_rate": "1e-3, docs/notebook/learning.md: half the steps of 7e-4",
            "normalize_advantage": "off, docs/notebook/learning.md: 160 samples without a reward are noise, made large",
            "policy": "small, as on a laptop",
            "obs_source": "marked, as on a laptop",
        },
    ),
    "m5": Preset(
        "PPO-lite (m5)",
        "The hyperparameters of the PPO document: full batches of four stacked pictures; slower than the others.",
        {
            "device": "cuda:0", "num_envs": 256, "num_steps": 128, "stack_k": 4, "num_minibatches": 1,
            "update_epochs": 2, "gamma": 0.99, "clip_range": 0.1, "learning_rate": 2.5e-4,
            "ent_schedule": "constant", "eval_every": 10, "eval_episodes": 32, "checkpoint_every": 10,
        },
        dict.fromkeys(
            ("num_envs", "num_steps", "stack_k", "num_minibatches", "update_epochs", "gamma", "gae_lambda",
             "clip_range", "learning_rate", "ent_coef", "vf_coef", "ent_schedule"),
            "docs/reference/owners_documents.md, PPO-lite, step 5",
        ) | {"max_grad_norm": "0.5, CleanRL ppo_atari.py: the document clips, but names no norm"},
    ),
}  # fmt: skip


def preset_config(name: str) -> RunConfig:
    return RunConfig(**PRESETS[name].fields)


def wishes_of(task: str, config: RunConfig, home: HomePaths) -> dict[str, Any]:
    """Return the training options for which a task's manifest suggests other values than `config`, with these values.

    If `task` lists several tasks, the greatest value counts. A task that cannot be read suggests nothing; opening it
    reports the error. `stack_k` is left out for a warm start, since its weights fix it.
    """
    try:
        names = split_tasks(expand_tasks(task, home) if is_list(task) else task)
        wanted = [known.manifest.training for name in names if (known := known_task(name, home))]
    except LabError:
        return {}
    found: dict[str, Any] = {}
    for field in WISHES:
        usual = getattr(config, field)
        values = [getattr(each, field) for each in wanted]
        most = max((usual if value is None else value for value in values), default=usual)
        if most != usual and not (field == "stack_k" and config.warm_start):
            found[field] = most
    return found


def default_config(task: str, device: str, home: HomePaths, warm_start: str = "") -> RunConfig:
    """Return the default configuration of a run: the device's preset, changed by the options that the task suggests."""
    preset = dataclasses.replace(preset_config(suggest_preset(device)), task=task, device=device, warm_start=warm_start)
    return dataclasses.replace(preset, **wishes_of(task, preset, home))


def with_limit(config: RunConfig) -> RunConfig:
    """Return `config` itself if it has a limit, else one that ends at DEFAULT_TARGET in greedy validation."""
    if config.has_limit:
        return config
    return dataclasses.replace(config, target_success=DEFAULT_TARGET)


def fitting_preset(gpu_bytes: int) -> str:
    """Return the name of the preset for a computer whose GPU has `gpu_bytes` of memory, 0 = no GPU."""
    if gpu_bytes >= BIG_GPU_BYTES:
        return "big_gpu"
    return "gpu" if gpu_bytes >= GPU_BYTES else "laptop"


def suggest_preset(device: str, algo: str = "ppo") -> str:
    """Return the name of the default preset: a2c for that algorithm, laptop for the device cpu, else gpu."""
    if algo == "a2c":
        return algo
    return "laptop" if device == "cpu" else "gpu"
