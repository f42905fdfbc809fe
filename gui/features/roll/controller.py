"""Controller of the piano roll: edited buttons of a recording, and a player process that plays them."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gui.features.play.controller import PlayController
from gui.features.replay.controller import ReplayController
from gui.features.replay.model import Replay
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.notices import Notices
from trainer_core.lab.roms import find_game_again
from trainer_core.service import PlayerService
from trainer_core.wire import commands, records
from trainer_core.wire.errors import LabError
from trainer_core.wire.playing import PlayerConfig

SAVE_TIMEOUT_S = 120.0
"""Longest wait in seconds for saving, during which up to ten minutes of play are emulated again."""
BRANCH = re.compile(r"-b\d+$")


@dataclass(frozen=True, slots=True)
class Edit:
    """One undoable change from frame `first` on: button masks `before` and `after`, one byte per frame."""

    first: int
    before: bytes
    after: bytes

    @property
    def undone(self) -> Edit:
        return Edit(self.first, self.after, self.before)


class RollController(QObject):
    """Editor of a copy of the buttons of the recording on show; the recording itself is not changed."""

    changed = Signal()
    """A copy was opened or closed, or its buttons, undo steps or emulated length changed."""
    pictured = Signal()
    """The player process shows the frame that was requested last."""

    def __init__(self, bridge: Bridge, replay: ReplayController, playing: PlayController, notices: Notices) -> None:
        super().__init__()
        self._bridge, self._replay, self._playing = bridge, replay, playing
        self._notices = notices
        self.player = PlayerService(bridge.home)
        self.player.on_event = self._on_event
        self.player.on_end = self._on_end
        self.masks = bytearray()
        """Button mask of each frame of the edited copy; empty while none is open."""
        self.known = 0
        """Number of frames from the start that were emulated with the present buttons."""
        self.busy = ""
        self.frame = 0
        self._done: list[Edit] = []
        self._undone: list[Edit] = []
        self._source: Replay | None = None
        self._wanted: int | None = None
        self._is_seeking = False
        self._splicing: set[asyncio.Task[None]] = set()
        """Changes that were sent to the player process and not acknowledged yet."""
        self._told: records.RollEvent | None = None
        """Last RollEvent of the player process, which may come before `start` has returned."""
        self._stays = False
        """True while the branch just saved is to be opened for editing in place of its parent."""
        replay.loaded.connect(self._on_loaded)
        replay.changed.connect(self.changed)

    @property
    def is_open(self) -> bool:
        return bool(self.masks)

    @property
    def is_changed(self) -> bool:
        return self._source is not None and bytes(self.masks) != self._source.buttons.tobytes()

    @property
    def fork(self) -> int:
        """Index of the first frame with changed buttons; the number of frames if there is none."""
        return 0 if self._source is None else self._first_other(self._source.buttons.tobytes())

    def _first_other(self, masks: bytes) -> int:
        """Return the first frame at which `masks` differ from the masks of the edited copy."""
        both = min(len(self.masks), len(masks))
        pairs = zip(self.masks, masks, strict=False)
        return next((frame for frame, (a, b) in enumerate(pairs) if a != b), both)

    # -- opening ----------------------------------------------------------------------------

    def refusal(self) -> str:
        """Return why the recording on show cannot be edited; empty when it can."""
        replay = self._replay.replay
        if replay is None:
            return tr("Open or make a recording first")
        return "" if replay.can_play_on else tr("This recording has pictures only and no buttons to edit")

    def toggle(self) -> None:
        """Open the recording on show in the editor, or close the editor."""
        if self.is_open or self.busy:
            self.close()
        elif self._replay.replay is not None:
            self._say(tr("Opening the recording"))
            self._bridge.spawn(self._open(self._replay.replay), failed=self._fail)

    async def _open(self, replay: Replay) -> None:
        about, folder = replay.recording, replay.folder
        task = find_game_again(about.task, about.rom_sha256, self._bridge.home)
        self._told = None
        await self.player.start(PlayerConfig(task=task, mode="edit", recording=str(folder)))
        self._source, self.masks = replay, bytearray(replay.buttons.tobytes())
        self._done, self._undone, self.known = [], [], 0
        if self._told is not None:
            self._on_event(self._told)
        self._say("")
        self.seek(self._replay.frame)

    def close(self, *, is_saved: bool = False) -> None:
        """Close the editor; unless `is_saved`, a notice offers to restore unsaved changes."""
        if self.is_open or self.busy:
            if not is_saved:
                self._offer_back()
            self.masks, self._source, self._wanted = bytearray(), None, None
            self._is_seeking = False
            self._bridge.spawn(self.player.stop(), title=tr("The player did not stop"))
            self._say("")

    def _offer_back(self) -> None:
        source, masks = self._source, bytes(self.masks)
        if source is not None and self.is_changed:
            self._notices.tell(
                tr("The changed buttons were not saved"),
                source.folder.name,
                "warn",
                tr("Restore them"),
                lambda: self._bridge.spawn(self._bring_back(source, masks), failed=self._fail),
            )

    async def _bring_back(self, source: Replay, masks: bytes) -> None:
        """Open the recording `source` again with the button masks `masks`, as one undoable change."""
        self._replay.load(source.folder)
        self._say(tr("Opening the recording"))
        await self._open(source)
        begin = self.frame = min(self._first_other(masks), len(masks) - 1)
        behind, most = 0, min(len(masks), len(self.masks)) - begin
        while behind < most and masks[-1 - behind] == self.masks[-1 - behind]:
            behind += 1
        end = len(self.masks) - behind
        before = bytes(self.masks[begin:end])
        self._edit(Edit(begin, before, masks[begin : len(masks) - behind]))

    def _on_loaded(self) -> None:
        if not self._stays:
            self.close()

    # -- seeking and editing ----------------------------------------------------------------

    def seek(self, frame: int) -> None:
        """Emulate up to a frame with the present buttons and show it; only the last of several requests counts."""
        if self.is_open:
            self._wanted = self.frame = min(max(frame, 0), len(self.masks) - 1)
            if not self._is_seeking:
                self._is_seeking = True
                self._bridge.spawn(self._seek(), failed=self._fail)

    async def _seek(self) -> None:
        try:
            while self._wanted is not None and self.is_open:
                if self._splicing:  # else the seek could overtake the change that it is to show
                    await asyncio.wait(self._splicing)
                    continue
                frame, self._wanted = self._wanted, None
                await self._ask(commands.Seek, timeout_s=SAVE_TIMEOUT_S, frame=frame)
                self.pictured.emit()
        finally:
            self._is_seeking = False

    def press(self, first: int, masks: bytes) -> None:
        """Replace the buttons from frame `first` on by `masks`, one byte per frame."""
        self._edit(Edit(first, bytes(self.masks[first : first + len(masks)]), masks))

    def insert(self) -> None:
        """Insert a frame without pressed buttons before the frame on show."""
        self._edit(Edit(self.frame, b"", b"\0"))

    def delete(self) -> None:
        """Delete the frame on show from the edited copy."""
        self._edit(Edit(self.frame, bytes(self.masks[self.frame : self.frame + 1]), b""))

    def undo(self) -> None:
        if self._done:
            edit = self._done.pop()
            self._undone.append(edit)
            self._apply(edit.undone)

    def redo(self) -> None:
        if self._undone:
            edit = self._undone.pop()
            self._done.append(edit)
            self._apply(edit)

    def undo_refusal(self) -> str:
        return "" if self._done else tr("Nothing to undo")

    def redo_refusal(self) -> str:
        return "" if self._undone else tr("Nothing to redo")

    def open_refusal(self) -> str:
        return "" if self.is_open else tr("Open the buttons of a recording first")

    def save_refusal(self) -> str:
        if not self.is_changed:
            return self.open_refusal() or tr("Nothing to undo")
        return self.busy

    def _edit(self, edit: Edit) -> None:
        if self.is_open and edit.before != edit.after:
            self._done.append(edit)
            self._undone.clear()
            self._apply(edit)

    def _apply(self, edit: Edit) -> None:
        self.masks[edit.first : edit.first + len(edit.before)] = edit.after
        self.known = min(self.known, edit.first)
        splice = {"first": edit.first, "removed": len(edit.before), "masks": edit.after.hex()}
        task = self._bridge.spawn(self._splice(edit, splice), failed=self._fail)
        self._splicing.add(task)
        task.add_done_callback(self._splicing.discard)
        self.changed.emit()
        self.seek(self.frame)

    async def _splice(self, edit: Edit, splice: dict[str, object]) -> None:
        try:
            await self._ask(commands.Splice, **splice)
        except LabError:
            # The player refused the change: restore its buttons.
            self.masks[edit.first : edit.first + len(edit.after)] = edit.before
            self._done, self._undone = [done for done in self._done if done is not edit], []
            self.changed.emit()
            raise

    # -- saving -----------------------------------------------------------------------------

    def save(self) -> None:
        """Save the edited copy as a new recording (a branch), and show that."""
        if self._source is not None:
            self._say(tr("Saving the branch"))
            folder = self._free(self._source.folder.name)
            self._bridge.spawn(self._save_and_stay(folder), failed=self._fail)

    async def _save(self, folder: Path) -> None:
        frame = self.frame
        await self._ask(commands.SaveBranch, timeout_s=SAVE_TIMEOUT_S, path=str(folder))
        self._stays = True
        try:
            self._replay.load(folder, frame)
        finally:
            self._stays = False
        self._replay.reload()
        self._notices.tell(tr("Branch saved"), folder.name, "good")

    async def _save_and_stay(self, folder: Path) -> None:
        """Save the branch into `folder` and go on editing it in the same player process."""
        await self._save(folder)
        self._source = self._replay.replay
        self._say("")
        self.seek(self.frame)

    def play_on(self) -> None:
        """Let the user play from the frame on show; edited buttons and new play become a branch."""
        if self._source is None:
            return
        if not self.is_changed:
            self._take_over(self.frame)
            return
        self._say(tr("Saving the branch"))
        frame, folder = self.frame, self._free(self._source.folder.name)

        async def save_and_play() -> None:
            await self._save(folder)
            self._take_over(frame)

        self._bridge.spawn(save_and_play(), failed=self._fail)

    def _take_over(self, frame: int) -> None:
        """Let the user play on from a frame of the recording on show, and close the editor."""
        replay = self._replay.replay
        if replay is not None:
            self._playing.play_on(replay.recording, replay.folder, frame, branch=True)
        self.close(is_saved=True)

    def _free(self, name: str) -> Path:
        """Return an unused folder for a new recording, named after the recording at the root of the branches."""
        shelf, root = self._bridge.home.root / "recordings", BRANCH.sub("", name)
        numbers = range(1, 100_000)
        return next(p for n in numbers if not (p := shelf / f"{root}-b{n}").exists())

    # -- internals --------------------------------------------------------------------------

    async def _ask(self, kind: type[commands.Command], **fields: object) -> records.AckEvent:
        ack = await self.player.request(kind, **fields)  # type: ignore[arg-type]
        if not ack.ok:
            raise LabError(ack.detail or tr("the player could not do it"))
        return ack

    def _say(self, busy: str) -> None:
        self.busy = busy
        self.changed.emit()

    def _fail(self, reason: str) -> None:
        self._bridge.problem.emit(tr("The button editor"), reason)
        self._say("")

    def _on_event(self, event: records.Event) -> None:
        if isinstance(event, records.RollEvent):
            self._told = event
        if isinstance(event, records.RollEvent) and event.frames == len(self.masks):
            self.known = event.known
            if event.differs >= 0:
                self._notices.tell(
                    tr("This recording does not play back exactly"),
                    tr("frame {frame} differs from the recorded picture", frame=event.differs + 1),
                    "warn",
                )
            self.changed.emit()

    def _on_end(self, reason: str) -> None:
        self._offer_back()
        self.masks, self._source = bytearray(), None
        self._fail(reason)
