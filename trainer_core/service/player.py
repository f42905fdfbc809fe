"""PlayerService: one machine in real time, a person or a policy at the buttons.

A new player replaces the old one only once it shows a picture, so that a checkpoint that cannot be
loaded never leaves the viewer with nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trainer_core.protocol import commands, records
from trainer_core.protocol.errors import ConfigError, LabError, ProtocolError
from trainer_core.protocol.paths import CHECKOUT, HomePaths
from trainer_core.service.child import ChildProcess, start_child
from trainer_core.service.stream import BadLine

FIRST_PICTURE_TIMEOUT_S = 120.0
STOP_COMMAND_S = 2.0
TERMINATE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayRequest:
    """config.json of a player."""

    task: str
    checkpoint: str = ""
    mode: str = "human"
    """human, greedy or sample."""
    device: str = "cpu"
    speed: float = 1.0
    seed: int = 1

    def to_json(self) -> str:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(fields, indent=2) + "\n"


def _native(player_dir: Path) -> list[str]:
    return [sys.executable, "-m", "trainer_core.player", str(player_dir)]


class PlayerService:
    """At most one player is active. Callbacks run on the event loop."""

    def __init__(self, home: HomePaths, *, command: Callable[[Path], list[str]] = _native) -> None:
        self.home = home
        self.command = command
        self.request_made: PlayRequest | None = None
        self.directory: Path | None = None
        self.on_event: Callable[[records.Event], None] = lambda event: None
        self.on_output: Callable[[list[str]], None] = lambda lines: None
        self.on_end: Callable[[str], None] = lambda reason: None
        """Called with a reason when the active player ended without being asked to."""
        self._child: ChildProcess | None = None
        self._starting: ChildProcess | None = None
        self._asked: set[ChildProcess] = set()
        self._lock = asyncio.Lock()

    @property
    def is_active(self) -> bool:
        return self._child is not None

    @property
    def frames_path(self) -> Path | None:
        return self.directory / "frames.bin" if self.directory else None

    async def start(self, request: PlayRequest) -> None:
        """Play as asked; returns once the first picture is out and the old player has ended.

        Raises LabError with the player's last line when it fails; the old player then stays.
        """
        async with self._lock:
            directory = (
                self.home.players
                / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{secrets.token_hex(2)}"
            )
            try:
                directory.mkdir(parents=True)
                (directory / "config.json").write_text(request.to_json(), encoding="utf-8")
            except OSError as error:
                raise ConfigError(f"{directory}: cannot be written: {error.strerror}") from None
            child = self._starting = await self._spawn(directory)
            try:
                await self._first_picture(child, directory)
            except BaseException:
                await self._end(child)
                raise
            finally:
                self._starting = None
            old, self._child = self._child, child
            self.directory, self.request_made = directory, request
            if old is not None:
                await self._end(old)

    async def _spawn(self, directory: Path) -> ChildProcess:
        def on_bad_line(line: BadLine) -> None:
            self.on_output([f"player: {line.reason}"])

        child = await start_child(
            self.command(directory),
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            log_path=directory / "player.log",
            on_event=lambda event: self.on_event(event),
            on_bad_line=on_bad_line,
            on_output=lambda lines: self.on_output(lines),
        )
        child.exited.add_done_callback(lambda _: self._on_exit(child))
        return child

    async def _first_picture(self, child: ChildProcess, directory: Path) -> None:
        deadline = time.monotonic() + FIRST_PICTURE_TIMEOUT_S
        while not (directory / "frames.bin").exists():
            code = await child.wait(0.05)
            if code is not None:
                raise LabError(child.last_words() or f"the player ended with status {code}")
            if time.monotonic() > deadline:
                raise LabError(
                    f"the player showed no picture within {FIRST_PICTURE_TIMEOUT_S:g} s; "
                    f"see {directory / 'player.log'}"
                )

    async def request(
        self, command_type: type[commands.Command], *, timeout_s: float = 10.0, **fields: object
    ) -> records.AckEvent:
        """Send a command and wait for its ack. Raises ProtocolError."""
        if self._child is None:
            raise ProtocolError("nothing is playing")
        return await self._child.request(command_type, timeout_s=timeout_s, **fields)

    def send(self, command_type: type[commands.Command], **fields: object) -> None:
        """Send a command without waiting; silent when nothing plays (a key released too late)."""
        if self._child is not None and not self._child.exited.done():
            with contextlib.suppress(ProtocolError):
                self._child.send(command_type, **fields)

    async def stop(self) -> None:
        """End the active player and one that is still starting."""
        for child in (self._starting, self._child):
            if child is not None:
                await self._end(child)
        self._child = None
        self.directory = self.request_made = None

    async def _end(self, child: ChildProcess) -> None:
        self._asked.add(child)
        with contextlib.suppress(ProtocolError):
            child.send(commands.Stop)
        for number, patience_s in ((signal.SIGTERM, STOP_COMMAND_S), (signal.SIGKILL, TERMINATE_S)):
            if await child.wait(patience_s) is not None:
                break
            child.signal_group(number)
        await child.wait()
        self._asked.discard(child)

    def _on_exit(self, child: ChildProcess) -> None:
        if child is not self._child or child in self._asked:
            return
        self._child = None
        self.directory = self.request_made = None
        code = child.exited.result()
        self.on_end((code and child.last_words()) or f"the player ended, status {code}")
