"""VERL's command line and environment for a run, and parsing of its files. VERL is not imported.

Names as in rLLM's examples/countdown/train_countdown.sh (rLLM 9beb6e0, VERL 0.8.0).
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

from trainer_core.runners.rllm import COUNTDOWN
from trainer_core.runners.rllm.countdown import Row
from trainer_core.runners.rllm.runner import RllmConfig
from trainer_core.wire.errors import ConfigError

BESIDE = Path(__file__).with_name("in_verl")
"""Folder of our modules for VERL's interpreter, which has no other module of ours."""
MAIN = BESIDE / "dmglab_main.py"
SAVED = "latest_checkpointed_iteration.txt"
METRICS = "verl_metrics.jsonl"
NEVER = -1
CPU_PLACES = 8
"""Processors announced to Ray for VERL's actors, which take one each, besides those of its workers."""
PASS_AT_1 = f"val/{COUNTDOWN}/pass@1"


def command(config: RllmConfig, model: Path, folder: Path) -> list[str]:
    """Return VERL's command line for a run whose files are in `folder`. Raises ConfigError."""
    return [config.verl_python, "-P", str(MAIN), str(folder / "rows"), *overrides(config, model, folder)]


def environment(config: RllmConfig, folder: Path) -> dict[str, str]:
    """Return the environment variables of VERL's processes; Ray passes them on."""
    path = [str(BESIDE), str(config.source.resolve())]
    found = {
        "VERL_FILE_LOGGER_PATH": str(folder / METRICS),
        "RLLM_HOME": str(folder / "rllm_home"),
        "HF_HUB_OFFLINE": "1",
        "WANDB_MODE": "offline",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_raylet_start_wait_time_s": "300",  # a busy computer takes longer than Ray waits by itself
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(path),
    }
    if config.rollout == "hf":
        found["VERL_USE_EXTERNAL_MODULES"] = "dmglab_cpu,dmglab_padding,dmglab_rollout"
    return found


def overrides(config: RllmConfig, model: Path, folder: Path) -> list[str]:
    """Return VERL's settings as Hydra overrides, the user's own last. Raises ConfigError."""
    rollout, actor = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
    values: dict[str, Any] = {
        "algorithm.adv_estimator": "gae" if config.critic else "grpo",
        "data.train_batch_size": config.prompts,
        "data.max_prompt_length": config.max_prompt,
        "data.max_response_length": config.max_completion,
        "data.dataloader_num_workers": 0,
        "actor_rollout_ref.model.path": model,
        f"{actor}.optim.lr": config.learning_rate,
        f"{actor}.ppo_mini_batch_size": config.prompts,
        f"{actor}.use_dynamic_bsz": True,
        f"{actor}.use_kl_loss": config.beta > 0,
        f"{actor}.kl_loss_coef": config.beta,
        f"{rollout}.name": "vllm",  # rLLM's engine takes this name or sglang; see dmglab_rollout.py
        f"{rollout}.mode": "async",
        f"{rollout}.tensor_model_parallel_size": 1,
        f"{rollout}.temperature": config.temperature,
        f"{rollout}.n": config.generations,
        f"{rollout}.val_kwargs.n": config.rollouts,
        f"{rollout}.val_kwargs.temperature": config.temperature,
        "reward.num_workers": 1,  # rLLM's workflow computes rewards; more workers would only use processes
        "rllm.workflow.use_workflow": True,
        "trainer.logger": "[console,file]",
        "trainer.project_name": "dmglab",
        "trainer.experiment_name": folder.name,
        "trainer.n_gpus_per_node": config.gpus,
        "trainer.nnodes": 1,
        "trainer.val_before_train": bool(config.eval_every),
        "trainer.test_freq": config.eval_every or NEVER,
        "trainer.save_freq": save_every(config) or NEVER,
        "trainer.max_actor_ckpt_to_keep": config.keep_checkpoints,
        "trainer.default_local_dir": folder / "verl",
        "trainer.resume_mode": "auto",
        "trainer.log_episodes": bool(config.keep_episodes),
        "trainer.episode_log_dir": folder,
        "trainer.total_epochs": 1_000_000,
        "hydra.run.dir": folder / "hydra",
        # A private Ray on this computer.
        "+ray_init.address": "local",
        "+ray_init._node_ip_address": "127.0.0.1",
        "+ray_init.include_dashboard": False,
    }
    models, trained = ["actor_rollout_ref.model"], [actor]
    if config.critic:
        models, trained = [*models, "critic.model"], [*trained, "critic"]
        values |= {"critic.model.path": model, "critic.optim.lr": config.learning_rate}
        values |= {"trainer.max_critic_ckpt_to_keep": config.keep_checkpoints}
    if config.rollout == "hf":
        values[f"{rollout}.free_cache_engine"] = False
        for name in models:
            values[f"{name}.use_remove_padding"] = False  # it would need flash-attn
            values[f"+{name}.override_config.attn_implementation"] = "sdpa"
    if config.device == "cpu":
        # VERL places its workers by GPU; Ray is told that there are as many GPUs as workers.
        values |= {f"{name}.strategy": "fsdp2" for name in trained}
        values |= {"+ray_init.num_gpus": config.gpus, "+ray_init.num_cpus": CPU_PLACES + config.gpus}
    if config.total_env_steps:
        # rLLM's loop ends before the step of this number, and validates instead.
        values["trainer.total_training_steps"] = config.total_env_steps + 1
    try:
        return [*(f"{name}={value}" for name, value in values.items()), *shlex.split(config.arguments)]
    except ValueError as error:
        raise ConfigError(f"arguments {config.arguments!r}: {error}") from None


def save_every(config: RllmConfig) -> int:
    """Return the steps between two VERL checkpoints, which are saved at multiples alone; 0 for none.

    A run that ends before the first is saved at its end.
    """
    every, total = config.checkpoint_every, config.total_env_steps
    return min(every or total, total) if total else every


def write_rows(folder: Path, train: list[Row], held_out: list[Row], prefill: str, shaping: float) -> None:
    """Write the questions, prefill and shaping to the files that VERL's process reads."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "answers.json").write_text(json.dumps({"prefill": prefill, "shaping": shaping}))
    for split, rows in (("train", train), ("test", held_out)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(text)


def parse_metrics(line: str) -> tuple[int, dict[str, float]] | None:
    """Return (step, finite metrics) of a line of VERL's file logger; None for anything else."""
    try:
        raw = json.loads(line)
        step, data = raw["step"], raw["data"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if type(step) is not int or step < 0 or not isinstance(data, dict):
        return None
    numbers = {
        name: float(value)
        for name, value in data.items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e300  # neither infinity nor an integer too large for a float
    }
    return step, numbers


def saved_step(folder: Path) -> int:
    """Return the newest complete `global_step_N` below `folder`; 0 without one."""
    try:
        step = int((folder / SAVED).read_text())
    except (OSError, ValueError):
        return 0
    return step if (folder / f"global_step_{step}" / "actor").is_dir() else 0
