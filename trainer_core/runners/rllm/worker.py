"""Worker in which a language model learns countdown."""

# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.metadata
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Before transformers is imported: never download, send, or print progress bars.
os.environ.update(
    HF_HUB_OFFLINE="1",
    TRANSFORMERS_OFFLINE="1",
    TRL_EXPERIMENTAL_SILENCE="1",
    WANDB_MODE="offline",
    TQDM_DISABLE="1",
    TOKENIZERS_PARALLELISM="false",
)

import numpy as np
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from trainer_core.host.evaluate import go_on
from trainer_core.host.progress import RunProgress
from trainer_core.host.run import Host
from trainer_core.host.validator import Validator
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.guest.checkout import checkout_commit
from trainer_core.runners.guest.trainee import GuestTrainee
from trainer_core.runners.rllm import countdown, tiny
from trainer_core.runners.rllm.countdown import Row
from trainer_core.runners.rllm.engine import Sampling, Workflows, answer_of, import_rllm, reward_of
from trainer_core.runners.rllm.runner import RllmConfig
from trainer_core.runners.rllm.validation import Tables, WorkflowValidator
from trainer_core.runners.rllm.verl_process import make_supervisor
from trainer_core.wire.errors import ConfigError

WEIGHTS, PROGRESS = "model.safetensors", "progress.json"
INITIAL = "initial"
"""Folder in the run with the tiny model's initial state."""
EPISODES = "episodes"
UNLIMITED = 100_000
"""Training steps of a run without a limit."""
NAMES = {
    "reward": "critic/score/mean",
    "reward_std": "critic/score/std",
    "loss": "actor/pg_loss",
    "entropy": "actor/entropy",
    "grad_norm": "actor/grad_norm",
    "kl": "actor/kl_loss",
    "learning_rate": "actor/lr",
    "clip_ratio/region_mean": "actor/pg_clipfrac",
    "completions/mean_length": "response_length/mean",
    "completions/max_length": "response_length/max",
    "completions/min_length": "response_length/min",
    "completions/clipped_ratio": "response_length/clip_ratio",
    "step_time": "timing_s/step",
    "rewards/countdown/mean": "critic/countdown/mean",
    "rewards/form/mean": "critic/form/mean",
}
"""TRL's metric names translated to VERL's, so that both trainers draw the same curves."""
FLAT = {
    "reward": "reward_mean",
    "loss": "policy_loss",
    "entropy": "entropy_mean",
    "grad_norm": "grad_norm",
    "learning_rate": "learning_rate",
    "kl": "approx_kl",
    "clip_ratio/region_mean": "clipfrac",
    "rewards/countdown/mean": "success_rate",
}
"""Fields of our update records by TRL's metric name."""


def questions(rows: list[Row], seed: int, length: int) -> Dataset:
    """Return a data set of `length` questions that repeats `rows`, in a new order at each repetition.

    TRL sees it as one epoch. Question i is the same in a resumed run, and in one with a raised limit.
    """
    rng = np.random.default_rng(seed)
    passes = [rng.permutation(len(rows)) for _ in range(-(-length // len(rows)))]
    asked = [{"prompt": row["question"], "nums": row["nums"], "target": row["target"]} for row in rows]
    return Dataset.from_list(asked).select(np.concatenate(passes)[:length])


class Trainer(GRPOTrainer):
    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Do nothing: the host describes checkpoints."""


class Training(TrainerCallback, GuestTrainee):
    """Trainee around TRL's training loop; the run can be saved, paused and ended after each step."""

    file, needs = WEIGHTS, (WEIGHTS, "optimizer.pt", PROGRESS)

    def __init__(self, host: Host, config: RllmConfig) -> None:
        GuestTrainee.__init__(self, host, config)
        self.rllm = import_rllm(config.source)
        self.train_rows, held_out = config.rows()
        self.by_question = {row["question"]: row for row in self.train_rows}
        self.network, self.tokenizer, self.prefill = self._open()
        self._check_length([*self.train_rows, *held_out])
        self.how = Sampling(max_completion=config.max_completion, temperature=config.temperature, prefill=self.prefill)
        self.workflows = Workflows(self.rllm, self.network, self.tokenizer, host.paths.root / EPISODES)
        self.tables = Tables(host.paths.root, host.paths.run_id, config) if config.wandb_tables else None
        self.validator = WorkflowValidator(host, config, self.workflows, held_out, self.prefill, self.tables)
        self.policy = self.network.config.model_type
        self.num_envs = config.prompts * config.generations
        self.versions = {
            "rllm": checkout_commit(config.source),
            "trl": importlib.metadata.version("trl"),
            "transformers": importlib.metadata.version("transformers"),
        }
        self._resumed: Path | None = None
        self.sums: dict[str, list[float]] = {}
        """Values that TRL logged since the last record, by its name."""
        self.trainer = self._make_trainer()

    # -- making -----------------------------------------------------------------------------

    def _open(self) -> tuple[Any, Any, str]:
        """Return (model, tokenizer, prefill). Raises ConfigError."""
        config = self.config
        folder = first_model(self.host, config)
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
        except Exception as error:  # transformers, safetensors and JSON raise their own
            raise ConfigError(f"{folder}: {' '.join(str(error).split())[:300]}") from None
        if tokenizer.eos_token_id is None or not tokenizer.chat_template:
            raise ConfigError(f"{folder}: its tokenizer needs an eos token and a chat template")
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        tokenizer.padding_side = "left"
        is_tiny = tokenizer.chat_template == tiny.TEMPLATE
        device = "cpu" if config.device == "cpu" else config.device
        return model.to(device), tokenizer, config.prefill or (tiny.PREFILL if is_tiny else "")

    def _check_length(self, rows: list[Row]) -> None:
        """Raise ConfigError for a question longer than the model's context."""
        limit = getattr(self.network.config, "max_position_embeddings", 0)
        longest = max(rows, key=lambda row: len(row["question"]))
        count = len(self.tokenizer(longest["question"] + self.prefill)["input_ids"])
        if limit and count + self.config.max_completion > limit:
            raise ConfigError(
                f"{longest['question'][:60]!r} has {count} tokens and its answer up to "
                f"{self.config.max_completion}; this model holds {limit}: shorten them, or name "
                "another model"
            )

    def _make_trainer(self) -> Trainer:
        config = self.config
        steps = config.total_env_steps or UNLIMITED
        arguments = GRPOConfig(
            output_dir=str(self.host.paths.root / "trl"), seed=config.seed, max_steps=steps,
            per_device_train_batch_size=config.prompts * config.generations,
            num_generations=config.generations, max_completion_length=config.max_completion,
            learning_rate=config.learning_rate, lr_scheduler_type="constant", beta=config.beta,
            temperature=config.temperature, shuffle_dataset=False, logging_steps=1,
            save_strategy="no", report_to=[], use_cpu=config.device == "cpu", bf16=False,
            disable_tqdm=True, gradient_checkpointing=False,
            reward_weights=[1.0, config.shaping],
        )  # fmt: skip
        trainer = Trainer(
            model=self.network,
            processing_class=self.tokenizer,
            args=arguments,
            reward_funcs=[countdown_reward, form_reward],
            rollout_func=self._roll_out,
            train_dataset=questions(self.train_rows, config.seed, steps * config.prompts),
            callbacks=[self],
        )
        trainer.remove_callback(PrinterCallback)  # train_log.jsonl has its output
        return trainer

    # -- what TRL calls ---------------------------------------------------------------------

    def _roll_out(self, questions: Sequence[str], _: Any) -> dict[str, Any]:
        episodes = self.workflows.run([self.by_question[text] for text in questions], self.how)
        answers = [answer_of(episode) for episode in episodes]
        step, every = self.trainer.state.global_step + 1, self.config.table_every
        if self.tables is not None and every and step % every == 0:
            self.tables.add("train", episodes, step)
        return {
            "prompt_ids": [answer.prompt_ids for answer in answers],
            "completion_ids": [answer.completion_ids for answer in answers],
            "logprobs": None,
            "said": [answer.text for answer in answers],
            "rllm_reward": [reward_of(episode) for episode in episodes],
        }

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """Count a training step, and let the host save, pause or end the run.

        TRL calls it when the step's metrics are complete.
        """
        if not logs or "reward" not in logs:
            return  # this is the summary at TRL's own end
        step = state.global_step
        state.log_history.clear()  # train_log.jsonl has the entries
        for name, value in logs.items():
            if isinstance(value, int | float):
                self.sums.setdefault(name, []).append(float(value))
        self.host.tick(step)
        if step % self.config.log_every == 0:
            self._record(step)
        self.host.boundary(step)

    def _record(self, step: int) -> None:
        means = {name: sum(values) / len(values) for name, values in self.sums.items()}
        self.sums = {}
        self.host.record(
            step,
            {NAMES.get(name, name): value for name, value in means.items()},
            **{FLAT[name]: value for name, value in means.items() if name in FLAT},
        )

    # -- checkpoints ------------------------------------------------------------------------

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        """Write TRL's own checkpoint files into `folder`, without its pickled arguments."""
        arguments, kept = self.trainer.args, self.trainer.args.output_dir
        arguments.output_dir = str(folder)
        try:
            self.trainer._save_checkpoint(self.trainer.model, None)
        finally:
            arguments.output_dir = kept
        (written,) = folder.glob("checkpoint-*")
        for path in written.iterdir():
            if path.name != "training_args.bin":
                path.rename(folder / path.name)
        for path in written.iterdir():
            path.unlink()
        written.rmdir()
        (folder / PROGRESS).write_text(json.dumps(progress | {"sums": self.sums}))

    def restore(self, folder: Path) -> RunProgress:
        state = json.loads((folder / PROGRESS).read_text())
        self.sums = state.pop("sums", {})
        self._resumed = folder
        return RunProgress.from_state(state)

    def make_validator(self) -> Validator:
        return self.validator

    def train(self) -> None:
        """Train until a limit or a person ends it. Raises RunEnded."""
        if self._resumed is None and self.config.eval_every:
            # Nothing is learned yet, so there is no best checkpoint, and none could be saved within.
            attend, self.validator.attend = self.validator.attend, go_on
            for kind, fields in self.validator.validate(0, 0):
                self.host.writer.append(kind, **fields)
            self.validator.attend = attend
        self.trainer.train(resume_from_checkpoint=self._resumed and str(self._resumed))


def countdown_reward(rllm_reward: list[float], **_: Any) -> list[float]:
    """Return rLLM's reward of each answer."""
    return rllm_reward


def form_reward(said: list[str], nums: list[list[int]], **_: Any) -> list[float]:
    return [countdown.form(text, given) for text, given in zip(said, nums, strict=True)]


countdown_reward.__name__, form_reward.__name__ = "countdown", "form"


def first_model(host: Host, config: RllmConfig) -> Path:
    """Return the folder of the initial model; the small one is made in the run's own folder.

    Raises CheckpointError for an incomplete warm-start checkpoint.
    """
    if config.warm_start:
        layout.verify(Path(config.warm_start), (WEIGHTS,))
        return Path(config.warm_start)
    if config.model_folder is not None:
        return config.model_folder
    folder = host.paths.root / INITIAL
    if not (folder / WEIGHTS).is_file():
        model, tokenizer = tiny.make_model(config.seed), tiny.make_tokenizer()
        if config.form_steps:
            rows, _ = config.rows()
            tiny.teach_form(
                model,
                tokenizer,
                [row["question"] for row in rows],
                len(rows[0]["nums"]),
                config.form_steps,
                config.seed,
            )
        tokenizer.save_pretrained(folder)
        model.save_pretrained(folder)
    return folder


def make_trainee(host: Host) -> GuestTrainee:
    config = host.spec.configure(RllmConfig)
    config.check_checkout()
    config.check_model()
    if config.algo == "verl":
        folder = first_model(host, config)
        return make_supervisor(host, config, folder, config.prefill or tiny.prefill_of(folder))
    return Training(host, config)
