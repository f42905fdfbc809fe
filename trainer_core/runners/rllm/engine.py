"""rLLM's workflow engine over a model in this process: from questions to scored answers ("episodes").

rLLM's RolloutEngine calls a server for each question; this one gathers the questions that its workflows ask at the same
time, and `generate` answers them as one batch.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import random
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trainer_core.runners.guest import generators
from trainer_core.runners.rllm.countdown import Row
from trainer_core.wire.errors import ConfigError

END = "</answer>"


def import_rllm(checkout: Path) -> Any:
    """Import the names of rLLM used here from the user's checkout. Raises ConfigError."""
    sys.path.append(str(checkout))
    try:
        from rllm.engine.agent_workflow_engine import AgentWorkflowEngine
        from rllm.engine.rollout.rollout_engine import ModelOutput, RolloutEngine
        from rllm.rewards.countdown_reward import countdown_reward_fn
        from rllm.utils.episode_logger import EpisodeLogger
        from rllm.workflows.simple_workflow import SimpleWorkflow
    except ImportError as error:
        raise ConfigError(f"{checkout}: rLLM cannot be imported: {error}") from None

    return types.SimpleNamespace(
        AgentWorkflowEngine=AgentWorkflowEngine,
        ModelOutput=ModelOutput,
        RolloutEngine=RolloutEngine,
        countdown_reward_fn=countdown_reward_fn,
        EpisodeLogger=EpisodeLogger,
        SimpleWorkflow=SimpleWorkflow,
    )


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Options for generating answers."""

    max_completion: int
    temperature: float
    """0 = the most likely token each time."""
    prefill: str = ""


@dataclass(frozen=True)
class Answer:
    """One generated answer with the token ids that GRPO needs."""

    prompt_ids: list[int]
    completion_ids: list[int]
    text: str
    """Text of the answer, prefill included."""
    ended: bool
    """False if the length limit cut it."""


def generate(model: Any, tokenizer: Any, questions: Sequence[str], how: Sampling) -> list[Answer]:
    """Return an answer to each question, generated as one batch with torch's global generator."""
    texts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
        )
        + how.prefill
        for question in questions
    ]
    batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False).to(
        model.device
    )
    drawn = {"do_sample": True, "temperature": how.temperature, "top_k": 0, "top_p": 1.0}
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            out = model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                max_new_tokens=how.max_completion,
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=tokenizer.eos_token_id,
                **(drawn if how.temperature else {"do_sample": False}),
            )
    finally:
        model.train(was_training)
    width = batch["input_ids"].shape[1]
    return [
        _answer(tokenizer, row[:width][mask.bool()].tolist(), row[width:].tolist(), how.prefill)
        for row, mask in zip(out, batch["attention_mask"], strict=True)
    ]


def _answer(tokenizer: Any, prompt: list[int], completion: list[int], prefill: str) -> Answer:
    ended = tokenizer.eos_token_id in completion
    if ended:
        completion = completion[: completion.index(tokenizer.eos_token_id) + 1]
    said = tokenizer.decode(completion, skip_special_tokens=tokenizer.eos_token != END)
    return Answer(prompt, completion, prefill + said, ended)


class Workflows:
    """Runner of rLLM's SimpleWorkflow and countdown reward with `model`."""

    def __init__(self, rllm: Any, model: Any, tokenizer: Any, episodes: Path) -> None:
        """Set up; saved episodes go to the folder `episodes`."""
        self.model, self.tokenizer = model, tokenizer
        self._rllm = rllm
        self._logger = rllm.EpisodeLogger(str(episodes.parent), episodes.name)

    def run(self, rows: Sequence[Row], how: Sampling) -> list[Any]:
        """Return one rLLM Episode (answer and reward) per row, in their order; equal rows are rollouts of one task.

        Raises ConfigError when the workflow itself failed.
        """
        return asyncio.run(self._run(rows, how))

    def keep(self, episodes: list[Any], step: int, mode: str) -> None:
        """Write one file per episode with rLLM's EpisodeLogger; `mode` is train or val."""
        with contextlib.redirect_stdout(io.StringIO()):
            self._logger.log_episodes_batch(episodes, step, mode)

    async def _run(self, rows: Sequence[Row], how: Sampling) -> list[Any]:
        rllm, tasks = self._rllm, [dict(row) for row in rows]
        engine = rllm.AgentWorkflowEngine(
            workflow_cls=rllm.SimpleWorkflow,
            workflow_args={"reward_function": rllm.countdown_reward_fn},
            rollout_engine=_batching(rllm, self.model, self.tokenizer, how),
            n_parallel_tasks=len(tasks),
            retry_limit=1,
            raise_on_error=False,
        )
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # it prints a coloured line for each episode
                episodes = await engine.execute_tasks(tasks, [_task_id(row) for row in rows])
        finally:
            engine.shutdown()
        for episode in episodes:
            error = episode.info.get("error")
            if error or not episode.trajectories:
                told = (error or {}).get("error_message", "no trajectory")
                raise ConfigError(f"rLLM's workflow failed on {episode.id}: {told}")
        return _in_order(rows, episodes)


def _task_id(row: Row) -> str:
    """Return a short id of the question, `3-4-is-7` and a hash of the wording: rLLM names files after it."""
    digest = hashlib.sha256(row["question"].encode()).hexdigest()[:8]
    return f"{'-'.join(map(str, row['nums']))}-is-{row['target']}-{digest}"


def _in_order(rows: Sequence[Row], episodes: list[Any]) -> list[Any]:
    """Return the engine's episodes in the order of `rows`; the engine returns the rollouts of a task as they end."""
    by_id = {episode.id: episode for episode in episodes}
    seen: dict[str, int] = {}
    found = []
    for row in rows:
        task = _task_id(row)
        number = seen.get(task, 0)
        seen[task] = number + 1
        found.append(by_id[f"{task}:{number}"])
    return found


def _batching(rllm: Any, model: Any, tokenizer: Any, how: Sampling) -> Any:
    """Return an rLLM RolloutEngine that gathers the requests of one event loop turn and answers them as one batch."""

    class Batching(rllm.RolloutEngine):
        def __init__(self) -> None:
            super().__init__()
            self.waiting: list[tuple[str, str, asyncio.Future[Answer]]] = []

        async def _get_model_response(self, messages: list[dict], application_id: str = "", **_: Any) -> Any:
            loop = asyncio.get_running_loop()
            if not self.waiting:
                loop.call_later(0.01, self.answer)
            mine: asyncio.Future[Answer] = loop.create_future()
            self.waiting.append((application_id, messages[-1]["content"], mine))
            found = await mine
            return rllm.ModelOutput(
                text=found.text,
                content=found.text,
                reasoning="",
                prompt_ids=found.prompt_ids,
                completion_ids=found.completion_ids,
                prompt_length=len(found.prompt_ids),
                completion_length=len(found.completion_ids),
                finish_reason="stop" if found.ended else "length",
            )

        def answer(self) -> None:
            # The loop starts workflows in no fixed order; sorting makes batches reproducible.
            waiting, self.waiting = sorted(self.waiting, key=lambda asked: asked[0]), []
            try:
                answers = generate(model, tokenizer, [text for _, text, _ in waiting], how)
            except Exception as error:
                for *_, future in waiting:
                    future.set_exception(error)
                return
            for (*_, future), found in zip(waiting, answers, strict=True):
                future.set_result(found)

    return Batching()


def answer_of(episode: Any) -> Any:
    """Return the ModelOutput of the only step in an episode."""
    return episode.trajectories[0].steps[-1].model_output


def reward_of(episode: Any) -> float:
    """Return the reward that rLLM's reward function gave to the episode."""
    return float(episode.trajectories[0].reward)


@contextlib.contextmanager
def own_generators(seed: int) -> Iterator[None]:
    """Seed the global random generators for the block, then restore them.

    Validation in the block then does not change the random numbers of training.
    """
    before, python = generators.state(), random.getstate()
    torch.manual_seed(seed)
    random.seed(seed)
    try:
        yield
    finally:
        generators.load_state(before)
        random.setstate(python)
