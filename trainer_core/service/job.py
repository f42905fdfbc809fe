"""One tool run to its end in a process of its own, with progress: a GIF, a hash, a plot.

The tool prints JSON objects, one a line: `{"progress": 0.4}` on the way and its result last.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from trainer_core.protocol.errors import LabError
from trainer_core.protocol.paths import CHECKOUT


class Job:
    """A running tool; `cancel` ends it and everything it started."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


async def run_job(
    argv: Sequence[str],
    *,
    on_progress: Callable[[float], None] = lambda share: None,
    on_start: Callable[[Job], None] = lambda job: None,
) -> dict[str, Any]:
    """Run a tool and return its last JSON object.

    Raises LabError with its last line of standard error when it fails, or `cancelled`.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "trainer_core.guard",
            *argv,
            cwd=str(CHECKOUT),
            stdin=asyncio.subprocess.PIPE,  # its end, when we die, ends the tool
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=1 << 20,
        )
    except OSError as error:
        raise LabError(f"{argv[0]} cannot be started: {error.strerror}") from None
    job = Job(process)
    on_start(job)
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read())
    result: dict[str, Any] = {}
    try:
        async for line in process.stdout:
            found = _object(line)
            if found and isinstance(found.get("progress"), int | float):
                on_progress(float(found["progress"]))
            if found:
                result = found
        code = await process.wait()
        text = (await errors).decode("utf-8", "replace").strip()
    except asyncio.CancelledError:
        job.cancel()
        raise
    if job.cancelled:
        raise LabError("cancelled")
    if code:
        message = result.get("error") or (text.splitlines()[-1] if text else f"status {code}")
        raise LabError(str(message))
    return result


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None
