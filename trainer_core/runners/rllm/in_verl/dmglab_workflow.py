"""rLLM's SimpleWorkflow on countdown in VERL's process, with prefill and reward of form."""

# pyright: reportMissingImports=false

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from dmglab_form import END, form
from rllm.parser import ChatTemplateParser
from rllm.rewards.countdown_reward import countdown_reward_fn
from rllm.trainer.verl.agent_workflow_trainer import AgentWorkflowPPOTrainer
from rllm.utils import tracking
from rllm.workflows.simple_workflow import SimpleWorkflow


class Lines(tracking.FileLogger):
    """rLLM's metrics file written line by line: its own class keeps 8 kB back."""

    def log(self, data: Any, step: int) -> None:
        super().log(data, step)
        self.fp.flush()


tracking.FileLogger = Lines
_init_workers = AgentWorkflowPPOTrainer.init_workers


def init_workers(trainer: Any) -> None:
    """Start the workers; give the critic's the two calls that rLLM makes, which VERL 0.8 has on its trainer."""
    _init_workers(trainer)
    if trainer.use_critic:
        trainer.critic_wg.compute_values = trainer._compute_values
        trainer.critic_wg.update_critic = trainer._update_critic


AgentWorkflowPPOTrainer.init_workers = init_workers


class Plain(ChatTemplateParser):
    """Parser of prompts and answers by the tokenizer's own chat template; rLLM's class for it cannot parse an answer.

    The prefill is part of the answer's text, as if the model had written it.
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
        """Give all answers to one question the same uid, by which rLLM groups them; it would be unique per answer."""
        found = super().postprocess_episode(episode, *args, **kwargs)
        for trajectory in found.trajectories:
            trajectory.uid = found.id.rpartition(":")[0]
        return found

    def assign_episode_correctness(self, episode: Any) -> None:
        """Mark an episode as correct only if its answer is right; rLLM marks every reward above 0."""
        steps = [step for trajectory in episode.trajectories for step in trajectory.steps]
        episode.is_correct = any(countdown_reward_fn(episode.task, step.action).is_correct for step in steps)

    def collect_metrics(self, episode: Any) -> None:
        """Set the episode's metric `score` (logged as val/countdown/score) to its reward, reward of form included."""
        episode.metrics = {"score": sum(t.reward or 0.0 for t in episode.trajectories)}


def reward(shaping: float, task: dict[str, Any], action: Any) -> Any:
    """Return rLLM's reward output with `shaping` times the reward of form added; its correctness is unchanged."""
    found = countdown_reward_fn(task, action)
    said = str(getattr(action, "action", action))
    shaped = float(found.reward) + shaping * form(said, list(task["nums"]))
    return replace(found, reward=shaped)
