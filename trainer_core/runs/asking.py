"""One SQL question about a home's runs and records, answered without a way to change anything."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import Any

import msgspec

from trainer_core.protocol.errors import LabError
from trainer_core.protocol.paths import HomePaths
from trainer_core.runs.cache import PUBLIC, RunsCache

ALLOWED = {
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
}  # fmt: skip
_STEPS = 10_000
"""SQLite's instructions between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool
    """There were more rows than were asked for."""


def ask(home: HomePaths, question: str, *, limit: int = 10_000, seconds: float = 60.0) -> Table:
    """The answer to one SELECT. The logs are read only for a question that is about them.

    Raises LabError: for what is no such question, and for one that takes longer than `seconds`.
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
        raise LabError(
            f"{home.runs_cache}: damaged: {error}; remove it, it is made again"
        ) from None
    except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
        raise LabError(
            f"{error}; one SELECT over {', '.join(PUBLIC)} "
            "(`SELECT * FROM runs LIMIT 1` shows columns)"
        ) from None
    finally:
        cache.close()


def _tables(database: sqlite3.Connection, question: str) -> set[str]:
    """The tables that it reads, by asking SQLite to prepare it and nothing more."""
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
    database.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY
    )
    database.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)
    try:
        cursor = database.execute(question)
        rows = cursor.fetchmany(limit + 1)
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise LabError(f"no answer within {seconds:g} s: ask for less") from None
        raise
    columns = tuple(column[0] for column in cursor.description or ())
    return Table(columns, tuple(rows[:limit]), len(rows) > limit)
