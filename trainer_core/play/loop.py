"""The player's loop: obey pending commands, then play a frame when one is due."""

from __future__ import annotations

from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from trainer_core.envs.task_files import save_goal
from trainer_core.play.pacer import Pacer
from trainer_core.play.played_game import Player
from trainer_core.play.thoughts import Tell
from trainer_core.wire import commands, records
from trainer_core.wire.errors import LabError, in_words
from trainer_core.wire.playing import check_speed
from trainer_core.wire.regular_files import check_target

IDLE_S = 1.0
"""Seconds per wait for a command while paused."""

Inbox = SimpleQueue[commands.AnyCommand | None]
"""Queue of commands in order; None ends the loop."""


class Playable(Protocol):
    """Interface of a game that the loop plays frame by frame."""

    pacer: Pacer
    human: bool
    """True if a step command plays one frame; else it plays an agent's step."""

    @property
    def frames_left_in_step(self) -> int: ...

    def one_frame(self) -> None: ...

    def restart(self, start: int) -> None: ...

    def close(self) -> None: ...


class CommandLoop:
    """Base class of the loops: obeys and acknowledges commands in order and plays frames."""

    refusal = "this cannot be asked of a player"

    def __init__(self, plays: Playable, inbox: Inbox, tell: Tell) -> None:
        self._plays, self._inbox, self._tell = plays, inbox, tell
        self.running, self.paused = True, False
        self._allowance = 0
        """Number of frames to play although the game is paused."""

    def run(self) -> None:
        """Obey commands and play frames until a stop command or the end of the inbox."""
        while self.running:
            self._take_commands()
            if self.running:
                self._advance()
        self._plays.close()

    def _advance(self) -> None:
        """Play a frame if one is due."""
        if not self.paused or self._allowance:
            self._allowance = max(0, self._allowance - 1)
            self._plays.one_frame()
            if not self.paused:
                self._plays.pacer.wait()

    def _take_commands(self) -> None:
        while self.running and not (self.paused and self._allowance):  # finish a step before the next command
            try:
                command = self._next_command()
            except Empty:
                return
            if command is None:
                self.running = False
                return
            try:
                detail, ok = self._obey(command), True
            except (LabError, OSError) as error:
                detail, ok = in_words(error), False
            self._tell(records.AckEvent, id=command.id, ok=ok, detail=detail)

    @property
    def _is_idle(self) -> bool:
        return self.paused

    def _next_command(self) -> commands.AnyCommand | None:
        """Return the next command, waiting up to IDLE_S when idle; raises Empty without one."""
        if self._is_idle:
            return self._inbox.get(timeout=IDLE_S)
        return self._inbox.get_nowait()

    def _obey(self, command: commands.AnyCommand) -> str:
        """Carry out one command; return the ack's detail. Raises LabError or OSError."""
        plays = self._plays
        match command:
            case commands.Stop():
                self.running = False
            case commands.Pause():
                self.paused = True
            case commands.Unpause():
                self.paused = False
                plays.pacer.restart()
            case commands.SetSpeed():
                check_speed(command.value)
                plays.pacer.speed = command.value
                plays.pacer.restart()
            case commands.StepOnce():
                self._allowance = 1 if plays.human else plays.frames_left_in_step
            case commands.Restart():
                plays.restart(command.start)
            case _:
                raise LabError(f"{type(command).__name__}: {self.refusal}")
        return ""


class PlayLoop(CommandLoop):
    """Loop for a single game, with all its commands."""

    def __init__(self, player: Player, inbox: Inbox, tell: Tell) -> None:
        super().__init__(player, inbox, tell)
        self.player, self.rewinding = player, False

    def _advance(self) -> None:
        if self.rewinding:
            self.player.one_frame_back()
            self.player.pacer.wait()
        else:
            super()._advance()
            if self.paused:
                self.player.refresh_memory()

    @property
    def _is_idle(self) -> bool:
        return self.paused and not self.rewinding

    def _obey(self, command: commands.AnyCommand) -> str:
        detail = self._carry_out(command)
        if self.paused:
            self.player.refresh_memory()
        return detail

    def _carry_out(self, command: commands.AnyCommand) -> str:
        player = self.player
        match command:
            case commands.SetButtons():
                player.press(command.mask)
            case commands.Click():
                player.click(command.x, command.y)
            case commands.SetSound():
                player.set_sound(command.volume, command.channels)
            case commands.Takeover():
                player.take_over(command.human)
            case commands.LoadPolicy():
                player.load(command.checkpoint)
            case commands.Record():
                return player.record(command.on, command.until)
            case commands.SaveState():
                player.save_state(_writable(command.path), command.begins_way)
            case commands.LoadState():
                player.load_state(Path(command.path))
            case commands.UndoLoad():
                player.undo_load()
            case commands.PlayOn():
                player.play_on(Path(command.recording), command.frame, command.branch)
            case commands.Rewind():
                self.rewinding = command.on
                player.pacer.restart()
            case commands.ShowSaliency():
                player.show_saliency(command.on)
            case commands.ShowMemory():
                return player.show_memory(command.on)
            case commands.CaptureGoal():
                path, seen = _writable(command.path), player.game.observation()[None]
                save_goal(path, seen, later=player.seen_later())
                if command.way and (frames := player.save_way(_writable(command.way))):
                    return str(frames)
            case _:
                return super()._obey(command)
        return ""


def _writable(path: str) -> Path:
    """Return the path of a file to write, after creating its folder.

    Raises OSError, and LabError for a folder or device.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    check_target(target)
    return target
