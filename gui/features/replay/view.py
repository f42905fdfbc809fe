"""Replay tab: up to four recordings at the same frame, with a timeline of actions and rewards."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QProgressBar, QSlider, QWidget

from gui.features.replay.controller import ReplayController
from gui.features.replay.lane import ActionLane, FilmStrip, LaneKey
from gui.features.replay.model import Replay
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry, action_button, more_button
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.icons import icon
from gui.kit.indicators import JoypadLights
from gui.kit.labels import ElidedBox, ElidedLabel, choice_box, icon_button, label
from gui.kit.screen import FrameSource, Palette, Screen
from gui.kit.words import number, tr
from trainer_core.lab.recording import FRAMES_PER_SECOND

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_BESIDE = 3
ROLL_HEIGHT = 560
"""Height of the tab in pixels from which the thumbnails stay visible beside the piano roll."""
_MORE = ("playOn", "exportAs", "useAsDemo", "savePicture", "", "openReplay", "openReplayFolder")
"""Commands of the menu *More*; "" is a separator."""


class Beside(QWidget):
    """Second recording shown at the same frame: its picture, and a text on its agent step."""

    def __init__(self, palette: Palette, number: int) -> None:
        super().__init__()
        self.screen_view = Screen(palette, f"replayBeside{number}", tr("Second replay"))
        self.screen_view.setMinimumSize(80, 72)
        self.caption = ElidedLabel("", "muted")
        column = vbox(self, spacing=0)
        put(column, (self.screen_view, 1), self.caption)
        self.hide()

    def show_frame(self, replay: Replay, frame: int) -> None:
        """Show a frame; a recording that is shorter stays at its last frame."""
        frame = min(frame, len(replay) - 1)
        self.screen_view.show_picture(replay.picture(frame))
        said = replay.describe(frame)
        self.caption.setText(f"{replay.folder.name}   {frame + 1} / {len(replay)}   {said}")


class ButtonEditor(QWidget):
    """Interface of a panel that edits the recorded buttons; this default is never open."""

    changed = Signal()
    """The panel was opened or closed, or its buttons or state of work changed."""
    pictured = Signal()
    """The editor's player shows the frame that was requested last."""
    frame_picked = Signal(int)

    @property
    def is_open(self) -> bool:
        return False

    @property
    def frames(self) -> int:
        """Length of the edited recording."""
        return 0

    @property
    def fork(self) -> int:
        """First frame with changed buttons."""
        return 0

    @property
    def busy(self) -> str:
        """Text on the work in progress; empty when there is none."""
        return ""

    @property
    def frames_path(self) -> Path | None:
        """Path of the frames.bin of the editor's player process; None without one."""
        return None

    def seek(self, frame: int) -> None:
        """Show this frame of the edited recording in the editor's player process."""


class ReplayView(QWidget):
    def __init__(self, controller: ReplayController, actions: ActionRegistry, palette: Palette) -> None:
        super().__init__()
        self._controller = controller
        self.frame = 0
        self._source = FrameSource()
        self.screen_view = Screen(palette, names.REPLAY_VIEW, tr("Replay"))
        self.panel = ButtonEditor()
        self.beside = [Beside(palette, number) for number in range(1, MOST_BESIDE + 1)]
        column = vbox(self, spacing=0)
        column.addLayout(self._pictures_row(), 1)
        below = vbox(margins=(12, 8, 12, 8), spacing=4)
        self._player = QWidget()  # hidden while there is nothing to play
        player = vbox(self._player, spacing=4)
        put(player, self._caption_row(), self._timeline(palette))
        put(below, self._player, self._control_row(actions))
        column.addLayout(below)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_tick)
        self._played = self._ticked = 0.0
        controller.loaded.connect(self._on_loaded)
        controller.changed.connect(self._on_changed)
        controller.progressed.connect(self._on_progress)
        self._on_changed()

    def place_editor(self, panel: ButtonEditor) -> None:
        """Add the panel of the button editor, which is shown beside the pictures while it is open."""
        self._pictures.removeWidget(self.panel)
        self.panel.deleteLater()
        self.panel = panel
        panel.hide()
        self._pictures.addWidget(panel)
        panel.frame_picked.connect(self.go_to)
        panel.changed.connect(self._on_editor)
        panel.pictured.connect(self._on_pictured)

    # -- parts ------------------------------------------------------------------------------

    def _pictures_row(self) -> QHBoxLayout:
        row = hbox(spacing=2)
        row.addWidget(self.screen_view, 1)
        for other in self.beside:
            row.addWidget(other, 1)
        self._pictures = row
        return row

    def _timeline(self, palette: Palette) -> QGridLayout:
        self.slider = named(QSlider(Qt.Orientation.Horizontal), names.REPLAY_SLIDER, tr("Frame of the replay"))
        self.slider.setSingleStep(1)
        self.slider.setPageStep(24)
        self.slider.valueChanged.connect(self.show_frame)
        self.strip = FilmStrip(palette)
        self.strip.frame_picked.connect(self.slider.setValue)
        self.lane = ActionLane()
        self.lane.frame_picked.connect(self.slider.setValue)
        self.position = label("", "caption")
        self._key = LaneKey(self.lane)
        grid = QGridLayout()
        grid.setHorizontalSpacing(0)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        for row, (key, widget) in enumerate(((None, self.strip), (self._key, self.lane), (self.position, self.slider))):
            if key is not None:
                grid.addWidget(key, row, 0)
            grid.addWidget(widget, row, 1)
        return grid

    def _caption_row(self) -> QHBoxLayout:
        row = hbox(spacing=8)
        self.lights = JoypadLights()
        self.caption = named(ElidedLabel("", "muted"), "replayCaption")
        put(row, self.lights, (self.caption, 1))
        return row

    def _control_row(self, actions: ActionRegistry) -> QHBoxLayout:
        row = hbox(spacing=4)
        self.play = icon_button("play", tr("Play"), "replayPlayButton", flat=False, clicked=self.toggle)
        self.back = icon_button(
            "back", tr("One frame back"), "replayBackButton", flat=False, clicked=lambda: self._move(-1)
        )
        self.next = icon_button(
            "step", tr("One frame forward"), "replayNextButton", flat=False, clicked=lambda: self._move(1)
        )
        for made in (self.back, self.play, self.next):
            made.setProperty("transport", True)
            row.addWidget(made)
        speeds = ((value, f"{number(value, 'g')}x") for value in SPEEDS)
        self.speed = choice_box("replaySpeed", tr("Replay speed"), speeds, 1.0)
        self.choices = named(ElidedBox(), "recordingBox", tr("Recording"))
        self.choices.setMinimumContentsLength(6)
        self.choices.activated.connect(lambda: self._controller.load(Path(self.choices.currentData())))
        put(row, self.speed, (self.choices, 1))
        self.progress = QProgressBar()
        self.progress.setRange(0, 100)
        self.progress.setTextVisible(False)
        self.progress.setFixedWidth(72)
        self.progress.setAccessibleName(tr("Progress of the export or of opening"))
        self.progress.hide()
        put(row, self.progress, action_button(actions["rollOpen"], "rollOpenButton"))
        more = more_button(actions, _MORE, "replayMoreButton")
        self.others = more.menu().addMenu(tr("Show beside"))
        self.others.aboutToShow.connect(self._fill_others)
        put(row, action_button(actions["exportGif"], names.EXPORT_GIF_BUTTON), more)
        return row

    def _leave_room(self) -> None:
        """Hide thumbnails and action lane while the button editor is open in a window that is too low for all."""
        is_shown = self.panel.isHidden() or self.height() >= ROLL_HEIGHT
        self.strip.setVisible(is_shown)
        self.lane.setVisible(is_shown)
        self._key.setVisible(is_shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._leave_room()

    def _fill_others(self) -> None:
        menu, controller = self.others, self._controller
        menu.clear()
        shown = {other.folder for other in controller.beside}
        for folder in controller.folders:
            if controller.replay is not None and folder == controller.replay.folder:
                continue
            action = menu.addAction(controller.name_of(folder))
            action.setCheckable(True)
            action.setChecked(folder in shown)
            action.triggered.connect(lambda checked, folder=folder: controller.toggle_beside(folder))

    # -- showing ----------------------------------------------------------------------------

    def _on_loaded(self) -> None:
        replay = self._controller.replay
        assert replay is not None
        self._stop()
        self._stretch()
        frame = self._controller.frame
        self.slider.setValue(frame)
        self.show_frame(frame)

    def _stretch(self) -> None:
        """Set the length of the timeline to that of the longest recording on show."""
        controller = self._controller
        if controller.replay is None:
            return
        frames = max(map(len, (controller.replay, *controller.beside)))
        if self.panel.is_open:
            frames = self.panel.frames
        self.lane.show_replay(controller.replay, frames)
        self._key.updateGeometry()
        self._key.update()
        self.strip.show_replay(controller.replay, frames)
        if self.slider.maximum() != frames - 1:
            frame = self.frame
            self.slider.setRange(0, frames - 1)
            self.slider.setValue(min(frame, frames - 1))
        self._mark(self.frame)

    def go_to(self, frame: int) -> None:
        """Show this frame; redraw it if it is on show already."""
        if self.slider.value() == frame:
            self.show_frame(frame)
        self.slider.setValue(frame)

    def show_frame(self, frame: int) -> None:
        replay = self._controller.replay
        if replay is None or frame < 0:
            return
        if self.panel.is_open:
            self.frame = frame
            self.panel.seek(frame)
            self._mark(frame)
            self._show_beside(frame)
            return
        self.frame = frame
        own = self._controller.frame = min(frame, len(replay) - 1)
        self.screen_view.show_picture(replay.picture(own))
        self._mark(frame)
        self.lights.set_mask(int(replay.buttons[own]))
        self.caption.setText(replay.describe(own))
        self.position.setText(f"{own + 1} / {len(replay)}")
        self._show_beside(frame)

    def _show_beside(self, frame: int) -> None:
        for shown, other in zip(self.beside, self._controller.beside, strict=False):
            shown.show_frame(other, frame)

    def _mark(self, frame: int) -> None:
        self.lane.set_frame(frame)
        self.strip.set_frame(frame)

    def _on_pictured(self) -> None:
        """Show the picture that the button editor's player produced, and the frame's data."""
        panel, replay = self.panel, self._controller.replay
        self._source.open(panel.frames_path)
        found = self._source.latest()
        if found is None or replay is None or not panel.is_open:
            return
        info, pictures = found
        self.screen_view.show_picture(pictures[0])
        self.lights.set_mask(info.buttons)
        self._controller.frame = min(info.frame, len(replay) - 1)
        if info.frame < panel.fork:
            self.caption.setText(replay.describe(info.frame))
        else:
            self.caption.setText(tr("changed: steps and rewards are known once it is saved"))
        self.position.setText(f"{info.frame + 1} / {panel.frames}")

    def _on_editor(self) -> None:
        is_open = self.panel.is_open
        if self.panel.isHidden() == is_open:
            focus = self.window().focusWidget()
            has_keys = focus is not None and self.isAncestorOf(focus)
            self.panel.setVisible(is_open)
            if has_keys:
                (self.panel if is_open else self).setFocus()
            self._leave_room()
            self._stretch()
            if not is_open:
                self.show_frame(min(self.frame, self.slider.maximum()))
        elif is_open and self.slider.maximum() != self.panel.frames - 1:
            self._stretch()
        self._hint()

    def _hint(self) -> None:
        replay, controller = self._controller.replay, self._controller
        self._player.setHidden(replay is None and not self.panel.is_open)
        none = tr("No recording is open: press Record while a game runs, or open a GIF or a movie")
        hint = none if replay is None else ""
        if controller.opening:
            hint = tr("Opening {name}", name=controller.opening)
        elif self.panel.busy:
            hint = self.panel.busy
        self.screen_view.hint = hint
        self.screen_view.update()

    # -- moving -----------------------------------------------------------------------------

    def _move(self, step: int) -> None:
        self._stop()
        self.slider.setValue(self.frame + step)

    def toggle(self) -> None:
        if self._timer.isActive():
            self._stop()
        elif self._controller.replay is not None:
            if self.frame >= self.slider.maximum():
                self.slider.setValue(0)
            self._played, self._ticked = float(self.frame), time.monotonic()
            self._timer.start(16)
            self.play.setIcon(icon("pause"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle the keys of a video player in the whole tab: Space, left and right, Home and End."""
        moves = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        ends = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: self.slider.maximum()}
        key = Qt.Key(event.key())
        if event.modifiers() or self._controller.replay is None:
            super().keyPressEvent(event)
        elif key == Qt.Key.Key_Space and not event.isAutoRepeat():
            self.toggle()
        elif key in moves:
            self._move(moves[key])
        elif key in ends:
            self._stop()
            self.slider.setValue(ends[key])
        else:
            super().keyPressEvent(event)

    def _stop(self) -> None:
        self._timer.stop()
        self.play.setIcon(icon("play"))

    def _on_tick(self) -> None:
        speed, now = float(self.speed.currentData()), time.monotonic()
        self._played += speed * FRAMES_PER_SECOND * (now - self._ticked)
        self._ticked = now
        self.slider.setValue(min(int(self._played), self.slider.maximum()))
        if self.frame >= self.slider.maximum():
            self._stop()

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self._controller.reload()
        self._controller.note_seen()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().hideEvent(event)
        self._stop()

    def _on_changed(self) -> None:
        controller = self._controller
        has = controller.replay is not None
        nothing = "" if has else tr("Open or make a recording first")
        self.others.setEnabled(len(controller.folders) > 1 and has)
        for widget in (self.play, self.back, self.next, self.slider, self.speed):
            widget.setEnabled(has)
            widget.setToolTip(nothing or widget.accessibleName())
        self.choices.clear()
        for folder in controller.folders:
            self.choices.addItem(controller.name_of(folder), str(folder))
            self.choices.setItemData(self.choices.count() - 1, str(folder), Qt.ItemDataRole.ToolTipRole)
        if controller.replay is not None:
            self.choices.setCurrentIndex(self.choices.findData(str(controller.replay.folder)))
        self.choices.setEnabled(self.choices.count() > 0)
        self.choices.setToolTip("" if self.choices.count() else tr("Open or make a recording first"))
        self.progress.setVisible(controller.is_exporting or bool(controller.opening))
        for place, shown in enumerate(self.beside):
            shown.setVisible(place < len(controller.beside))
        if self.panel.is_open:
            self._show_beside(self.frame)
        elif controller.replay is not None:
            self._stretch()
            self.show_frame(self.frame)
        self._hint()

    def _on_progress(self, share: float) -> None:
        self.progress.setValue(round(share * 100))
