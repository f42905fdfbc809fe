"""Commands to a run from a process that does not keep it: files in its directory.

Whoever keeps the run (an app, `dmglab train`, the detached host) looks into `mail/` a few times a
second, takes what is there and answers. Plain files: they need no socket, work on any path and file
system, and are gone with the run's directory. The lines are those of docs/reference/protocol.md.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trainer_core.lab.paths import RunPaths
from trainer_core.runs.log_writer import DiskError, disk_error
from trainer_core.wire import commands
from trainer_core.wire.errors import BAD_JSON, ProtocolError
from trainer_core.wire.regular_files import read_regular

LOOK_S = 0.2
"""How often a host looks."""
_REQUEST, _ANSWER = ".request", ".answer"


class Answer(msgspec.Struct, kw_only=True, frozen=True):
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """A command that came, and what its sender waits under."""

    name: str
    command: commands.AnyCommand


class Mailbox:
    def __init__(self, paths: RunPaths) -> None:
        self.folder = paths.mail

    # -- the sender's side ------------------------------------------------------------------

    def post(self, command_type: type[commands.Command], **fields: object) -> str:
        """Leave a command; the name is what `answer_to` is asked for. Raises DiskError."""
        if not (run := self.folder.parent).is_dir():
            raise DiskError(f"{run}: this run's folder is gone; put it back, then ask again")
        name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
        line = commands.encode(command_type(id=0, **fields))  # type: ignore[arg-type]
        self._leave(name + _REQUEST, line)
        return name

    def answer_to(self, name: str) -> Answer | None:
        """What the host made of it; None until it did. Taken away by being read."""
        path = self.folder / (name + _ANSWER)
        try:
            answer = msgspec.json.decode(read_regular(path), type=Answer)
        except OSError:
            return None
        except BAD_JSON:
            answer = Answer(ok=False, detail="an answer that cannot be read")
        with contextlib.suppress(OSError):
            path.unlink()
        return answer

    def withdraw(self, name: str) -> bool:
        """Take back a command that nobody took. False when somebody had."""
        try:
            (self.folder / (name + _REQUEST)).unlink()
        except OSError:
            return False
        return True

    # -- the host's side --------------------------------------------------------------------------

    def take(self) -> list[Letter]:
        """Commands that came since, oldest first; each is given out once."""
        try:
            names = sorted(name for name in os.listdir(self.folder) if name.endswith(_REQUEST))
        except OSError:
            return []
        return [letter for name in names if (letter := self._open(name)) is not None]

    def answer(self, letter: Letter, ok: bool, detail: str = "") -> None:
        """A disk that is full loses the answer, nothing else."""
        line = msgspec.json.encode(Answer(ok=ok, detail=detail))
        with contextlib.suppress(ProtocolError, OSError):
            self._write(letter.name + _ANSWER, line)

    def clear(self) -> None:
        """At a life's beginning: what was meant for the one before does not count."""
        with contextlib.suppress(OSError):
            for name in os.listdir(self.folder):
                (self.folder / name).unlink()

    def _open(self, name: str) -> Letter | None:
        path = self.folder / name
        stem = name.removesuffix(_REQUEST)
        try:
            line = read_regular(path)
            path.unlink()
        except FileNotFoundError:  # withdrawn
            return None
        except OSError:
            return None
        try:
            return Letter(stem, commands.decode(line))
        except ProtocolError as error:
            with contextlib.suppress(OSError):
                self._write(stem + _ANSWER, msgspec.json.encode(Answer(ok=False, detail=str(error))))
            return None

    def _leave(self, name: str, data: bytes) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
            self._write(name, data)
        except OSError as error:
            raise disk_error(self.folder / name, error) from None

    def _write(self, name: str, data: bytes) -> None:
        half: Path = self.folder / f".{name}.tmp"
        half.write_bytes(data)
        half.replace(self.folder / name)
