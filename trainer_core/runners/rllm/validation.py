"""Validation of a language model: held-out questions through rLLM's workflow engine."""

# pyright: reportMissingImports=false

from __future__ import annotations

import dataclasses
import json
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainer_core.host.evaluate import Course
from trainer_core.host.progress import Rates
from trainer_core.host.run import Host
from trainer_core.host.validator import Validator
from trainer_core.runners.rllm import COUNTDOWN
from trainer_core.runners.rllm.countdown import Row
from trainer_core.runners.rllm.engine import Sampling, Workflows, answer_of, own_generators, reward_of
from trainer_core.runners.rllm.runner import RllmConfig
from trainer_core.wire import records

COLUMNS = ("prompt", "response", "reward", "is_correct", "data_source", "metrics_json")
SHOWN = 3
"""Answers of each validation printed to worker.log."""


class WorkflowValidator(Validator):
    """Validator with one greedy answer and several sampled answers to each held-out question."""

    leaves_model_alone = False
    """False: while it validates the global random generators are its own, and a checkpoint would save their state."""

    def __init__(
        self,
        host: Host,
        config: RllmConfig,
        workflows: Workflows,
        rows: list[Row],
        prefill: str,
        tables: Tables | None = None,
    ) -> None:
        super().__init__(host.validating, host.home, None, host.paths)
        self._host, self._options, self._workflows = host, config, workflows
        self._rows, self._prefill = rows[: config.eval_episodes], prefill
        self._tables = tables

    def validate(self, update: int, env_steps: int) -> Iterator[tuple[type[records.Record], dict[str, Any]]]:
        """Yield an eval record for greedy and for sampled answers; log `val/*` metrics."""
        count, metrics = self._options.rollouts, dict[str, float]()
        with own_generators(self._options.seed * 7907 + env_steps):
            for mode, n, temperature in (("greedy", 1, 0.0), ("sample", count, self._options.temperature)):
                began = time.monotonic()
                self.attend(self._course(mode))
                rows = [row for row in self._rows for _ in range(n)]
                how = Sampling(
                    max_completion=self._options.max_completion, temperature=temperature, prefill=self._prefill
                )
                episodes = self._workflows.run(rows, how)
                found = summary(episodes, n)
                yield (
                    records.EvalRecord,
                    {
                        "env_steps": env_steps,
                        "task": COUNTDOWN,
                        "mode": mode,
                        "wall_time_s": time.monotonic() - began,
                        **found,
                    },
                )
                if mode == "greedy":
                    rate = found["success_rate"]
                    self.rates = Rates(greedy=rate, least=rate)
                    metrics["val/countdown/greedy"] = found["success_rate"]
                    continue
                rate = found["success_rate"]
                self.rates = dataclasses.replace(self.rates, sampled=rate, least_sampled=rate)
                metrics["val/countdown/pass@1"] = found["pass_at_1"]
                metrics[f"val/countdown/pass@{n}"] = found["pass_at_n"]
                metrics["val/response_length/mean"] = statistics.fmean(map(length, episodes))
                self._keep_drawn(episodes, env_steps)
        self._host.record(env_steps, metrics)

    def _course(self, mode: str) -> Course:
        """Return the progress before the answers of `mode`; rLLM generates them all at once."""
        drawn = mode == "sample"
        count = len(self._rows)
        episodes = count * (1 + max(1, self._options.rollouts))
        return Course(episodes, lambda: count * drawn, drawn * count / max(1, episodes))

    def close(self) -> None:
        if self._tables is not None:
            self._tables.close()
        super().close()

    def _keep_drawn(self, episodes: list[Any], step: int) -> None:
        if self._options.keep_episodes:
            self._workflows.keep(episodes[: self._options.keep_episodes], step, "val")
        if self._tables is not None:
            self._tables.add("val", episodes, step)
        each = max(1, self._options.rollouts)
        for episode in episodes[: SHOWN * each : each]:
            said = answer_of(episode).text
            print(f"step {step}: {episode.task['question']} -> {said} ({reward_of(episode):g})")


def summary(episodes: list[Any], n: int) -> dict[str, Any]:
    """Return the fields of an EvalRecord; the `n` rollouts of a question are adjacent in `episodes`."""
    right = [bool(episode.is_correct) for episode in episodes]
    tasks = [right[start : start + n] for start in range(0, len(right), n)]
    lengths = [length(episode) for episode, is_right in zip(episodes, right, strict=True) if is_right]
    share = statistics.fmean(right)
    return {
        "episodes": len(episodes),
        "distinct_starts": len(tasks),
        "success_rate": share,
        "pass_at_1": share,
        "pass_at_n": statistics.fmean(map(any, tasks)),
        "n": n,
        "median_steps_to_goal": float(statistics.median(lengths)) if lengths else 0.0,
        "mean_return": statistics.fmean(map(reward_of, episodes)),
    }


def length(episode: Any) -> int:
    """Return the number of tokens in an episode's answer."""
    return answer_of(episode).completion_length


class Tables:
    """Tables `val/sample_table` and `train/sample_table` of an offline W&B run: some episodes of a step in each."""

    def __init__(self, folder: Path, name: str, config: RllmConfig) -> None:
        self._folder, self._name = folder, name
        self._rows, self._seed = config.table_rows, config.seed
        self._wandb: Any = None

    def add(self, where: str, episodes: list[Any], step: int) -> None:
        """Log a table of `where`, "val" or "train"; `step` may not fall."""
        import wandb

        if self._wandb is None:
            self._wandb = wandb.init(
                project="dmglab",
                name=self._name,
                dir=str(self._folder),
                mode="offline",
                settings=wandb.Settings(disable_git=True, save_code=False, x_disable_stats=True, silent=True),
            )
        rows = sample_rows(episodes, self._rows, f"{self._seed} {where} {step}")
        self._wandb.log({f"{where}/sample_table": wandb.Table(columns=list(COLUMNS), data=rows)}, step=step)

    def close(self) -> None:
        if self._wandb is not None:
            self._wandb.finish()


def sample_rows(episodes: list[Any], count: int, seed: str) -> list[list[Any]]:
    """Return the cells in the order of COLUMNS of at most `count` episodes, drawn without repetition by `seed`."""
    return [
        [
            episode.task["question"],
            answer_of(episode).text,
            reward_of(episode),
            bool(episode.is_correct),
            COUNTDOWN,
            json.dumps(episode.metrics),
        ]
        for episode in random.Random(seed).sample(episodes, min(count, len(episodes)))
    ]
