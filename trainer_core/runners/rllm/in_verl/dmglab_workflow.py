"""rLLM's SimpleWorkflow on countdown, in VERL's process: the prefill, the reward of form."""

# pyright: reportMissingImports=false

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from dmglab_form import END, form
from rllm.parser import ChatTemplateParser
from rllm.rewards.countdown_reward import countdown_reward_fn
from rllm.utils import tracking
from rllm.workflows.simple_workflow import SimpleWorkflow


class Lines(tracking.FileLogger):
    """rLLM's metrics file, a line at a time: its own keeps 8 kB of them back."""

    def log(self, data: Any, step: int) -> None:
        super().log(data, step)
        self.fp.flush()


tracking.FileLogger = Lines


class Plain(ChatTemplateParser):
    """A tokenizer's own chat template; rLLM's class for it cannot read an answer.

    What the model is given of its answer stands in the text as if it had said it.
    """

    def __init__(self, tokenizer: Any, prefill: str) -> None:
        super().__init__(tokenizer)
        self.prefill = prefill

    def parse(self, messages: Any, add_generation_prompt: bool = False, **kwargs: Any) -> str:
        text = super().parse(messages, add_generation_prompt=add_generation_prompt, **kwargs)
        return text + self.prefill if add_generation_prompt else text

    def parse_completion(self, completion_ids: list[int]) -> dict[str, Any]:
        hidden = self.tokenizer.eos_token != END
        said = self.tokenizer.decode(completion_ids, skip_special_tokens=hidden)
        return {"content": self.prefill + said, "reasoning": "", "tool_calls": []}


class Countdown(SimpleWorkflow):
    def __init__(self, rollout_engine: Any, prefill: str, shaping: float, **kwargs: Any) -> None:
        parser = rollout_engine.chat_parser
        if type(parser) is ChatTemplateParser:
            rollout_engine.chat_parser = Plain(parser.tokenizer, prefill)
        super().__init__(rollout_engine, partial(reward, shaping), **kwargs)

    def postprocess_episode(self, episode: Any, *args: Any, **kwargs: Any) -> Any:
        """Answers to one question are one group: rLLM groups by a uid that each has for itself."""
        found = super().postprocess_episode(episode, *args, **kwargs)
        for trajectory in found.trajectories:
            trajectory.uid = found.id.rpartition(":")[0]
        return found

    def assign_episode_correctness(self, episode: Any) -> None:
        """rLLM takes every reward above 0 for right; half an answer is not."""
        steps = [step for trajectory in episode.trajectories for step in trajectory.steps]
        episode.is_correct = any(countdown_reward_fn(episode.task, step.action).is_correct for step in steps)

    def collect_metrics(self, episode: Any) -> None:
        """`val/countdown/score`: the reward with that of the form."""
        episode.metrics = {"score": sum(t.reward or 0.0 for t in episode.trajectories)}


def reward(shaping: float, task: dict[str, Any], action: Any) -> Any:
    """rLLM's, and `shaping` times what the form is worth; right is what rLLM says is right."""
    found = countdown_reward_fn(task, action)
    said = str(getattr(action, "action", action))
    shaped = float(found.reward) + shaping * form(said, list(task["nums"]))
    return replace(found, reward=shaped)
