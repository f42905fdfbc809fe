"""Checkpoint list, and the page *Use trained* with the selected checkpoint and its mode of choosing actions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QModelIndex, QObject, QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPixmap, QPixmapCache
from PySide6.QtWidgets import QGridLayout, QListView, QStackedWidget, QStyle, QStyledItemDelegate, QWidget

from gui.features.play.controller import PlayController
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button, more_button
from gui.kit.boxes import every, hbox, named, put, vbox
from gui.kit.containers import Dock, empty_page
from gui.kit.icons import paint_icon
from gui.kit.labels import AGES_MS, ElidedLabel, ago, choice_box, keep_ages, label, size_text
from gui.kit.painting import guarded_item
from gui.kit.screen import Palette
from gui.kit.style_sheet import CARD_ROW, GAP, ICON, MARK
from gui.kit.words import number, tr
from gui.state.checkpoints import RATES, CheckpointCard, CheckpointList
from trainer_core.wire.playing import PolicyMode

_MODES = {
    "leave_loops": ("Leave loops", "The most likely action, but another one where a picture repeats"),
    "greedy": ("Greedy", "Always the most likely action"),
    "sample": ("Sampled", "Drawn from the policy's probabilities, as in training"),
}
_ROWS = ("Task", "Algorithm", "Steps", "Success", "", "", "Saved", "Integrity", "Dataset", "Run")
HEADING, LINE, BAR_WIDTH, SIGN = 32, 20, 3, 12
"""Pixels: heading above the first row of a task and algorithm, line of text, bar of a chosen row, small icon."""
THUMB = QRect(16, 8, 80, 72)
"""Rectangle of the picture in a row of the list; a click on it deploys the checkpoint."""
_MARKS = {
    "verified": ("tick", "good"),
    "unverified": ("ring", "muted"),
    "mismatch": ("cross", "bad"),
    "missing": ("cross", "bad"),
}
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class CheckpointsDock(Dock):
    def __init__(
        self,
        model: CheckpointList,
        run_label: Callable[[str], str],
        task_title: Callable[[str], str],
        actions: ActionRegistry,
        palette: Palette,
        playing: PlayController,
    ) -> None:
        super().__init__(tr("Checkpoints"), names.CHECKPOINTS_DOCK)
        self._model = model
        self.list = named(QListView(), names.CHECKPOINT_LIST, tr("Checkpoints"))
        self.list.setModel(model)
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)

        def plays() -> str:
            return playing.request.checkpoint if playing.is_active and playing.request is not None else ""

        self._delegate = _CardDelegate(model, run_label, task_title, palette, plays)
        playing.changed.connect(self.list.viewport().update)
        self.list.setItemDelegate(self._delegate)
        self.ages = keep_ages(self.list)
        self.list.setMouseTracking(True)
        self.list.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.list.viewport().installEventFilter(self)
        self._deploy = actions["deploy"]
        self.list.doubleClicked.connect(actions["deploy"].trigger)
        self.list.selectionModel().currentChanged.connect(self._on_current)
        self._empty = label()
        self._stack = QStackedWidget()
        self._stack.addWidget(self.list)
        self._stack.addWidget(empty_page(self._empty, tr("A run saves one every few updates.")))
        own = action_button(actions["ownCheckpoints"], "ownCheckpointsButton")
        own.setProperty("role", "small")
        self.head.addWidget(own)
        row = hbox(margins=(12, 8, 12, 12), spacing=4)
        for action_id, name in (("deploy", names.DEPLOY_BUTTON), ("warmStart", names.WARM_START_BUTTON)):
            made = action_button(actions[action_id], name)
            made.setProperty("narrow", True)
            row.addWidget(made, 1)
        row.addWidget(more_button(actions, ("deployBeside", "import"), "checkpointsMoreButton"))
        body = QWidget()
        column = vbox(body, spacing=0)
        put(column, (self._stack, 1), row)
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
        self._empty.setText(tr("This run has no checkpoint yet") if self._model.only else tr("No checkpoint yet"))
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
        column = vbox(self, margins=(12, 8, 12, 8), spacing=8)
        self._playing, self._task_title = playing, checkpoints.task_title
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
        put(column, grid, label(tr("Actions"), "muted"))
        modes = ((value, tr(text)) for value, (text, _) in _MODES.items())
        self.modes = choice_box("policyMode", tr("How the policy chooses its actions"), modes)
        self.modes.activated.connect(lambda: self._choose(self.modes.currentData()))
        column.addWidget(self.modes)
        self.mode_words = named(label("", "muted", wrap=True), "policyModeWords")
        column.addWidget(self.mode_words)
        playing.changed.connect(self._tell_mode)
        self._tell_mode()
        column.addStretch(1)
        checkpoints.selection_changed.connect(lambda: self.show_card(checkpoints.selected))
        self.show_card(checkpoints.selected)
        self._ages = every(self, AGES_MS, lambda: self.show_card(checkpoints.selected))

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
            tr("Select a checkpoint under Checkpoints, then press Deploy.")
            if card is None
            else tr("Press Deploy under Checkpoints to watch it play.")
        )
        texts = [""] * len(_ROWS)
        if card is not None:
            rates = list(dict.fromkeys(map(card.rate_words, RATES)))
            rates += [""] * (len(RATES) - len(rates))
            texts = [
                self._task_title(card.task),
                card.algo.upper(),
                number(card.env_steps),
                *rates,
                ago(card.created_at),
                tr(card.integrity),
                card.offline_dataset,
                card.run_id,
            ]
        for value, text in zip(self._values, texts, strict=True):
            value.setText(text)


class _CardDelegate(QStyledItemDelegate):
    """List row of a checkpoint: picture, success, steps and run, integrity; a star marks a run's best."""

    def __init__(
        self,
        model: CheckpointList,
        run_label: Callable[[str], str],
        task_title: Callable[[str], str],
        palette: Palette,
        playing: Callable[[], str],
    ) -> None:
        """Take the function `playing` too, which returns the folder of the checkpoint that plays, or ""."""
        super().__init__()
        self._model, self._run_label, self._palette, self._playing = model, run_label, palette, playing
        self._task_title = task_title
        self.heads: set[int] = set()
        """Rows that show a heading above: the first visible row of each task and algorithm."""

    def sizeHint(self, option, index: QModelIndex) -> QSize:  # type: ignore[no-untyped-def]
        return QSize(200, CARD_ROW + self.heading(index.row()))

    def heading(self, row: int) -> int:
        """Return the height in pixels of the heading above this row; 0 when it has none."""
        return HEADING if row in self.heads else 0

    @guarded_item
    def paint(self, painter: QPainter, option, index: QModelIndex) -> None:  # type: ignore[no-untyped-def]
        card: CheckpointCard = index.data(Qt.ItemDataRole.UserRole)
        colors = theme.current()
        rect = option.rect.adjusted(0, self.heading(index.row()), 0, 0)
        if rect.top() != option.rect.top():
            _paint_heading(
                painter, QRect(rect.x(), option.rect.y(), rect.width(), HEADING), self._task_title(card.task), card.algo
            )
        is_chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        is_over = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if is_chosen or is_over:
            painter.fillRect(rect, QColor(colors.accent_soft if is_chosen else colors.hover))
        painter.fillRect(QRect(rect.x(), rect.bottom(), rect.width(), 1), QColor(colors.border))
        if is_chosen:
            painter.fillRect(QRect(rect.x(), rect.y(), BAR_WIDTH, rect.height()), QColor(colors.accent))
        thumb = THUMB.translated(rect.topLeft())
        painter.fillRect(thumb, QColor(colors.letterbox))
        picture = _thumbnail(card.thumbnail, self._palette)
        if not picture.isNull():
            painter.drawPixmap(_inside(thumb, picture.size()), picture)
        if card.is_usable and is_over:
            painter.fillRect(thumb, QColor(0, 0, 0, 110))
            side = QRect(0, 0, 2 * ICON, 2 * ICON)
            side.moveCenter(thumb.center())
            paint_icon(painter, side, "play", "#ffffff")
        room = QRect(thumb.right() + 12, rect.y() + 16, rect.right() - thumb.right() - 12 - GAP, LINE)
        self._paint_success(painter, QRect(room), card)
        painter.setFont(theme.ui_font())
        painter.setPen(QColor(colors.muted))
        steps = tr("{env_steps:,} steps, {run}", env_steps=card.env_steps, run=self._run_label(card.run_id))
        _write(painter, room.translated(0, LINE), steps)
        name, color = _MARKS[card.integrity]
        low = room.translated(0, 2 * LINE)
        mark = QRect(low.x(), 0, MARK, MARK)
        mark.moveTop(low.center().y() - MARK // 2 + 1)
        paint_icon(painter, mark, name, color)
        painter.setFont(theme.small_font())
        painter.setPen(QColor(getattr(colors, color)))
        integrity, age = (
            tr(card.integrity),
            f"{ago(card.created_at)}, {size_text(card.size_bytes)}, {card.place or tr('local')}",
        )
        low.setLeft(_write(painter, low.adjusted(MARK + 6, 0, 0, 0), integrity) + 6)
        painter.setPen(QColor(colors.muted))
        _write(painter, low, age)

    def _paint_success(self, painter: QPainter, room: QRect, card: CheckpointCard) -> None:
        """Paint the success rate, the star of a run's best, and at the right that it plays."""
        colors = theme.current()
        painter.setFont(theme.small_font())
        if self._playing() == str(card.folder):
            word = tr("playing")
            room.setRight(room.right() - painter.fontMetrics().horizontalAdvance(word) - SIGN - 2)
            _write_sign(painter, room.translated(room.width(), 0), "play", word)
        painter.setFont(theme.bold_font())
        painter.setPen(QColor(colors.text))
        room.setLeft(_write(painter, room, card.success_text) + 6)
        painter.setFont(theme.ui_font())
        painter.setPen(QColor(colors.muted))
        room.setLeft(_write(painter, room, tr("success")) + GAP)
        if self._model.is_best(card):
            painter.setFont(theme.small_font())
            _write_sign(painter, room, "star", tr("best"))


def _paint_heading(painter: QPainter, rect: QRect, task: str, algo: str) -> None:
    colors = theme.current()
    painter.fillRect(QRect(rect.x(), rect.bottom(), rect.width(), 1), QColor(colors.border))
    line = rect.adjusted(THUMB.x(), 0, -GAP, 0)
    painter.setFont(theme.bold_font())
    painter.setPen(QColor(colors.text))
    line.setLeft(_write(painter, line, task) + GAP)
    painter.setFont(theme.small_font())
    painter.setPen(QColor(colors.muted))
    _write(painter, line, algo.upper())


def _write_sign(painter: QPainter, room: QRect, name: str, word: str) -> None:
    """Paint a small icon and a word after it, in the colour of what is chosen."""
    paint_icon(painter, QRect(room.x(), room.center().y() - SIGN // 2 + 1, SIGN, SIGN), name, "accent")
    painter.setPen(QColor(theme.current().accent))
    painter.drawText(room.adjusted(SIGN + 2, 0, SIGN + room.width(), 0), _LEFT, word)


def _write(painter: QPainter, room: QRect, text: str) -> int:
    """Write a line at the left of `room`, shortened to it; return its right edge."""
    short = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
    painter.drawText(room, _LEFT, short)
    return room.left() + painter.fontMetrics().horizontalAdvance(short)


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
