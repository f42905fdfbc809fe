"""Settings > Game: which key and which gamepad button does what while the game is played."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QTableWidget, QTableWidgetItem, QVBoxLayout, QWidget

from gui.controllers.gamepad import Gamepad
from gui.keymap import ACT_OF_NAME, PLAY_ACTS
from gui.models.game_keys import GameKeys, is_bindable
from gui.widgets.labels import button, label, set_role
from gui.words import tr


class GameKeysPage(QWidget):
    """Choose a row, press *Change*, then the key or the gamepad's button; Esc leaves it."""

    def __init__(self, keys: GameKeys, gamepad: Gamepad) -> None:
        super().__init__()
        self._keys, self._gamepad = keys, gamepad
        self._is_waiting = False
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self.table = QTableWidget(len(PLAY_ACTS), 3)
        self.table.setObjectName("gameKeysTable")
        self.table.setAccessibleName(tr("Keys and gamepad buttons of the game"))
        self.table.setHorizontalHeaderLabels([tr("Does"), tr("Key"), tr("Gamepad")])
        self.table.verticalHeader().hide()
        self.table.setShowGrid(False)
        self.table.setTabKeyNavigation(False)
        self.table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        column.addWidget(self.table, 1)
        row = QHBoxLayout()
        self.change = button(tr("Change"), "changeGameKeyButton", clicked=self._wait)
        self.change.installEventFilter(self)
        row.addWidget(self.change)
        row.addWidget(button(tr("All as they came"), "resetGameKeysButton", clicked=keys.reset))
        row.addStretch(1)
        column.addLayout(row)
        self.told = label("", "muted", wrap=True)
        self.told.setObjectName("gameKeysTold")
        column.addWidget(self.told)
        keys.changed.connect(self._fill)
        gamepad.button.connect(self._on_pad)
        self._fill()
        self.table.selectRow(0)
        self._tell(self._pad_words())

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self._gamepad.listen()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().hideEvent(event)
        self._gamepad.rest()  # the live view listens again when it gets the focus

    def _pad_words(self) -> str:
        if self._gamepad.why_not:
            return tr("No gamepad can be used: {why}", why=self._gamepad.why_not)
        name = self._gamepad.name
        return tr("Gamepad: {name}", name=name) if name else tr("No gamepad is connected.")

    def _fill(self) -> None:
        for row, act in enumerate(PLAY_ACTS):
            words = (tr(act.words), self._keys.key_words(act.name), self._keys.pad_words(act.name))
            for column, text in enumerate(words):
                self.table.setItem(row, column, QTableWidgetItem(text))

    def _chosen(self) -> str:
        return PLAY_ACTS[max(0, self.table.currentRow())].name

    def _wait(self) -> None:
        self._is_waiting = True
        self.change.setFocus()
        self._tell(tr("Press the key or the gamepad button; Esc keeps what there is."))

    def eventFilter(self, watched, event) -> bool:  # type: ignore[no-untyped-def]
        if self._is_waiting and event.type() == QEvent.Type.FocusOut:
            self._is_waiting = False
            self._tell(self._pad_words())
        if self._is_waiting and event.type() in (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress):
            event.accept()
            if event.type() == QEvent.Type.KeyPress:
                self._on_key(event)
            return True
        return super().eventFilter(watched, event)

    def _on_key(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not is_bindable(key):
            return
        self._is_waiting = False
        if key == Qt.Key.Key_Escape and self._chosen() != "leave":
            self._tell(self._pad_words())
            return
        try:
            self._keys.set_key(self._chosen(), key)
        except ValueError as clash:
            self._refuse(QKeySequence(key).toString(), str(clash))
        else:
            self._tell(self._pad_words())

    def _on_pad(self, name: str, pressed: bool) -> None:
        if not (self._is_waiting and pressed):
            return
        self._is_waiting = False
        try:
            self._keys.set_pad(self._chosen(), name)
        except ValueError as clash:
            self._refuse(name, str(clash))
        else:
            self._tell(self._pad_words())

    def _refuse(self, what: str, holder: str) -> None:
        words = tr(ACT_OF_NAME[holder].words)
        self._tell(tr("{what} is already: {words}", what=what, words=words), "warn")

    def _tell(self, text: str, role: str = "muted") -> None:
        set_role(self.told, "role", role)
        self.told.setText(text)
