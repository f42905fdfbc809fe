"""Recordings: the list, the ones on show, import of other files, exports."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from gui.features.play.controller import PlayController
from gui.features.replay.model import Replay, recording_name
from gui.kit.dialogs import show_file
from gui.kit.words import tr
from gui.state.bridge import Bridge, cause_of
from gui.state.log_buffer import LogBuffer
from gui.state.notices import FILE_OPENED, Notices
from gui.state.session import Navigation, Place
from trainer_core.lab.recording import MANIFEST, list_recordings
from trainer_core.service import Job, run_job
from trainer_core.wire.errors import ProtocolError

MOST_OFFERED = 50
MOST_BESIDE = 3
CLIP_SUFFIXES = (".gif", ".apng", ".png", ".replay", ".vbm", ".json", ".jsonl")
"""Suffixes of files that open in the replay when dropped; folders may have any name."""


class ReplayController(QObject):
    changed = Signal()
    """The list of recordings changed, or the making of a GIF began or ended."""
    loaded = Signal()
    """Another recording is on show."""
    progressed = Signal(float)
    """Progress of the GIF, 0 to 1."""
    rom_wanted = Signal(object)
    """Path of an input movie (recorded buttons) for whose game the user has to be asked."""
    exported = Signal(object)
    """Path of a finished GIF."""

    def __init__(
        self, bridge: Bridge, playing: PlayController, log: LogBuffer, navigation: Navigation, notices: Notices
    ) -> None:
        super().__init__()
        self._bridge, self._log, self._playing = bridge, log, playing
        self.frame = 0
        """Index of the frame on show."""
        self._navigation, self._notices = navigation, notices
        self.folders: list[Path] = []
        """Recordings in the list, the newest first."""
        self.replay: Replay | None = None
        self.beside: list[Replay] = []
        """Recordings that are shown beside the main one, at the same frame."""
        self.opening = ""
        """File that is being converted to a recording; empty when there is none."""
        self._job: Job | None = None
        self._was_there = False
        playing.recorded.connect(self._on_recorded)

    @property
    def is_exporting(self) -> bool:
        return self._job is not None

    def reload(self) -> None:
        """Read the list of recordings; show the newest if none is on show."""
        found = list_recordings(self._bridge.home.root)[-MOST_OFFERED:]
        self.folders = list(reversed(found))
        if self.replay is None and self.folders:
            self.load(self.folders[0])
        self.changed.emit()

    def load(self, folder: Path, frame: int | None = None) -> None:
        """Show a recording at `frame`, by default the frame of interest stored in the recording."""
        replay = self._read(folder)
        if replay is None:
            return
        self.replay = replay
        self.beside = [other for other in self.beside if other.folder != folder]
        wanted = replay.recording.cursor if frame is None else frame
        self.frame = min(wanted, len(replay) - 1)
        self.loaded.emit()
        self.changed.emit()

    def _read(self, folder: Path) -> Replay | None:
        try:
            return Replay(folder)
        except (ProtocolError, OSError) as error:
            self._bridge.problem.emit(tr("This recording cannot be shown"), cause_of(error))
            return None

    def toggle_beside(self, folder: Path) -> None:
        """Show a recording beside the main one, or stop showing it; at most four in all."""
        left = [other for other in self.beside if other.folder != folder]
        if len(left) == len(self.beside):
            if len(left) >= MOST_BESIDE:
                self._bridge.problem.emit(tr("Four recordings are already open"), tr("close one of them first"))
                return
            other = self._read(folder)
            left += [other] if other is not None else []
        self.beside = left
        self.changed.emit()

    # -- converting files to recordings -----------------------------------------------------

    def open(self, path: Path, rom: str = "") -> None:
        """Show a recording; a rollout, GIF, input movie or failure receipt is converted to one first.

        `rom` is the game of an input movie; if empty, it is found among the known games by hash or name.
        """
        self._notices.withdraw(FILE_OPENED)
        if (path / MANIFEST).is_file():
            self.load(path)
            self._navigation.show(Place.REPLAY)
            return
        if self.opening:
            self._bridge.problem.emit(
                tr("{name} is still being opened", name=self.opening), tr("wait until it is open")
            )
            return
        self.opening = path.name
        self._notices.tell(tr("Opening {name}", name=path.name), subject=FILE_OPENED)
        home = self._bridge.home.root
        folder = home / "recordings" / f"{path.stem[:60]}-{time.strftime('%Y%m%d-%H%M%S')}"
        argv = [
            sys.executable,
            "-m",
            "trainer_core.cli.main",
            "import",
            str(path),
            "--out",
            str(folder),
            "--home",
            str(home),
            *(("--rom", rom) if rom else ()),
        ]
        self.progressed.emit(0.0)
        self._bridge.spawn(
            run_job(argv, on_progress=self.progressed.emit),
            then=lambda result: self._on_opened(path, result, folder),
            failed=lambda reason: self._on_not_opened(path, reason),
        )
        self.changed.emit()

    def _on_opened(self, path: Path, result: dict[str, Any], folder: Path) -> None:
        self.opening = ""
        self._log.add(f"{path} opened as {folder}")
        self.load(folder)
        self.reload()
        self._navigation.show(Place.REPLAY)
        self._notices.withdraw(FILE_OPENED)
        if said := str(result.get("note", "")):
            self._notices.tell(path.name, said, "warn", subject=FILE_OPENED)

    def _on_not_opened(self, path: Path, reason: str) -> None:
        self.opening = ""
        self.changed.emit()
        if "--rom" in reason:
            self._notices.tell(
                tr("Choose the game of {name}", name=path.name),
                reason,
                "warn",
                tr("Choose the ROM..."),
                lambda: self.rom_wanted.emit(path),
                subject=FILE_OPENED,
            )
            return
        self._log.add(f"{path}: {reason}", 2)
        self._notices.tell(
            tr("{name} cannot be shown", name=path.name), reason, "error", command="openReplay", subject=FILE_OPENED
        )

    def _on_recorded(self, folder: Path) -> None:
        self.load(folder)
        self.reload()
        self._notices.tell(
            tr("Recording saved"),
            self.name_of(folder),
            "good",
            tr("Open replay"),
            lambda: self._navigation.show(Place.REPLAY),
        )

    def name_of(self, folder: Path) -> str:
        return recording_name(folder, self._bridge.task_title)

    def note_seen(self) -> None:
        """Remove the notice on a new recording, as it is on show now."""
        self._notices.withdraw(tr("Recording saved"))

    def play_on(self) -> None:
        """Let the user play on from the frame on show."""
        if self.replay is not None:
            self._playing.play_on(self.replay.recording, self.replay.folder, self.frame)

    def replay_refusal(self) -> str:
        if self.replay is None:
            return tr("Open or make a recording first")
        return "" if self.replay.can_play_on else tr("This recording has pictures only and cannot be played")

    # -- exporting --------------------------------------------------------------------------

    def export_refusal(self) -> str:
        return "" if self.replay is not None or self.is_exporting else tr("Open or make a recording first")

    def toggle_export(self, screen: str) -> None:
        """Make a GIF of the recording in its folder, or cancel the one being made.

        `screen`, a key of SCREENS, names the colours.
        """
        if self._job is not None:
            self._job.cancel()
        elif self.replay is not None:
            path = self.replay.folder / "replay.gif"
            self._run_export("export", path, ["--palette", f"screen-{screen}"])

    def export_as(self, path: Path, options: list[str]) -> None:
        """Export the recording to `path` by `dmglab export` with `options`, in a process of its own.

        A cancelled or failed export leaves no file.
        """
        if self._job is None and self.replay is not None:
            self._run_export("export", path, options)

    def _run_export(self, tool: str, path: Path, options: list[str]) -> None:
        assert self.replay is not None
        argv = [
            sys.executable,
            "-m",
            "trainer_core.cli.main",
            tool,
            str(self.replay.folder),
            "--out",
            str(path),
            *options,
        ]
        self._was_there = path.exists()
        self.progressed.emit(0.0)
        self._bridge.spawn(
            run_job(argv, on_progress=self.progressed.emit, on_start=self._on_job),
            then=lambda result: self._on_exported(path),
            failed=lambda reason: self._on_export_failed(path, reason),
        )

    def _on_job(self, job: Job) -> None:
        self._job = job
        self.changed.emit()

    def _on_exported(self, path: Path) -> None:
        self._job = None
        self.changed.emit()
        kind = path.suffix[1:].upper() or tr("PNGs")
        self._log.add(f"{kind} written: {path}")
        self._notices.tell(
            tr("{kind} saved", kind=kind),
            str(path),
            "good",
            tr("Open"),
            lambda: show_file(path),
            also=tr("Show folder"),
            act_also=lambda: show_file(path.parent),
        )
        self.exported.emit(path)

    def _on_export_failed(self, path: Path, reason: str) -> None:
        self._job = None
        if not self._was_there and path.is_file():
            path.unlink(missing_ok=True)
        for partial in path.parent.glob(f".{path.name}.*"):  # partial files of a killed tool
            if partial.is_dir():
                shutil.rmtree(partial, ignore_errors=True)
            else:
                partial.unlink(missing_ok=True)
        self.changed.emit()
        if reason != "cancelled":
            self._bridge.problem.emit(tr("Export failed"), reason)
