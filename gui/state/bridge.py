"""asyncio inside Qt: the services' callbacks become signals, and slots can start coroutines.

The only file of the app that handles asyncio's event loop. qasync runs the loop on Qt's event dispatcher, so everything
here happens on the UI thread and nothing may block.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
import traceback
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import qasync
from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtWidgets import QApplication

from gui.kit.words import tr
from trainer_core.lab.paths import HomePaths
from trainer_core.service import BadLineSeen, EventReceived, LogLines, Notice, RunChanged, TrainerService
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_names import run_name

log = logging.getLogger(__name__)
SLICE_S = 0.005
"""Seconds of work on the UI thread per event loop turn, so that a picture every 16 ms is still painted."""
_loops: list[asyncio.AbstractEventLoop] = []


def ensure_loop() -> asyncio.AbstractEventLoop:
    """Return the process's asyncio loop, made at the first call and marked as running: Qt's `exec` drives it."""
    if not _loops:
        loop = qasync.QEventLoop(QApplication.instance(), already_running=True)
        loop.set_default_executor(ThreadPoolExecutor(2, thread_name_prefix="background"))
        sys.setswitchinterval(0.001)  # a thread that reads a log gives the interpreter back soon
        _loops.append(loop)
    asyncio.events._set_running_loop(_loops[0])  # as qasync does for already_running
    return _loops[0]


def release_loop() -> None:
    """Unmark the asyncio loop as running, so that this thread can run another one (`asyncio.run` of a test)."""
    asyncio.events._set_running_loop(None)


class Bridge(QObject):
    """Owner of the window's TrainerService, whose callbacks it turns into signals."""

    run_changed = Signal(object)
    event_received = Signal(str, object)
    log_lines = Signal(str, object)
    bad_line = Signal(str, object)
    problem = Signal(str, str)
    """Title and cause of a failure, for a banner."""
    traced = Signal(object)
    """Lines of a traceback, for the log."""

    def __init__(self, home: HomePaths, service: TrainerService | None = None) -> None:
        super().__init__()
        self.loop = ensure_loop()
        self.home = home
        self.service = service or TrainerService(home)
        self._unsubscribe = self.service.subscribe(self._on_notice)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._slices = asyncio.Lock()
        self.task_title: Callable[[str], str] = str
        """Function that returns the title of a task id."""
        self.closing = False
        """True while the app waits for its processes to end; nothing new may be started."""

    def catch_all(self) -> None:
        """Install handlers that turn uncaught exceptions of slots and coroutines into a log entry and a banner."""
        sys.excepthook = lambda kind, error, trace: self.tell_unexpected(error)
        self.loop.set_exception_handler(
            lambda loop, context: self.tell_unexpected(
                context.get("exception") or LabError(str(context.get("message")))
            )
        )

    def tell_unexpected(self, error: BaseException) -> None:
        """Report an unexpected exception by the log and a banner; the app goes on."""
        if isinstance(error, LabError | OSError):
            self.problem.emit(tr("The action failed"), cause_of(error))
        elif isinstance(error, Exception):
            log.error("unexpected", exc_info=error)
            self.traced.emit("".join(traceback.format_exception(error)).splitlines())
            self.problem.emit(tr("Unexpected error"), f"{type(error).__name__}: {error}")

    def spawn(
        self,
        work: Coroutine[Any, Any, Any],
        *,
        title: str = "",
        then: Callable[[Any], object] | None = None,
        failed: Callable[[str], None] | None = None,
    ) -> asyncio.Task[Any]:
        """Run a coroutine as a task; `then` is called with its result.

        A LabError or OSError (such as a full disk) is passed as text to `failed`, or shown as a banner with `title`.
        Other exceptions are reported as unexpected.
        """
        task = self.loop.create_task(self._guarded(work, title, then, failed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task cancelled before its first step never awaits its coroutine.
        task.add_done_callback(lambda _: work.close())
        return task

    async def _guarded(
        self,
        work: Coroutine[Any, Any, Any],
        title: str,
        then: Callable[[Any], object] | None,
        failed: Callable[[str], None] | None,
    ) -> None:
        try:
            result = await work
            if then is not None:
                then(result)
        except (LabError, OSError) as error:
            if failed is not None:
                failed(cause_of(error))
            else:
                self.problem.emit(title or tr("The action failed"), cause_of(error))
        except Exception as error:
            self.tell_unexpected(error)

    async def in_slices(self, work: Generator[None, None, Any]) -> Any:
        """Run a generator to its end on the UI thread, a few ms per event loop turn; return its return value.

        Only one generator runs at a time, in the order of the calls.
        """
        async with self._slices:
            while True:
                deadline = time.perf_counter() + SLICE_S
                while time.perf_counter() < deadline:
                    try:
                        next(work)
                    except StopIteration as end:
                        return end.value
                await asyncio.sleep(0.001)

    def _on_notice(self, notice: Notice) -> None:
        match notice:
            case RunChanged():
                self.run_changed.emit(notice)
            case EventReceived():
                self.event_received.emit(notice.run_id, notice.event)
            case LogLines():
                self.log_lines.emit(notice.run_id, notice.lines)
            case BadLineSeen():
                self.bad_line.emit(notice.run_id, notice.line)

    def name_of(self, run_id: str) -> str:
        """Return a run's name: the user's, else the one made of its id."""
        run = self.service.runs.get(run_id)
        return run.name if run else run_name(run_id)

    def close(self) -> None:
        """Remove the listeners of the service and cancel the running coroutines."""
        with contextlib.suppress(ValueError):
            self._unsubscribe()
        for task in list(self._tasks):
            task.cancel()


def cause_of(error: Exception) -> str:
    """Return the text of an expected failure in one line; for an OSError with the file's path."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return str(error)


async def in_thread(function: Callable[..., Any], *arguments: object) -> Any:
    """Run a blocking function in a thread and return its result."""
    return await asyncio.to_thread(function, *arguments)


def run_until_quit() -> int:
    """Run the event loop of Qt and asyncio until the app quits. Return the exit status."""
    ensure_loop()
    try:
        return QCoreApplication.exec()
    finally:
        release_loop()
