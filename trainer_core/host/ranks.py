"""Ranks: processes that train one learner together: their numbers, connection and agreement.

A single process is rank 0 of one.
"""

from __future__ import annotations

import datetime
import socket
import time
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from trainer_core.wire.environment import meet_within_s, rank_place
from trainer_core.wire.errors import FailureError, LabError

T = TypeVar("T")


class Ranks:
    """Group of the processes that `--gpus` or torchrun started, seen from one of them; a group of one otherwise."""

    def __init__(self) -> None:
        place = rank_place()
        self.rank, self.world, self.local_rank = place.rank, place.world, place.local_rank or 0
        if self.world > 1 and not dist.is_initialized():
            # gloo carries agreements on the host, nccl the gradients.
            backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
            meeting = place.meeting
            if meeting.startswith("tcp://"):
                store = self._meet(meeting.removeprefix("tcp://"), meet_within_s())
                dist.init_process_group(backend, store=store, rank=self.rank, world_size=self.world)
            elif meeting:
                dist.init_process_group(backend, init_method=f"file://{meeting}", rank=self.rank, world_size=self.world)
            else:  # torchrun sets the variables
                dist.init_process_group(backend)

    def _meet(self, address: str, within: float) -> Any:
        """Return torch's key-value store at `address` (HOST:PORT), which rank 0 serves on that address alone.

        Raises LabError when not all ranks connect `within` seconds, or when the address is another computer's.
        """
        host, _, port = address.rpartition(":")
        place, family = (host.strip("[]"), int(port)), _family(host.strip("[]"))
        listening: int | None = None
        if self.is_first:
            with socket.socket(family) as server:
                server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    server.bind(place)
                except OSError as error:
                    raise FailureError(
                        f"cannot listen at {address}: {error.strerror}; --rendezvous names a free "
                        "port of the computer with --node-rank 0, by an address that it has"
                    ) from None
                server.listen()
                listening = server.detach()
        else:
            _await_server(place, within)
        try:
            return dist.TCPStore(  # type: ignore[attr-defined]
                *place,
                self.world,
                self.is_first,
                wait_for_workers=True,
                timeout=datetime.timedelta(seconds=within),
                master_listen_fd=listening,
            )
        except dist.DistError as error:
            said = str(error).splitlines()[0][:200]
            raise FailureError(
                f"not all {self.world} processes met at {address} within {within:g} s ({said}): "
                "start each node with the same --nodes and --gpus, and its own --node-rank"
            ) from None

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def agree(self, value: T) -> T:
        """Return rank 0's `value` on every rank."""
        if self.world == 1:
            return value
        box: list[Any] = [value]
        dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
        return box[0]

    def gather(self, data: bytes) -> list[bytes]:
        """Return every rank's bytes on rank 0, an empty list elsewhere."""
        if self.world == 1:
            return [data]
        box: list[Any] | None = [b""] * self.world if self.is_first else None
        dist.gather_object(data, box, dst=0)
        return box or []

    def all(self, held: bool) -> bool:
        """Return whether `held` is true on every rank."""
        if self.world == 1:
            return held
        told: list[Any] = [None] * self.world
        dist.all_gather_object(told, held)
        return all(told)

    def require_same(self, told: str) -> None:
        """Raise LabError on every rank unless all of them pass the same `told`, an encoding of the options.

        Ranks with different options would wait for each other for ever.
        """
        if not self.all(self.agree(told) == told):
            raise FailureError(
                f"the {self.world} processes were started with different options: give every "
                "node the same command but for --node-rank"
            )

    def close(self) -> None:
        if self.world > 1:
            dist.destroy_process_group()


def _family(host: str) -> int:
    """Return the address family of sockets that reach `host`. Raises LabError for an unknown name."""
    try:
        return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
    except OSError as error:
        raise LabError(f"no host {host!r}: {error.strerror}") from None


def _await_server(place: tuple[str, int], within: float) -> None:
    """Wait until a server listens at `place`, at most `within` seconds; torch's own waiting fills the terminal."""
    deadline = time.monotonic() + within
    while True:
        try:
            socket.create_connection(place, timeout=5).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise FailureError(
                    f"nobody listens at {place[0]}:{place[1]} after {within:g} s "
                    f"({error.strerror or error}): start the node with --node-rank 0"
                ) from None
        time.sleep(0.2)
