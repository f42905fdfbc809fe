"""The sole writer of a run directory's log: one record, one appended line, then the pipe."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.protocol import records
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import ConfigError, LabError, ProtocolError
from trainer_core.protocol.paths import RunPaths


class DiskError(LabError):
    """The disk is full or cannot be written; nothing that was announced is lost."""


class RunWriter:
    """Appends records to `train_log.jsonl` and tells `listener` each line afterwards."""

    def __init__(
        self, paths: RunPaths, listener: Callable[[bytes], None] = lambda line: None
    ) -> None:
        """Opens or creates the log; a line that a crash tore off at the end is cut away."""
        self.paths = paths
        self._listener = listener
        self._lock = threading.Lock()
        paths.root.mkdir(parents=True, exist_ok=True)
        self._cut_torn_tail()
        self.seq = self._next_seq()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._descriptor = os.open(paths.train_log, flags, 0o644)

    def append(self, kind: type[records.Record], /, **fields: Any) -> records.Record:
        """Make the record, write its line, then announce it.

        Raises DiskError when the line cannot be written; the log then ends where it did before.
        """
        with self._lock:
            record = kind(run_id=self.paths.run_id, seq=self.seq, time=time.time(), **fields)
            line = records.encode(record)
            self._write(line)
            self.seq += 1
            self._listener(line)
        return record

    def tell(self, kind: type[records.Record], /, **fields: Any) -> None:
        """Announce a record that has no place in the log: state, heartbeat, ack."""
        with self._lock:
            record = kind(run_id=self.paths.run_id, seq=self.seq, time=time.time(), **fields)
            self._listener(records.encode(record))

    def sync(self) -> None:
        """Have the log on the disk, for checkpoints."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self, line: bytes) -> None:
        size = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            os.ftruncate(self._descriptor, size)
            raise disk_error(self.paths.train_log, error) from None

    def _cut_torn_tail(self) -> None:
        try:
            with self.paths.train_log.open("r+b") as log:
                data = log.read()
                log.truncate(data.rfind(b"\n") + 1)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise disk_error(self.paths.train_log, error) from None

    def _next_seq(self) -> int:
        try:
            lines = self.paths.train_log.read_bytes().splitlines()
        except FileNotFoundError:
            return 0
        for line in reversed(lines):
            try:
                return records.decode(line).seq + 1
            except ProtocolError:
                continue
        return 0


def disk_error(path: Path, error: OSError) -> DiskError:
    reason = error.strerror or str(error)
    way_out = "choose a folder that can be written (--home)"
    if error.errno == errno.ENOSPC:
        way_out = "free some space and resume the run"
    return DiskError(f"{path}: {reason}; {way_out}")


def write_json(path: Path, value: Any) -> None:
    """A JSON file that appears whole or not at all."""
    partial = path.with_name(path.name + ".tmp")
    with partial.open("wb") as file:
        file.write(json.dumps(value, indent=2, default=str).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def read_config(paths: RunPaths) -> dict[str, Any]:
    """config.json of a run. Raises LabError naming the file."""
    try:
        raw = msgspec.json.decode(paths.config.read_bytes())
    except OSError as error:
        raise LabError(f"{paths.config}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise LabError(f"{paths.config}: {error}") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("run"), dict):
        raise LabError(f"{paths.config}: has no object `run`")
    return raw


def read_run_config(paths: RunPaths) -> RunConfig:
    """The configuration of a run. Raises LabError naming the file and the field."""
    try:
        return RunConfig.from_dict(read_config(paths)["run"])
    except ConfigError as error:
        raise ConfigError(f"{paths.config}: {error}; restore the file or train anew") from None
