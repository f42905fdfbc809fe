"""Several processes, one learner: who am I, and how do we agree. One process is the plain case."""

from __future__ import annotations

import os
from typing import Any, TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")


MEETING = "DMGLAB_RANKS_MEETING"
"""Environment variable with the file where the ranks of `dmglab --gpus` find each other."""


class Ranks:
    """This process's place among those that `--gpus`, or torchrun, started; else alone."""

    def __init__(self) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.world = int(os.environ.get("WORLD_SIZE", "1"))
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        if self.world > 1 and not dist.is_initialized():
            # gloo carries what is agreed on the host, nccl the gradients.
            backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
            if meeting := os.environ.get(MEETING):
                dist.init_process_group(
                    backend, init_method=f"file://{meeting}", rank=self.rank, world_size=self.world
                )
            else:  # torchrun's variables
                dist.init_process_group(backend)

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def agree(self, value: T) -> T:
        """The value of rank 0."""
        if self.world == 1:
            return value
        box: list[Any] = [value]
        dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
        return box[0]

    def gather(self, data: bytes) -> list[bytes]:
        """Everyone's bytes on rank 0, an empty list elsewhere."""
        if self.world == 1:
            return [data]
        box: list[Any] | None = [b""] * self.world if self.is_first else None
        dist.gather_object(data, box, dst=0)
        return box or []

    def all(self, held: bool) -> bool:
        """Whether `held` on every rank."""
        if self.world == 1:
            return held
        told: list[Any] = [None] * self.world
        dist.all_gather_object(told, held)
        return all(told)

    def close(self) -> None:
        if self.world > 1:
            dist.destroy_process_group()
