"""Child process that follows the protocol: a session of its own, events in, commands out.

An asyncio protocol object rather than streams: `process.wait()` would return only once every pipe is closed, and a
grandchild that inherited one could keep it open for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from trainer_core.lab.durable_files import open_log
from trainer_core.lab.trust import require_own_environment
from trainer_core.service.event_stream import BadLine, LineParser
from trainer_core.wire import commands, records
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import LabError, ProtocolError
from trainer_core.wire.process_guard import FAMILY, end_family, family

CAP_BYTES = 8 << 20


class CappedLog:
    """Log file that appends to `path`; at CAP_BYTES the file becomes `<path>.1` and a new one begins."""

    def __init__(self, path: Path, cap: int = CAP_BYTES) -> None:
        self._path, self._cap = path, cap
        self._file: IO[bytes] | None = None
        self._told = False

    def write(self, data: bytes) -> str:
        """Append to the log; on the first disk error return the reason, else "". Failed lines are lost."""
        try:
            if self._file is None:
                self._file = open_log(self._path)
            self._file.write(data)
            if self._file.tell() >= self._cap:
                self.close()
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        except OSError as error:
            told, self._told = self._told, True
            return "" if told else f"{self._path}: {error.strerror}: not all of it is kept"
        return ""

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


T = TypeVar("T")

PARSE_BUDGET_S = 0.004
MAX_BACKLOG = 1 << 20
TAIL_LINES = 20
BAD_LINES_A_SECOND = 50


class BadLineBudget:
    """Reporter of unreadable lines: reports the first one in each second, and the number of the others."""

    def __init__(self, report: Callable[[BadLine], None]) -> None:
        self._report = report
        self._second, self._reported, self._dropped = 0, 0, 0

    def report(self, line: BadLine) -> None:
        now = int(time.monotonic())
        if now != self._second:
            self._second, self._reported = now, 0
            if self._dropped:
                self._report(BadLine(f"{self._dropped} more bad lines", ""))
                self._dropped = 0
        self._reported += 1
        if self._reported <= BAD_LINES_A_SECOND:
            self._report(line)
        else:
            self._dropped += 1


class ChildProcess(asyncio.SubprocessProtocol):
    """Child process made by `start_child`; callbacks run on the event loop."""

    def __init__(self, mark: str, **callbacks: Any) -> None:
        """Wait for `begin`; `callbacks` are those of `listen`."""
        self._mark = mark
        self.listen(**callbacks)
        self._half_output = b""
        self._held = True
        self._draining = False
        self._stream_ended = False
        self._acks: dict[int, asyncio.Future[records.AckEvent]] = {}
        self._next_id = 0
        self._transport: asyncio.SubprocessTransport
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        """Last lines of standard error, the likely cause of a failure."""
        self.pid = 0

    def listen(
        self,
        *,
        log_path: Path | None = None,
        decode: Callable[[bytes], records.Event | None] = records.decode,
        on_event: Callable[[records.Event], None] = lambda event: None,
        on_bad_line: Callable[[BadLine], None] = lambda line: None,
        on_output: Callable[[list[str]], None] = lambda lines: None,
        on_exit: Callable[[int], None] = lambda code: None,
    ) -> None:
        """Set the callbacks, and the file for standard error, from now on."""
        self._on_event, self._on_output, self._on_exit = on_event, on_output, on_exit
        self._log = CappedLog(log_path) if log_path else None
        self._parser = LineParser(decode=decode)
        self._bad_lines = BadLineBudget(on_bad_line)

    # -- commands ---------------------------------------------------------------------------

    def send(self, command_type: type[commands.Command], **fields: object) -> int:
        """Write one command; return its id. Raises ProtocolError once the process is gone."""
        pipe = self._transport.get_pipe_transport(0) if self.pid else None
        if self.exited.done() or pipe is None or pipe.is_closing():
            raise ProtocolError("the process has ended")
        self._next_id += 1
        command = command_type(id=self._next_id, **fields)
        pipe.write(commands.encode(command))  # type: ignore[attr-defined]
        return self._next_id

    async def request(
        self, command_type: type[commands.Command], *, timeout_s: float = 10.0, **fields: object
    ) -> records.AckEvent:
        """Send a command and wait for its ack. Raises ProtocolError when none comes in time."""
        command_id = self.send(command_type, **fields)
        answer: asyncio.Future[records.AckEvent] = self._loop.create_future()
        self._acks[command_id] = answer
        try:
            return await asyncio.wait_for(answer, timeout_s)
        except TimeoutError:
            name = command_type.__name__
            raise ProtocolError(f"{name} was not answered within {timeout_s:g} s") from None
        finally:
            self._acks.pop(command_id, None)

    def signal_group(self, number: int) -> None:
        """Signal the child and everything it started; no error when nothing is left."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def last_words(self) -> str:
        """Return the last line of standard error without the process's own name before it."""
        line = self.tail[-1] if self.tail else ""
        return line.removeprefix("player: ").removeprefix("worker: ")

    async def wait(self, timeout_s: float | None = None) -> int | None:
        """Return the exit status, or None when `timeout_s` passed first."""
        done, _ = await asyncio.wait([self.exited], timeout=timeout_s)
        return self.exited.result() if done else None

    # -- asyncio's callbacks ----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self.pid = transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._take_output(data)
            return
        self._parser.feed(data)
        if not self._draining and not self._held:
            self._drain()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._stream_ended = True
            if not self._draining and not self._held:
                self._drain()

    def process_exited(self) -> None:
        # Grandchildren of a child that ended badly would hold the GPU and the pipes.
        self.signal_group(signal.SIGKILL)
        end_family(self._mark)
        self._loop.call_later(1.0, self._finish)  # in case a pipe survives its group

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()

    # -- inside -----------------------------------------------------------------------------

    def begin(self) -> None:
        """Start delivering events, after the starter has stored this object: a child may end early."""
        self._held = False
        self._drain()

    def _drain(self) -> None:
        """Parse received lines for a few milliseconds, then yield to the event loop, which also paints pictures."""
        deadline = time.perf_counter() + PARSE_BUDGET_S
        while time.perf_counter() < deadline and (item := self._parser.next(deadline)) is not None:
            self._deliver(item)
        self._draining = self._parser.waits
        if self._draining:
            self._loop.call_later(0.001, self._drain)
        elif self._stream_ended and (rest := self._parser.finish()) is not None:
            self._bad_lines.report(rest)
        pipe = self._transport.get_pipe_transport(1)
        if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
            if self._parser.backlog > MAX_BACKLOG:
                pipe.pause_reading()
            else:  # no effect while it is reading; Python 3.11.2 cannot tell whether it is
                pipe.resume_reading()

    def _deliver(self, item: records.Event | BadLine) -> None:
        if isinstance(item, BadLine):
            self._bad_lines.report(item)
            return
        if isinstance(item, records.AckEvent):
            answer = self._acks.get(item.id)
            if answer is not None and not answer.done():
                answer.set_result(item)
        self._on_event(item)

    def _take_output(self, data: bytes) -> None:
        if self._log is not None and (lost := self._log.write(data)):
            self._on_output([lost])
        *lines, self._half_output = (self._half_output + data).split(b"\n")
        self._half_output = self._half_output[-records.MAX_LINE_BYTES :]
        texts = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
        texts = [text.rsplit("\r", 1)[-1] for text in texts]  # a progress bar: keep its last state
        if texts:
            self.tail.extend(text for text in texts if text.strip())
            self._on_output(texts)

    def _finish(self) -> None:
        if self.exited.done():
            return
        if self._draining or self._held:  # its last output is still being parsed
            self._loop.call_later(0.002, self._finish)
            return
        code = self._transport.get_returncode()
        if self._half_output:
            self._take_output(b"\n")
        if self._log is not None:
            self._log.close()
        for answer in self._acks.values():
            if not answer.done():
                answer.set_exception(ProtocolError("the process ended before it answered"))
        self.exited.set_result(-1 if code is None else code)
        self._on_exit(self.exited.result())
        self._transport.close()


async def start_whole(start: Coroutine[Any, Any, T], end: Callable[[T], object]) -> T:
    """Await the asyncio operation `start`, which starts a process, to its end, even when cancelled; return its result.

    A start broken off half-way would leave a process without an owner, or never return. When cancelled, waits for the
    start, calls `end` with its result to remove the process, and raises CancelledError.
    """
    task = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if not task.cancelled() and task.exception() is None:
            end(task.result())
        raise


def _end_unwanted(child: ChildProcess) -> None:
    child.listen()  # its callbacks' owner is gone
    child.signal_group(signal.SIGKILL)
    child.begin()


async def start_child(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    **callbacks: Any,
) -> ChildProcess:
    """Start a process in a session of its own. Raises LabError when it cannot be started.

    `env` has variables added to this process's environment, `callbacks` are those of `ChildProcess.listen`. No callback
    is called before the caller's next await, so the caller can store the child first. Call it on the event loop's own
    thread: a parent-death signal follows the thread that forked.
    """
    require_own_environment(argv[0])
    loop = asyncio.get_running_loop()
    owned = family()
    try:
        _, child = await start_whole(
            loop.subprocess_exec(
                lambda: ChildProcess(owned[FAMILY], **callbacks),
                *argv,
                cwd=str(cwd),
                env=child_environment(argv[0], **(env or {}), **owned),
                pass_fds=pass_fds,
                start_new_session=True,
            ),
            lambda started: _end_unwanted(started[1]),
        )
    except OSError as error:
        raise LabError(f"{argv[0]} cannot be started: {error.strerror}") from None
    loop.call_soon(child.begin)  # after the caller has stored it
    return child
