"""Piano roll: a grid with a row per frame and a column per button, edited by click, drag or key."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QSizePolicy

from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.words import tr
from trainer_core.wire.buttons import MASK_BITS

ROW, HEAD, NUMBER, CELL, LEAST_CELL = 18, 20, 52, 24, 16
"""Sizes in pixels: height of a row and the header, width of the frame number, usual and least width of a button."""
COLUMNS = ("up", "down", "left", "right", "a", "b", "select", "start")
TITLES = ("U", "D", "L", "R", "A", "B", "Se", "St")
KEYS = {
    Qt.Key.Key_U: "up",
    Qt.Key.Key_D: "down",
    Qt.Key.Key_L: "left",
    Qt.Key.Key_R: "right",
    Qt.Key.Key_A: "a",
    Qt.Key.Key_B: "b",
    Qt.Key.Key_E: "select",
    Qt.Key.Key_S: "start",
}
MOVES = {
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_PageUp: -24,
    Qt.Key.Key_PageDown: 24,
    Qt.Key.Key_Home: -(10**6),
    Qt.Key.Key_End: 10**6,
}
NOTHING = "."
"""Text of a frame without pressed buttons on the clipboard."""


def bit_of(name: str) -> int:
    return 1 << MASK_BITS.index(name)


def masks_as_text(masks: bytes) -> str:
    """Return one line per frame with the names of its held buttons, such as `R A`."""
    held = dict(zip(COLUMNS, TITLES, strict=True))
    return "\n".join(
        " ".join(title for name, title in held.items() if mask & bit_of(name)) or NOTHING for mask in masks
    )


def masks_from_text(text: str) -> bytes:
    """Return the button masks from a text of `masks_as_text`; empty for any other text."""
    bits = {title: bit_of(name) for name, title in zip(COLUMNS, TITLES, strict=True)} | {NOTHING: 0}
    lines = [line.split() for line in text.splitlines()]
    if not all(line and all(word in bits for word in line) for line in lines):
        return b""
    return bytes(sum({bits[word] for word in line}) for line in lines)


class PianoRoll(QAbstractScrollArea):
    """Grid of the piano roll; only visible rows are painted, so that long recordings stay fast."""

    frame_picked = Signal(int)
    pressed = Signal(int, bytes)
    """First changed frame, and the new button masks from there on, one byte per frame."""
    inserted = Signal()
    deleted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._masks = b""
        self._frame = self._known = self._fork = 0
        self._dragged: dict[int, int] = {}
        self._bit, self._on = 0, False
        self._other_end: int | None = None
        """Frame at which the user began the selection, None without one; it ends at the frame on show."""
        self.setObjectName("pianoRoll")
        self.setAccessibleName(tr("Buttons of each frame"))
        self.setToolTip(
            tr(
                "Click or drag to press or release. Keys: U D L R A B, S for START, E for SELECT, Insert and Delete"
                " for frames; Shift selects, Ctrl+C and Ctrl+V copy and paste buttons"
            )
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Expanding)
        self.verticalScrollBar().valueChanged.connect(self.viewport().update)

    def sizeHint(self) -> QSize:
        return QSize(NUMBER + len(COLUMNS) * CELL + 24, 200)

    def minimumSizeHint(self) -> QSize:
        return QSize(NUMBER + len(COLUMNS) * LEAST_CELL + 20, 120)

    def show_masks(self, masks: bytes, known: int, fork: int) -> None:
        """Show one button mask per frame.

        Rows from `known` on are drawn as not emulated yet, rows from `fork` on as changed.
        """
        self._masks, self._known, self._fork = masks, known, fork
        self._fit()
        self.viewport().update()

    def set_frame(self, frame: int) -> None:
        """Mark this frame's row and scroll to it."""
        self._frame = frame
        bar, rows = self.verticalScrollBar(), self._rows()
        is_in_sight = bar.value() <= frame < bar.value() + rows
        if not is_in_sight and not self._bit:  # rows that moved under a held mouse would be pressed
            bar.setValue(frame - rows // 2)
        self.setAccessibleDescription(self._words(frame))
        self.viewport().update()

    @property
    def selection(self) -> range:
        """Selected frames: from the frame where Shift was pressed to the frame on show."""
        other = self._frame if self._other_end is None else self._other_end
        first, last = sorted((self._frame, min(other, len(self._masks) - 1)))
        return range(first, last + 1)

    def _words(self, frame: int) -> str:
        mask = self._masks[frame] if frame < len(self._masks) else 0
        held = [name for name in COLUMNS if mask & bit_of(name)]
        return tr("Frame {frame}: {held}", frame=frame + 1, held=", ".join(held) or tr("nothing"))

    def _rows(self) -> int:
        return max(1, (self.viewport().height() - HEAD) // ROW)

    def _fit(self) -> None:
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, len(self._masks) - self._rows()))
        bar.setPageStep(self._rows())

    def resizeEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().resizeEvent(event)
        self._fit()
        self.set_frame(self._frame)  # the roll had no height when it was first shown

    # -- painting ---------------------------------------------------------------------------

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        with QPainter(self.viewport()) as painter:
            painter.fillRect(self.viewport().rect(), QColor(colors.base))
            painter.setFont(theme.small_font())
            first = self.verticalScrollBar().value()
            for row in range(self._rows() + 1):
                if first + row < len(self._masks):
                    self._paint_row(painter, first + row, HEAD + row * ROW)
            painter.fillRect(0, 0, self.viewport().width(), HEAD, QColor(colors.raised))
            painter.setPen(QColor(colors.muted))
            for column, title in enumerate(TITLES):
                painter.drawText(self._cell(column, 0, HEAD), Qt.AlignmentFlag.AlignCenter, title)

    def _paint_row(self, painter: QPainter, frame: int, top: int) -> None:
        colors = theme.current()
        mask = self._dragged.get(frame, self._masks[frame])
        width = self.viewport().width()
        if frame in self.selection:
            painter.fillRect(0, top, width, ROW, QColor(colors.accent_soft))
        elif frame % 24 == 0:
            painter.fillRect(0, top, width, ROW, QColor(colors.raised))
        painter.setPen(QColor(colors.text if frame < self._known else colors.disabled))
        number = QRect(0, top, NUMBER - 8, ROW)
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(number, side, str(frame + 1))
        if frame >= self._fork:
            painter.fillRect(0, top, 3, ROW, QColor(colors.warn))
        for column, name in enumerate(COLUMNS):
            if mask & bit_of(name):
                box = self._cell(column, top, ROW).adjusted(2, 2, -2, -2)
                painter.fillRect(box, QColor(colors.accent_fill))
                painter.setPen(QColor(colors.on_accent))
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, TITLES[column])

    @property
    def cell(self) -> int:
        """Width in pixels of a button's column, less in a narrow panel."""
        room = (self.viewport().width() - NUMBER) // len(COLUMNS)
        return min(max(room, LEAST_CELL), CELL)

    def cell_of(self, frame: int, column: int) -> QRect:
        """Return the rectangle of a frame's button in viewport coordinates."""
        return self._cell(column, HEAD + (frame - self.verticalScrollBar().value()) * ROW, ROW)

    def _cell(self, column: int, top: int, height: int) -> QRect:
        return QRect(NUMBER + column * self.cell, top, self.cell, height)

    # -- mouse ------------------------------------------------------------------------------

    def _at(self, event: QMouseEvent) -> tuple[int, int]:
        """Return (frame, column) under the pointer; column -1 outside the buttons."""
        x, y = int(event.position().x()), int(event.position().y())
        frame = self.verticalScrollBar().value() + (y - HEAD) // ROW
        column = (x - NUMBER) // self.cell if x >= NUMBER else -1
        return min(max(frame, 0), len(self._masks) - 1), column if column < len(COLUMNS) else -1

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and self._masks:
            if event.type() == QEvent.Type.MouseButtonPress and event.position().y() >= HEAD:
                is_selecting = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                frame, column = self._at(event)
                self._select(is_selecting)
                self._press(frame, -1 if is_selecting else column)
                return True
            if event.type() == QEvent.Type.MouseMove and self._bit:
                self._drag(self._at(event)[0])
                return True
            if event.type() == QEvent.Type.MouseButtonRelease and self._bit:
                self._release()
                return True
        return super().viewportEvent(event)

    def _press(self, frame: int, column: int) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        if column >= 0:
            self._bit = bit_of(COLUMNS[column])
            self._on = not self._masks[frame] & self._bit
            self._anchor = frame
            self._drag(frame)
        self.frame_picked.emit(frame)

    def _drag(self, frame: int) -> None:
        first, last = sorted((min(self._anchor, len(self._masks) - 1), frame))
        self._dragged = {
            at: self._masks[at] | self._bit if self._on else self._masks[at] & ~self._bit
            for at in range(first, last + 1)
        }
        self.viewport().update()

    def _release(self) -> None:
        dragged, self._dragged, self._bit = self._dragged, {}, 0
        self.set_frame(self._frame)
        self.pressed.emit(min(dragged), bytes(dragged[at] for at in sorted(dragged)))

    # -- keyboard ---------------------------------------------------------------------------

    def _select(self, is_selecting: bool) -> None:
        """Begin a selection at the frame on show, or remove it."""
        if not is_selecting:
            self._other_end = None
        elif self._other_end is None:
            self._other_end = self._frame

    def _copy(self) -> None:
        masks = bytes(self._masks[frame] for frame in self.selection)
        QGuiApplication.clipboard().setText(masks_as_text(masks))

    def _paste(self) -> None:
        """Overwrite frames, from the start of the selection on, with the copied ones."""
        first = self.selection.start
        masks = masks_from_text(QGuiApplication.clipboard().text())[: len(self._masks) - first]
        if masks:
            self.pressed.emit(first, masks)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, frame = Qt.Key(event.key()), self._frame
        plain = not event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if self._masks and event.matches(QKeySequence.StandardKey.Copy):
            self._copy()
        elif self._masks and event.matches(QKeySequence.StandardKey.Paste):
            self._paste()
        elif not self._masks or not plain:
            super().keyPressEvent(event)
        elif key in MOVES:
            self._select(bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
            self.frame_picked.emit(min(max(frame + MOVES[key], 0), len(self._masks) - 1))
        elif key in KEYS:
            self.pressed.emit(frame, bytes([self._masks[frame] ^ bit_of(KEYS[key])]))
        elif key == Qt.Key.Key_Insert:
            self.inserted.emit()
        elif key == Qt.Key.Key_Delete:
            self.deleted.emit()
        else:
            super().keyPressEvent(event)
