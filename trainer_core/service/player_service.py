"""PlayerService: one game in real time, played by a person or a policy.

A new player replaces the old one only once it shows a picture, so that a checkpoint that cannot be loaded never leaves
the viewer without a game.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from trainer_core.host.wait_for_order import FOR_PERSON
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import MANIFEST, STEPS
from trainer_core.lab.unfinished_recordings import recover_below
from trainer_core.runners.catalog import AgentRunner, find_runner, registered_runners, runner_of_checkpoint
from trainer_core.service.child import ChildProcess
from trainer_core.service.event_stream import BadLine
from trainer_core.service.preload import AheadProcess
from trainer_core.wire import commands, records
from trainer_core.wire.errors import ConfigError, FailureError, ProtocolError
from trainer_core.wire.playing import PlayerConfig, write_player_config
from trainer_core.wire.spec import NATIVE_ID

LEAGUE = "league-"
OLD_S = 2 * 86_400.0
"""Seconds without a change after which a player's folder is old; an active player keeps changing frames.bin."""
LEFT = {"config.json", "frames.bin", "player.log", "player.log.1"}
"""Files that every player's folder has; one with other files holds a recording or other work and is kept."""


def remove_old_players(players: Path) -> int:
    """Remove old players' folders; return their number. Skips silently what cannot be read or removed."""
    removed = 0
    with contextlib.suppress(OSError):
        for folder in players.iterdir():
            with contextlib.suppress(OSError):
                if _is_old(folder):
                    shutil.rmtree(folder)
                    removed += 1
                elif folder.name.startswith(LEAGUE) and not folder.is_symlink():
                    removed += _remove_unfinished(folder)
    return removed


def _remove_unfinished(league: Path) -> int:
    """Remove the league's recordings without a manifest, which is written last, and folders left empty.

    An active recording is not old, since its pictures file changes with each frame. Returns the number removed.
    """
    removed = 0
    for steps in [*league.glob(f"recordings/*/{STEPS}"), *league.glob(f"recordings/*/*/{STEPS}")]:
        folder = steps.parent
        files = list(folder.iterdir())
        changed = max(path.lstat().st_mtime for path in (folder, *files))
        if MANIFEST not in {path.name for path in files} and time.time() - changed > OLD_S:
            shutil.rmtree(folder)
            removed += 1
            with contextlib.suppress(OSError):  # the folder may hold another recording
                for parent in folder.parents:
                    parent.rmdir()
                    if parent == league:
                        break
    return removed


def _is_old(folder: Path) -> bool:
    if folder.is_symlink() or not folder.is_dir():
        return False
    files = list(folder.iterdir())
    changed = max(path.lstat().st_mtime for path in (folder, *files))
    return {path.name for path in files} <= LEFT and time.time() - changed > OLD_S


FIRST_PICTURE_TIMEOUT_S = 120.0
COMPILING_TIMEOUT_S = 900.0
"""Timeout while kernels are compiled: once on a computer, minutes on a slow one."""
STOP_COMMAND_S = 2.0
TERMINATE_S = 2.0


class PlayerService:
    """Service with at most one active player. Callbacks run on the event loop."""

    def __init__(self, home: HomePaths, *, runners: tuple[AgentRunner, ...] | None = None) -> None:
        self.home = home
        self.runners = registered_runners() if runners is None else runners
        self.config: PlayerConfig | None = None
        self.directory: Path | None = None
        self.on_event: Callable[[records.Event], None] = lambda event: None
        self.on_output: Callable[[list[str]], None] = lambda lines: None
        self.on_preview: Callable[[Path], None] = lambda path: None
        """Callback with the pictures of a player whose policy still loads; not called while another one is active."""
        self.on_end: Callable[[str], None] = lambda reason: None
        """Callback with a reason, called when the active player ended without a request."""
        self.ahead = AheadProcess()
        """Process started ahead of time, which loads while a checkpoint is being selected."""
        self._ahead_directory: Path | None = None
        self._ahead_for_person = False
        """True if the process started ahead has not loaded what a policy needs."""
        self._child: ChildProcess | None = None
        self._starting: ChildProcess | None = None
        self._asked: set[ChildProcess] = set()
        self._lock = asyncio.Lock()
        self._is_tidy = self._compiles = False
        self._spoke = 0.0
        """Time of the last progress message of the starting player."""

    @property
    def is_active(self) -> bool:
        return self._child is not None

    @property
    def frames_path(self) -> Path | None:
        return self.directory / "frames.bin" if self.directory else None

    async def start(self, config: PlayerConfig) -> None:
        """Start a player; return once its first picture is out and the old player has ended.

        Raises LabError with the player's last line when it fails; the old player then stays.
        """
        async with self._lock:
            runner = self._runner_for(config.checkpoint)
            directory = self._directory_for(runner)
            write_player_config(directory, config)
            child = self._starting = await self._spawn(runner, directory)
            try:
                await self._tidy()
                await self._first_picture(child, directory)
            except BaseException:
                await self._end(child)
                raise
            finally:
                self._starting = None
            old, self._child = self._child, child
            self.directory, self.config = directory, config
            if old is not None:
                await self._end(old)

    async def _tidy(self) -> None:
        """Restore interrupted recordings and remove old players' folders, once, while the first player loads."""
        if not self._is_tidy:
            self._is_tidy = True
            recovered = await asyncio.to_thread(recover_below, self.home.players)
            self._tell_recovered(recovered)
            await asyncio.to_thread(remove_old_players, self.home.players)

    async def prepare(self, *, for_person: bool = False) -> None:
        """Start one of our own players ahead of the next `start`; it loads and writes nothing until then.

        With `for_person` it loads in half the time, without torch, and is replaced before a policy plays. Does nothing
        for a runner whose process cannot wait. Raises LabError.
        """
        runner = find_runner(NATIVE_ID, self.runners)
        if self.ahead.is_waiting and self._ahead_for_person and not for_person:
            await self.ahead.end()
        directory = self._new_directory()
        env = {FOR_PERSON: "1"} if for_person else {}
        argv, cwd = runner.play(directory), runner.folder(directory)
        if runner.waits and await self.ahead.load(argv, cwd, **env):
            self._ahead_directory, self._ahead_for_person = directory, for_person

    def _new_directory(self) -> Path:
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{secrets.token_hex(2)}"
        return self.home.players / name

    def _directory_for(self, runner: AgentRunner) -> Path:
        """Return the directory of the player started ahead if it belongs to `runner`, else a new one."""
        found = self._ahead_directory
        if found is not None and self.ahead.is_for(runner.play(found)):
            return found
        return self._new_directory()

    def can_load(self, checkpoint: Path) -> bool:
        """Return whether the active player can also play `checkpoint`: it must be of the same runner."""
        now = self.config
        return now is not None and (self._runner_for(str(checkpoint)).id == self._runner_for(now.checkpoint).id)

    async def load(self, checkpoint: Path, *, timeout_s: float = 60.0) -> records.AckEvent:
        """Have the active player load another checkpoint; `config` names it once it is loaded. Returns the ack."""
        child = self._child
        ack = await self.request(commands.LoadPolicy, timeout_s=timeout_s, checkpoint=str(checkpoint))
        if ack.ok and self.config is not None and child is self._child:
            self.config = msgspec.structs.replace(self.config, checkpoint=str(checkpoint))
        return ack

    def _runner_for(self, checkpoint: str) -> AgentRunner:
        """Return the runner whose player plays `checkpoint`; ours if a person plays ("" as checkpoint).

        Raises ConfigError.
        """
        if not checkpoint:
            return find_runner(NATIVE_ID, self.runners)
        runner = runner_of_checkpoint(Path(checkpoint), self.runners)
        if not runner.capabilities.play:
            raise ConfigError(f"{checkpoint}: {runner.title} has no player for its checkpoints")
        return runner

    async def _spawn(self, runner: AgentRunner, directory: Path) -> ChildProcess:
        def on_bad_line(line: BadLine) -> None:
            self.on_output([f"player: {line.reason}"])

        self._compiles, self._spoke = False, time.monotonic()

        def on_event(event: records.Event) -> None:
            if isinstance(event, records.StateEvent):
                self._compiles = event.detail.startswith(records.COMPILING)
                self._spoke = time.monotonic()
            self.on_event(event)

        child = await self.ahead.start_child(
            runner.play(directory),
            cwd=runner.folder(directory),
            env={"PYTHONUNBUFFERED": "1"},
            log_path=directory / "player.log",
            decode=runner.parse,
            on_event=on_event,
            on_bad_line=on_bad_line,
            on_output=lambda lines: self.on_output(lines),
        )
        child.exited.add_done_callback(lambda _: self._on_exit(child))
        return child

    async def _first_picture(self, child: ChildProcess, directory: Path) -> None:
        self._spoke = time.monotonic()
        early, is_told = directory / "frames.bin.new", self.is_active
        while not (directory / "frames.bin").exists():
            if not is_told and early.exists():
                is_told = True
                self.on_preview(early)
            code = await child.wait(0.05)
            if code is not None:
                raise FailureError(child.last_words() or f"the player ended with status {code}")
            limit_s = COMPILING_TIMEOUT_S if self._compiles else FIRST_PICTURE_TIMEOUT_S
            if time.monotonic() > self._spoke + limit_s:
                raise FailureError(
                    f"the player showed no picture and told of nothing new for {limit_s:g} s; "
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
        """Send a command without waiting for its ack; do nothing when no player is active (a key released too late)."""
        if self._child is not None and not self._child.exited.done():
            with contextlib.suppress(ProtocolError):
                self._child.send(command_type, **fields)

    async def stop(self) -> None:
        """End the active player, a player that is still starting, and players that are already ending.

        Returns once they have all exited.
        """
        for child in (self._starting, self._child, *self._asked):
            if child is not None:
                await self._end(child)
        self._child = None
        self.directory = self.config = None

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

    def _tell_recovered(self, folders: list[Path]) -> None:
        for folder in folders:
            self.on_output([f"a recording whose player was killed is kept: {folder}"])

    def _on_exit(self, child: ChildProcess) -> None:
        if child is not self._child or child in self._asked:
            return
        if self.directory is not None:  # the player may have been killed while recording
            self._tell_recovered(recover_below(self.directory))
        self._child = None
        self.directory = self.config = None
        code = child.exited.result()
        self.on_end((code and child.last_words()) or f"the player ended, status {code}")
