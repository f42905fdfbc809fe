"""The env wall: the first Game Boys of a running training, tiled; a click shows one large."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from gui import object_names as names
from gui.bridge import Bridge
from gui.center.compiling import CompilingCard
from gui.controllers.compiling import Compiling
from gui.controllers.training import TrainingController
from gui.widgets.labels import button, label
from gui.widgets.screen import FrameSource, Palette, Screen
from gui.words import tr
from trainer_core.protocol import commands
from trainer_core.protocol.runs import RunState

WATCH_ENVS = (4, 16, 64)
FRAME_MS = 33
GAP = 2


def best_columns(count: int, size: tuple[int, int], room: tuple[int, int]) -> int:
    """Columns that show `count` tiles of (height, width) largest in `room` (width, height)."""

    def scale(columns: int) -> float:
        rows = math.ceil(count / columns)
        return min(room[0] / (columns * (size[1] + GAP)), room[1] / (rows * (size[0] + GAP)))

    return max(range(1, count + 1), key=scale)


def tile(pictures: np.ndarray, columns: int) -> np.ndarray:
    """u8[N, H, W] (or [N, H, W, 3]) to one atlas with dark gaps; missing tiles are dark."""
    count, height, width = pictures.shape[:3]
    rows = math.ceil(count / columns)
    step_y, step_x = height + GAP, width + GAP
    size = (rows * step_y - GAP, columns * step_x - GAP, *pictures.shape[3:])
    atlas = np.full(size, 3 if pictures.ndim == 3 else 32, np.uint8)
    for index, picture in enumerate(pictures):
        y, x = index // columns * step_y, index % columns * step_x
        atlas[y : y + height, x : x + width] = picture
    return atlas


class EnvWall(QWidget):
    """Pictures are copied by the worker only while this tab is on show."""

    def __init__(
        self, bridge: Bridge, training: TrainingController, compiling: Compiling, palette: Palette
    ) -> None:
        super().__init__()
        self._bridge, self._training = bridge, training
        self.source = FrameSource()
        self._watched = ""
        self._zoomed = -1
        self._columns = 1
        self._tile = (144, 160)
        self.screen_view = Screen(palette, names.ENV_WALL, tr("Game Boys of the training run"))
        self.screen_view.pixel_clicked.connect(self._on_click)
        row = QHBoxLayout()
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(8)
        self.caption = label("", "muted")
        row.addWidget(self.caption, 1)
        self.back = button(tr("Show all"), "wallBackButton", clicked=lambda: self._zoom(-1))
        self.back.hide()
        row.addWidget(self.back)
        self.count = QComboBox()
        self.count.setObjectName("wallCount")
        self.count.setAccessibleName(tr("Game Boys on the wall"))
        for number in WATCH_ENVS:
            self.count.addItem(tr("{number} Game Boys", number=number), number)
        self.count.setCurrentIndex(1)
        self.count.activated.connect(lambda: self._watch(again=True))
        row.addWidget(self.count)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.card = CompilingCard(compiling, lambda: training.run_id, "wallCompiling")
        column.addWidget(self.card, 1)
        column.addWidget(self.screen_view, 1)
        column.addLayout(row)
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self._on_frame)
        training.badge_changed.connect(self._watch)
        self.card.hide()
        self.card.turned.connect(self.card.setVisible)
        self.card.turned.connect(self.screen_view.setHidden)
        self._refresh()

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self._timer.start()
        self._watch()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().hideEvent(event)
        self._timer.stop()
        self._unwatch()

    def _watch(self, again: bool = False) -> None:
        """Ask the run on show for pictures, once; and stop asking another."""
        self.card.refresh()
        run_id = self._training.run_id
        watchable = self._training.state in (
            RunState.RUNNING,
            RunState.PAUSED,
        ) and self._bridge.service.takes_commands(run_id)
        if not watchable or not self.isVisible():
            if self._watched and not watchable:
                self._watched = ""
            self._refresh()
            return
        if run_id == self._watched and not again:
            return
        if run_id != self._watched:
            self._unwatch()
        self._watched = run_id
        self.source.open(self._bridge.home.run(run_id).frames)
        self._send(run_id, int(self.count.currentData()))
        self._refresh()

    def _unwatch(self) -> None:
        if self._watched and self._bridge.service.takes_commands(self._watched):
            self._send(self._watched, 0)
        self._watched = ""

    def _send(self, run_id: str, envs: int) -> None:
        work = self._bridge.service.request(run_id, commands.Watch, envs=envs)
        self._bridge.spawn(work, title=tr("Env wall"))

    def _on_frame(self) -> None:
        found = self.source.latest()
        if found is None:
            return
        _, pictures = found
        if 0 <= self._zoomed < len(pictures):
            self.screen_view.show_picture(pictures[self._zoomed])
        else:
            self._tile = pictures.shape[1:3]
            room = (self.screen_view.width(), self.screen_view.height())
            self._columns = best_columns(len(pictures), self._tile, room)
            self.screen_view.show_picture(tile(pictures, self._columns))
        if self.screen_view.hint:
            self._refresh()

    def _on_click(self, x: int, y: int) -> None:
        if self._zoomed < 0:
            height, width = self._tile
            self._zoom(y // (height + GAP) * self._columns + x // (width + GAP))
        else:
            self._zoom(-1)

    def _zoom(self, env: int) -> None:
        self._zoomed = env
        self.source.seq = 0
        self.back.setVisible(env >= 0)
        self._refresh()

    def _refresh(self) -> None:
        watching = bool(self._watched)
        starting = self._training.state in (RunState.PREFLIGHT, RunState.STARTING)
        self.screen_view.hint = ""
        if not watching and not self.screen_view.has_picture:
            self.screen_view.hint = (
                tr("The run is starting") if starting
                else tr("Start a run to see its Game Boys here")
            )  # fmt: skip
        elif watching and not self.source.seq:
            self.screen_view.hint = tr("Waiting for the first picture")
        text = tr("The run is starting") if starting else tr("Nothing is training")
        if watching:
            text = tr("Run {value}", value=self._watched[-4:])
        elif self.screen_view.has_picture:
            text = tr("The last pictures of the run")
        if self._zoomed >= 0:
            text += tr(", Game Boy {zoomed}", zoomed=self._zoomed)
        elif watching:
            text += tr(", click one to see it large")
        self.caption.setText(text)
        self.screen_view.update()
