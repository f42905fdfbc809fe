"""Checkpoint list, and the page *Use trained* with the selected checkpoint and its mode of choosing actions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPointF, QRect, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPixmap, QPixmapCache
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QListView,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QVBoxLayout,
    QWidget,
)

from gui.features.play.controller import PlayController
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.containers import Dock
from gui.kit.icons import icon
from gui.kit.labels import AGES_MS, ElidedLabel, ago, count_text, keep_ages, label, size_text
from gui.kit.painting import guarded_item
from gui.kit.screen import Palette
from gui.kit.words import tr
from gui.state.checkpoints import RATES, CheckpointCard, CheckpointList
from trainer_core.lab.task_lists import short_task
from trainer_core.wire.playing import PolicyMode

_MODES = {
    "leave_loops": ("Leave loops", "The likeliest action, another where a picture comes back"),
    "greedy": ("Greedy", "The likeliest action"),
    "sample": ("Drawn", "As likely as the policy says, as in training"),
}
_ROWS = ("Task", "Algorithm", "Steps", "Success", "", "", "Saved", "Integrity", "Run")
ROW_HEIGHT, HEADING = 48, 24
"""Heights in pixels of a row, and of the heading above the first row of a task and algorithm."""
LEAST_SPARK = 16
SPARK_WIDTH = 44
THUMB = QRect(12, 6, 40, 36)
"""Rectangle of the thumbnail in a row of the list; a click on it deploys the checkpoint."""
_TONES = {"verified": "good", "unverified": "muted", "mismatch": "bad", "missing": "bad"}
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class CheckpointsDock(Dock):
    def __init__(
        self, model: CheckpointList, run_label: Callable[[str], str], actions: ActionRegistry, palette: Palette
    ) -> None:
        super().__init__(tr("Checkpoints"), names.CHECKPOINTS_DOCK)
        self._model = model
        self.list = QListView()
        self.list.setObjectName(names.CHECKPOINT_LIST)
        self.list.setAccessibleName(tr("Checkpoints"))
        self.list.setModel(model)
        self._delegate = _CardDelegate(model, run_label, palette, self.list)
        self.list.setItemDelegate(self._delegate)
        self.ages = keep_ages(self.list)
        self.list.setMouseTracking(True)
        self.list.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.list.viewport().installEventFilter(self)
        self._deploy = actions["deploy"]
        self.list.doubleClicked.connect(actions["deploy"].trigger)
        self.list.selectionModel().currentChanged.connect(self._on_current)
        self._empty = label("", "muted")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.list)
        self._stack.addWidget(self._empty)
        own = action_button(actions["ownCheckpoints"], "ownCheckpointsButton")
        own.setProperty("role", "small")
        self.head.addWidget(own)
        row = QHBoxLayout()
        row.setContentsMargins(12, 8, 12, 12)
        row.setSpacing(4)
        for action_id, name in (
            ("deploy", names.DEPLOY_BUTTON),
            ("deployBeside", "deployBesideButton"),
            ("warmStart", names.WARM_START_BUTTON),
            ("import", names.IMPORT_CHECKPOINT_BUTTON),
        ):
            made = action_button(actions[action_id], name)
            made.setProperty("narrow", True)
            row.addWidget(made, 1)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._stack, 1)
        column.addLayout(row)
        self.setWidget(body)
        model.selection_changed.connect(self._on_selection)
        for signal in (model.rowsInserted, model.rowsRemoved, model.shown_changed):
            signal.connect(self._arrange)
        self._arrange()
        self._on_selection()

    def recolor(self) -> None:
        """Repaint the thumbnails in the chosen colours of the Game Boy screen."""
        self.list.viewport().update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Deploy a checkpoint when its thumbnail is clicked."""
        if event.type() == QEvent.Type.MouseButtonRelease and isinstance(event, QMouseEvent):
            place = event.position().toPoint()
            index = self.list.indexAt(place)
            if index.isValid() and event.button() == Qt.MouseButton.LeftButton:
                rect = self.list.visualRect(index)
                rect.setTop(rect.top() + self._delegate.heading(index.row()))
                thumb = THUMB.translated(rect.topLeft())
                if thumb.contains(place):
                    self._model.select(index.data(Qt.ItemDataRole.UserRole).folder)
                    self._deploy.trigger()
        return super().eventFilter(watched, event)

    def _arrange(self, *_: object) -> None:
        """Hide the checkpoints of other runs if the user asked for that; show each group's heading once."""
        heads, before = set(), None
        for row, card in enumerate(self._model.cards):
            is_hidden = not self._model.shows(card)
            if is_hidden != self.list.isRowHidden(row):
                self.list.setRowHidden(row, is_hidden)
            if not is_hidden and (card.task, card.algo) != before:
                before = (card.task, card.algo)
                heads.add(row)
        self._delegate.heads = heads
        self._empty.setText(
            tr("This run has no checkpoint yet.")
            if self._model.only
            else tr("No checkpoints yet.\nA run writes one every few updates.")
        )
        self._stack.setCurrentIndex(0 if heads else 1)
        self.list.scheduleDelayedItemsLayout()

    def _on_current(self, index: QModelIndex) -> None:
        """Select the checkpoint of the row that became the list's current one."""
        if index.isValid():
            self._model.select(index.data(Qt.ItemDataRole.UserRole).folder)

    def _on_selection(self) -> None:
        card = self._model.selected
        index = self._model.index(self._model.row_of(card.folder)) if card else QModelIndex()
        if index != self.list.currentIndex():
            self.list.setCurrentIndex(index)


class TrainedPage(QWidget):
    """Page *Use trained*: shows the checkpoint to deploy and lets the user choose the mode of choosing actions.

    Its choices stay while the page *Train new* is visible in its place.
    """

    def __init__(self, playing: PlayController, checkpoints: CheckpointList) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        self._playing = playing
        self._hint = label("", "muted", wrap=True)
        column.addWidget(self._hint)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        self._values = [ElidedLabel() for _ in _ROWS]
        for row, (name, value) in enumerate(zip(_ROWS, self._values, strict=True)):
            grid.addWidget(label(tr(name) if name else "", "muted"), row, 0)
            grid.addWidget(value, row, 1)
        column.addLayout(grid)
        column.addWidget(label(tr("Actions"), "muted"))
        self.modes = QComboBox()
        self.modes.setObjectName("policyMode")
        self.modes.setAccessibleName(tr("How the policy chooses its actions"))
        for value, (text, _) in _MODES.items():
            self.modes.addItem(tr(text), value)
        self.modes.activated.connect(lambda: self._choose(self.modes.currentData()))
        column.addWidget(self.modes)
        self.mode_words = label("", "muted", wrap=True)
        self.mode_words.setObjectName("policyModeWords")
        column.addWidget(self.mode_words)
        playing.changed.connect(self._tell_mode)
        self._tell_mode()
        column.addStretch(1)
        checkpoints.selection_changed.connect(lambda: self.show_card(checkpoints.selected))
        self.show_card(checkpoints.selected)
        self._ages = QTimer(self, interval=AGES_MS)
        self._ages.timeout.connect(lambda: self.show_card(checkpoints.selected))
        self._ages.start()

    def _choose(self, mode: PolicyMode) -> None:
        self._playing.policy_mode = mode
        self._tell_mode()

    def _tell_mode(self) -> None:
        """Explain the chosen mode, and add that it applies from the next Deploy on if another one is playing."""
        words, request = tr(_MODES[self._playing.policy_mode][1]), self._playing.request
        plays = self._playing.is_active and request is not None and request.mode in _MODES
        if plays and request is not None and request.mode != self._playing.policy_mode:
            words += tr("; from the next Deploy on")
        self.mode_words.setText(words)

    def show_card(self, card: CheckpointCard | None) -> None:
        self._hint.setText(
            tr("Pick a checkpoint at the lower right, then press Deploy.")
            if card is None
            else tr("Press Deploy under Checkpoints to watch it play.")
        )
        texts = [""] * len(_ROWS)
        if card is not None:
            rates = list(dict.fromkeys(map(card.rate_words, RATES)))
            rates += [""] * (len(RATES) - len(rates))
            texts = [
                card.task,
                card.algo,
                f"{card.env_steps:,}",
                *rates,
                ago(card.created_at),
                tr(card.integrity),
                card.run_id,
            ]
        for value, text in zip(self._values, texts, strict=True):
            value.setText(text)


class _CardDelegate(QStyledItemDelegate):
    """List row of a checkpoint: thumbnail, steps and run, success rate and integrity; a star marks a run's best."""

    def __init__(
        self, model: CheckpointList, run_label: Callable[[str], str], palette: Palette, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._model, self._run_label, self._palette = model, run_label, palette
        self.heads: set[int] = set()
        """Rows that show a heading above: the first visible row of each task and algorithm."""

    def sizeHint(self, option, index: QModelIndex) -> QSize:  # type: ignore[no-untyped-def]
        return QSize(200, ROW_HEIGHT + self.heading(index.row()))

    def heading(self, row: int) -> int:
        """Return the height in pixels of the heading above this row; 0 when it has none."""
        return HEADING if row in self.heads else 0

    @guarded_item
    def paint(self, painter: QPainter, option, index: QModelIndex) -> None:  # type: ignore[no-untyped-def]
        card: CheckpointCard = index.data(Qt.ItemDataRole.UserRole)
        colors = theme.current()
        rect = option.rect.adjusted(0, self.heading(index.row()), 0, 0)
        if rect.top() != option.rect.top():
            self._paint_heading(painter, option.rect, card)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, QColor(colors.accent_soft))
        thumb = THUMB.translated(rect.topLeft())
        painter.fillRect(thumb, QColor(colors.letterbox))
        picture = _thumbnail(card.thumbnail, self._palette)
        if not picture.isNull():
            painter.drawPixmap(_inside(thumb, picture.size()), picture)
        if card.is_usable and option.state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_Selected):
            painter.fillRect(thumb, QColor(0, 0, 0, 110))
            icon("play", "accent").paint(painter, thumb.adjusted(12, 10, -12, -10))
        left, right = thumb.right() + 12, rect.right() - 12
        top = QRect(left, rect.y() + 6, right - left, 18)
        low = QRect(left, rect.y() + 24, right - left, 18)
        painter.setPen(QColor(colors.text))
        steps = tr("{count_text} steps", count_text=count_text(card.env_steps))
        painter.drawText(top, _LEFT, steps)
        taken = painter.fontMetrics().horizontalAdvance(steps) + 6
        if self._model.is_best(card):
            best = tr("\u2605 best")
            painter.setPen(QColor(colors.accent))
            painter.drawText(top.adjusted(taken, 0, 0, 0), _LEFT, best)
            painter.setPen(QColor(colors.text))
            taken += painter.fontMetrics().horizontalAdvance(best) + 6
        rate = card.success_text
        painter.drawText(top, _RIGHT, rate)
        used = painter.fontMetrics().horizontalAdvance(rate) + 8
        room = QRectF(top.right() - used - SPARK_WIDTH, top.y() + 3, SPARK_WIDTH, top.height() - 6)
        room.setLeft(max(room.left(), left + taken))
        if room.width() >= LEAST_SPARK:
            _paint_spark(painter, room, *self._model.way_to(card))
        painter.setPen(QColor(getattr(colors, _TONES[card.integrity])))
        integrity = tr(card.integrity)
        painter.drawText(low, _RIGHT, integrity)
        used = painter.fontMetrics().horizontalAdvance(integrity) + 8
        painter.setPen(QColor(colors.muted))
        text = painter.fontMetrics().elidedText(
            f"{self._run_label(card.run_id)}, {ago(card.created_at)}, {size_text(card.size_bytes)}",
            Qt.TextElideMode.ElideRight,
            low.width() - used,
        )
        painter.drawText(low, _LEFT, text)

    @staticmethod
    def _paint_heading(painter: QPainter, rect: QRect, card: CheckpointCard) -> None:
        line = QRect(rect.x() + 12, rect.y(), rect.width() - 24, HEADING)
        painter.setPen(QColor(theme.current().muted))
        text = f"{short_task(card.task)}, {card.algo}"
        painter.drawText(line, _LEFT, text)
        used = painter.fontMetrics().horizontalAdvance(text) + 8
        painter.setPen(QColor(theme.current().border))
        middle = line.center().y() + 1
        painter.drawLine(line.left() + used, middle, line.right(), middle)


def _paint_spark(painter: QPainter, room: QRectF, way: list[float], here: int) -> None:
    """Paint a small curve of the success rates `way` of a run's checkpoints, with a dot at index `here`."""
    if len(way) < 2:
        return
    step = room.width() / (len(way) - 1)
    points = [QPointF(room.x() + place * step, room.bottom() - rate * room.height()) for place, rate in enumerate(way)]
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(theme.current().muted))
    painter.drawPolyline(points)
    painter.setBrush(QColor(theme.current().accent))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawEllipse(points[here], 2.0, 2.0)


def _thumbnail(path: Path, palette: Palette) -> QPixmap:
    """Return the picture file in the colours of the Game Boy screen; a null pixmap if it cannot be read."""
    key = f"{path} {palette.table.tobytes().hex()}"
    found = QPixmap()
    if not QPixmapCache.find(key, found):
        found = QPixmap.fromImage(_tinted(QImage(str(path)), palette))
        if not found.isNull():
            QPixmapCache.insert(key, found)
    return found


def _tinted(image: QImage, palette: Palette) -> QImage:
    """Return an image of a Game Boy's four greys in the palette's colours; any other image unchanged."""
    if image.isNull() or image.format() != QImage.Format.Format_Grayscale8:
        return image
    step = 255 / (len(palette.table) - 1)
    tinted = QImage(
        image.constBits(), image.width(), image.height(), image.bytesPerLine(), QImage.Format.Format_Indexed8
    )
    tinted.setColorTable([int(palette.table[3 - round(grey / step)]) for grey in range(256)])
    return tinted.convertToFormat(QImage.Format.Format_RGB32)


def _inside(room: QRect, size: QSize) -> QRect:
    """Return the largest rectangle of the proportions of `size` that fits in `room`, centred."""
    place = QRect(room.topLeft(), size.scaled(room.size(), Qt.AspectRatioMode.KeepAspectRatio))
    place.moveCenter(room.center())
    return place
