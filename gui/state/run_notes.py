"""The user's tags and notes on runs, in one JSON file in the home folder."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from gui.kit.words import tr
from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.errors import BAD_JSON, LabError
from trainer_core.wire.regular_files import read_regular

MOST_BYTES = 16 << 20
"""Largest size in bytes of the file that is read."""


@dataclass(frozen=True, slots=True)
class Note:
    tags: tuple[str, ...] = ()
    text: str = ""

    @property
    def line(self) -> str:
        """Tags and text in one line, for filters and tooltips."""
        return " ".join((*(f"#{tag}" for tag in self.tags), self.text)).strip()


NOTHING = Note()


class RunNotes(QObject):
    """Notes by run id. A damaged file counts as empty, and is kept beside the new one."""

    changed = Signal(str)

    def __init__(self, home: HomePaths) -> None:
        super().__init__()
        self.path: Path = home.settings / "run_notes.json"
        self._notes: dict[str, Note] = {}
        self._read()

    def __getitem__(self, run_id: str) -> Note:
        return self._notes.get(run_id, NOTHING)

    def line(self, run_id: str) -> str:
        note = self._notes.get(run_id)
        return note.line if note else ""

    def put(self, run_id: str, note: Note) -> None:
        """Set the note on a run and write the file at once. Raises LabError when that fails."""
        if note == self[run_id]:
            return
        known = self._notes
        self._read()  # another window of this home may have written since
        notes = {**(self._notes or known), run_id: note}
        if note == NOTHING:
            del notes[run_id]
        self._write(notes)
        self._notes = notes
        self.changed.emit(run_id)

    def _read(self) -> None:
        try:
            data = read_regular(self.path, MOST_BYTES)
            self._notes = msgspec.json.decode(data, type=dict[str, Note])
        except FileNotFoundError:
            return
        except (OSError, *BAD_JSON):
            self._notes = {}
            with contextlib.suppress(OSError):
                self.path.replace(self.path.with_suffix(".damaged"))

    def _write(self, notes: dict[str, Note]) -> None:
        text = json.dumps({run_id: asdict(note) for run_id, note in notes.items()}, indent=1)
        half = self.path.with_suffix(".tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            half.unlink(missing_ok=True)  # a link of that name would be followed
            durable_files.write_file(half, text.encode("utf-8", "replace"))
            durable_files.rename(half, self.path)
        except OSError as error:
            raise LabError(
                tr("{path}: {strerror}: the note was not saved", path=self.path, strerror=error.strerror)
            ) from None
