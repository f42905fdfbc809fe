"""Small forms on a run: the colour of its curves; its name, tags and notes."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QLineEdit, QMenu, QPlainTextEdit, QWidget

from gui.kit import theme
from gui.kit.boxes import put, vbox
from gui.kit.dialogs import Sheet
from gui.kit.labels import button, label
from gui.kit.words import tr
from gui.state.run_notes import Note

COLOR_CHOICES = 12
SWATCH = 14
MOST_NOTE_CHARACTERS = 4000


def color_menu(parent: QWidget, current: int | None, choose: Callable[[int | None], None]) -> QMenu:
    """Return a menu of curve colours.

    `current` and the argument of `choose` are numbers of `theme.curve_color`; None means an automatic colour.
    """
    menu = QMenu(parent)
    free = menu.addAction(tr("Automatic"))
    free.setCheckable(True)
    free.setChecked(current is None)
    free.triggered.connect(lambda: choose(None))
    menu.addSeparator()
    for number in range(COLOR_CHOICES):
        swatch = QPixmap(SWATCH, SWATCH)
        swatch.fill(theme.curve_color(number))
        action = menu.addAction(QIcon(swatch), tr("Colour {number}", number=number + 1))
        action.setCheckable(True)
        action.setChecked(number == current)
        action.triggered.connect(lambda _=False, number=number: choose(number))
    return menu


class RunNoteForm(Sheet):
    """Dialog for a run's name, tags and notes; when the user confirms, `then` is called with name and note."""

    def __init__(self, parent: QWidget, name: str, note: Note, then: Callable[[str, Note], object]) -> None:
        super().__init__(parent, "runNoteForm", tr("Name, tags and notes"))
        self._then = then
        self.name, self.tags = QLineEdit(name), QLineEdit(" ".join(note.tags))
        self.name.setMaxLength(60)
        self.name.setObjectName("runNameEdit")
        self.name.setAccessibleName(tr("Name"))
        self.tags.setMaxLength(200)
        self.tags.setObjectName("runTagsEdit")
        self.tags.setAccessibleName(tr("Tags"))
        self.tags.setPlaceholderText(tr("words, separated by spaces"))
        self.notes = QPlainTextEdit(note.text)
        self.notes.setAccessibleName(tr("Notes"))
        self.notes.setTabChangesFocus(True)
        self.notes.setMinimumSize(320, 96)
        self.notes.setPlaceholderText(tr("Markdown"))
        column = vbox(self, margins=(24, 16, 24, 16), spacing=16)
        form = QFormLayout()
        form.setSpacing(8)
        for text, field in ((tr("Name"), self.name), (tr("Tags"), self.tags), (tr("Notes"), self.notes)):
            form.addRow(label(text, "muted"), field)
        column.addLayout(form)
        row = QHBoxLayout()
        put(row, 1, button(tr("Cancel"), clicked=self.reject))
        keep = button(tr("Save"), "keepNoteButton", primary=True, clicked=self.accept)
        keep.setDefault(True)
        row.addWidget(keep)
        column.addLayout(row)

    def accept(self) -> None:
        tags = tuple(dict.fromkeys(self.tags.text().replace("#", " ").split()))
        text = self.notes.toPlainText().strip()[:MOST_NOTE_CHARACTERS]
        self._then(self.name.text().strip(), Note(tags, text))
        super().accept()
