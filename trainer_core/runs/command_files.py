"""Commands to a run from a process that did not start it: files in its directory.

The host of the run (an app, `dmglab train`, the detached host) checks `mail/` a few times a second, takes the commands
and writes answers. Plain files need no socket, work on any path and file system, and are deleted with the run's
directory. Each holds one line of docs/reference/protocol.md.
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
"""Seconds between two searches of a host for new commands."""
_REQUEST, _ANSWER = ".request", ".answer"


class Answer(msgspec.Struct, kw_only=True, frozen=True):
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """Command that a host received, and the name under which its sender waits for the answer."""

    name: str
    command: commands.AnyCommand


class Mailbox:
    def __init__(self, paths: RunPaths) -> None:
        self.folder = paths.mail

    # -- the sender's side ------------------------------------------------------------------

    def post(self, command_type: type[commands.Command], **fields: object) -> str:
        """Write a command for the run's host; return the name to pass to `answer_to`. Raises DiskError."""
        if not (run := self.folder.parent).is_dir():
            raise DiskError(f"{run}: this run's folder is gone; put it back, then ask again")
        name = f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
        line = commands.encode(command_type(id=0, **fields))
        self._leave(name + _REQUEST, line)
        return name

    def answer_to(self, name: str) -> Answer | None:
        """Return the host's answer to the command that `post` called `name`, None while there is none; the answer is
        deleted."""
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
        """Withdraw a command that no host has taken. Return False if one has."""
        try:
            (self.folder / (name + _REQUEST)).unlink()
        except OSError:
            return False
        return True

    # -- the host's side --------------------------------------------------------------------------

    def take(self) -> list[Letter]:
        """Return the new commands, oldest first; each is returned once."""
        try:
            names = sorted(name for name in os.listdir(self.folder) if name.endswith(_REQUEST))
        except OSError:
            return []
        return [letter for name in names if (letter := self._open(name)) is not None]

    def answer(self, letter: Letter, ok: bool, detail: str = "") -> None:
        """Write the answer to a received command; on a full disk it is lost, without an error."""
        line = msgspec.json.encode(Answer(ok=ok, detail=detail))
        with contextlib.suppress(ProtocolError, OSError):
            self._write(letter.name + _ANSWER, line)

    def clear(self) -> None:
        """Delete all commands when a run begins or resumes: they were meant for the process before."""
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
