"""Description of the rLLM runner; rLLM, TRL and VERL are not imported here."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from trainer_core.lab.guest_environment import PROBE, PROBE_PATIENCE_S
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.guest.config import CheckoutFields, GuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.runners.rllm import COUNTDOWN
from trainer_core.wire.capabilities import FULL
from trainer_core.wire.checks import Check, Found, judged
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_fields, option
from trainer_core.wire.spec import RunSpec

if TYPE_CHECKING:
    from trainer_core.runners.rllm.countdown import Row

Algorithm = Literal["grpo", "verl"]
ALGORITHMS = get_args(Algorithm)
VERL_MODULES = ("verl", "ray", "httpx")
ENGINE = Path("rllm", "engine", "agent_workflow_engine.py")
"""File whose presence identifies a checkout of rLLM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RllmConfig(CheckoutFields, GuestConfig):
    """Options of a language model that learns countdown: model, trainer, questions, limits."""

    task: str = option(COUNTDOWN, "Task", "basics")
    """countdown: reach a number with others; rLLM's example and its reward."""
    total_env_steps: int = option(1_000, "Training steps", "basics", minimum=0)
    """Stop after so many updates of the weights; 0 = no limit."""
    target_success: float = option(0.0, "Stop at success", "basics", minimum=0, maximum=1)
    """Stop once greedy answers to the held-out questions reach this; 0 = go on."""
    algo: Algorithm = option("grpo", "Algorithm", "basics", choices=ALGORITHMS)
    """grpo: TRL's GRPOTrainer on episodes of rLLM's workflow engine, on a CPU too;
    verl: rLLM's AgentTrainer on VERL, which needs --verl-python."""
    model: str = option("", "Model", "basics", is_folder=True)
    """Folder of a model with its tokenizer, as transformers saves them; empty = a small Llama of
    85,000 weights that reads characters. Nothing is downloaded."""
    form_steps: int = option(100, "Form first", "learning", minimum=0, maximum=100_000)
    """Supervised steps in which the small model learns what an equation looks like, not which one
    is right; 0 = it begins as random as it was made."""
    data: str = option("", "Questions", "env")
    """File of JSON lines with nums and target; empty = pairs of numbers up to the largest one."""
    largest_number: int = option(5, "Largest number", "env", minimum=2, maximum=99)
    """Largest number without a file: pairs of numbers from 1 to this, their sums, differences and products."""
    prefill: str = option("", "Prefill", "env")
    """Text that every answer begins with, given to the model; the small model has its own."""
    shaping: float = option(1.0, "Reward of form", "env", minimum=0, maximum=10)
    """Weight of the reward for the form of an answer (at most 0.5) beside rLLM's own of 1."""
    prompts: int = option(8, "Questions a step", "learning", minimum=1, maximum=4096)
    """Questions of one training step."""
    generations: int = option(16, "Answers a question", "learning", minimum=2, maximum=1024)
    """Answers to each question, compared with each other."""
    max_prompt: int = option(512, "Longest question", "learning", minimum=1, unit="tokens")
    """Tokens of a question that are kept (VERL)."""
    max_completion: int = option(6, "Longest answer", "learning", minimum=1, unit="tokens")
    """Tokens of an answer at most."""
    learning_rate: float = option(1e-3, "Learning rate", "learning", minimum=0)
    """AdamW's step size, constant. 1e-3 is for the small model; a pretrained one takes about 1e-6."""
    beta: float = option(0.0, "KL coefficient", "learning", minimum=0)
    """Weight of the KL divergence from the model that the run began with."""
    temperature: float = option(1.0, "Temperature", "learning", minimum=0.01)
    """Temperature of sampled answers."""
    eval_every: int = option(50, "Validate every", "logging", minimum=0, unit="steps")
    """Training steps between two validations by rLLM's workflow engine; 0 disables."""
    eval_episodes: int = option(64, "Validation questions", "logging", minimum=1)
    """Held-out questions of one validation, or all where there are fewer."""
    rollouts: int = option(4, "Drawn answers", "logging", minimum=1, maximum=64)
    """Answers drawn to each of them, for pass@n."""
    checkpoint_every: int = option(200, "Checkpoint every", "logging", minimum=0, unit="steps")
    """Training steps between two checkpoints; 0 = only at the end. verl saves at their multiples alone: end at one."""
    keep_episodes: int = option(16, "Keep episodes", "logging", minimum=0, maximum=10_000)
    """Drawn answers of each validation that are kept as files below episodes/."""
    log_every: int = option(5, "Log every", "logging", minimum=1)
    """Training steps of one record."""
    wandb_tables: bool = option(False, "W&B tables", "logging")
    """grpo: keep drawn answers of each validation as the table val/sample_table of an offline W&B run."""
    table_rows: int = option(10, "Rows of a table", "logging", minimum=1, maximum=1000)
    """Answers of one table, chosen at random by the seed and the step."""
    table_every: int = option(0, "Training tables every", "logging", minimum=0, unit="steps")
    """Training steps between two tables train/sample_table of training's own answers; 0 = none."""
    verl_python: str = option("", "VERL's Python", "env")
    """verl: interpreter of an environment with rLLM's extra `verl` (VERL, Ray, vLLM)."""
    gpus: int = option(1, "GPUs", "env", minimum=1, maximum=64)
    """verl: GPUs of this computer that it takes."""
    rollout: Literal["vllm", "hf"] = option("vllm", "Rollouts", "env", choices=("vllm", "hf"))
    """verl: engine that generates answers. vllm: VERL's own, on GPUs; hf: transformers, for small models, without vLLM,
    on a CPU too."""
    critic: bool = option(False, "Critic", "learning")
    """verl: train a value network too and take its advantages (GAE), instead of comparing the answers to a question."""
    arguments: str = option("", "Arguments", "learning")
    """verl: more of its settings, for example `algorithm.use_kl_in_reward=True`."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.device == "cpu" and self.algo == "verl":
            return  # preflight reports it with a remedy
        if not self.learning_rate:
            raise ConfigError("learning_rate must be above 0")

    @property
    def model_folder(self) -> Path | None:
        return Path(self.model).expanduser() if self.model else None

    def check_checkout(self) -> str:
        """Return the folder of rLLM's source. Raises ConfigError."""
        self.require_source("rLLM", self.source / ENGINE)
        return str(self.source)

    def check_model(self) -> str:
        """Return a description of the initial model. Raises ConfigError."""
        folder = self.model_folder
        if folder is None:
            return "a small Llama that reads characters"
        for name in ("config.json", "tokenizer_config.json"):
            if not (folder / name).is_file():
                raise ConfigError(
                    f"{folder}: no {name}; a model's folder has what save_pretrained of model and tokenizer writes"
                )
        if not any(folder.glob("*.safetensors")):
            raise ConfigError(f"{folder}: no weights (*.safetensors)")
        return str(folder)

    def rows(self) -> tuple[list[Row], list[Row]]:
        """Return the questions as (training rows, held-out rows). Raises ConfigError."""
        from trainer_core.runners.rllm import countdown

        if self.data:
            return countdown.split(countdown.read_rows(Path(self.data).expanduser()))
        if self.model:
            raise ConfigError("a model of yours needs questions in its own words: name a file with --data")
        return countdown.split(countdown.make_rows(self.largest_number))


class RllmRunner(GuestRunner):
    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        if spec.task != COUNTDOWN:
            return Check(
                name="Task",
                status="fail",
                detail=f"rLLM's runner knows no task {spec.task!r}",
                fix="Take countdown; other questions of it come with --data",
                remedy={"task": COUNTDOWN},
            )
        config: RllmConfig = self.configure(spec)

        def count() -> str:
            train, held = config.rows()
            return f"countdown: {len(train)} questions, {len(held)} held out"

        return judged("Task", count, "Mend the file")

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        yield from super().check_options(spec, found, home)
        config: RllmConfig = self.configure(spec)
        yield judged("Checkout", config.check_checkout, "Clone rllm-org/rllm and give its folder as --checkout")
        yield judged("Model", config.check_model, "Name another folder, or none for the small one", model="")
        if config.algo == "verl":
            yield from _check_verl(config, found)


def _check_verl(config: RllmConfig, found: Found) -> Iterable[Check]:
    """Yield checks of VERL's own environment, and of a GPU for rollouts that need one."""
    if config.rollout == "vllm" and (not found.get("gpus") or config.device == "cpu"):
        yield Check(
            name="VERL",
            status="fail",
            detail="with rollouts by vLLM it trains on CUDA GPUs alone",
            fix="Take the trainer grpo here, or the rollouts hf, or a GPU computer",
            remedy={"algo": "grpo"},
        )
        return
    if not config.verl_python:
        yield Check(
            name="VERL",
            status="fail",
            detail="no interpreter with VERL was named",
            fix="Install rLLM's extra verl in an environment of its own and name its python with --verl-python",
        )
        return
    yield (found_verl := judged("VERL", lambda: find_verl(config), "pip install 'rllm[verl]'"))
    if found_verl.status == "ok":
        yield from _check_checkpoints(config.checkpoint_every, config.total_env_steps)


def _check_checkpoints(every: int, total: int) -> Iterable[Check]:
    """Warn when no checkpoint would be saved at the end: VERL saves only at multiples of `every`."""
    if not every and not total:
        yield Check(
            name="Checkpoints",
            status="warn",
            detail="without a last step VERL saves nothing",
            fix="Save every few hundred steps",
            remedy={"checkpoint_every": 200},
        )
    elif every and total > every and total % every:
        whole = total - total % every
        yield Check(
            name="Checkpoints",
            status="warn",
            detail=f"VERL saves every {every} steps: what it learns after step {whole} is not kept",
            fix=f"End after {whole} steps",
            remedy={"total_env_steps": whole},
        )


def find_verl(config: RllmConfig) -> str:
    """Return the versions of VERL's packages in --verl-python. Raises ConfigError."""
    python = config.verl_python
    wanted = (*VERL_MODULES, "vllm") if config.rollout == "vllm" else VERL_MODULES
    try:
        done = subprocess.run(
            [python, "-P", "-c", PROBE, *wanted],
            capture_output=True,
            text=True,
            timeout=PROBE_PATIENCE_S,
            check=True,
            env=child_environment(python),
        )
        modules = json.loads(done.stdout)["modules"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise ConfigError(f"{python} is no Python that answers: {type(error).__name__}") from None
    missing = [name for name, version in modules.items() if version is None]
    if missing:
        raise ConfigError(f"{python} lacks {', '.join(missing)}")
    return ", ".join(f"{name} {version}" for name, version in modules.items())


RLLM = RllmRunner(
    id="rllm",
    title="rLLM",
    summary="Language models learn countdown: rLLM's workflow engine, TRL's GRPO or VERL.",
    capabilities=FULL.but(play=False, watch=False, episodes=True),
    algorithms=ALGORITHMS,
    config_type=RllmConfig,
    modules=("torch", "transformers", "trl", "datasets", "pydantic", "warp"),
    worker="trainer_core.runners.rllm.worker",
)
