"""worker.log: what a child said on standard error; bounded, and no fault of the disk stops it."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from trainer_core.runs.durable import open_log

CAP_BYTES = 8 << 20


class CappedLog:
    """Appends to `path`; at CAP_BYTES that file becomes `<path>.1` and a new one begins."""

    def __init__(self, path: Path, cap: int = CAP_BYTES) -> None:
        self._path, self._cap = path, cap
        self._file: IO[bytes] | None = None
        self._told = False

    def write(self, data: bytes) -> str:
        """A disk that is full or gone loses these lines and nothing else: "", or, once, why."""
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
