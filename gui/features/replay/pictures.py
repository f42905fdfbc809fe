"""Screenshots of the game to a file or the clipboard, one image pixel per game pixel."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from gui.features.play.controller import PlayController
from gui.features.replay.controller import ReplayController
from gui.kit.boxes import later
from gui.kit.dialogs import show_file
from gui.kit.screen import Palette, image_of
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.notices import Notices
from gui.state.session import Navigation, Place

TOLD_MS = 6000
"""Milliseconds that the notice of a screenshot stays; others stay longer, but this one may cover the game."""


class PicturesController(QObject):
    """Screenshots in `pictures/` of the home folder, named by game, time and frame.

    Existing files are not overwritten.
    """

    def __init__(
        self,
        bridge: Bridge,
        playing: PlayController,
        replay: ReplayController,
        navigation: Navigation,
        notices: Notices,
        palette: Palette,
    ) -> None:
        super().__init__()
        self._bridge, self._playing, self._replay = bridge, playing, replay
        self._navigation, self._notices, self._palette = navigation, notices, palette
        self._over = later(self, lambda: notices.withdraw(tr("Picture saved")), TOLD_MS)

    def refusal(self) -> str:
        if self._shows_replay or self._playing.is_active:
            return ""
        return tr("No game is shown")

    @property
    def _shows_replay(self) -> bool:
        return self._navigation.place is Place.REPLAY and self._replay.replay is not None

    def save(self) -> None:
        """Save the frame of the replay if the Replay tab is visible, else the picture of the playing game."""
        found = self._on_show()
        if found is None:
            return
        game, frame, picture = found
        folder = self._bridge.home.root / "pictures"
        name = re.sub(r"[^\w.-]+", "-", Path(game).name)[:60]
        stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{frame}"
        path = folder / f"{stem}.png"
        for number in range(2, 1000):
            if not path.exists():
                break
            path = folder / f"{stem}-{number}.png"
        image = image_of(self._palette, picture)
        QGuiApplication.clipboard().setImage(image)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            saved = image.save(str(path))
        except OSError:
            saved = False
        if not saved:
            with contextlib.suppress(OSError):
                path.unlink()
            where = tr("{folder} is read-only; the picture is on the clipboard", folder=folder)
            self._bridge.problem.emit(tr("The picture was not saved"), where)
            return
        self._notices.withdraw(tr("Picture saved"))  # screenshots often follow each other
        self._over.start()
        self._notices.tell(
            tr("Picture saved"),
            str(path),
            "good",
            tr("Open"),
            lambda: show_file(path),
            also=tr("Show folder"),
            act_also=lambda: show_file(folder),
        )

    def _on_show(self) -> tuple[str, int, np.ndarray] | None:
        """Return (game, frame number, picture) of the visible tab; None when it shows none."""
        replay = self._replay.replay
        if self._shows_replay and replay is not None:
            frame = self._replay.frame
            return replay.recording.task, frame + 1, replay.picture(frame)
        request, picture = self._playing.request, self._playing.picture
        if request is None or picture is None:
            return None
        return request.task, self._playing.state.frame, picture
