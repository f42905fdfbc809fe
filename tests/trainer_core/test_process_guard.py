"""Being owned: whoever dies, whatever a child is busy with, nothing stays and nothing listens."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.processes import PATIENCE_S, in_service, start, until
from tests.support.sockets import listening
from trainer_core.service import run_job
from trainer_core.wire import process_guard

BUSY = """
import sys, time, hashlib
from trainer_core.wire import process_guard
process_guard.GRACE_S = 0.5
{first}
process_guard.die_with_parent()
print(process_guard.os.getpid(), flush=True)
{body}
"""
AFTER_ITS_PARENT = """
while process_guard.os.getppid() == int(process_guard.os.environ[process_guard.PARENT]):
    time.sleep(0.01)
"""
HOLDS_THE_GIL = "sum(iter(int, 1))  # one call into C that never returns to Python's loop"


def child_of_a_parent(body: str, first: str = "") -> tuple[subprocess.Popen[str], int]:
    """(a parent, the number of its child), which runs `body` after it armed itself."""
    code = BUSY.format(body=body, first=first)
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys;"
            "from trainer_core.wire.process_guard import *;"
            "import os, time; child = subprocess.Popen([sys.executable, '-c', sys.argv[1]],"
            "env={**os.environ, **family()}, start_new_session=True); print(child.pid, flush=True);"
            "time.sleep(60)",
            code,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    return parent, int(parent.stdout.readline())


def gone(pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False


@pytest.mark.parametrize(
    ("first", "body"), [("", "time.sleep(60)"), ("process_guard.signal.signal(15, lambda *_: None)", HOLDS_THE_GIL)]
)
def test_a_child_ends_with_its_parent_even_busy_in_c(first: str, body: str) -> None:
    parent, child = child_of_a_parent(body, first)
    assert parent.stdout is not None
    assert int(parent.stdout.readline()) == child
    parent.kill()
    parent.wait()
    assert gone(child)


def test_a_parent_that_died_before_the_signal_was_armed_is_noticed() -> None:
    parent, child = child_of_a_parent("time.sleep(60)", first=AFTER_ITS_PARENT)
    parent.kill()
    parent.wait()
    assert gone(child)


async def test_a_grandchild_in_a_session_of_its_own_ends_too(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=1000, child_session=True)
        note = service.home.run(run_id).root / "child.pid"
        await until(lambda: note.exists() and note.read_text() != "")
        grandchild = int(note.read_text())
        assert os.getsid(grandchild) == grandchild
        await service.stop(run_id)
        assert gone(grandchild)


def test_a_family_is_told_from_its_neighbours() -> None:
    mine, other = process_guard.family(), process_guard.family()
    children = [
        subprocess.Popen(["sleep", "60"], env={**os.environ, **marks}, start_new_session=True)
        for marks in (mine, other)
    ]
    try:
        process_guard.end_family(mine[process_guard.FAMILY])
        assert children[0].wait(PATIENCE_S) == -signal.SIGKILL
        assert children[1].poll() is None
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_the_socket_check_sees_what_listens() -> None:
    with socket.socket() as one, socket.socket(socket.AF_INET6) as other:
        one.bind(("127.0.0.1", 0))
        one.listen()
        other.bind(("::", 0))
        other.listen()
        found = {(address, port) for _, address, port in listening([os.getpid()])}
        assert {("127.0.0.1", one.getsockname()[1]), ("::", other.getsockname()[1])} <= found


def test_a_tool_is_started_without_a_port() -> None:
    """TensorBoard's launcher: the tool alone may listen, and where it is told to."""
    seen: list[tuple[int, str, int]] = []
    code = "import socket, time\ns = socket.create_server(('127.0.0.1', 0)); time.sleep(60)"

    async def whole() -> None:
        task = asyncio.create_task(run_job([sys.executable, "-c", code], on_start=lambda job: jobs.append(job)))
        while not seen:
            await asyncio.sleep(0.05)
            for job in jobs:
                leash = psutil.Process(job._process.pid)
                tools = [child.pid for child in leash.children()]
                assert listening([leash.pid]) == []
                seen.extend(listening(tools))
        jobs[0].cancel()
        await asyncio.gather(task, return_exceptions=True)

    jobs: list = []
    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))
    assert {address for _, address, _ in seen} == {"127.0.0.1"}


SAYS_MUCH = """
import signal
from trainer_core.wire.event_pipe import LossyPipe
signal.alarm(60)  # a pipe that waits for its reader would wait for ever
pipe = LossyPipe()
for number in range(10_000):
    pipe.write(b'{"type":"update","number":%d}\\n' % number)
print("said", file=__import__("sys").stderr, flush=True)
pipe.write(b'{"type":"state","state":"finished"}\\n')
"""


def test_a_reader_that_sleeps_holds_up_no_training_and_misses_no_end() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", SAYS_MUCH], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    assert child.stderr.readline() == "said\n"  # nobody has read yet
    lines = [json.loads(line) for line in child.communicate(timeout=60)[0].splitlines()]
    assert lines[-1] == {"type": "state", "state": "finished"}
    numbers = [line["number"] for line in lines[:-1]]
    assert numbers == list(range(len(numbers)))  # whole lines, the oldest
    assert len(numbers) < 10_000
