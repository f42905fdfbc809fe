"""What a person wrote on runs: tags and notes, one small JSON file in the home."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gui.words import tr
from trainer_core.protocol.decoding import parsing, read_json
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.paths import HomePaths

MOST_BYTES = 16 << 20
"""A file larger than this is none of ours."""


@dataclass(frozen=True, slots=True)
class Note:
    tags: tuple[str, ...] = ()
    text: str = ""

    @property
    def line(self) -> str:
        """Both in one line, as filters and tooltips want them."""
        return " ".join((*(f"#{tag}" for tag in self.tags), self.text)).strip()


NOTHING = Note()


class RunNotes(QObject):
    """Notes by run id. A damaged file reads as none and is kept beside the new one."""

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
        """Remember a note, and write it down at once. Raises LabError when that is impossible."""
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
            if self.path.stat().st_size > MOST_BYTES:
                raise ValueError("too large")
            with parsing(self.path):
                self._notes = read_json(self.path, dict[str, Note], MOST_BYTES)
        except FileNotFoundError:
            return
        except (OSError, ValueError, LabError):
            self._notes = {}
            if self.path.is_file():
                os.replace(self.path, self.path.with_suffix(".damaged"))

    def _write(self, notes: dict[str, Note]) -> None:
        text = json.dumps({run_id: asdict(note) for run_id, note in notes.items()}, indent=1)
        half = self.path.with_suffix(".tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            half.write_text(text, "utf-8")
            os.replace(half, self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                half.unlink()
            raise LabError(
                tr(
                    "{path}: {strerror}: the note was not kept",
                    path=self.path,
                    strerror=error.strerror,
                )
            ) from None
