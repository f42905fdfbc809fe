"""Games tab: list of games with thumbnails; play one, open another file, find one that was moved."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from gui.features.games.controller import LibraryController
from gui.features.games.model import RomCard
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.labels import ElidedLabel, label, set_role
from gui.kit.words import tr

PICTURE = QSize(160, 144)
_KEY = Qt.ItemDataRole.UserRole


class GamesView(QWidget):
    def __init__(self, controller: LibraryController, actions: ActionRegistry) -> None:
        super().__init__()
        self.setObjectName(names.GAMES_VIEW)
        self._controller, self._library = controller, controller.library
        self.list = named(QListWidget(), names.GAME_LIST, tr("Games, last played first; Enter plays"))
        self.list.setViewMode(QListWidget.ViewMode.IconMode)
        self.list.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.list.setMovement(QListWidget.Movement.Static)
        self.list.setIconSize(PICTURE)
        self.list.setGridSize(QSize(PICTURE.width() + 24, PICTURE.height() + 40))
        self.list.setWordWrap(True)
        self.list.currentItemChanged.connect(self._on_current)
        self.list.itemActivated.connect(lambda item: controller.play(item.data(_KEY)))
        self.title = label("")
        self.facts = ElidedLabel("", "muted")
        self.note = ElidedLabel("", "muted")
        self.stage = named(label("", "muted", wrap=True), "nextStage")
        row = hbox(spacing=4)
        for action, name in (
            ("playRom", names.PLAY_ROM_BUTTON),
            ("makeStage", "makeStageButton"),
            ("locateRom", names.LOCATE_ROM_BUTTON),
            ("forgetRom", names.FORGET_ROM_BUTTON),
        ):
            row.addWidget(action_button(actions[action], name, primary=action == "playRom"))
        put(row, 1, action_button(actions["openRom"], names.OPEN_ROM_BUTTON))
        below = vbox(margins=(8, 8, 8, 8), spacing=4)
        for widget in (self.title, self.facts, self.note, self.stage):
            below.addWidget(widget)
        below.addLayout(row)
        column = vbox(self, spacing=0)
        put(column, (self.list, 1), below)
        self._library.changed.connect(self._reload)
        self._library.selection_changed.connect(self._show_selected)
        self._reload()

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self._library.reload()
        self._controller.look()

    def _reload(self) -> None:
        self.list.blockSignals(True)
        self.list.clear()
        for card in self._library.cards:
            item = QListWidgetItem(self._picture(card), card.title)
            item.setData(_KEY, card.key)
            item.setToolTip(card.problem or str(card.path))
            if card.problem:
                item.setForeground(Qt.GlobalColor.gray)
            self.list.addItem(item)
        self.list.blockSignals(False)
        self._show_selected()

    def _picture(self, card: RomCard) -> QIcon:
        found = self._controller.picture_of(card)
        if found is None:
            blank = QPixmap(PICTURE)
            blank.fill(theme.current().raised)
            return QIcon(blank)
        icon, shown = QIcon(), QPixmap.fromImage(found.scaled(PICTURE))
        icon.addPixmap(shown)
        icon.addPixmap(shown, QIcon.Mode.Selected)  # else Qt tints it
        return icon

    def _on_current(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self._library.select(item.data(_KEY))

    def _show_selected(self) -> None:
        library = self._library
        card = library.card(library.selected)
        for row in range(self.list.count()):
            if card is not None and self.list.item(row).data(_KEY) == card.key:
                self.list.setCurrentRow(row)
        self.title.setText(card.title if card else tr("No game yet"))
        problem = card.problem if card else ""
        place = f"   {card.path}" if card and not card.lacks_rom else ""
        self.facts.setText(card.facts + place if card else library.error)
        self.note.setText(problem or ("; ".join(card.warnings) if card else ""))
        set_role(self.note, "role", "error" if problem and card and not card.lacks_rom else "warn")
        stage = card.stages[0] if card and card.stages and not problem else None
        self.stage.setVisible(stage is not None)
        if stage is not None:
            begin, goal = stage.start, stage.goal
            self.stage.setText(
                tr("Next stage: {title}. Start: {start} Goal: {goal}", title=stage.title, start=begin, goal=goal)
            )
