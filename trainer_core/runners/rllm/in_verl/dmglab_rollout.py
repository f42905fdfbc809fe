"""VERL's rollouts by transformers' own `generate`, for small models without vLLM.

VERL imports this file in each of its processes (VERL_USE_EXTERNAL_MODULES, see verl_process.py). It replaces `vllm`,
one of the two names that rLLM's engine accepts. Imports none of our modules, since it runs in VERL's interpreter.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import ray
import torch
from verl.workers.rollout import base
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry, TokenOutput

GATHER_S = 0.01
"""Seconds during which single requests are gathered into one batch."""
LARGEST_BATCH = 256
PART_BYTES = 64 << 20
"""Approximate size of the parts in which weights are sent from the trainer to the server."""


@dataclass(frozen=True)
class Sampling:
    """Sampling options of a batch; requests with different options make separate batches."""

    temperature: float
    top_k: int
    top_p: float
    max_tokens: int

    @classmethod
    def of(cls, asked: dict[str, Any]) -> Sampling:
        """Convert vLLM's options. top_k of -1 or 0: all tokens."""
        return cls(
            temperature=float(asked.get("temperature", 1.0)),
            top_k=max(0, int(asked.get("top_k", 0))),
            top_p=float(asked.get("top_p", 1.0)),
            max_tokens=int(asked["max_tokens"]),
        )


class Server:
    """Ray actor on one worker's node that generates answers with the last weights that the trainer sent."""

    def __init__(self, model_path: str, seed: int) -> None:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.tokenizer = AutoTokenizer.from_pretrained(model_path, local_files_only=True)
        config = AutoConfig.from_pretrained(model_path, local_files_only=True)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = AutoModelForCausalLM.from_config(config).to(self.device).eval()
        self.waiting: list[tuple[str, list[int], Sampling, asyncio.Future[TokenOutput]]] = []
        self.busy = asyncio.Lock()

    async def load(self, part: dict[str, torch.Tensor]) -> None:
        """Load a part of the weights, by transformers' parameter names. Raises KeyError for an unknown name."""
        own = self.model.state_dict()
        async with self.busy:
            for name, weight in part.items():
                own[name].copy_(weight)

    async def generate(
        self, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> TokenOutput:
        """Return one answer with its tokens' log-probabilities, as VERL calls it."""
        loop = asyncio.get_running_loop()
        if not self.waiting:
            loop.call_later(GATHER_S, lambda: asyncio.ensure_future(self._answer()))
        mine: asyncio.Future[TokenOutput] = loop.create_future()
        self.waiting.append((request_id, prompt_ids, Sampling.of(sampling_params), mine))
        return await mine

    async def _answer(self) -> None:
        waiting, self.waiting = self.waiting, []
        async with self.busy:
            for how in dict.fromkeys(how for _, _, how, _ in waiting):
                alike = [asked for asked in waiting if asked[2] == how]
                for start in range(0, len(alike), LARGEST_BATCH):
                    some = alike[start : start + LARGEST_BATCH]
                    try:
                        outputs = self._batch([prompt for _, prompt, _, _ in some], how)
                    except Exception as error:
                        for *_, future in some:
                            future.set_exception(error)
                        continue
                    for (*_, future), output in zip(some, outputs, strict=True):
                        future.set_result(output)

    @torch.no_grad()
    def _batch(self, prompts: list[list[int]], how: Sampling) -> list[TokenOutput]:
        end, pad = self.tokenizer.eos_token_id, self.tokenizer.pad_token_id
        pad = end if pad is None else pad
        width = max(map(len, prompts))
        ids = [[pad] * (width - len(prompt)) + prompt for prompt in prompts]
        seen = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        drawn = {"do_sample": True, "temperature": how.temperature, "top_k": how.top_k, "top_p": how.top_p}
        out = self.model.generate(
            input_ids=torch.tensor(ids, device=self.device),
            attention_mask=torch.tensor(seen, device=self.device),
            max_new_tokens=how.max_tokens,
            pad_token_id=pad,
            eos_token_id=end,
            return_dict_in_generate=True,
            output_logits=True,
            **(drawn if how.temperature else {"do_sample": False}),
        )
        said = out.sequences[:, width:]
        scaled = torch.stack(out.logits, 1).float() / (how.temperature or 1.0)
        chosen = scaled.log_softmax(-1).gather(-1, said.unsqueeze(-1)).squeeze(-1)
        return [_output(row, probs, end) for row, probs in zip(said.tolist(), chosen.tolist(), strict=True)]

    async def nothing(self, *_: Any, **__: Any) -> None:
        """Do nothing: the model is small and keeps its memory between rollouts."""

    wake_up = sleep = clear_kv_cache = release_kv_cache = resume_kv_cache = nothing
    abort_all_requests = resume_generation = start_profile = stop_profile = nothing


def _output(row: list[int], probs: list[float], end: int) -> TokenOutput:
    ended = end in row
    length = row.index(end) + 1 if ended else len(row)
    return TokenOutput(token_ids=row[:length], log_probs=probs[:length], stop_reason="completed")


def server_name(replica_rank: int) -> str:
    return f"dmglab_rollout_{replica_rank}"


class Replica(RolloutReplica):
    """VERL's replica: starts the one server of a worker, on the worker's GPU."""

    async def launch_servers(self) -> None:
        if self.world_size != 1:
            raise ValueError("this rollout takes actor_rollout_ref.rollout.tensor_model_parallel_size=1")
        node, gpu = await self.workers[0].__ray_call__.remote(_place)
        server = (
            ray.remote(Server)
            .options(
                name=server_name(self.replica_rank),
                max_concurrency=self.max_concurrency,
                num_cpus=0,
                scheduling_strategy=ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
                    node_id=node, soft=False
                ),
                runtime_env={
                    "env_vars": {"CUDA_VISIBLE_DEVICES": gpu, "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"}
                },
            )
            .remote(self.model_config.path, self.replica_rank)
        )
        await server.nothing.remote()
        self.servers = [server]
        self._server_handle = server
        self._server_address = server_name(self.replica_rank)


def _place(_: Any) -> tuple[str, str]:
    context = ray.get_runtime_context()
    return context.get_node_id(), next(iter(context.get_accelerator_ids().get("GPU", ())), "")


class Adapter(BaseRollout):
    """VERL's rollout object in the trainer: it sends updated weights to the Server."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, **_: Any) -> None:
        super().__init__(config, model_config, device_mesh)
        self.replica_rank = torch.distributed.get_rank()
        self.is_leader_rank = True
        self.server: Any = None

    async def resume(self, tags: list[str]) -> None:
        pass

    async def release(self) -> None:
        pass

    async def update_weights(self, weights: Generator[tuple[str, torch.Tensor]], **_: Any) -> None:
        self.server = self.server or ray.get_actor(server_name(self.replica_rank))
        part: dict[str, torch.Tensor] = {}
        for name, weight in weights:
            part[name] = weight.detach().cpu()
            if sum(kept.nbytes for kept in part.values()) >= PART_BYTES:
                await self.server.load.remote(part)
                part = {}
        await self.server.load.remote(part)


RolloutReplicaRegistry.register("vllm", lambda: Replica)
base._ROLLOUT_REGISTRY["vllm", "async"] = f"{__name__}.Adapter"
