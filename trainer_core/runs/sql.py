"""SQLite database runs.sqlite of index and logs, for queries. It is a cache and is rebuilt if missing.

The data stays in `runs.jsonl` and each run's `train_log.jsonl`; `sync_runs` and `sync_records` read what was appended
to them since the last call. If the home cannot be written, the tables are kept in memory.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.index_file import decode_line
from trainer_core.wire.errors import BAD_JSON, FailureError, LabError
from trainer_core.wire.regular_files import open_regular, read_lines
from trainer_core.wire.run_record import END_STATES, RunRecord

VERSION = 4
"""Version of the tables; with another one they are rebuilt."""
BUSY_S = 10.0
"""Seconds to wait for another process that updates the cache."""
COLUMNS = tuple(field.name for field in msgspec.structs.fields(RunRecord))
_TEXT = {"run_id", "runner", "task", "algo", "device", "state", "config_sha256", "reason",
         "last_checkpoint", "name", "host", "tags"}  # fmt: skip
_UPDATE = ("update", "opt_steps", "wall_time_s", "sps", "reward_mean", "success_rate", "done_rate",
           "entropy_mean", "value_loss", "policy_loss", "approx_kl", "explained_variance",
           "grad_norm", "learning_rate")  # fmt: skip
_EVAL = (
    "task",
    "mode",
    "episodes",
    "distinct_starts",
    "success_rate",
    "pass_at_1",
    "pass_at_n",
    "median_steps_to_goal",
    "mean_return",
    "wall_time_s",
)
_CHECKPOINT = ("path", "sha256", "size_bytes", "success_rate", "reason")


def _view(name: str, kind: str, fields: Iterable[str]) -> str:
    columns = ", ".join(f"data ->> '$.{field}' AS \"{field}\"" for field in ("trace_id", *fields))
    return f"CREATE VIEW {name} AS SELECT run_id, seq, time, env_steps, {columns} FROM records WHERE type = '{kind}';"


def _column(name: str) -> str:
    if name in _TEXT:
        return f"{name} TEXT"
    return f"{name} {'REAL' if name.endswith(('_at', '_time', '_rate')) else 'INTEGER'}"


SCHEMA = f"""
CREATE TABLE runs ({", ".join(map(_column, COLUMNS))}, PRIMARY KEY (run_id));
CREATE TABLE records (run_id TEXT, seq INTEGER, type TEXT, time REAL, env_steps INTEGER,
                      data TEXT, PRIMARY KEY (run_id, seq)) WITHOUT ROWID;
CREATE TABLE sources (path TEXT PRIMARY KEY, inode INTEGER, offset INTEGER) WITHOUT ROWID;
{_view("updates", "update", _UPDATE)}
{_view("evals", "eval", _EVAL)}
{_view("checkpoints", "checkpoint", _CHECKPOINT)}
{_view("errors", "error", ("kind", "message", "receipt"))}
CREATE VIEW scalars AS
    SELECT run_id, seq, records.time AS time, env_steps, field.key AS name, field.value AS value
    FROM records, json_each(records.data) AS field
    WHERE records.type = 'update' AND field.type IN ('integer', 'real')
        AND field.key NOT IN ('v', 'seq', 'time', 'env_steps')
    UNION ALL
    SELECT run_id, seq, records.time, env_steps, field.key, field.value
    FROM records, json_each(records.data, '$.metrics') AS field
    WHERE records.type = 'update';
PRAGMA user_version = {VERSION};
"""
PUBLIC = ("runs", "records", "updates", "evals", "checkpoints", "errors", "scalars")
"""Tables and views for queries; all but `runs` come from the logs."""


def _row(record: RunRecord) -> tuple[object, ...]:
    """Return a run's values in the order of COLUMNS; tags are a JSON object, for SQLite's json_extract."""
    found = msgspec.structs.asdict(record)
    return tuple((found | {"tags": msgspec.json.encode(record.tags).decode()}).values())


def _record(row: tuple[object, ...]) -> RunRecord:
    found = dict(zip(COLUMNS, row, strict=True))
    tags = msgspec.json.decode(str(found["tags"]))
    return msgspec.convert(found | {"tags": tags}, RunRecord, strict=False)


class _Line(msgspec.Struct):
    """Fields of a log record that have a column of their own in the database."""

    type: str
    seq: int
    time: float = 0.0
    env_steps: int | None = None


_line_decoder = msgspec.json.Decoder(_Line)


class RunsCache:
    """Connection to the database runs.sqlite; must be closed. Only queries on `database` raise sqlite3.Error."""

    def __init__(self, home: HomePaths) -> None:
        self.home = home
        self.database = _opened(home.runs_cache)

    def close(self) -> None:
        self.database.close()

    def sync_runs(self) -> None:
        """Update the table of runs from the index, corrected for ended processes. Raises OSError, sqlite3.Error."""
        self._read_index()
        self._put_unlisted()
        ended = tuple(state.value for state in END_STATES)
        marks = ", ".join("?" for _ in ended)
        rows = self.database.execute(
            f"SELECT {', '.join(COLUMNS)} FROM runs WHERE state NOT IN ({marks})", ended
        ).fetchall()
        registry = RunRegistry(self.home)
        unended = [_record(row) for row in rows]
        with self._change():
            self._put(registry.settle(record) for record in unended)

    def sync_records(self) -> None:
        """Add the new records of all runs' logs to the database. Raises sqlite3.Error."""
        runs = [run_id for (run_id,) in self.database.execute("SELECT run_id FROM runs")]
        for run_id in runs:
            log = self.home.run(run_id).train_log
            with self._change():
                for line in self._new_lines(log, lambda run_id=run_id: self._forget(run_id)):
                    self._put_record(run_id, line)

    def _put_unlisted(self) -> None:
        """Add the runs that have a folder and no line of the index."""
        known = {run_id for (run_id,) in self.database.execute("SELECT run_id FROM runs")}
        found = RunRegistry(self.home).recover(known)
        if found:
            with self._change():
                self._put(found.values())

    def _read_index(self) -> None:
        with self._change():
            lines = self._new_lines(self.home.runs_index, lambda: self.database.execute("DELETE FROM runs"))
            self._put(record for line in lines if (record := decode_line(line)))

    def _put(self, records: Iterable[RunRecord]) -> None:
        marks = ", ".join("?" for _ in COLUMNS)
        self.database.executemany(
            f"INSERT OR REPLACE INTO runs ({', '.join(COLUMNS)}) VALUES ({marks})", map(_row, records)
        )

    def _put_record(self, run_id: str, line: bytes) -> None:
        try:
            found = _line_decoder.decode(line)
            text = line.decode()
        except BAD_JSON:
            return
        self.database.execute(
            "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?)",
            (run_id, found.seq, found.type, found.time, found.env_steps, text),
        )

    def _forget(self, run_id: str) -> None:
        self.database.execute("DELETE FROM records WHERE run_id = ?", (run_id,))

    def _new_lines(self, path: Path, replaced: Callable[[], object]) -> Iterator[bytes]:
        """Yield the complete lines that were appended to a file since the last call.

        If another file has replaced it, `replaced()` is called first, and all lines are yielded.
        """
        name = os.path.relpath(path, self.home.root)
        known = self.database.execute("SELECT inode, offset FROM sources WHERE path = ?", (name,)).fetchone()
        inode, offset = known or (0, 0)
        try:
            found = path.stat()
        except OSError:
            return
        if not stat.S_ISREG(found.st_mode):  # a pipe would block, a folder is no log
            return
        if known and found.st_ino == inode and found.st_size == offset:
            return
        if found.st_ino != inode or found.st_size < offset:
            if known:
                replaced()
            offset = 0
        with open_regular(path) as file:
            for line, after in read_lines(file, offset):
                offset = after
                yield line
        self.database.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", (name, found.st_ino, offset))

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """Run the block in one transaction, after those of other processes have ended."""
        self.database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.database.execute("ROLLBACK")
            raise
        self.database.execute("COMMIT")


def _opened(path: Path) -> sqlite3.Connection:
    """Return the cache, rebuilt if it is damaged or of another version; if that fails, one in memory."""
    for attempt in range(2):
        with contextlib.suppress(sqlite3.Error, OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            return _prepared(str(path))
        if attempt == 0:
            for part in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
                with contextlib.suppress(OSError):
                    part.unlink()
    return _prepared(":memory:")


def _prepared(name: str) -> sqlite3.Connection:
    """Open a database and make its tables. Raises sqlite3.Error."""
    database = sqlite3.connect(name, timeout=BUSY_S, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("BEGIN IMMEDIATE")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"tables of version {version}")
        if version == 0:
            for statement in filter(str.strip, SCHEMA.split(";")):
                database.execute(statement)
        database.execute("COMMIT")
        database.execute("SELECT 1 FROM runs, sources, records LIMIT 1").fetchone()
    except sqlite3.Error:
        database.close()
        raise
    return database


ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_STEPS = 10_000
"""SQLite instructions between two checks of the time."""


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool
    """True if there were more rows than `limit`."""


def ask(home: HomePaths, question: str, *, limit: int = 10_000, seconds: float = 60.0) -> Table:
    """Return the rows that the SELECT `question` gives. The logs are read only if it uses their tables.

    Raises LabError for any other statement, and for one that takes longer than `seconds`.
    """
    try:
        cache = RunsCache(home)
    except (OSError, sqlite3.Error) as error:
        raise LabError(f"{home.runs_cache}: {error}") from None
    try:
        cache.sync_runs()
        if _tables(cache.database, question) & set(PUBLIC[1:]):
            cache.sync_records()
        return _answer(cache.database, question, limit, seconds)
    except OSError as error:
        raise LabError(f"{error.filename or home.root}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise LabError(f"{home.runs_cache}: damaged: {error}; remove it, it is made again") from None
    except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
        raise LabError(
            f"{error}; one SELECT over {', '.join(PUBLIC)} (`SELECT * FROM runs LIMIT 1` shows columns)"
        ) from None
    finally:
        cache.close()


def _tables(database: sqlite3.Connection, question: str) -> set[str]:
    """Return the tables that a statement reads, by letting SQLite prepare it without running it."""
    found: set[str] = set()

    def note(action: int, table: str | None, *_: object) -> int:
        found.add(table or "")
        return sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY

    database.set_authorizer(note)
    try:
        database.execute(f"EXPLAIN {question}").close()
    finally:
        database.set_authorizer(None)
    return found


def _answer(database: sqlite3.Connection, question: str, limit: int, seconds: float) -> Table:
    deadline = time.monotonic() + seconds
    database.execute("PRAGMA query_only = ON")
    database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY)
    database.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)
    try:
        cursor = database.execute(question)
        rows = cursor.fetchmany(limit + 1)
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise FailureError(f"no answer within {seconds:g} s: ask for less") from None
        raise
    columns = tuple(column[0] for column in cursor.description or ())
    return Table(columns, tuple(rows[:limit]), len(rows) > limit)
