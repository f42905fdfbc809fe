"""Tools that run to their end in a process of their own, with progress: a GIF, a hash, a plot.

The tool prints its result as a JSON object on standard output, and on the way `{"progress": 0.4}` on a line of its own
there or on standard error.
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
import psutil

from trainer_core.lab.paths import child_folder
from trainer_core.service.child import start_whole
from trainer_core.wire.environment import PROGRESS, child_environment
from trainer_core.wire.errors import BAD_JSON, FailureError, LabError
from trainer_core.wire.process_guard import FAMILY, end_family, family

MAX_LINE_BYTES = 1 << 20
TAIL_BYTES = 1 << 16
"""Bytes kept from the end of standard error, to report a failure's cause."""


class Job:
    """Running tool; `cancel` ends it and everything it started."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        self._process, self._mark = process, mark
        self.cancelled = False

    def ask_to_end(self) -> bool:
        """Send SIGTERM to the tool without waiting; `cancel` kills it.

        Returns False when its guard process has not started the tool yet.
        """
        tools: list[psutil.Process] = []
        with contextlib.suppress(psutil.Error):
            tools = psutil.Process(self._process.pid).children()
            for tool in tools:
                tool.terminate()
        return bool(tools)

    def cancel(self) -> None:
        self.cancelled = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        end_family(self._mark)


async def run_job(
    argv: Sequence[str],
    *,
    on_progress: Callable[[float], None] = lambda share: None,
    on_start: Callable[[Job], None] = lambda job: None,
    partial: bool = False,
) -> dict[str, Any]:
    """Run a tool and return its last JSON object.

    `on_progress` receives shares from 0 to 1. With `partial`, an object with `"ok": false` and no `error` is a result,
    not a failure. Raises LabError with the tool's last line of standard error when it fails, or `cancelled`.
    """
    owned = family()
    try:
        process = await start_whole(
            asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "trainer_core.wire.process_guard",
                *argv,
                cwd=child_folder(),
                stdin=asyncio.subprocess.PIPE,  # closed when this process dies, which ends the tool
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=child_environment(**owned, **{PROGRESS: "json"}),
                start_new_session=True,
                limit=MAX_LINE_BYTES,
            ),
            lambda process: Job(process, owned[FAMILY]).cancel(),
        )
    except OSError as error:
        raise LabError(f"{argv[0]} cannot be started: {error.strerror}") from None
    job = Job(process, owned[FAMILY])
    on_start(job)
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.ensure_future(_tail(process.stderr, on_progress))
    result: dict[str, Any] = {}
    try:
        async for line in process.stdout:
            if (share := _share(line)) is not None:
                on_progress(share)
            if found := _object(line):
                result = found
        code = await process.wait()
        text = (await errors).decode("utf-8", "replace").strip()
    except asyncio.CancelledError:
        job.cancel()
        raise
    except ValueError:  # asyncio's error for a line over the limit
        job.cancel()
        raise FailureError(f"{argv[0]} wrote a line of more than {MAX_LINE_BYTES} bytes") from None
    if job.cancelled:
        raise FailureError("cancelled")
    if code and not (partial and result.get("ok") is False and "error" not in result):
        message = result.get("error") or (text.splitlines()[-1] if text else f"status {code}")
        raise FailureError(str(message))
    return result


async def _tail(stream: asyncio.StreamReader, on_progress: Callable[[float], None]) -> bytes:
    """Read a stream to its end; return its last bytes, without the lines of progress, which go to `on_progress`."""
    kept = rest = b""
    while chunk := await stream.read(1 << 16):
        *lines, rest = (rest[-TAIL_BYTES:] + chunk).split(b"\n")
        for line in lines:
            if (share := _share(line)) is not None:
                on_progress(share)
            else:
                kept = (kept + line + b"\n")[-TAIL_BYTES:]
    return (kept + rest)[-TAIL_BYTES:]


def _share(line: bytes) -> float | None:
    """Return the share in a line of progress, None for any other line."""
    share = (_object(line) or {}).get("progress") if line.startswith(b"{") else None
    return float(share) if isinstance(share, int | float) else None


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(line)
    except BAD_JSON:
        return None
    return found if isinstance(found, dict) else None
