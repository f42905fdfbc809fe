"""The checkpoint browser: cards, integrity, deploy, warm start, import."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPixmap, QPixmapCache
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QListView,
    QMainWindow,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QVBoxLayout,
    QWidget,
)

from gui import object_names as names
from gui import theme
from gui.models.checkpoints import CheckpointCard, CheckpointList
from gui.models.run_list import ago, count_text
from gui.widgets.dock import Dock
from gui.widgets.labels import button, label

ROW_HEIGHT = 52
_TONES = {"verified": "good", "unverified": "muted", "mismatch": "bad", "missing": "bad"}


class _CardDelegate(QStyledItemDelegate):
    """Thumbnail, steps and task, success and integrity at the right."""

    def sizeHint(self, option, index: QModelIndex) -> QSize:  # type: ignore[no-untyped-def]
        return QSize(200, ROW_HEIGHT)

    def paint(self, painter: QPainter, option, index: QModelIndex) -> None:  # type: ignore[no-untyped-def]
        card: CheckpointCard = index.data(Qt.ItemDataRole.UserRole)
        colors = theme.current()
        rect = option.rect
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, QColor(colors.accent_soft))
        thumb = QRect(rect.x() + 12, rect.y() + 8, 40, 36)
        painter.fillRect(thumb, QColor(colors.letterbox))
        picture = _thumbnail(card.thumbnail)
        if not picture.isNull():
            painter.drawPixmap(thumb, picture)
        left, right = thumb.right() + 12, rect.right() - 12
        top = QRect(left, rect.y() + 8, right - left, 18)
        low = QRect(left, rect.y() + 26, right - left, 18)
        painter.setPen(QColor(colors.text))
        painter.drawText(top, _LEFT, f"{count_text(card.env_steps)} steps")
        rate = f"{card.success_rate * 100:.0f} % success"
        painter.drawText(top, _RIGHT, rate)
        painter.setPen(QColor(getattr(colors, _TONES[card.integrity])))
        painter.drawText(low, _RIGHT, card.integrity)
        used = painter.fontMetrics().horizontalAdvance(card.integrity) + 8
        painter.setPen(QColor(colors.muted))
        text = painter.fontMetrics().elidedText(
            f"{card.task.rsplit('/', 1)[-1]}, {card.algo}, {ago(card.created_at)}",
            Qt.TextElideMode.ElideRight,
            low.width() - used,
        )
        painter.drawText(low, _LEFT, text)
        painter.restore()


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def _thumbnail(path: Path) -> QPixmap:
    key = str(path)
    found = QPixmap()
    if not QPixmapCache.find(key, found):
        found = QPixmap(key)
        if not found.isNull():
            QPixmapCache.insert(key, found)
    return found


class CheckpointsDock(Dock):
    deploy_wanted = Signal(object)
    warm_start_wanted = Signal(object)
    import_wanted = Signal(object)
    selected = Signal(object)

    def __init__(self, model: CheckpointList, window: QMainWindow) -> None:
        super().__init__("Checkpoints", "checkpointsDock", window)
        self._model = model
        self.list = QListView()
        self.list.setObjectName(names.CHECKPOINT_LIST)
        self.list.setAccessibleName("Checkpoints")
        self.list.setModel(model)
        self.list.setItemDelegate(_CardDelegate(self))
        self.list.setUniformItemSizes(True)
        self.list.doubleClicked.connect(lambda index: self._deploy())
        self.list.selectionModel().selectionChanged.connect(lambda *_: self._on_selection())
        empty = label("No checkpoints yet.\nA run writes one every few updates.", "muted")
        empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.list)
        self._stack.addWidget(empty)
        self.deploy = button(
            "Deploy", names.DEPLOY_BUTTON, tip="Let it play in the live view", clicked=self._deploy
        )
        self.warm = button(
            "Warm start", names.WARM_START_BUTTON, tip="Begin a new run with its weights",
            clicked=lambda: self._emit(self.warm_start_wanted),
        )  # fmt: skip
        self.bring = button(
            "Import...", names.IMPORT_CHECKPOINT_BUTTON,
            tip="Copy a checkpoint folder into this home", clicked=self._import,
        )  # fmt: skip
        row = QHBoxLayout()
        row.setContentsMargins(12, 8, 12, 12)
        row.setSpacing(8)
        for made in (self.deploy, self.warm, self.bring):
            row.addWidget(made, 1)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._stack, 1)
        column.addLayout(row)
        self.setWidget(body)
        for signal in (model.rowsInserted, model.rowsRemoved, model.modelReset):
            signal.connect(lambda *_: self._on_count())
        model.dataChanged.connect(lambda *_: self._on_selection())
        self.warm_start_possible = True
        self._on_count()

    def current(self) -> CheckpointCard | None:
        rows = self.list.selectionModel().selectedRows()
        return rows[0].data(Qt.ItemDataRole.UserRole) if rows else None

    def select(self, folder: Path) -> None:
        row = self._model.row_of(folder)
        if row >= 0:
            self.list.setCurrentIndex(self._model.index(row))

    def _on_count(self) -> None:
        self._stack.setCurrentIndex(0 if self._model.rowCount() else 1)
        if self._model.rowCount() and self.current() is None:
            self.list.setCurrentIndex(self._model.index(0))
        self._on_selection()

    def _on_selection(self) -> None:
        card = self.current()
        usable = card is not None and card.is_usable
        self.deploy.setEnabled(usable)
        self.warm.setEnabled(usable)
        self.warm.setVisible(self.warm_start_possible)
        if card is not None and not usable:
            self.deploy.setToolTip("Its file does not match the hash that was announced")
        self.selected.emit(card)

    def _deploy(self) -> None:
        card = self.current()
        if card is not None and card.is_usable:
            self.deploy_wanted.emit(card)

    def _emit(self, signal) -> None:  # type: ignore[no-untyped-def]
        card = self.current()
        if card is not None:
            signal.emit(card)

    def _import(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Import a checkpoint folder")
        if folder:
            self.import_wanted.emit(Path(folder))
