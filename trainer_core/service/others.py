"""Runs that other processes of the home host: read from the index and their logs, commanded through files.

An app, `dmglab train` and the detached host each host their own runs and follow the others' runs from the files, so
that a run shows the same state everywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Container, Mapping
from typing import Any, Protocol

import msgspec
import psutil

from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.command_files import LOOK_S, Answer, Letter, Mailbox
from trainer_core.runs.index import TAIL_BYTES, RunRegistry, is_alive
from trainer_core.runs.index_file import IndexTail
from trainer_core.runs.log_reader import read_history
from trainer_core.runs.run_lock import touched_s
from trainer_core.service.notices import RunChanged
from trainer_core.service.plan import StopLadder
from trainer_core.wire import commands, records
from trainer_core.wire.errors import LabError, ProtocolError
from trainer_core.wire.process_guard import kill_group
from trainer_core.wire.run_record import RunRecord, RunState

MAILED = commands.Unpause | commands.SaveCheckpoint | commands.Watch


class RunHost(Protocol):
    """Methods of a TrainerService that `obey` calls."""

    async def stop(self, run_id: str) -> None: ...
    async def pause(self, run_id: str) -> None: ...
    async def request(self, run_id: str, command_type: type[commands.Command], **fields: Any) -> records.AckEvent: ...


async def obey(host: RunHost, run_id: str, box: Mailbox, letter: Letter) -> None:
    """Carry out a command that another process left in a file, and write the answer.

    A stop is answered when it begins; the sender follows the run to its end.
    """
    command = letter.command
    try:
        if isinstance(command, commands.Stop):
            box.answer(letter, True)
            await host.stop(run_id)
            return
        if isinstance(command, commands.Pause):
            await host.pause(run_id)
        elif isinstance(command, MAILED):
            fields = msgspec.structs.asdict(command)
            del fields["id"]
            require(await host.request(run_id, type(command), **fields))
        else:
            raise ProtocolError(f"{type(command).__name__} is no command to a training")
    except LabError as error:
        box.answer(letter, False, str(error))
    else:
        box.answer(letter, True)


def require(ack: records.AckEvent) -> None:
    """Raise ProtocolError with the reason if the ack refuses the command."""
    if not ack.ok:
        raise ProtocolError(ack.detail or "refused")


ALIVE_S = 1.0
"""Seconds between two checks whether other hosts' processes are alive."""
SLICE_BYTES = 64 << 10
BUDGET_S = 0.005
"""Seconds in which one `look` reads logs, besides one slice of each, so that the event loop can paint pictures."""
END_BYTES = 1 << 20
"""Bytes read at the end of an ended run's log, so that its records are reported before its end."""
KEEPER_S = 5.0
"""Seconds that another host may take to accept a command, and to record an end; it looks every LOOK_S."""


class Others:
    """Follower of the runs that other processes of the home host; the service calls `look` a few times a second."""

    def __init__(
        self, home: HomePaths, on_record: Callable[[RunRecord], None], on_event: Callable[[str, records.Event], None]
    ) -> None:
        self._home, self._registry = home, RunRegistry(home)
        self._on_record, self._on_event = on_record, on_event
        self._index = IndexTail(home.runs_index)
        self._offsets: dict[str, int] = {}
        """Byte offset of the next read in each followed log."""
        self._unended: set[str] = set()
        """Ids of the runs that have not ended, the only ones to check: a home may hold thousands that have."""
        self._hurry: dict[str, asyncio.Event] = {}
        """Events by run, set to make a stop that is under way take its next step at once."""
        self._next_check = 0.0

    def begin(self) -> dict[str, RunRecord]:
        """Return the records in the index, without unreadable ones; `look` continues from there."""
        try:
            runs = self._index.read_all()
        except OSError:
            runs = self._registry.load()
        self._unended = {run_id for run_id, record in runs.items() if not record.state.is_end}
        for run_id in self._unended:
            if _goes_on(runs[run_id]):
                self._offsets[run_id] = self._log_size(run_id)
        return runs

    def look(self, runs: Mapping[str, RunRecord], own: Container[str]) -> None:
        """Read the lines that other hosts appended to the index and their logs since the last call. Raises OSError.

        `runs` are all known runs, `own` the ids of those hosted here, which are skipped.
        """
        newest = {record.run_id: record for record in self._index.read()}
        for run_id, record in newest.items():
            if not record.state.is_end:
                self._unended.add(run_id)
            if run_id not in own:
                self._take(record, runs.get(run_id))
        theirs = self._unended_of_others(runs, own)
        deadline = time.perf_counter() + BUDGET_S
        for record in theirs:
            if _goes_on(record):
                while self._follow(record.run_id) and time.perf_counter() < deadline:
                    pass
        if time.monotonic() >= self._next_check:
            self._next_check = time.monotonic() + ALIVE_S
            for record in theirs:
                self._check(record)

    def _unended_of_others(self, runs: Mapping[str, RunRecord], own: Container[str]) -> list[RunRecord]:
        found = [runs[run_id] for run_id in self._unended if run_id in runs]
        ended = {record.run_id for record in found if record.state.is_end}
        self._unended -= ended
        return [record for record in found if record.run_id not in ended and record.run_id not in own]

    async def stop(
        self,
        runs: Mapping[str, RunRecord],
        record: RunRecord,
        ladder: StopLadder,
        reason: str,
        tell: Callable[[RunChanged], None],
    ) -> RunRecord | None:
        """Have another host's run stopped and wait for its end.

        Returns the run's end record if this process had to write it, else None. A second call takes the next, harder
        step at once. Raises DiskError.
        """
        run_id = record.run_id
        if run_id in self._hurry:
            self._hurry[run_id].set()
            return None
        hurry = self._hurry[run_id] = asyncio.Event()
        try:
            why = await stop_other(
                self._home,
                record,
                ladder,
                lambda: runs[run_id].state.is_end,
                lambda detail, in_s: tell(RunChanged(runs[run_id], detail, force_at=time.monotonic() + in_s)),
                hurry,
            )
        finally:
            del self._hurry[run_id]
        if not why or runs[run_id].state.is_end:
            return None
        ended = msgspec.structs.replace(
            runs[run_id], state=RunState.STOPPED, reason=f"{reason}; {why}", finished_at=time.time()
        )
        with contextlib.suppress(OSError):
            self._registry.append(ended)
        return ended

    def _take(self, record: RunRecord, known: RunRecord | None) -> None:
        """Update a run from a line of the index; a step count already read from its log is not lowered."""
        run_id = record.run_id
        if known is None or (known.state.is_end and not record.state.is_end):
            start = 0 if known is None else max(0, self._log_size(run_id) - TAIL_BYTES)
            self._offsets.setdefault(run_id, start)
        elif record.state.is_end:
            self._follow(run_id, END_BYTES)
            self._offsets.pop(run_id, None)
        if known is not None and record.env_steps < known.env_steps:
            record = msgspec.structs.replace(record, env_steps=known.env_steps)
        if record != known:
            self._on_record(record)

    def _follow(self, run_id: str, most_bytes: int = SLICE_BYTES) -> bool:
        """Pass the log's next records on; return whether there were any."""
        offset = self._offsets.setdefault(run_id, self._log_size(run_id))
        log = self._home.run(run_id).train_log
        try:
            if log.stat().st_size <= offset:
                return False
            past = read_history(log, offset, most_bytes)
        except OSError:
            return False
        self._offsets[run_id] = past.offset
        for event in past.events:
            if event.run_id == run_id:
                self._on_event(run_id, event)
        return past.offset > offset

    def _check(self, record: RunRecord) -> None:
        """Report the run as ended if its process is gone: nobody else would record that."""
        now = self._registry.settle(record)
        if now.state is not record.state:
            if now.state.is_end:
                self._follow(record.run_id, END_BYTES)
            self._on_record(now)

    def _log_size(self, run_id: str) -> int:
        try:
            return self._home.run(run_id).train_log.stat().st_size
        except OSError:
            return 0


def _goes_on(record: RunRecord) -> bool:
    return not record.state.is_end and record.state is not RunState.QUEUED


async def ask(
    home: HomePaths, record: RunRecord, command_type: type[commands.Command], timeout_s: float = 10.0, **fields: object
) -> records.AckEvent:
    """Send a command to a run's host and return its answer as an ack.

    Raises ProtocolError when none comes in time, DiskError when the command file cannot be written.
    """
    box = Mailbox(home.run(record.run_id))
    name = box.post(command_type, **fields)
    answer = await _answer(box, name, time.monotonic() + timeout_s)
    if answer is None:
        taken = not box.withdraw(name)
        what = "was taken and not answered" if taken else "was not taken"
        raise ProtocolError(
            f"run {record.run_id}: {command_type.__name__} {what} within {timeout_s:g} s by who "
            f"keeps it (process {record.pid} trains it)"
        )
    return records.AckEvent(run_id=record.run_id, seq=0, time=time.time(), id=0, ok=answer.ok, detail=answer.detail)


async def _answer(box: Mailbox, name: str, deadline: float) -> Answer | None:
    while (answer := box.answer_to(name)) is None and time.monotonic() < deadline:
        await asyncio.sleep(LOOK_S / 4)
    return answer


async def stop_other(
    home: HomePaths,
    record: RunRecord,
    ladder: StopLadder,
    ended: Callable[[], bool],
    show: Callable[[str, float], None],
    hurry: asyncio.Event,
) -> str:
    """Ask the run's host to stop it; if it does not answer, send SIGTERM and SIGKILL from here.

    `show` is called with the current action, and the seconds until the next, harder step. Returns "" once `ended()`, or
    the reason to record if the process was ended from here.
    """
    box = Mailbox(home.run(record.run_id))
    name = box.post(commands.Stop)
    show(f"asked who keeps it, process {record.pid}", KEEPER_S)
    answer = await _answer(box, name, time.monotonic() + KEEPER_S)
    if answer is not None:  # time for the host's ladder, and for recording the end
        show("who keeps it stops it", ladder.command_s + ladder.terminate_s + KEEPER_S)
        patience_s = ladder.command_s + ladder.terminate_s + KEEPER_S
        if await _until(ended, patience_s, hurry, lambda: _is_at_work(box, ladder)):
            return ""
    box.withdraw(name)
    for number, patience_s in ((signal.SIGTERM, ladder.terminate_s), (signal.SIGKILL, KEEPER_S)):
        doing = f"who keeps it does not answer: sent {number.name} to process {record.pid}"
        show(doing, patience_s)
        if record.state is RunState.PREFLIGHT or not is_alive(record):
            break  # until it is launched, its process number is its host's own
        _signal(record, number)
        if await _until(lambda: ended() or not is_alive(record), patience_s, hurry):
            break
    await _until(ended, 2 * LOOK_S, hurry)  # a detached host that still answers records the better reason
    return "" if ended() else "forced: who kept it did not answer"


def _is_at_work(box: Mailbox, ladder: StopLadder) -> bool:
    """Return whether the run's process reported recently, or is writing a checkpoint."""
    paths = RunPaths(box.folder.parent)
    writes = any(paths.checkpoints.glob(".*.tmp"))
    return touched_s(paths) < (ladder.saving_s if writes else ladder.command_s)


async def _until(
    condition: Callable[[], bool],
    patience_s: float,
    hurry: asyncio.Event,
    is_at_work: Callable[[], bool] = lambda: False,
) -> bool:
    deadline = time.monotonic() + patience_s
    while not condition():
        if hurry.is_set() or (time.monotonic() >= deadline and not is_at_work()):
            hurry.clear()
            return False
        await asyncio.sleep(LOOK_S / 4)
    return True


def _signal(record: RunRecord, number: int) -> None:
    """Send a signal to the process that trains; SIGKILL goes to its whole group if it leads one."""
    try:
        if number == signal.SIGKILL and os.getpgid(record.pid) == record.pid:
            kill_group(record.pid)
        else:
            os.kill(record.pid, number)
            psutil.Process(record.pid).resume()  # a suspended process cannot react
    except (OSError, psutil.Error):
        pass
