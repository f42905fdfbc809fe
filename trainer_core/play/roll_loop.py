"""The player's loop while a recording is edited: show frames, change buttons, save branches."""

from __future__ import annotations

import time
from pathlib import Path
from queue import Empty

from trainer_core.envs.single_game import open_game
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import HEIGHT, PICTURES, WIDTH
from trainer_core.play.branching import write_branch
from trainer_core.play.loop import IDLE_S, Inbox
from trainer_core.play.roll import Roll
from trainer_core.play.thoughts import EVENT_INTERVAL_S, Tell
from trainer_core.wire import commands, frames, records
from trainer_core.wire.errors import LabError, in_words
from trainer_core.wire.playing import PlayerConfig

FRAMES_AT_ONCE = 32
"""Frames played between two checks for commands: 10 ms."""
UNTOLD = (-1, -1, -1)


class RollLoop:
    """Loop that obeys commands in order and plays unplayed frames in between."""

    def __init__(self, directory: Path, home: HomePaths, config: PlayerConfig, inbox: Inbox, tell: Tell) -> None:
        """Show the recording's first frame. Raises LabError naming what cannot be edited."""
        self._inbox, self._tell = inbox, tell
        game = open_game(config.task, home)
        self.roll = Roll(Path(config.recording), game, directory / PICTURES)
        self._writer = frames.FrameWriter(directory / "frames.bin.new", frames.FrameShape(WIDTH, HEIGHT))
        self._next_event = 0.0
        self._told = UNTOLD
        self._show(0)
        (directory / "frames.bin.new").replace(directory / "frames.bin")

    def run(self) -> None:
        """Show, edit and play frames until a command or the end of the inbox stops it."""
        roll = self.roll
        while self._take_command():
            if roll.known < len(roll):
                roll.advance(FRAMES_AT_ONCE)
            self._tell_known()
        roll.close()
        self._writer.close()

    def _take_command(self) -> bool:
        """Obey the next command, if any; return False when it ends the loop."""
        is_done = self.roll.known >= len(self.roll)
        try:
            command = self._inbox.get(timeout=IDLE_S) if is_done else self._inbox.get_nowait()
        except Empty:
            return True
        if command is None or isinstance(command, commands.Stop):
            if command is not None:
                self._tell(records.AckEvent, id=command.id, ok=True, detail="")
            return False
        try:
            detail, ok = self._obey(command), True
        except (LabError, OSError) as error:
            detail, ok = in_words(error), False
        self._tell(records.AckEvent, id=command.id, ok=ok, detail=detail)
        return True

    def _obey(self, command: commands.AnyCommand) -> str:
        match command:
            case commands.Seek():
                self._show(command.frame)
            case commands.Splice():
                self.roll.splice(command.first, command.removed, bytes.fromhex(command.masks))
                self._told = UNTOLD  # report again even if the state is as before
            case commands.SaveBranch():
                branch = write_branch(self.roll, Path(command.path))
                self.roll.rebase(branch)  # later changes are compared with the branch
                return str(branch)
            case _:
                raise LabError(f"a recording that is edited does not know {type(command).__name__}")
        return ""

    def _show(self, frame: int) -> None:
        self.roll.go_to(frame)
        info = frames.FrameInfo(env_steps=self.roll.known, buttons=self.roll.masks[frame], who=1, frame=frame)
        self._writer.publish(self.roll.game.picture().tobytes(), info)

    def _tell_known(self) -> None:
        """Report the progress, at most ten times a second and at the end."""
        roll, now = self.roll, time.monotonic()
        state = (len(roll), roll.known, roll.differs)
        if state != self._told and (roll.known >= len(roll) or now >= self._next_event):
            self._told, self._next_event = state, now + EVENT_INTERVAL_S
            self._tell(records.RollEvent, frames=len(roll), known=roll.known, differs=roll.differs)
