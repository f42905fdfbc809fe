"""Memory dock: search for values, watched addresses, video memory.

Only the user sees this; agents see pictures.
"""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QWidget,
)

from gui.features.memory.controller import COMPARISONS, EQUAL, MemoryController, Watch, parse_number
from gui.features.memory.views import (
    LCDC,
    SCX,
    SCY,
    TILES_A_ROW,
    WX,
    WY,
    HexView,
    at,
    sprite_sheet,
    tile_map,
    tile_sheet,
)
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.containers import Dock, PagePicker
from gui.kit.labels import button, choice_box, label
from gui.kit.screen import Mark, Palette, Screen
from gui.kit.tables import row_table
from gui.kit.words import tr
from trainer_core.wire.frames import BASE

MOST_FOUND = 100
"""Most addresses listed by a search."""
MOST_LETTERS = 16
"""Most characters of a typed number."""
REGIONS = {
    "Work RAM": (0xC000, 0xE000),
    "High RAM": (0xFF80, 0x10000),
    "Cartridge RAM": (0xA000, 0xC000),
    "Video RAM": (0x8000, 0xA000),
    "Sprites (OAM)": (0xFE00, 0xFEA0),
    "Registers": (0xFF00, 0xFF80),
}
TILES, BACKGROUND, WINDOW, SPRITES = "Tiles", "Background", "Window", "Sprites"


def table(object_name: str, accessible: str, heads: list[str]) -> QTableWidget:
    made = row_table(object_name, accessible, heads)
    made.setFont(theme.mono_font())
    made.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    made.horizontalHeader().setStretchLastSection(True)
    return made


def number_field(object_name: str, accessible: str, example: str) -> QLineEdit:
    made = named(QLineEdit(), object_name, accessible)
    made.setPlaceholderText(example)
    made.setMaxLength(MOST_LETTERS)
    return made


def write_rows(shown: QTableWidget, rows: list[tuple[str, ...]]) -> None:
    """Show `rows` in a table, changing only cells with another text: selection and cell editing are kept."""
    if shown.rowCount() != len(rows):
        shown.setRowCount(len(rows))
    for row, texts in enumerate(rows):
        for column, text in enumerate(texts):
            item = shown.item(row, column)
            if item is None:
                item = QTableWidgetItem()
                shown.setItem(row, column, item)
            if item.text() != text:
                item.setText(text)


class MemoryDock(Dock):
    """Memory dock with three pages, of which only the visible one is updated."""

    def __init__(self, memory: MemoryController, palette: Palette) -> None:
        super().__init__(tr("Memory"), names.MEMORY_DOCK)
        self._memory = memory
        self.pages = named(QTabWidget(), "memoryTabs")
        self.find_page, self.bytes_page = FindPage(memory), BytesPage(memory)
        self.video_page = VideoPage(memory, palette)
        self.pages.addTab(self.find_page, tr("Find"))
        self.pages.addTab(self.bytes_page, tr("Bytes"))
        self.pages.addTab(self.video_page, tr("Video"))
        self.pages.currentChanged.connect(lambda index: self.refresh())
        picker = PagePicker(self.pages, "memoryPages", tr("Memory page"))
        picker.refresh()
        self.head.addWidget(picker)
        self.setWidget(self.pages)
        memory.changed.connect(self.refresh)
        self.visibilityChanged.connect(memory.watch)

    def refresh(self) -> None:
        page = self.pages.currentWidget()
        if self.isVisible() and isinstance(page, FindPage | BytesPage | VideoPage):
            page.refresh()


class FindPage(QWidget):
    """Page with the search, and below it the watched addresses."""

    def __init__(self, memory: MemoryController) -> None:
        super().__init__()
        self._memory = memory
        self._refused = ""
        """Error text on the last typed number, shown until the next input."""
        column = vbox(self, margins=(12, 8, 12, 8), spacing=6)
        put(column, self._question(), self._buttons())
        self.told = named(label("", "muted", wrap=True), "memoryTold")
        column.addWidget(self.told)
        heads = [tr("Address"), tr("Now"), tr("Before")]
        self.found = table("memoryFound", tr("Remaining addresses"), heads)
        self.found.itemActivated.connect(lambda item: self._watch_row(item.row()))
        put(column, (self.found, 3), self._watch_buttons())
        heads = [tr("Address"), tr("Value"), tr("Name")]
        self.watched = table("memoryWatches", tr("Watched addresses"), heads)
        self.watched.setEditTriggers(QTableWidget.EditTrigger.DoubleClicked | QTableWidget.EditTrigger.EditKeyPressed)
        self.watched.itemChanged.connect(self._on_named)
        column.addWidget(self.watched, 2)
        memory.watches.changed.connect(self._write_watches)
        for shown in (self.found, self.watched):
            shown.itemSelectionChanged.connect(self._fit_buttons)
        self._tell()
        self._fit_buttons()

    def _question(self) -> QHBoxLayout:
        row = hbox(spacing=4)
        self.how = choice_box("memoryHow", tr("Comparison"), ((how, tr(how)) for how in (*COMPARISONS, EQUAL)))
        self.how.currentIndexChanged.connect(lambda index: self._fit_value())
        self.value = number_field("memoryValue", tr("Value to look for"), "12, $0C")
        self._fit_value()
        self.value.returnPressed.connect(self._on_search)
        self.wide = named(QCheckBox(tr("16 bits")), "memoryWide")
        self.wide.toggled.connect(self._on_wide)
        put(row, (self.how, 1), (self.value, 1), self.wide)
        return row

    def _fit_value(self) -> None:
        is_wanted = self.how.currentData() == EQUAL
        self.value.setEnabled(is_wanted)
        self.value.setToolTip("" if is_wanted else tr("Choose 'the value' to look for a number"))

    def _buttons(self) -> QHBoxLayout:
        row = hbox(spacing=4)
        self.search = button(
            tr("Search"), "memorySearchButton", clicked=self._on_search, tip=tr("Keep the addresses whose value fits")
        )
        again = button(
            tr("Start over"), "memoryRestartButton", clicked=self._on_restart, tip=tr("Search all addresses again")
        )
        self.watch = button(tr("Watch"), "memoryWatchButton", clicked=lambda: self._watch_row(self.found.currentRow()))
        for made in (self.search, again, self.watch):
            row.addWidget(made, 1)
        return row

    def _watch_buttons(self) -> QHBoxLayout:
        row = hbox(spacing=4)
        self.address = number_field("memoryAddress", tr("Address to watch"), "$C0A0")
        self.address.returnPressed.connect(self._on_address)
        row.addWidget(self.address, 1)
        self.remove = button(tr("Remove"), "memoryRemoveButton", clicked=self._on_remove)
        self.copy = button(tr("Copy"), "memoryCopyButton", clicked=self._on_copy)
        put(row, self.remove, self.copy)
        return row

    # -- showing ----------------------------------------------------------------------------

    def refresh(self) -> None:
        self._tell()
        self._write_found()
        self._write_watches()

    def _tell(self) -> None:
        memory, search = self._memory, self._memory.search
        self.search.setEnabled(memory.memory is not None)
        if refusal := self._refused or memory.refusal():
            self.told.setText(refusal)
        elif search.before is None:
            self.told.setText(
                tr("Press Search, play until your value changes, then choose how it changed and search again")
            )
        else:
            count = int(search.left.sum())
            words = tr("{count:,} addresses remain", count=count)
            if count > MOST_FOUND:
                words += tr("; the first {count} are listed", count=MOST_FOUND)
            self.told.setText(words)

    def _fit_buttons(self) -> None:
        """Enable the buttons that can be used now; tooltips of the others say why not."""
        for one, can, does, lacks in (
            (self.watch, bool(self.found.selectedItems()),
             tr("Watch the chosen address; Return does the same"),
             tr("Choose one of the remaining addresses")),
            (self.remove, bool(self.watched.selectedItems()),
             tr("Stop watching the chosen address"), tr("Choose a watched address")),
            (self.copy, self.watched.rowCount() > 0,
             tr("One line per watched address: address, kind, value, name"), tr("No address is watched")),
        ):  # fmt: skip
            one.setEnabled(can)
            one.setToolTip(does if can else lacks)

    def _refuse(self, why: str) -> None:
        self._refused = why
        self._tell()

    def _write_found(self) -> None:
        memory, search = self._memory.memory, self._memory.search
        if memory is None or search.before is None:
            self.found.setRowCount(0)
            return
        now, before = search.values(memory), search.before
        write_rows(
            self.found,
            [
                (f"{address:04X}", str(now[address - BASE]), str(before[address - BASE]))
                for address in search.found(MOST_FOUND)
            ],
        )

    def _write_watches(self) -> None:
        memory = self._memory.memory
        self.watched.blockSignals(True)
        write_rows(
            self.watched,
            [
                (f"{watch.address:04X}", "" if memory is None else str(watch.read(memory)), watch.name)
                for watch in self._memory.watches.shown
            ],
        )
        self.watched.blockSignals(False)
        self._fit_buttons()
        for row in range(self.watched.rowCount()):
            for place in (0, 1):
                if (item := self.watched.item(row, place)) is None:
                    continue
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEditable)

    # -- acting -----------------------------------------------------------------------------

    def _on_search(self) -> None:
        memory, how = self._memory.memory, self.how.currentData()
        if memory is None:
            return
        try:
            most = 0xFFFF if self.wide.isChecked() else 0xFF
            value = parse_number(self.value.text(), most) if how == EQUAL else 0
        except ValueError as error:
            self._refuse(str(error))
            return
        self._refused = ""
        self._memory.search.narrow(memory, how, value)
        self.refresh()

    def _on_restart(self) -> None:
        self._refused = ""
        self._memory.search.restart()
        self.refresh()

    def _on_wide(self, is_wide: bool) -> None:
        self._refused = ""
        self._memory.search.set_wide(is_wide)
        self.refresh()

    def _watch_row(self, row: int) -> None:
        item = self.found.item(row, 0)
        if item is not None:
            kind = "u16" if self._memory.search.is_wide else "u8"
            self._memory.watches.add(Watch(int(item.text(), 16), kind))

    def _on_address(self) -> None:
        text = self.address.text().strip()
        try:
            address = parse_number(text)
        except ValueError as error:
            self._refuse(str(error))
            return
        if not BASE <= address <= 0xFFFF:
            self._refuse(tr("{text} is not between $8000 and $FFFF", text=text))
            return
        self._refuse("")
        self._memory.watches.add(Watch(address, "u16" if self.wide.isChecked() else "u8"))
        self.address.clear()

    def _chosen_watch(self) -> Watch | None:
        row, shown = self.watched.currentRow(), self._memory.watches.shown
        return shown[row] if 0 <= row < len(shown) else None

    def _on_remove(self) -> None:
        if watch := self._chosen_watch():
            self._memory.watches.remove(watch.address)

    def _on_copy(self) -> None:
        text = self._memory.watches.as_text(self._memory.memory)
        QGuiApplication.clipboard().setText(text)

    def _on_named(self, item: QTableWidgetItem) -> None:
        shown = self._memory.watches.shown
        if item.column() == 2 and item.row() < len(shown):
            old = shown[item.row()]
            if item.text() != old.name:
                self._memory.watches.add(Watch(old.address, old.kind, item.text()[:80]))


class BytesPage(QWidget):
    def __init__(self, memory: MemoryController) -> None:
        super().__init__()
        self._memory = memory
        column = vbox(self, margins=(12, 8, 12, 8), spacing=6)
        self.region = named(QComboBox(), "memoryRegion", tr("Part of the memory"))
        for title, (begin, end) in REGIONS.items():
            words = tr("{title}, {begin} to {last}", title=tr(title), begin=f"{begin:04X}", last=f"{end - 1:04X}")
            self.region.addItem(words, (begin, end))
        column.addWidget(self.region)
        self.view = HexView()
        self.view.chosen.connect(lambda address: memory.watches.add(Watch(address)))
        self.view.moved.connect(lambda address: self._tell())
        column.addWidget(self.view, 1)
        self.told = label("", "muted", wrap=True)
        column.addWidget(self.told)
        self.region.currentIndexChanged.connect(lambda index: self.view.show_region(*self.region.currentData()))

    def refresh(self) -> None:
        self.view.show_memory(self._memory.memory)
        self._tell()

    def _tell(self) -> None:
        memory, address = self._memory.memory, self.view.address
        if memory is None:
            self.told.setText(self._memory.refusal())
            return
        value = int(memory[address - BASE])
        self.told.setText(f"{address:04X}   {value}   ${value:02X}   {value:08b}")


class VideoPage(QWidget):
    def __init__(self, memory: MemoryController, palette: Palette) -> None:
        super().__init__()
        self._memory = memory
        self._tile: int | None = None
        """Number of the tile that was clicked, None before."""
        column = vbox(self, margins=(12, 8, 12, 8), spacing=6)
        parts = ((what, tr(what)) for what in (TILES, BACKGROUND, WINDOW, SPRITES))
        self.what = choice_box("videoWhat", tr("Part of the video memory"), parts)
        self.what.currentIndexChanged.connect(lambda index: self.refresh())
        column.addWidget(self.what)
        self.view = Screen(palette, "videoMemory", tr("Video memory"))
        self.view.pixel_clicked.connect(self._on_clicked)
        column.addWidget(self.view, 1)
        self.told = label("", "muted", wrap=True)
        column.addWidget(self.told)

    def refresh(self) -> None:
        memory, what = self._memory.memory, self.what.currentData()
        if memory is None:
            self.view.clear()
            self.told.setText(self._memory.refusal())
            return
        self.view.marks = []
        if what == TILES:
            self.view.show_picture(tile_sheet(memory))
            self.told.setText(self._tile_words())
        elif what == SPRITES:
            self.view.show_picture(sprite_sheet(memory))
            self.told.setText(tr("Sprites where they are on the screen"))
        else:
            self._show_map(memory, what == WINDOW)

    def _show_map(self, memory, is_window: bool) -> None:  # type: ignore[no-untyped-def]
        """Show the background map (with a frame around the visible part) or the window map."""
        if not is_window:
            x, y = at(memory, SCX), at(memory, SCY)
            self.view.marks = [Mark(QRect(x, y, 160, 144), "", True)]
            self.told.setText(tr("Scrolled to {x}, {y}", x=x, y=y))
        else:
            x, y = at(memory, WX) - 7, at(memory, WY)
            is_on = at(memory, LCDC) & 0x20
            self.told.setText(tr("Begins at {x}, {y}", x=x, y=y) if is_on else tr("Off"))
        self.view.show_picture(tile_map(memory, is_window))

    def _tile_words(self) -> str:
        number = self._tile
        if number is None:
            return tr("384 tiles from $8000 on; click a tile to see its address")
        return tr("Tile {number}, at {address}", number=number, address=f"{BASE + 16 * number:04X}")

    def _on_clicked(self, x: int, y: int) -> None:
        if self.what.currentData() == TILES:
            self._tile = y // 8 * TILES_A_ROW + x // 8
            self.told.setText(self._tile_words())
