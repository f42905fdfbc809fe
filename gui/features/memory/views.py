"""Pictures of memory: a hex view; tiles, tile maps and sprites of video memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea

from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.words import tr
from trainer_core.wire.frames import BASE

OAM, LCDC, SCY, SCX, BGP, OBP0, WY, WX = (0xFE00, 0xFF40, 0xFF42, 0xFF43, 0xFF47, 0xFF48, 0xFF4A, 0xFF4B)
TILES_A_ROW = 16
BYTES_A_ROW = 8
MARKED_LOOKS = 5
"""Number of readings for which a changed byte stays highlighted: half a second."""
MOVES = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Up: -BYTES_A_ROW,
    Qt.Key.Key_Down: BYTES_A_ROW,
    Qt.Key.Key_PageUp: -16 * BYTES_A_ROW,
    Qt.Key.Key_PageDown: 16 * BYTES_A_ROW,
}


class Sprite(NamedTuple):
    x: int
    """Left edge on the screen in pixels, that is OAM's x - 8; `y` is OAM's y - 16."""
    y: int
    tile: int
    flags: int


def at(memory: np.ndarray, address: int) -> int:
    return int(memory[address - BASE])


def tiles(memory: np.ndarray) -> np.ndarray:
    """Return all tiles from 8000h on as colour numbers 0 to 3, u8[384, 8, 8]."""
    rows = memory[:0x1800].reshape(384, 8, 2)
    low, high = (np.unpackbits(rows[..., plane, None], axis=-1) for plane in (0, 1))
    return low | high << 1


def shades_of(palette: int) -> np.ndarray:
    """Return the shade of each of the four colour numbers in a palette register such as BGP, u8[4]."""
    return np.array([palette >> 2 * number & 3 for number in range(4)], np.uint8)


def tile_sheet(memory: np.ndarray) -> np.ndarray:
    """Return all tiles in rows of sixteen as shades, u8[192, 128], in the background's palette."""
    sheet = tiles(memory).reshape(-1, TILES_A_ROW, 8, 8).swapaxes(1, 2)
    return shades_of(at(memory, BGP))[sheet.reshape(-1, TILES_A_ROW * 8)]


def tile_map(memory: np.ndarray, is_window: bool) -> np.ndarray:
    """Return the whole background or window map as shades, u8[256, 256], as LCDC selects map and tiles."""
    lcdc = at(memory, LCDC)
    begin = 0x9C00 if lcdc & (0x40 if is_window else 0x08) else 0x9800
    numbers = memory[begin - BASE : begin - BASE + 0x400].astype(np.int32)
    if not lcdc & 0x10:  # signed indices, from 9000
        numbers = np.where(numbers < 128, numbers + 256, numbers)
    drawn = tiles(memory)[numbers].reshape(32, 32, 8, 8).swapaxes(1, 2).reshape(256, 256)
    return shades_of(at(memory, BGP))[drawn]


def sprites(memory: np.ndarray) -> list[Sprite]:
    """Return the forty sprites, in the order of OAM."""
    entries = memory[OAM - BASE : OAM - BASE + 160].reshape(40, 4).tolist()
    return [Sprite(x - 8, y - 16, tile, flags) for y, x, tile, flags in entries]


def sprite_sheet(memory: np.ndarray) -> np.ndarray:
    """Return the sprites at their places on the screen as shades, u8[144, 160], the first in OAM on top.

    The background has the shade that sprites use least, so that white sprites are visible too.
    """
    empty = 255
    sheet = np.full((144 + 32, 160 + 16), empty, np.uint8)
    is_tall = bool(at(memory, LCDC) & 4)
    drawn = tiles(memory)
    for sprite in reversed(sprites(memory)):
        numbers = (sprite.tile & 0xFE, sprite.tile | 1) if is_tall else (sprite.tile,)
        picture = np.concatenate([drawn[number] for number in numbers])
        picture = picture[::-1] if sprite.flags & 0x40 else picture
        picture = picture[:, ::-1] if sprite.flags & 0x20 else picture
        shades = shades_of(at(memory, OBP0 + (sprite.flags >> 4 & 1)))[picture]
        x, y = sprite.x + 8, sprite.y + 16
        if x < 168 and y < 160:
            place = sheet[y : y + len(picture), x : x + 8]
            shown = picture[:, : place.shape[1]][: place.shape[0]]
            place[shown != 0] = shades[: place.shape[0], : place.shape[1]][shown != 0]
    counts = np.bincount(sheet[sheet != empty], minlength=4)
    sheet[sheet == empty] = int(counts[:4].argmin())
    return sheet[16:160, 8:168]


class HexView(QAbstractScrollArea):
    """Hex view that paints only visible rows.

    Return or a double click chooses the marked byte.
    """

    chosen = Signal(int)
    moved = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.address = 0xC000
        self._begin, self._end = 0xC000, 0xE000
        self._memory: np.ndarray | None = None
        self._fresh = np.zeros(0x8000, np.uint8)
        self.setObjectName("memoryBytes")
        self.setAccessibleName(tr("Bytes of the memory"))
        self.setToolTip(tr("Arrows move; Return or a double-click watches the byte"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().valueChanged.connect(self.viewport().update)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, 120)

    def show_memory(self, memory: np.ndarray | None) -> None:
        """Show `memory`, u8[32768] from 8000h; None clears the view."""
        if memory is not None and self._memory is not None:
            self._fresh[self._fresh > 0] -= 1
            self._fresh[memory != self._memory] = MARKED_LOOKS
        self._memory = memory
        self._describe()
        self.viewport().update()

    def show_region(self, begin: int, end: int) -> None:
        """Show the addresses `begin` to `end` - 1."""
        self._begin, self._end = begin, end
        self._fit()
        self.go_to(min(max(self.address, begin), end - 1))

    def go_to(self, address: int) -> None:
        """Mark an address of the shown region and scroll to it."""
        self.address = min(max(address, self._begin), self._end - 1)
        bar, row = self.verticalScrollBar(), (self.address - self._begin) // BYTES_A_ROW
        if not bar.value() <= row < bar.value() + self._rows():
            bar.setValue(row - self._rows() // 2)
        self._describe()
        self.moved.emit(self.address)
        self.viewport().update()

    def _describe(self) -> None:
        value = "" if self._memory is None else f"{self._memory[self.address - BASE]:02X}"
        self.setAccessibleDescription(f"{self.address:04X}: {value}")

    # -- painting ---------------------------------------------------------------------------

    def _metrics(self) -> QFontMetrics:
        return QFontMetrics(theme.mono_font())

    def _rows(self) -> int:
        return max(1, self.viewport().height() // self._metrics().height())

    def _fit(self) -> None:
        bar, rows = self.verticalScrollBar(), -(-(self._end - self._begin) // BYTES_A_ROW)
        bar.setRange(0, max(0, rows - self._rows()))
        bar.setPageStep(self._rows())

    def resizeEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().resizeEvent(event)
        self._fit()

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        with QPainter(self.viewport()) as painter:
            painter.fillRect(self.viewport().rect(), QColor(colors.base))
            painter.setFont(theme.mono_font())
            metrics = self._metrics()
            high, wide = metrics.height(), metrics.horizontalAdvance("0")
            first = self._begin + self.verticalScrollBar().value() * BYTES_A_ROW
            for row in range(self._rows() + 1):
                begin, base = first + row * BYTES_A_ROW, row * high + metrics.ascent()
                if begin >= self._end:
                    break
                painter.setPen(QColor(colors.muted))
                painter.drawText(4, base, f"{begin:04X}")
                for column in range(min(BYTES_A_ROW, self._end - begin)):
                    x = 4 + (6 + 3 * column) * wide
                    if begin + column == self.address:
                        painter.fillRect(x - 2, row * high, 2 * wide + 4, high, QColor(colors.accent_soft))
                    painter.setPen(QColor(self._color(begin + column)))
                    painter.drawText(x, base, self._text(begin + column))

    def _text(self, address: int) -> str:
        return "--" if self._memory is None else f"{self._memory[address - BASE]:02X}"

    def _color(self, address: int) -> str:
        colors, place = theme.current(), address - BASE
        if self._fresh[place]:
            return colors.warn
        is_zero = self._memory is None or not self._memory[place]
        return colors.disabled if is_zero else colors.text

    # -- choosing ---------------------------------------------------------------------------

    def _address_at(self, event: QMouseEvent) -> int:
        metrics = self._metrics()
        row = int(event.position().y()) // metrics.height() + self.verticalScrollBar().value()
        column = int((event.position().x() - 4) / metrics.horizontalAdvance("0") - 5.5) // 3
        return self._begin + row * BYTES_A_ROW + min(max(column, 0), BYTES_A_ROW - 1)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.LeftButton:
            if event.type() == QEvent.Type.MouseButtonPress:
                self.setFocus(Qt.FocusReason.MouseFocusReason)
                self.go_to(self._address_at(event))
                return True
            if event.type() == QEvent.Type.MouseButtonDblClick:
                self.chosen.emit(self.address)
                return True
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in MOVES and not event.modifiers():
            self.go_to(self.address + MOVES[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.chosen.emit(self.address)
        else:
            super().keyPressEvent(event)
