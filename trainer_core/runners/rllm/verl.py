"""VERL's settings for a run of ours, and what its files say. Imports nothing of VERL.

Names as rLLM's examples/countdown/train_countdown.sh has them (rLLM 9beb6e0, VERL 0.8.0).
"""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import Any

from trainer_core.protocol.errors import ConfigError
from trainer_core.runners.rllm.countdown import NAME, Row
from trainer_core.runners.rllm.runner import RllmConfig

MAIN = Path(__file__).with_name("verl_main.py")
SAVED = "latest_checkpointed_iteration.txt"
METRICS = "verl_metrics.jsonl"
NEVER = -1
PASS_AT_1 = f"val/{NAME}/pass@1"


def command(config: RllmConfig, model: Path, folder: Path) -> list[str]:
    """VERL's command line for a run whose files lie in `folder`. Raises ConfigError."""
    return [
        config.verl_python, "-P", str(MAIN), str(config.source.resolve()), str(folder / "rows"),
        *overrides(config, model, folder),
    ]  # fmt: skip


def overrides(config: RllmConfig, model: Path, folder: Path) -> list[str]:
    """Hydra's, the user's own last. Raises ConfigError."""
    rollout, actor = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
    values: dict[str, Any] = {
        "algorithm.adv_estimator": "grpo",
        "data.train_batch_size": config.prompts,
        "data.max_prompt_length": config.max_prompt,
        "data.max_response_length": config.max_completion,
        "actor_rollout_ref.model.path": model,
        f"{actor}.optim.lr": config.learning_rate,
        f"{actor}.ppo_mini_batch_size": config.prompts,
        f"{actor}.use_dynamic_bsz": True,
        f"{actor}.use_kl_loss": config.beta > 0,
        f"{actor}.kl_loss_coef": config.beta,
        f"{rollout}.name": "vllm",
        f"{rollout}.mode": "async",
        f"{rollout}.temperature": config.temperature,
        f"{rollout}.n": config.generations,
        f"{rollout}.val_kwargs.n": config.rollouts,
        f"{rollout}.val_kwargs.temperature": config.temperature,
        "rllm.workflow.use_workflow": True,
        "trainer.logger": "[console,file]",
        "trainer.project_name": "dmglab",
        "trainer.experiment_name": folder.name,
        "trainer.n_gpus_per_node": config.gpus,
        "trainer.nnodes": 1,
        "trainer.val_before_train": bool(config.eval_every),
        "trainer.test_freq": config.eval_every or NEVER,
        "trainer.save_freq": config.checkpoint_every or NEVER,
        "trainer.max_actor_ckpt_to_keep": config.keep_checkpoints,
        "trainer.default_local_dir": folder / "verl",
        "trainer.resume_mode": "auto",
        "trainer.log_episodes": bool(config.keep_episodes),
        "trainer.episode_log_dir": folder,
        "trainer.total_epochs": 1_000_000,
        "hydra.run.dir": folder / "hydra",
    }  # fmt: skip
    if config.total_env_steps:
        values["trainer.total_training_steps"] = config.total_env_steps
    try:
        return [
            *(f"{name}={value}" for name, value in values.items()),
            *shlex.split(config.arguments),
        ]
    except ValueError as error:
        raise ConfigError(f"arguments {config.arguments!r}: {error}") from None


def write_rows(folder: Path, train: list[Row], held_out: list[Row]) -> None:
    """The questions where VERL's process reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in (("train", train), ("test", held_out)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(text)


def parse_metrics(line: str) -> tuple[int, dict[str, float]] | None:
    """(step, finite metrics) of a line of VERL's file logger; None for anything else."""
    try:
        raw = json.loads(line)
        step, data = raw["step"], raw["data"]
    except (ValueError, KeyError, TypeError):
        return None
    if type(step) is not int or step < 0 or not isinstance(data, dict):
        return None
    numbers = {
        name: float(value)
        for name, value in data.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
    return step, numbers


def saved_step(folder: Path) -> int:
    """The newest whole `global_step_N` below `folder`; 0 without one."""
    try:
        step = int((folder / SAVED).read_text())
    except (OSError, ValueError):
        return 0
    return step if (folder / f"global_step_{step}" / "actor").is_dir() else 0
