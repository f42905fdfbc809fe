"""Manual: the pages of the guide and the reference in a window, with contents and search, without a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QFont,
    QImage,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextTable,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from gui.kit import theme
from gui.kit.boxes import hbox, named, put
from gui.kit.dialogs import Sheet
from gui.kit.labels import button, label
from gui.kit.words import tr
from trainer_core.lab.paths import CHECKOUT, DOCS

FIRST = DOCS / "guide" / "start.md"
NEWS = (CHECKOUT or DOCS) / "CHANGELOG.md"
GUIDE = (
    "start", "play", "my_game", "explore", "train", "compare", "deploy_and_record", "many_runs_and_machines", "disk",
    "other_trainers", "offline", "arc_and_language_models", "python", "from_pyboy", "memory", "troubleshooting",
)  # fmt: skip
"""Pages of the guide in their order."""
LIST_WIDTH, PICTURE_WIDTH, ROW = 232, 640, 24
HEADING_PIXELS = (24, 18, 15, 13)
_PAGE = Qt.ItemDataRole.UserRole


def chapters() -> dict[str, list[Path]]:
    """Return the pages of the manual by the heading under which the contents list them."""
    guide = [DOCS / "guide" / f"{name}.md" for name in GUIDE]
    found = {tr("Guide"): guide, tr("Reference"): sorted(DOCS.glob("reference/*.md")), tr("This version"): [NEWS]}
    return {title: [page for page in pages if page.is_file()] for title, pages in found.items()}


@cache
def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def title_of(page: Path) -> str:
    """Return the first heading of a page."""
    found = re.search(r"^# (.+)$", text_of(page), re.MULTILINE)
    return tr("What's new") if page == NEWS else found[1].replace("`", "") if found else page.stem


class Pages(QTextBrowser):
    """Page of the manual with its pictures scaled to the page, and links to headings of Markdown files."""

    missed = Signal(str)
    """Name of a file behind a link that this installation does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("manualText")
        self.setAccessibleName(tr("Page of the manual"))
        self.setOpenLinks(False)
        self.anchorClicked.connect(lambda url: self.open(self.source().resolved(url)))
        self.sourceChanged.connect(self._on_source)
        self.document().setDocumentMargin(20)

    def open(self, url: QUrl) -> None:
        """Show a page of the manual, or anything else in the desktop's browser."""
        path = Path(url.toLocalFile())
        if url.isLocalFile() and not path.is_file():
            self.missed.emit(path.name)
        elif path.suffix == ".md":
            self.setSource(url, QTextDocument.ResourceType.MarkdownResource)
        else:
            QDesktopServices.openUrl(url)

    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        """Return a picture no wider than the page; anything else as Qt does."""
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return super().loadResource(kind, name)
        image, ratio = QImage(QUrl(name).toLocalFile()), self.devicePixelRatioF()
        if image.width() > PICTURE_WIDTH:
            wide = round(min(image.width(), PICTURE_WIDTH * ratio))
            image = image.scaledToWidth(wide, Qt.TransformationMode.SmoothTransformation)
            image.setDevicePixelRatio(wide / PICTURE_WIDTH)
        return image

    def _on_source(self, url: QUrl) -> None:
        """Dress the page that was opened, and scroll to the heading that the link names."""
        for block in self._blocks():
            self._dress(block)
        for frame in self.document().rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                made = frame.format()
                made.setBorderBrush(self.palette().mid())
                made.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
                made.setCellPadding(4)
                made.setBorderCollapse(True)
                frame.setFormat(made)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        if url.fragment():
            self.scroll_to(url.fragment())

    def scroll_to(self, fragment: str) -> None:
        """Scroll to the heading whose text becomes `fragment` as in the links of GitHub and MkDocs."""
        for block in self._blocks():
            if block.blockFormat().headingLevel() and _fragment(block.text()) == fragment:
                top = self.document().documentLayout().blockBoundingRect(block).top()
                self.verticalScrollBar().setValue(round(top) - 8)
                return

    def _blocks(self) -> Iterator[QTextBlock]:
        block = self.document().begin()
        while block.isValid():
            yield block
            block = block.next()

    @staticmethod
    def _dress(block: QTextBlock) -> None:
        """Give a heading, a line of code or a paragraph its size and its distance to the next one."""
        cursor, shape = QTextCursor(block), block.blockFormat()
        level = shape.headingLevel()
        is_code = shape.hasProperty(QTextBlockFormat.Property.BlockCodeFence)
        letters = QTextCharFormat()
        if level:
            letters.setProperty(QTextCharFormat.Property.FontPixelSize, HEADING_PIXELS[min(level, 4) - 1])
            letters.setFontWeight(QFont.Weight.DemiBold)
            shape.setTopMargin(16 if block.blockNumber() else 0)
            shape.setBottomMargin(6)
        elif is_code:
            letters.setFont(theme.mono_font())
            shape.setBackground(QColor(theme.current().raised))
            shape.setTopMargin(0)
            shape.setBottomMargin(0)
        elif not block.textList():
            shape.setBottomMargin(8)
        cursor.setBlockFormat(shape)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        if level or is_code:
            cursor.mergeCharFormat(letters)


class Manual(Sheet):
    def __init__(self, parent: QWidget, page: Path = FIRST) -> None:
        super().__init__(parent, "manual", tr("Manual"))
        self._page = ""
        """Path of the page on show."""
        self.search = named(QLineEdit(), "manualSearch", tr("Search the manual"))
        self.search.setPlaceholderText(tr("Search the manual"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._on_search)
        self.search.returnPressed.connect(self.find_next)
        self.contents = named(QListWidget(), "manualContents", tr("Contents"))
        self.contents.setFixedWidth(LIST_WIDTH)
        self.contents.currentItemChanged.connect(self._on_chosen)
        self.found = named(label("", "muted"), "manualFound")
        self.text = Pages()
        self.text.sourceChanged.connect(self._on_page)
        self.text.missed.connect(self._on_missed)
        left = QVBoxLayout()
        for widget in (self.search, self.found, self.contents):
            left.addWidget(widget)
        self._back = button(tr("Back"), "manualBack", clicked=self.text.backward)
        self._forward = button(tr("Forward"), "manualForward", clicked=self.text.forward)
        for made, changed in ((self._back, self.text.backwardAvailable), (self._forward, self.text.forwardAvailable)):
            made.setEnabled(False)
            changed.connect(made.setEnabled)
        foot = QHBoxLayout()
        put(foot, self._back, self._forward, 1, button(tr("Close"), clicked=self.close))
        right = QVBoxLayout()
        put(right, (self.text, 1), foot)
        row = hbox(self, margins=(16, 16, 16, 16), spacing=16)
        put(row, left, (right, 1))
        self._list()
        self.show_page(page)
        self.resize(QSize(980, 720).boundedTo(parent.window().size()))

    def show_page(self, page: Path) -> None:
        if page.is_file():
            self.text.open(QUrl.fromLocalFile(str(page)))
        else:
            self.text.setMarkdown(tr("This installation has no manual: {page} is missing.", page=page))

    def _list(self, word: str = "") -> None:
        """List the pages; with a word those that have it, and how often."""
        self.contents.blockSignals(True)
        self.contents.clear()
        places = 0
        for title, pages in chapters().items():
            counts = {page: text_of(page).lower().count(word.lower()) if word else 1 for page in pages}
            if any(counts.values()):
                head = QListWidgetItem(title)
                head.setFlags(Qt.ItemFlag.NoItemFlags)
                head.setSizeHint(QSize(0, ROW))
                self.contents.addItem(head)
            for page, count in counts.items():
                if count:
                    places += count
                    item = QListWidgetItem(f"{title_of(page)}  ({count})" if word else title_of(page))
                    item.setData(_PAGE, str(page))
                    item.setSizeHint(QSize(0, ROW))
                    self.contents.addItem(item)
        self.contents.blockSignals(False)
        pages_found = sum(bool(self.contents.item(row).data(_PAGE)) for row in range(self.contents.count()))
        told = tr("{places} matches on {pages} pages", places=places, pages=pages_found)
        self.found.setText((told if places else tr("No match")) if word else "")
        self.found.setVisible(bool(word))
        self._select()

    def _on_search(self, word: str) -> None:
        self._list(word.strip())

    def find_next(self) -> None:
        """Select the next place that has the search word: on this page, then on the next page that has it."""
        word = self.search.text().strip()
        if not word or self.text.find(word):
            return
        rows = [row for row in range(self.contents.count()) if self.contents.item(row).data(_PAGE)]
        if rows:
            later = [row for row in rows if row > self.contents.currentRow()]
            self.contents.setCurrentRow((later or rows)[0])
            self.text.moveCursor(QTextCursor.MoveOperation.Start)
            self.text.find(word)

    def _mark(self) -> None:
        """Mark every place on the page that has the search word."""
        word, marks = self.search.text().strip(), []
        cursor = self.text.document().find(word) if word else QTextCursor()
        while not cursor.isNull():
            mark = QTextEdit.ExtraSelection()
            mark.cursor = cursor  # type: ignore[attr-defined]
            mark.format.setBackground(QColor(theme.current().accent_soft))  # type: ignore[attr-defined]
            marks.append(mark)
            cursor = self.text.document().find(word, cursor)
        self.text.setExtraSelections(marks)

    def _on_missed(self, name: str) -> None:
        self.found.setText(tr("{name} is only in the source code", name=name))
        self.found.show()

    def _on_chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None and item.data(_PAGE):
            self.show_page(Path(item.data(_PAGE)))

    def _on_page(self, url: QUrl) -> None:
        """Select the page on show in the contents; `source()` is still the page before it."""
        self._page = url.toLocalFile()
        self._select()

    def _select(self) -> None:
        path = self._page
        self.contents.blockSignals(True)
        rows = [row for row in range(self.contents.count()) if self.contents.item(row).data(_PAGE) == path]
        self.contents.setCurrentRow(rows[0] if rows else -1)
        self.contents.blockSignals(False)
        self._mark()


def _fragment(heading: str) -> str:
    """Return the fragment of a link to a heading: lower case, dashes for blanks, no other signs."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())
