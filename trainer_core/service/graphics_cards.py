"""The graphics cards of this computer, as nvidia-smi lists them: neither torch nor a driver's library is loaded."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import threading
from collections.abc import Iterator

from trainer_core.wire.checks import Gpu
from trainer_core.wire.environment import visible_gpus
from trainer_core.wire.errors import shown
from trainer_core.wire.process_guard import kill_group

COMMAND = ("nvidia-smi", "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits")
PATIENCE_S = 5.0
"""Seconds after which an nvidia-smi without an answer is killed."""
MAX_BYTES = 1 << 16
"""Bytes of its output from which it is taken for rubbish and killed."""
LONGEST_NAME = 60


async def find_cards() -> list[Gpu]:
    """Return the NVIDIA cards that a CUDA program sees here, in the order of `cuda:N`.

    Empty without a card, a driver or an answer within PATIENCE_S. A cancelled call kills the process.
    """
    try:
        process = subprocess.Popen(
            COMMAND, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError:
        return []
    loop = asyncio.get_running_loop()
    told = loop.create_future()

    def read() -> None:
        answer = _answer(process)
        with contextlib.suppress(RuntimeError):  # the app has ended
            loop.call_soon_threadsafe(lambda: told.done() or told.set_result(answer))

    # A driver that is stuck holds even a killed process: the app's end does not wait for a daemon thread.
    threading.Thread(target=read, name="nvidia-smi", daemon=True).start()
    try:
        answer = await asyncio.wait_for(told, PATIENCE_S)
    except TimeoutError:
        return []
    finally:
        if process.poll() is None:
            kill_group(process.pid)
    return list(_visible(answer.decode("utf-8", "replace")))


def _answer(process: subprocess.Popen[bytes]) -> bytes:
    """Return what a process writes; nothing if it fails or writes too much."""
    assert process.stdout is not None
    with process.stdout as output:
        found = output.read(MAX_BYTES)
    return found if len(found) < MAX_BYTES and process.wait() == 0 else b""


def _visible(answer: str) -> Iterator[Gpu]:
    """Yield the cards of nvidia-smi's answer that CUDA_VISIBLE_DEVICES leaves, in its order."""
    cards = {}
    for line in answer.splitlines():
        index, _, rest = line.partition(", ")
        uuid, _, rest = rest.partition(", ")
        name, _, mebibytes = rest.rpartition(", ")
        if name and mebibytes.isdecimal() and len(mebibytes) < 10:
            cards[index] = cards[uuid] = Gpu(name=shown(name, LONGEST_NAME), bytes=int(mebibytes) << 20)
    chosen = visible_gpus()
    for word in (word for word in cards if word.isdecimal()) if chosen is None else chosen:
        if word not in cards:
            return  # CUDA, too, ignores what follows an unknown card
        yield cards[word]
