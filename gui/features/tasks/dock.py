"""Dock for a new task: three steps from a playing game to training on a goal in that game."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QIcon, QKeyEvent, QPixmap
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QProgressBar,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gui.features.play.controller import PlayController
from gui.features.tasks.controller import TaskDraft, way_in_the_app, without_shell
from gui.features.tasks.mask_painter import MaskPainter
from gui.features.tasks.model import LEAST_DISTANCE, DraftModel, observe
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import hbox, keep_room, named, put, scrolling, vbox
from gui.kit.containers import Dock
from gui.kit.labels import ElidedLabel, button, choice_box, label, rule, set_role
from gui.kit.screen import Palette, image_of
from gui.kit.words import tr
from trainer_core.wire.buttons import CODEC_ID, TWO_BUTTONS_ID

THUMBNAIL = QSize(64, 58)
MIN_WIDTH = 288
FINDING_LINES = 3
"""Lines of text reserved below the goal, so that the layout does not move while it is measured."""
TOO_EASY = 0.5
"""Share of random episodes that reach the goal from which the dock warns that the task is too easy."""


class StartList(QListWidget):
    """List of start states in a row; the Delete key removes the selected one."""

    removed = Signal(int)
    """Index of the start state to delete."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and self.currentRow() >= 0:
            self.removed.emit(self.currentRow())
        else:
            super().keyPressEvent(event)


class TaskDock(Dock):
    def __init__(self, draft: TaskDraft, playing: PlayController, actions: ActionRegistry, palette: Palette) -> None:
        super().__init__(tr("New task"), names.TASK_DOCK)
        self._draft, self._model, self._playing = draft, draft.model, playing
        self._palette = palette
        self._shown: list[object] = []
        body = QWidget()
        body.setMinimumWidth(MIN_WIDTH - 20)
        column = vbox(body, margins=(12, 4, 12, 4), spacing=5)
        self._start_step(column, actions)
        self._goal_step(column, actions)
        column.addStretch(1)
        last = vbox(margins=(12, 8, 12, 8), spacing=6)
        self._name_step(last, actions)
        scroll = scrolling(body)
        self._scroll, self._shown_error = scroll, ""
        page = QWidget()
        whole = vbox(page, spacing=0)  # the last step, below what scrolls, is always in sight
        put(whole, (scroll, 1), rule(), last)
        self.setWidget(page)
        self.setMinimumWidth(MIN_WIDTH)
        self._model.changed.connect(self._refresh)
        playing.changed.connect(self._refresh)
        playing.pictured.connect(self.note_picture)
        self._refresh()

    # -- the three steps --------------------------------------------------------------------

    def _start_step(self, column: QVBoxLayout, actions: ActionRegistry) -> None:
        self._start_title = self._heading(column, actions, "saveStart", names.SAVE_STATE_BUTTON)
        self.starts = StartList()
        self.starts.removed.connect(self._draft.remove_start)
        self.starts.setObjectName(names.START_LIST)
        self.starts.setAccessibleName(tr("Start states; Delete removes one"))
        self.starts.setViewMode(QListWidget.ViewMode.IconMode)
        self.starts.setFlow(QListWidget.Flow.LeftToRight)
        self.starts.setWrapping(False)
        self.starts.setMovement(QListWidget.Movement.Static)
        self.starts.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.starts.setIconSize(THUMBNAIL)
        self.starts.setFixedHeight(THUMBNAIL.height() + 16)
        column.addWidget(self.starts)

    def _goal_step(self, column: QVBoxLayout, actions: ActionRegistry) -> None:
        self._goal_title = self._heading(column, actions, "captureGoal", names.CAPTURE_GOAL_BUTTON)
        self.painter = MaskPainter(self._palette)
        self.painter.painted.connect(self._model.paint)
        self.audit = named(label("", "muted", wrap=True), "auditFinding")
        self.audit.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.picture = QStackedWidget()  # once the task is made, its audit is in the goal's place: nothing moves
        self.picture.addWidget(self.painter)
        self.picture.addWidget(self.audit)
        self.picture.setMaximumHeight(self.painter.maximumHeight())
        column.addWidget(self.picture, 1000)  # it takes the room that the others leave
        row = QHBoxLayout()
        self.distance = named(label("", "muted"), "liveDistance", tr("Distance of the game's picture to the goal"))
        self.clear = button(
            tr("Count all"), "clearMaskButton", tip=tr("Count every pixel again"), clicked=self._model.clear_mask
        )
        put(row, (self.distance, 1), self.clear)
        keep_room(self.clear)
        column.addLayout(row)
        self.finding = named(label("", "muted", wrap=True), "probeFinding")
        self._reserve(self.finding, FINDING_LINES)
        column.addWidget(self.finding)

    def _name_step(self, column: QVBoxLayout, actions: ActionRegistry) -> None:
        self._name_title = label(tr("3  Name it"))
        self.name = named(QLineEdit(), names.TASK_NAME, tr("Name of the task"))
        self.name.setPlaceholderText(tr("Name, for example first door"))
        self.name.setMaxLength(60)
        self.name.textChanged.connect(lambda text: setattr(self._model, "name", text))
        self.name.returnPressed.connect(actions["makeTask"].trigger)
        pair = QGridLayout()
        pair.setHorizontalSpacing(6)
        pair.setVerticalSpacing(2)
        pair.addWidget(self._name_title, 0, 0)
        pair.addWidget(label(tr("Buttons"), "muted"), 0, 1)
        pair.addWidget(self.name, 1, 0)
        pair.addWidget(self._buttons_box(), 1, 1)
        pair.setColumnStretch(0, 1)
        column.addLayout(pair)
        row = hbox(spacing=8)
        row.addWidget(action_button(actions["makeTask"], names.MAKE_TASK_BUTTON, primary=True))
        put(row, action_button(actions["trainTask"], names.TRAIN_TASK_BUTTON), 1)
        column.addLayout(row)
        self.progress = QProgressBar()
        self.progress.setRange(0, 100)
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(6)
        self.progress.setAccessibleName(tr("Progress of the measurement"))
        keep_room(self.progress)
        column.addWidget(self.progress)

    def _buttons_box(self) -> QComboBox:
        sets = {"": tr("as played"), CODEC_ID: tr("one at a time"), TWO_BUTTONS_ID: tr("with combinations")}
        self.buttons = choice_box("taskButtons", tr("Buttons that the agent may press"), sets.items())
        self.buttons.setToolTip(
            tr(
                "Combinations are two buttons at once, for example run and jump, and SELECT: 21 actions instead of "
                "7, which take longer to learn"
            )
        )
        self.buttons.currentIndexChanged.connect(lambda _: setattr(self._model, "buttons", self.buttons.currentData()))
        return self.buttons

    @staticmethod
    def _reserve(words: QLabel, lines: int) -> None:
        """Reserve the height of `lines` lines for a label, so that widgets below it do not move."""
        words.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        words.setMinimumHeight(lines * words.fontMetrics().lineSpacing())

    @staticmethod
    def _heading(column: QVBoxLayout, actions: ActionRegistry, action: str, object_name: str) -> ElidedLabel:
        row = QHBoxLayout()
        title = ElidedLabel("")
        put(row, (title, 1), action_button(actions[action], object_name))
        column.addLayout(row)
        return title

    # -- showing ----------------------------------------------------------------------------

    def note_picture(self) -> None:
        """Show the distance of the current picture from the goal; called many times a second."""
        model, picture = self._model, self._playing.picture
        if picture is None or not self.isVisible():
            return
        if model.goal is None:
            self._note_way(picture)
            return
        found = model.distance_of(picture)
        if found is None:
            return
        met = bool(model.tau) and found < model.tau
        self.distance.setText(tr("distance now {found:.4f}", found=found) + (tr("  goal") if met else ""))
        set_role(self.distance, "role", "good" if met else "muted")

    def _note_way(self, picture: np.ndarray) -> None:
        """Show whether the current picture differs enough from the start states to become the goal."""
        model = self._model
        if not model.starts or picture.shape != (144, 160):
            return
        apart = model.nearest_start(observe(picture))[1]
        could_be = apart >= LEAST_DISTANCE
        self.distance.setText(
            tr("{apart:.4f} from a start state", apart=apart) if could_be else tr("looks like a start state")
        )
        set_role(self.distance, "role", "muted")

    def _refresh(self) -> None:
        model = self._model
        step = model.step
        count = len(model.starts)
        self._start_title.setText(tr("1  Start states: {count}", count=count) if count else tr("1  Start state"))
        self._goal_title.setText(tr("2  Goal"))
        for number, title in enumerate((self._start_title, self._goal_title, self._name_title), 1):
            set_role(title, "role", "" if number == step else "muted")
        self._show_starts()
        self.picture.setCurrentWidget(self.audit if model.made else self.painter)
        self.starts.setEnabled(not model.made)
        self.buttons.setEnabled(not model.made)
        if self.name.text() != model.name:
            self.name.setText(model.name)
        self.buttons.setCurrentIndex(self.buttons.findData(model.buttons))
        self.painter.show_goal(model.goal.template if model.goal else None, model.mask)
        self.clear.setVisible(bool(model.painted.any()))
        if model.goal is None and not model.starts:
            self.distance.setText("")
        self.finding.setText(self._finding())
        easy = model.probe is not None and model.probe["false_positive_rate"] >= TOO_EASY
        easy = easy or model.is_restless
        set_role(self.finding, "role", "error" if model.error else "warn" if easy else "muted")
        self.progress.setVisible(bool(model.working))
        self.progress.setValue(round(100 * model.share))
        self.audit.setText("\n".join(self._audit_lines()))
        if model.error != self._shown_error:
            self._shown_error = model.error
            if model.error:  # after the layout: it may be below the edge of a small window
                for pause_ms in (0, 100):  # a text of many lines needs several turns to grow
                    QTimer.singleShot(pause_ms, self, lambda: self._scroll.ensureWidgetVisible(self.finding))
        self.note_picture()

    def _show_starts(self) -> None:
        if self._shown == self._model.starts:
            return
        self._shown = list(self._model.starts)
        self.starts.clear()
        for number, start in enumerate(self._model.starts, 1):
            image = image_of(self._palette, start.picture).scaled(THUMBNAIL)
            item = QListWidgetItem(QIcon(QPixmap.fromImage(image)), "")
            item.setToolTip(tr("Start state {number}; Delete removes it", number=number))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, tr("Start state {number}", number=number))
            self.starts.addItem(item)

    def _finding(self) -> str:
        model = self._model
        if model.error:
            return model.error
        if model.goal is None and model.stage is not None:
            return model.stage.goal if model.starts else tr("Start: {start}", start=model.stage.start)
        if model.goal is None:
            return tr("Play to the place that the agent should reach, then capture it. The game pauses.")
        if model.is_restless:
            return tr(
                "This picture changes by itself ({moved:.4f} within a second): paint the part that stays the same",
                moved=model.moved,
            )
        if model.probe is None:
            return model.working or (tr("Save a start state too") if not model.starts else "")
        found = model.probe
        way = (
            tr(", your demonstration takes {value:.0f} s", value=model.goal.way_frames / 59.7) if model.goal.way else ""
        )
        return tr(
            "Threshold {value:g}; {value2:.1%} of {value3} random players reached it in a minute{way}",
            value=found["tau"],
            value2=found["false_positive_rate"],
            value3=found["consoles"],
            way=way,
        )

    def _audit_lines(self) -> list[str]:
        model = self._model
        if not model.made:
            return []
        starts = without_shell(str(model.choices.get("starts", "")))
        return [
            f"{self._draft.title}: {starts}",
            *_way_lines(model),
            *([model.working] if model.working else []),
            *audit_lines(model),
        ]


def _way_lines(model: DraftModel) -> list[str]:
    way, buttons = (str(model.choices.get(name, "")) for name in ("way", "buttons"))
    lines = [way_in_the_app(way)] if way.startswith("left out") else []
    if buttons.startswith(TWO_BUTTONS_ID) and not model.buttons:
        lines.append(tr("The agent may press two buttons at once, as you did"))
    return lines


def audit_lines(model: DraftModel) -> list[str]:
    """Return the results of `dmglab task audit` as lines of text."""
    audit = model.audit
    if audit is None:
        return []
    best, rate = max(audit["one_button_success"].items(), key=lambda item: item[1])
    shortest = audit["shortest_demonstration"]
    return [
        tr("random play succeeds in {value:.0%}", value=audit["random_success"]),
        tr("{best} alone reaches it in {rate:.0%}", best=best, rate=rate)
        if rate
        else tr("no single button reaches it"),
        tr("your demonstration takes {shortest} steps", shortest=shortest)
        if shortest
        else tr("no demonstration saved"),
    ]
