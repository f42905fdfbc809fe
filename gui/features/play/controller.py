"""State of the live view: policies or the user playing in the player process (`PlayerService`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.log_buffer import MAX_LINES, LogBuffer
from gui.state.session import Mode, Navigation, Session
from trainer_core.lab.arc_games import is_arc
from trainer_core.lab.checkpoint_manifest import THUMBNAIL
from trainer_core.lab.recording import MANIFEST, Recording
from trainer_core.lab.roms import ROM_SUFFIXES, find_game_again, is_for_color_only
from trainer_core.service import PlayerService
from trainer_core.wire import commands, records
from trainer_core.wire.errors import LabError, ProtocolError
from trainer_core.wire.frames import FLAG_RECORDING, FORMAT_SHADE, FrameInfo, FrameReader
from trainer_core.wire.playing import PlayerConfig, PolicyMode
from trainer_core.wire.shades import GREY_LEVELS, MAX_SHADE

SPEEDS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 0.0)
"""Speeds on offer, in multiples of real time; 0 means as fast as possible."""
ENDED_AFTER = 3
"""Number of successive pictures without the recording flag after which the player has ended the recording."""


@dataclass(slots=True)
class PlayState:
    """State of one player process, from its first picture to its end."""

    paused: bool = False
    recording: bool = False
    taken_over: bool = False
    """True while the user, instead of the policy, has the buttons of a hybrid game."""
    rewinding: bool = False
    is_turbo: bool = False
    recorded_frames: int = 0
    note: str = ""
    """Status text sent by a game that is no Game Boy's; else empty."""
    hung: str = ""
    """Reason why the game's CPU has locked up for good; empty while it can run."""
    is_color_only: bool = False
    """True if the ROM's header says that it needs a Game Boy Color."""
    buttons: int = 0
    """Bit mask of the buttons that the user holds."""
    picture: np.ndarray | None = None
    """Picture on show, u8[H, W]; None before the first."""
    frame: int = 0
    """Number of pictures since the player began."""
    unrecorded: int = 0
    """Number of successive pictures without the recording flag."""
    record_asked: bool = False


class PlayController(QObject):
    """Commands to the player process and its state, one player at a time.

    Widgets read `busy`, `error` and `state`.
    """

    frames_changed = Signal(object)
    """Path of the player's frames.bin (shared pictures), None without a player."""
    previewed = Signal(object)
    """The last picture of the checkpoint, u8[H, W], shown until the starting player has one."""
    changed = Signal()
    played = Signal(object)
    stood = Signal(object)
    """VersusEvent: steps and results of two policies that play side by side."""
    looked = Signal(object)
    """SaliencyEvent: how much each part of the picture influences the policy."""
    thought = Signal(object)
    """PolicyEvent: action probabilities and value of the policy at a step."""
    sounded = Signal(object)
    """SoundEvent: the device that plays sound, or why there is none."""
    mind_told = Signal(object)
    """BeliefsEvent of an agent that reports beliefs."""
    recorded = Signal(object)
    """Folder of a finished recording."""
    started = Signal()
    """Another player process has sent its first picture."""
    pictured = Signal()
    """Another picture arrived."""
    rom_refused = Signal(str)
    """Reason why a ROM cannot be played; the previous game goes on."""

    def __init__(self, bridge: Bridge, session: Session, navigation: Navigation, log: LogBuffer) -> None:
        super().__init__()
        self._bridge, self._session, self._navigation = bridge, session, navigation
        self._log = log
        self.name_of = bridge.name_of
        """Function that returns a run's name."""
        self.player = PlayerService(bridge.home)
        self.player.on_event = self._on_event
        self.player.on_preview = self._on_preview
        self.player.on_end = self._on_end
        self.player.on_output = self._on_output
        navigation.plays = lambda: self.is_active or bool(self.busy)
        self.busy = ""
        """Text on the work in progress; empty when there is none."""
        self.error = ""
        self.state = PlayState()
        """State of the current player; a new object for each player."""
        self.until: commands.RecordUntil = "stopped"
        """Condition that ends the next recording."""
        self.speed = 1.0
        self.checkpoint = ""
        self.policy_mode: PolicyMode = "leave_loops"
        self._starting: asyncio.Task[None] | None = None
        self._capturing = asyncio.Lock()
        """Lock for one `capture` at a time, as each restores the pause it found."""
        session.mode_changed.connect(self._on_mode)
        session.task_changed.connect(self._on_task)
        session.rom_changed.connect(self._on_rom)

    @property
    def is_active(self) -> bool:
        return self.player.is_active

    @property
    def paused(self) -> bool:
        return self.state.paused

    @property
    def recording(self) -> bool:
        return self.state.recording

    @property
    def picture(self) -> np.ndarray | None:
        """Picture on show, u8[H, W]; None before the first."""
        return self.state.picture

    @property
    def request(self) -> PlayerConfig | None:
        return self.player.config

    @property
    def is_human(self) -> bool:
        """True if the current player was started for the user instead of a policy."""
        return self.request is not None and self.request.mode == "human"

    @property
    def is_rom(self) -> bool:
        """True while a ROM without a task plays."""
        return self.request is not None and self.request.task.lower().endswith(ROM_SUFFIXES)

    @property
    def is_versus(self) -> bool:
        """True while two policies play side by side."""
        return self.request is not None and bool(self.request.rival)

    def refusal(self) -> str:
        """Return why a command to the player is impossible; empty when a game plays."""
        return "" if self.is_active else tr("No game is running")

    def solo_refusal(self) -> str:
        """Return why a command for a single game is impossible: none, or two side by side, play.

        Empty when one plays.
        """
        return tr("Two policies play side by side") if self.is_versus else self.refusal()

    def takeover_refusal(self) -> str:
        """Return why the user cannot take the buttons from a policy; empty while one policy plays."""
        return tr("You are already playing") if self.is_human else self.solo_refusal()

    # -- starting ---------------------------------------------------------------------------

    def play_game(self) -> None:
        """Let the user play the session's game: start it, or give the keyboard to it if it plays already."""
        self._session.set_mode(Mode.HUMAN)
        self._navigation.show_game()
        if self.is_human and self.request and self.request.task == self._session.game:
            self._navigation.game_wanted.emit()
        else:
            self.play_human()

    def play_human(self) -> None:
        """Start a player process for the user with the session's ROM or task."""
        self._start(PlayerConfig(task=self._session.game, mode="human", speed=self.speed))

    def deploy(self, task: str, checkpoint: Path, rival: str = "") -> None:
        """Let a checkpoint play `task`; a player process of the same task only loads the new weights.

        With the checkpoint folder `rival`, both policies play side by side.
        """
        self.checkpoint = str(checkpoint)
        now = self.request
        same = now is not None and now.task == task and now.mode == self.policy_mode and not now.rival and not rival
        if same and not self._is_starting and self.player.can_load(checkpoint):
            self._begin(tr("Loading {name}", name=checkpoint.name))
            work = self._accepted(self.player.load(checkpoint))
            self._bridge.spawn(work, then=lambda ack: self._end_busy(), failed=self._fail)
            return
        if not self.is_active and (picture := last_picture(checkpoint)) is not None:
            self.previewed.emit(picture)
        self._start(
            PlayerConfig(task=task, checkpoint=str(checkpoint), rival=rival, mode=self.policy_mode, speed=self.speed)
        )

    def _start(self, request: PlayerConfig) -> None:
        """Start a player process; another one that is still starting is ended without a notice."""
        self._forget_start()
        self._begin(tr("Starting the player"))
        self._starting = self._bridge.spawn(
            self._start_player(request), failed=lambda reason: self._fail_start(request, reason)
        )

    @property
    def _is_starting(self) -> bool:
        """True while a new player process, which will replace the current one, has no picture yet."""
        return self._starting is not None and not self._starting.done()

    def _forget_start(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            self._starting = None

    async def _start_player(self, request: PlayerConfig) -> None:
        before = self.player.directory
        await self.player.start(request)
        was_recording = self.recording
        self.state = PlayState(is_color_only=self.is_rom and is_for_color_only(Path(request.task)))
        self._end_busy()
        self.frames_changed.emit(self.player.frames_path)
        self.started.emit()
        if was_recording:
            self._tell_last(before)

    def stop(self) -> None:
        self._bridge.spawn(self.end(), title=tr("The player did not stop"))

    async def end(self) -> None:
        """End the current player process and one that is starting."""
        self._forget_start()
        before, was_recording = self.player.directory, self.recording
        await self.player.stop()
        self.state = PlayState()
        self.busy = ""
        self.frames_changed.emit(None)
        self.changed.emit()
        if was_recording:
            self._tell_last(before)

    def _tell_last(self, player: Path | None) -> None:
        """Emit `recorded` with the newest recording in the folder of a player that has ended."""
        done = player.glob(f"recordings/*/{MANIFEST}") if player else ()
        if newest := max(done, default=None):
            self.recorded.emit(newest.parent)

    # -- while it plays ---------------------------------------------------------------------

    def toggle_pause(self) -> None:
        """Pause or resume the game; `state` changes before the player has answered."""
        if self.is_active:
            self.state.paused = not self.paused
            self.changed.emit()
            self.ask(commands.Pause if self.paused else commands.Unpause)

    def step(self) -> None:
        if self.paused:
            self.ask(commands.StepOnce)
        else:
            self.toggle_pause()

    def set_speed(self, speed: float) -> None:
        self.speed = speed
        if not self.state.is_turbo:  # else the held key would have no effect any more
            self.player.send(commands.SetSpeed, value=speed)
        self.changed.emit()

    def shift_speed(self, step: int) -> None:
        index = SPEEDS.index(self.speed) if self.speed in SPEEDS else SPEEDS.index(1.0)
        self.set_speed(SPEEDS[min(max(index + step, 0), len(SPEEDS) - 1)])

    def turbo(self, on: bool) -> None:
        """Play as fast as possible from the call with True to the call with False."""
        if on == self.state.is_turbo:
            return
        self.state.is_turbo = on
        self.player.send(commands.SetSpeed, value=0.0 if on else self.speed)

    def restart(self) -> None:
        self.ask(commands.Restart)

    def rewind(self, on: bool) -> None:
        """Play backwards from the call with True to the call with False."""
        if on != self.state.rewinding and (not self.solo_refusal() or not on):
            self.state.rewinding = on
            self.player.send(commands.Rewind, on=on)
            self.changed.emit()

    def hold(self, mask: int) -> None:
        """Send the player the bit mask of the buttons that the user holds now."""
        if mask != self.state.buttons:
            self.state.buttons = mask
            self.player.send(commands.SetButtons, mask=mask)

    def click(self, x: int, y: int) -> None:
        """Send a mouse click at a pixel of the picture; only ARC games use clicks."""
        if self.request is not None and is_arc(self.request.task):
            self.ask(commands.Click, x=x, y=y)

    def take_over(self, human: bool) -> None:
        """Give the buttons of a game that a policy plays to the user (`human`), or back to the policy."""
        if human != self.state.taken_over and not self.takeover_refusal():
            self.state.taken_over = human
            if not human:
                self.hold(0)
            self.player.send(commands.Takeover, human=human)
            self.changed.emit()

    def note_frame(self, info: FrameInfo, picture: np.ndarray | None = None) -> None:
        """Store the picture that arrived, and its number.

        When the player has ended a recording itself (end of the episode, or full), the recording is fetched.
        """
        state = self.state
        state.picture, state.frame = picture, info.frame
        state.unrecorded = 0 if info.flags & FLAG_RECORDING else state.unrecorded + 1
        if state.recording and state.unrecorded >= ENDED_AFTER:
            self.toggle_record()
        self.pictured.emit()

    def toggle_record(self) -> None:
        state = self.state
        if state.record_asked:
            return
        on, state.record_asked = not state.recording, True

        def done(ack: records.AckEvent) -> None:
            state.record_asked = False
            state.recording, state.recorded_frames, state.unrecorded = on, 0, 0
            if not on and ack.detail:
                folder = Path(ack.detail)
                if not folder.is_absolute() and self.player.directory is not None:
                    folder = self.player.directory / folder
                self.recorded.emit(folder)

        self.ask(commands.Record, done, on=on, until=self.until)

    def set_until(self, until: commands.RecordUntil) -> None:
        self.until = until
        self.changed.emit()

    async def capture(
        self, kind: type[commands.Command], *, hold: bool = False, **fields: Any
    ) -> tuple[records.AckEvent, np.ndarray]:
        """Pause the game, send a command, and return its ack and the picture then on show, u8[144, 160].

        Then the game goes on, unless it was paused before or `hold` is True. Raises LabError.
        """
        self.rewind(False)  # else a paused game would still go backwards
        async with self._capturing:
            was_paused = self.paused
            await self._accepted(self.player.request(commands.Pause))
            self.state.paused = True
            try:
                ack = await self._accepted(self.player.request(kind, **fields))
                picture = self._shown_shades()
            finally:
                if not was_paused and not hold and self.is_active:
                    await self.player.request(commands.Unpause)
                    self.state.paused = False
                self.changed.emit()
        return ack, picture

    def _shown_shades(self) -> np.ndarray:
        """Return the player's last picture as shades, u8[144, 160]. Raises ProtocolError for another shape."""
        if self.player.frames_path is None:
            raise ProtocolError("nothing plays")
        reader = FrameReader(self.player.frames_path)
        try:
            found, shape = reader.latest(), reader.shape
        finally:
            reader.close()
        if found is None or shape.format != FORMAT_SHADE:
            raise ProtocolError("the player shows no picture of a Game Boy")
        return np.frombuffer(found[2], np.uint8).reshape(shape.height, shape.width).copy()

    def load_state(self, path: Path, then: Callable[[], None]) -> None:
        """Load a saved state, then call `then`; a file of another game is refused and changes nothing."""
        self.ask(commands.LoadState, lambda ack: then(), tr("The state was not loaded"), path=str(path))

    def play_on(self, about: Recording, folder: Path, frame: int, branch: bool = False) -> None:
        """Load the state at `frame` of the recording in `folder` and let the user play from there, paused at first.

        With `branch`, a new recording begins that contains the old one up to that frame.
        """
        try:
            task = find_game_again(about.task, about.rom_sha256, self._bridge.home)
        except LabError as error:
            self._bridge.problem.emit(tr("This recording cannot be continued"), str(error))
            return
        self._session.set_mode(Mode.HUMAN)
        self._navigation.show_game()
        self._bridge.spawn(self._play_on(task, folder, frame, branch), failed=self._fail)

    async def _play_on(self, task: str, recording: Path, frame: int, branch: bool) -> None:
        self._forget_start()
        if not self.is_human or self.request is None or self.request.task != task:
            self._begin(tr("Starting the player"))
            await self._start_player(PlayerConfig(task=task, mode="human", speed=self.speed))
        await self._accepted(self.player.request(commands.Pause))
        self.state.paused = True
        asked = self.player.request(
            commands.PlayOn, timeout_s=120.0, recording=str(recording), frame=frame, branch=branch
        )
        await self._accepted(asked)
        self.state.recording, self.state.recorded_frames = branch, frame + 1 if branch else 0
        self.changed.emit()

    def undo_load(self) -> None:
        self.ask(commands.UndoLoad)

    def ask(
        self,
        command_type: type[commands.Command],
        then: Callable[[records.AckEvent], object] | None = None,
        title: str = "",
        **fields: Any,
    ) -> None:
        """Send a command to the player; `then` gets the ack.

        A refusal is shown as a banner with `title`.
        """
        if not self.is_active:
            return

        def done(ack: records.AckEvent) -> None:
            if then is not None:
                then(ack)
            self.changed.emit()

        work = self._accepted(self.player.request(command_type, **fields))
        self._bridge.spawn(work, then=done, failed=lambda reason: self._fail(reason, title))

    # -- internals --------------------------------------------------------------------------

    def _on_task(self, task: str) -> None:
        if self._session.mode is Mode.HUMAN and self.request and self.request.task != task:
            self.play_game()

    def _on_rom(self, rom: str) -> None:
        if rom:
            self.play_game()

    def _on_mode(self, mode: Mode) -> None:
        if mode is not Mode.HUMAN and self.is_human:
            self.stop()

    async def _accepted(self, asked: Awaitable[records.AckEvent]) -> records.AckEvent:
        ack = await asked
        if not ack.ok:
            raise LabError(ack.detail or tr("the player could not do it"))
        return ack

    def _begin(self, what: str) -> None:
        self.busy, self.error = what, ""
        self.changed.emit()

    def _end_busy(self) -> None:
        self.busy = ""
        self.changed.emit()

    def _fail(self, reason: str, title: str = "") -> None:
        self.state.record_asked = False
        self.busy, self.error = "", reason
        self._bridge.problem.emit(title or tr("The player"), reason)
        self.changed.emit()

    def _fail_start(self, request: PlayerConfig, reason: str) -> None:
        if not self.is_active:
            self.frames_changed.emit(None)  # a preview may be on show
        if request.mode != "human" or not request.task.lower().endswith(ROM_SUFFIXES):
            self._fail(reason)
            return
        self.busy, self.error = "", reason
        self.rom_refused.emit(reason)
        self.changed.emit()

    def _on_event(self, event: records.Event) -> None:
        if isinstance(event, records.PlayEvent):
            state = self.state
            state.recorded_frames, state.note = event.recording_frames, event.note
            if event.hung != state.hung:
                state.hung = event.hung
                self.changed.emit()
            self.played.emit(event)
        elif isinstance(event, records.PolicyEvent):
            self.thought.emit(event)
        elif isinstance(event, records.SaliencyEvent):
            self.looked.emit(event)
        elif isinstance(event, records.VersusEvent):
            self.stood.emit(event)
        elif isinstance(event, records.SoundEvent):
            self.sounded.emit(event)
        elif isinstance(event, records.BeliefsEvent):
            self.mind_told.emit(event)
        elif isinstance(event, records.ErrorRecord) and event.kind == "recording":
            self._bridge.problem.emit(tr("Recording"), event.message)
        elif isinstance(event, records.StateEvent) and self.busy and event.detail:
            is_first = event.detail == "starting the Game Boy"
            self._begin(tr("Starting the player") if is_first else event.detail)

    def _on_preview(self, path: Path) -> None:
        self.frames_changed.emit(path)
        self._begin(tr("Loading {name}", name=Path(self.checkpoint).name))

    def _on_output(self, lines: list[str]) -> None:
        self._log.add_all([f"player: {line}" for line in lines[-MAX_LINES:]])

    def _on_end(self, reason: str) -> None:
        self.state = PlayState()
        self.frames_changed.emit(None)
        self._fail(reason)


def last_picture(checkpoint: Path) -> np.ndarray | None:
    """Return the picture kept with a checkpoint as shades u8[H, W]; None without one of four greys."""
    image = QImage(str(checkpoint / THUMBNAIL))
    if image.isNull() or image.format() != QImage.Format.Format_Grayscale8:
        return None
    greys = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return (MAX_SHADE - np.rint(greys[:, : image.width()] / GREY_LEVELS[-2])).astype(np.uint8)
