"""Tab *Wall* with the first environments of a training run, and one of them large in the tab *Live*."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from gui.features.train.controller import TrainingController
from gui.features.train.wall_order import SORTS, WallOrder
from gui.features.train.wall_view import DistanceKey, WallView, grids
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.labels import ElidedLabel, button, choice_box, label
from gui.kit.screen import FrameSource, Palette, Screen
from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.compiling import Compiling, CompilingCard
from gui.state.session import Navigation, Place
from gui.state.situation import Situation
from gui.state.telemetry import TelemetryModel
from trainer_core.wire import commands, records
from trainer_core.wire.run_record import RunState

FRAME_MS = 33
SCALE_KEY = "wall/scale"
KEYS_ROOM = 900
"""Least width in pixels in which the tab row explains the tiles: in a narrower one it would hide tabs."""
MOST_WATCHED = 256
"""Most environments whose pictures are asked of a run."""


class Console(QWidget):
    """One environment of the run, large; shown in the tab *Live* until a game plays there."""

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self.setObjectName("consoleView")
        self.screen_view = Screen(palette, "consoleScreen", tr("One Game Boy of the training run"))
        self.caption = ElidedLabel("", "muted")
        self.back = button(tr("Show all"), "wallBackButton")
        self.freeze = button(
            tr("Freeze"),
            "wallFreezeButton",
            tip=tr("Freeze this picture on the wall while the run continues; right-click does the same"),
        )
        self.freeze.setCheckable(True)
        column = vbox(self, spacing=0)
        column.addWidget(self.screen_view, 1)
        row = hbox(margins=(16, 8, 16, 8), spacing=8)
        put(row, (self.caption, 1), self.freeze, self.back)
        column.addLayout(row)

    def keyPressEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        """Return to the wall at Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.back.click()
        else:
            super().keyPressEvent(event)


class EnvWall(QWidget):
    """Tab with the wall; the training worker sends pictures only while the wall or a console of it is visible."""

    zoomed_changed = Signal(bool)
    """True when a console is to be shown large, False when the wall is shown again."""

    def __init__(
        self,
        bridge: Bridge,
        training: TrainingController,
        compiling: Compiling,
        palette: Palette,
        navigation: Navigation,
        telemetry: TelemetryModel,
        settings: Settings,
    ) -> None:
        super().__init__()
        self._bridge, self._training, self._navigation = bridge, training, navigation
        self._telemetry, self._settings = telemetry, settings
        self.source = FrameSource()
        self._watched, self._sent = "", 0
        """Id of the run that sends pictures, and of how many environments."""
        self._pictured = ""
        """Id of the run whose pictures are shown: the watched run, or the last one that was watched."""
        self.zoomed = -1
        """Environment that is shown large; -1 for none."""
        self.order = WallOrder()
        self._farthest = 0.0
        self._newest: np.ndarray | None = None
        """Newest pictures by environment, u8[N, H, W(, 3)]; None before the first."""
        self.view = WallView(palette)
        self.view.clicked.connect(self._zoom)
        self.view.frozen.connect(self._freeze)
        self.view.resized.connect(self._fit)
        self.console = Console(palette)
        self.console.back.clicked.connect(self._on_back)
        self.console.freeze.clicked.connect(lambda: self._freeze(self.zoomed))
        self.console.screen_view.pixel_clicked.connect(self._on_back)
        column = vbox(self, spacing=0)
        self.card = CompilingCard(compiling, lambda: training.run_id, "wallCompiling")
        put(column, (self.card, 1), (self.view, 1))
        self.corner = self._corner()
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self._on_frame)
        training.badge_changed.connect(self._watch)
        telemetry.run_told.connect(lambda run_id: self._fit())
        bridge.event_received.connect(self._on_event)
        self.card.hide()
        self.card.turned.connect(self.card.setVisible)
        self.card.turned.connect(self.view.setHidden)
        self._fit()
        self._refresh()

    def _corner(self) -> QWidget:
        """Return the controls at the right end of the tabs: what the captions mean, number of tiles, sorting."""
        made = QWidget()
        row = hbox(made, margins=(8, 0, 16, 0), spacing=8)
        self.caption = label("", "caption")
        row.addWidget(self.caption)
        self._keys = [
            label(tr("goals of episodes"), "caption"),
            DistanceKey(),
            label(tr("distance to goal"), "caption"),
        ]
        for each in self._keys:
            row.addWidget(each)
        row.addSpacing(8)
        self.count = named(QComboBox(), "wallCount", tr("Game Boys on the wall"))
        self.count.activated.connect(self._on_count)
        row.addWidget(self.count)
        texts = (tr("Sort: by number"), tr("Sort: by success"), tr("Sort: by distance"))
        self.sort = choice_box("wallSort", tr("Order of the wall"), zip(SORTS, texts, strict=True))
        self.sort.activated.connect(self._on_sort)
        row.addWidget(self.sort)
        for box in (self.count, self.sort):
            box.setProperty("flat", True)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        return made

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self._timer.start()
        self._fit()
        self._watch()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().hideEvent(event)
        QTimer.singleShot(0, self, self._rest)

    def recolor(self) -> None:
        """Repaint the pictures after the palette's colours changed."""
        self.view.recolor()
        self.console.screen_view.recolor()

    def _rest(self) -> None:
        """Stop the pictures unless a console is shown large."""
        if not self._is_seen():
            self._timer.stop()
            self._unwatch()

    def _is_seen(self) -> bool:
        return self.isVisible() or self.console.isVisible()

    # -- how many ---------------------------------------------------------------------------

    def _envs(self) -> int:
        """Return the number of the run's environments; 0 while it is unknown."""
        told = self._telemetry.runs.get(self._training.run_id)
        count = told.meta.num_envs if told is not None and told.meta is not None else 0
        return count or (len(self._newest) if self._newest is not None else 0)

    def _fit(self) -> None:
        """Offer the numbers of tiles that fill the room, and take the one of the scale that was chosen last."""
        envs = self._envs()
        found = grids(self.view.size(), envs or 1 << 16, self.devicePixelRatioF(), self.view.picture_size)
        wanted = self._settings.number(SCALE_KEY, 1.0)
        for each in self._keys:
            each.setVisible(not self.sort.isHidden() and self.width() >= KEYS_ROOM)
        grid = min(found, key=lambda one: (abs(one.scale - wanted), one.scale))
        items = [(f"{one.count}", one.scale) for one in found]
        if envs:
            items = [(tr("{count} of {envs}", count=one.count, envs=envs), one.scale) for one in found]
        if items != [(self.count.itemText(at), self.count.itemData(at)) for at in range(self.count.count())]:
            self.count.clear()
            for text, scale in items:
                self.count.addItem(text, scale)
        self.count.setCurrentIndex(found.index(grid))
        self.view.grid = grid
        if self._watched and self._watched == self._pictured and self._sent != self._wanted_envs():
            self._watch(again=True)
        self._paint()

    def _wanted_envs(self) -> int:
        """Return the number of environments whose pictures are needed; sorted ones are chosen among all."""
        envs, count = self._envs(), self.view.grid.count
        return min(envs, MOST_WATCHED) if envs and self.order.by != "env" else min(count, MOST_WATCHED)

    def _on_count(self) -> None:
        self._settings.set(SCALE_KEY, float(self.count.currentData()))
        self._fit()

    def _watch(self, again: bool = False) -> None:
        """Ask the run on show to send pictures, and tell a run watched before to stop.

        With `again`, repeat the request, for another number of environments.
        """
        self.card.refresh()
        run_id = self._training.run_id
        watchable = (
            self._training.state in (RunState.RUNNING, RunState.PAUSED)
            and self._training.capabilities.watch
            and self._bridge.service.takes_commands(run_id)
        )
        if run_id != self._pictured:
            self._show_none()
        if not watchable or not self._is_seen():
            if self._watched and not watchable:
                self._unwatch()
            self._refresh()
            return
        if run_id == self._watched and not again:
            return
        if run_id != self._watched:
            self._unwatch()
            self.order.forget()
            self._farthest = 0.0
        self._watched = self._pictured = run_id
        self.source.open(self._bridge.home.run(run_id).frames)
        self._sent = self._wanted_envs()
        self._send(run_id, self._sent)
        self._refresh()

    def _show_none(self) -> None:
        """Remove the pictures, because another run is on show."""
        if self.zoomed >= 0:
            self.zoomed_changed.emit(False)
        self._pictured, self._newest, self.zoomed = "", None, -1
        self.view.clear()
        self.console.screen_view.clear()
        self._fit()

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
        is_first = self._newest is None
        _, self._newest = found
        if is_first:
            self._fit()
            self._refresh()
        self._paint()

    def _paint(self) -> None:
        pictures = self._newest
        if pictures is None:
            return
        if self.console.isVisible() and 0 <= self.zoomed < len(pictures):
            frozen = self.order.frozen.get(self.zoomed)
            self.console.screen_view.show_picture(pictures[self.zoomed] if frozen is None else frozen)
            return
        order = self.order.order(len(pictures))
        self.view.order, self.view.still = order, set(self.order.frozen)
        self.view.show_pictures(self.order.pictures(pictures))

    def _on_event(self, run_id: str, event: object) -> None:
        if run_id != self._watched or not isinstance(event, records.WallEvent):
            return
        before, self.order.told = self.order.told, event
        self._farthest = max(self._farthest, *event.dist)
        self.view.left = {env: dist / (self._farthest or 1.0) for env, dist in enumerate(event.dist)}
        self.view.words = {env: self.order.words(env) for env in range(len(event.dist))}
        if before is not None:
            for env, (old, new) in enumerate(zip(before.successes, event.successes, strict=False)):
                if new > old:
                    self.view.note_goal(env)
        if self.zoomed >= 0 or before is None:
            self._refresh()

    def _on_sort(self) -> None:
        self.order.sort_by(self.sort.currentData())
        self._fit()

    # -- one tile ---------------------------------------------------------------------------

    def _freeze(self, env: int) -> None:
        if self._newest is not None and 0 <= env < len(self._newest):
            self.order.toggle_frozen(env, self._newest[env])
            self._paint()
            self._refresh()

    def _zoom(self, env: int) -> None:
        self.zoomed = env
        self.zoomed_changed.emit(True)
        self._navigation.show_game()
        self.console.screen_view.setFocus(Qt.FocusReason.OtherFocusReason)
        self._paint()
        self._refresh()

    def leave_console(self, situation: Situation) -> None:
        """Show no console any more where the next run is set up or a policy plays."""
        if self.zoomed >= 0 and situation in (Situation.SETUP, Situation.WATCH, Situation.PLAY):
            self.zoomed = -1
            self.zoomed_changed.emit(False)

    def _on_back(self, *_: object) -> None:
        self.zoomed = -1
        self.zoomed_changed.emit(False)
        self._navigation.show(Place.WALL)
        self._refresh()

    def _refresh(self) -> None:
        self.console.freeze.setChecked(self.zoomed in self.order.frozen)
        self.console.caption.setText(self._zoomed_words() if self.zoomed >= 0 else "")
        self.view.hint = self._hint()
        told = bool(self._watched) and self.order.told is not None
        for each in self._keys:
            each.setVisible(told and self.width() >= KEYS_ROOM)
        self.sort.setVisible(told)
        self.caption.setText(self._caption())
        self.caption.setVisible(not told)
        self.view.update()

    def _why_no_pictures(self) -> str:
        """Return a text on why the run on show sends no pictures: starting, queued or ended.

        Empty while it trains, or without a run.
        """
        state = self._training.state
        if state in (RunState.PREFLIGHT, RunState.STARTING):
            return tr("The run is starting")
        if state is RunState.QUEUED:
            return tr("The run is waiting in the queue")
        if not state.is_end and self._training.run_id and not self._training.capabilities.watch:
            return tr("The pictures of this run stay on its host")
        return tr("This run has ended: Deploy shows what it learned") if state.is_end else ""

    def _hint(self) -> str:
        if self._newest is not None:
            return ""
        if not self._watched:
            return self._why_no_pictures() or tr("Start a run to see its Game Boys here")
        return tr("Waiting for the first picture")

    def _caption(self) -> str:
        if self._watched:
            return ""
        return tr("Last pictures, run finished") if self._newest is not None else ""

    def _zoomed_words(self) -> str:
        text = tr("Game Boy {zoomed} of {run}", zoomed=self.zoomed + 1, run=self._telemetry.label(self._pictured))
        if self.zoomed in self.order.frozen:
            return text + tr(", frozen")
        words = self.order.words(self.zoomed)
        return text + tr(", goals of episodes: {words}", words=words) if words else text
