"""Wall of the first environments of a training run: their pictures as tiles."""

from __future__ import annotations

import time

import numpy as np
from PySide6.QtCore import QEvent, QObject, QRect, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit.labels import ElidedLabel, button
from gui.kit.screen import FrameSource, Mark, Palette, Screen, best_columns, place_of, tile, tile_at
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.compiling import Compiling, CompilingCard
from trainer_core.wire import commands, records
from trainer_core.wire.records import WallEvent
from trainer_core.wire.run_record import RunState

SORTS = ("env", "success", "dist")
SETTLE_S = 2.0
"""Seconds between two sorts of the tiles, so that they do not move all the time."""
WATCH_ENVS = (4, 16, 64)
FRAME_MS = 33


class WallOrder:
    """Order of the tiles of the wall; without data from the trainer they are in the order of the environments."""

    def __init__(self) -> None:
        self.by = "env"
        self.told: WallEvent | None = None
        self.frozen: dict[int, np.ndarray] = {}
        """Last picture by environment index of tiles that the user froze; the environments themselves go on."""
        self._order: list[int] = []
        self._next = 0.0

    def forget(self) -> None:
        """Discard all data, because another run or another number of environments is watched."""
        self.told, self.frozen, self._order, self._next = None, {}, [], 0.0

    def sort_by(self, by: str) -> None:
        """Sort the tiles by a key of SORTS: index, most successes first, or least distance first."""
        self.by, self._next = by, 0.0

    def order(self, count: int) -> list[int]:
        """Return the environment index at each place of a wall of `count` tiles."""
        now = time.monotonic()
        if len(self._order) != count or now >= self._next:
            self._next = now + SETTLE_S
            self._order = sorted(range(count), key=self._key)
        return self._order

    def toggle_frozen(self, env: int, picture: np.ndarray) -> None:
        if self.frozen.pop(env, None) is None:
            self.frozen[env] = picture.copy()

    def pictures(self, pictures: np.ndarray) -> np.ndarray:
        """Return `pictures` u8[N, H, W(, 3)] in the order of the tiles, with the old pictures of frozen ones."""
        order = self.order(len(pictures))
        shown = pictures[order]
        for place, env in enumerate(order):
            frozen = self.frozen.get(env)
            if frozen is not None and frozen.shape == shown.shape[1:]:
                shown[place] = frozen
        return shown

    def words(self, env: int) -> str:
        """Return an environment's goal distance and successes as text; empty if the trainer does not send them."""
        told = self.told
        if told is None or env >= len(told.dist):
            return ""
        return f"{told.dist[env]:.2f}  {told.successes[env]}/{told.episodes[env]}"

    def _key(self, env: int) -> tuple[float, int]:
        told = self.told
        if told is None or env >= len(told.dist):
            return 0.0, env
        match self.by:
            case "success":
                return -told.successes[env] / max(1, told.episodes[env]), env
            case "dist":
                return told.dist[env], env
        return 0.0, env


class EnvWall(QWidget):
    """Tab with the wall; the training worker sends pictures only while the tab is visible."""

    def __init__(self, bridge: Bridge, training: TrainingController, compiling: Compiling, palette: Palette) -> None:
        super().__init__()
        self._bridge, self._training = bridge, training
        self.source = FrameSource()
        self._watched = ""
        self._pictured = ""
        """Id of the run whose pictures are shown: the watched run, or the last one that was watched."""
        self._zoomed = -1
        self._columns = 1
        self._tile = (144, 160)
        self.order = WallOrder()
        self._newest: np.ndarray | None = None
        """Newest pictures by environment, u8[N, H, W(, 3)]; None before the first."""
        self.screen_view = Screen(palette, names.ENV_WALL, tr("Game Boys of the training run"))
        self.screen_view.pixel_clicked.connect(self._on_click)
        self.screen_view.installEventFilter(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.card = CompilingCard(compiling, lambda: training.run_id, "wallCompiling")
        column.addWidget(self.card, 1)
        column.addWidget(self.screen_view, 1)
        column.addLayout(self._bar())
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self._on_frame)
        training.badge_changed.connect(self._watch)
        bridge.event_received.connect(self._on_event)
        self.card.hide()
        self.card.turned.connect(self.card.setVisible)
        self.card.turned.connect(self.screen_view.setHidden)
        self._refresh()

    def _bar(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(8)
        self.caption = ElidedLabel("", "muted")
        row.addWidget(self.caption, 1)
        self.back = button(tr("Show all"), "wallBackButton", clicked=lambda: self._zoom(-1))
        self.back.hide()
        row.addWidget(self.back)
        self.freeze = button(
            tr("Freeze"),
            "wallFreezeButton",
            clicked=self._freeze_zoomed,
            tip=tr("Keep this picture on the wall; the run goes on. A right click does it too"),
        )
        self.freeze.setCheckable(True)
        self.freeze.hide()
        row.addWidget(self.freeze)
        self.sort = QComboBox()
        self.sort.setObjectName("wallSort")
        self.sort.setAccessibleName(tr("How the wall is sorted"))
        for by, text in zip(SORTS, (tr("By number"), tr("By success"), tr("By distance")), strict=True):
            self.sort.addItem(text, by)
        self.sort.activated.connect(self._on_sort)
        row.addWidget(self.sort)
        self.count = QComboBox()
        self.count.setObjectName("wallCount")
        self.count.setAccessibleName(tr("Game Boys on the wall"))
        for number in WATCH_ENVS:
            self.count.addItem(tr("{number} Game Boys", number=number), number)
        self.count.setCurrentIndex(1)
        self.count.activated.connect(lambda: self._watch(again=True))
        row.addWidget(self.count)
        return row

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self._timer.start()
        self._watch()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().hideEvent(event)
        self._timer.stop()
        self._unwatch()

    def _watch(self, again: bool = False) -> None:
        """Ask the run on show to send pictures, and tell a run watched before to stop.

        With `again`, repeat the request, for another number of environments.
        """
        self.card.refresh()
        run_id = self._training.run_id
        watchable = self._training.state in (RunState.RUNNING, RunState.PAUSED) and self._bridge.service.takes_commands(
            run_id
        )
        if run_id != self._pictured:
            self._show_none()
        if not watchable or not self.isVisible():
            if self._watched and not watchable:
                self._unwatch()
            self._refresh()
            return
        if run_id == self._watched and not again:
            return
        if run_id != self._watched:
            self._unwatch()
        self._watched = self._pictured = run_id
        self.order.forget()
        self.source.open(self._bridge.home.run(run_id).frames)
        self._send(run_id, int(self.count.currentData()))
        self._refresh()

    def _show_none(self) -> None:
        """Remove the pictures, because another run is on show."""
        self._pictured, self._newest, self._zoomed = "", None, -1
        self.screen_view.marks = []
        self.screen_view.clear()

    def _unwatch(self) -> None:
        if self._watched and self._bridge.service.takes_commands(self._watched):
            self._send(self._watched, 0)
        self._watched = ""

    def _send(self, run_id: str, envs: int) -> None:
        work = self._bridge.service.request(run_id, commands.Watch, envs=envs)
        # A run that ends before it answers has its own banner, and the caption here.
        self._bridge.spawn(work, failed=lambda reason: None)

    def _on_frame(self) -> None:
        found = self.source.latest()
        if found is None:
            return
        _, self._newest = found
        self._paint()
        if self.screen_view.hint:
            self._refresh()

    def _paint(self) -> None:
        pictures = self._newest
        if pictures is None:
            return
        self.screen_view.fills = not 0 <= self._zoomed < len(pictures)
        if not self.screen_view.fills:
            frozen = self.order.frozen.get(self._zoomed)
            self.screen_view.marks = []
            self.screen_view.show_picture(pictures[self._zoomed] if frozen is None else frozen)
            return
        self._tile = pictures.shape[1:3]
        room = (self.screen_view.width(), self.screen_view.height())
        self._columns = best_columns(len(pictures), self._tile, room)
        self.screen_view.show_picture(tile(self.order.pictures(pictures), self._columns))
        self.screen_view.marks = [
            Mark(
                QRect(*place_of(place, self._columns, self._tile), self._tile[1], self._tile[0]),
                self.order.words(env),
                env in self.order.frozen,
            )
            for place, env in enumerate(self.order.order(len(pictures)))
        ]

    def _on_event(self, run_id: str, event: object) -> None:
        if run_id == self._watched and isinstance(event, records.WallEvent):
            self.order.told = event
            if self._zoomed >= 0:
                self._refresh()

    def _on_sort(self) -> None:
        self.order.sort_by(self.sort.currentData())
        self._paint()

    # -- one tile ---------------------------------------------------------------------------

    def _env_at(self, x: int, y: int) -> int:
        """Return the environment index at a pixel of the wall; -1 between or beside tiles."""
        if self._zoomed >= 0 or self._newest is None:
            return self._zoomed
        order = self.order.order(len(self._newest))
        place = tile_at(x, y, self._columns, self._tile)
        return order[place] if place < len(order) else -1

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Freeze the tile under a right click, or let it continue."""
        if (
            isinstance(event, QMouseEvent)
            and event.type() == QEvent.Type.MouseButtonPress
            and event.button() == Qt.MouseButton.RightButton
        ):
            found = self.screen_view.pixel_at(event.position().x(), event.position().y())
            if found is not None:
                self._freeze(self._env_at(*found))
            return True
        return super().eventFilter(watched, event)

    def _freeze_zoomed(self) -> None:
        self._freeze(self._zoomed)

    def _freeze(self, env: int) -> None:
        if self._newest is not None and 0 <= env < len(self._newest):
            self.order.toggle_frozen(env, self._newest[env])
            self._paint()
            self._refresh()

    def _on_click(self, x: int, y: int) -> None:
        self._zoom(self._env_at(x, y) if self._zoomed < 0 else -1)

    def _zoom(self, env: int) -> None:
        self._zoomed = env
        self._paint()
        self._refresh()

    def _refresh(self) -> None:
        is_zoomed = self._zoomed >= 0
        self.back.setVisible(is_zoomed)
        self.freeze.setVisible(is_zoomed)
        self.freeze.setChecked(self._zoomed in self.order.frozen)
        self.sort.setVisible(not is_zoomed)
        self.caption.setText(self._caption() + (self._zoomed_words() if is_zoomed else self._wall_words()))
        self.screen_view.hint = self._hint()
        self.screen_view.update()

    def _why_no_pictures(self) -> str:
        """Return a text on why the run on show sends no pictures: starting, queued or ended.

        Empty while it trains, or without a run.
        """
        state = self._training.state
        if state in (RunState.PREFLIGHT, RunState.STARTING):
            return tr("The run is starting")
        if state is RunState.QUEUED:
            return tr("The run waits in the queue")
        return tr("This run has ended") if state.is_end else ""

    def _hint(self) -> str:
        if not self._watched and not self.screen_view.has_picture:
            return self._why_no_pictures() or tr("Start a run to see its Game Boys here")
        return tr("Waiting for the first picture") if self._watched and not self.source.seq else ""

    def _caption(self) -> str:
        if self._watched:
            return self._bridge.name_of(self._watched)
        if self.screen_view.has_picture:
            return tr("The last pictures of the run")
        return self._why_no_pictures() or tr("Nothing is training")

    def _zoomed_words(self) -> str:
        text = tr(", Game Boy {zoomed}", zoomed=self._zoomed)
        if self._zoomed in self.order.frozen:
            return text + tr(", frozen")
        words = self.order.words(self._zoomed)
        return text + tr(", distance and goals {words}", words=words) if words else text

    def _wall_words(self) -> str:
        if not self._watched:
            return ""
        is_told = self.order.by == "env" or self.order.told is not None
        return tr(", click one to see it large") + ("" if is_told else tr("; its trainer tells nothing to sort by"))
