"""The player's loop: the commands that have come, then a frame when one is due."""

from __future__ import annotations

from pathlib import Path
from queue import Empty, SimpleQueue

from trainer_core.envs.task_files import save_goal
from trainer_core.play.player import Player, Tell
from trainer_core.protocol import commands, records
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.playing import check_speed

IDLE_S = 1.0
"""While paused, how long to wait for a command at a time."""

Inbox = SimpleQueue[commands.AnyCommand | None]
"""Commands in order; None ends the loop."""


class PlayLoop:
    """Obeys commands in order and acknowledges each."""

    def __init__(self, player: Player, inbox: Inbox, tell: Tell) -> None:
        self.player, self._inbox, self._tell = player, inbox, tell
        self.running, self.paused, self.rewinding = True, False, False
        self._allowance = 0
        """Frames to play although paused."""

    def run(self) -> None:
        """Play until told to stop."""
        player = self.player
        while self.running:
            self._take_commands()
            if self.running and self.rewinding:
                player.one_frame_back()
                player.pacer.wait()
            elif self.running and (not self.paused or self._allowance):
                self._allowance = max(0, self._allowance - 1)
                player.one_frame()
                if not self.paused:
                    player.pacer.wait()
        player.close()

    def _take_commands(self) -> None:
        while self.running and not (self.paused and self._allowance):  # one step, then the next
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
                detail, ok = str(error), False
            self._tell(records.AckEvent, id=command.id, ok=ok, detail=detail)

    def _next_command(self) -> commands.AnyCommand | None:
        """Raises Empty when there is none; waits a while when there is nothing else to do."""
        if self.paused and not self.rewinding:
            return self._inbox.get(timeout=IDLE_S)
        return self._inbox.get_nowait()

    def _obey(self, command: commands.AnyCommand) -> str:
        """Carry out one command; returns the ack's detail. Raises LabError or OSError."""
        player = self.player
        match command:
            case commands.SetButtons():
                player.press(command.mask)
            case commands.Click():
                player.click(command.x, command.y)
            case commands.Stop():
                self.running = False
            case commands.Pause():
                self.paused = True
            case commands.Unpause():
                self.paused = False
                player.pacer.restart()
            case commands.SetSpeed():
                check_speed(command.value)
                player.pacer.speed = command.value
                player.pacer.restart()
            case commands.SetSound():
                player.set_sound(command.volume, command.channels)
            case commands.StepOnce():
                self._allowance = 1 if player.human else player.frames_left_in_step
            case commands.Takeover():
                player.take_over(command.human)
            case commands.Restart():
                player.restart(command.start)
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
            case commands.CaptureGoal():
                save_goal(_writable(command.path), player.game.observation()[None])
                if command.way and (frames := player.save_way(_writable(command.way))):
                    return str(frames)
            case _:
                raise LabError(f"a player does not know {type(command).__name__}")
        return ""


def _writable(path: str) -> Path:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
