"""Log dock: stderr of trainers and players, changes of state, output lines that are no valid records."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication, QHideEvent, QShowEvent, QTextCursor
from PySide6.QtWidgets import QAbstractSlider, QComboBox, QPlainTextEdit, QStackedWidget, QWidget

from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import every, named, put, vbox
from gui.kit.containers import Dock, empty_page
from gui.kit.labels import KeyButton, clear_by_escape, icon_button, label, search_field
from gui.kit.words import tr
from gui.state.log_buffer import LEVELS, MAX_LINES, LogBuffer, LogLine

FLUSH_MS = 250
BUSY_MS = 25
_TO_END = QAbstractSlider.SliderAction.SliderToMaximum
SLICE = 100
"""Most lines inserted in one event loop turn, about 10 ms of work, so that the game's picture keeps moving."""


class LogDock(Dock):
    """Log view; keeps its scroll position when new lines come, unless it is scrolled to the end."""

    def __init__(self, buffer: LogBuffer, actions: ActionRegistry) -> None:
        super().__init__(tr("Log"), names.LOG_DOCK)
        self._buffer, self._follows = buffer, True
        self.view = named(QPlainTextEdit(), names.LOG_VIEW, tr("Log"))
        self.view.setReadOnly(True)
        self.view.setMaximumBlockCount(MAX_LINES)
        self.view.setFont(theme.mono_font())
        self.view.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.view.setTabChangesFocus(True)
        self.view.setStyleSheet("QPlainTextEdit { border: none; border-radius: 0; }")
        self.level = named(QComboBox(), "logLevel", tr("Lowest level shown"))
        self.level.addItems([tr(level) for level in LEVELS])
        self.level.currentIndexChanged.connect(self._rebuild)
        self.search = search_field("logFind", tr("Show only lines that contain this"), tr("Filter"))
        self.search.setFixedWidth(160)
        self.search.textChanged.connect(self._rebuild)
        for widget in (self.level, self.search):
            self.head.addWidget(widget)
        file = action_button(actions["openLog"], "openLogButton")
        file.setProperty("role", "small")
        put(self.head, file, icon_button("copy", tr("Copy the log"), clicked=self._copy))
        body = QWidget()
        column = vbox(body)
        self.setWidget(body)
        self._missing, self._why = label(), label("", "caption")
        self._clear = KeyButton(tr("Clear filter"), tr("Esc"))
        self._clear.clicked.connect(self.search.clear)
        self._empty = empty_page(self._missing, self._why, self._clear)
        clear_by_escape(self.search, self)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.view)
        self._stack.addWidget(self._empty)
        column.addWidget(self._stack)
        self._tell()
        self._timer = every(self, FLUSH_MS, self.flush)

    def showEvent(self, event: QShowEvent) -> None:
        """Scroll to the end after the log was hidden, unless the user had left it: a hidden view has no length."""
        super().showEvent(event)
        if self._follows:
            QTimer.singleShot(0, self, lambda: self.view.verticalScrollBar().triggerAction(_TO_END))

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        bar = self.view.verticalScrollBar()
        self._follows = bar.value() >= bar.maximum() - 2

    def flush(self) -> None:
        """Insert up to SLICE new lines from the buffer."""
        taken = self._buffer.take_new(SLICE)
        lines = [f"{line.clock}  {line.text}" for line in taken if self._shows(line)]
        if lines:
            self._append(lines)
        if taken:
            self._tell()
        self._timer.setInterval(BUSY_MS if len(taken) >= SLICE else FLUSH_MS)

    def _tell(self) -> None:
        """Show a page that says why there is no line, while there is none."""
        text = self.search.text()
        self._stack.setCurrentIndex(1 if self.view.document().isEmpty() else 0)
        self._missing.setText(tr("No line contains “{text}”", text=text) if text else tr("Nothing logged yet"))
        hidden = len(self._buffer.lines)
        self._why.setText(tr("{count} lines are hidden by level and filter", count=hidden) if hidden else "")
        self._clear.setVisible(bool(text))

    def _append(self, lines: list[str]) -> None:
        bar = self.view.verticalScrollBar()
        follows = bar.value() >= bar.maximum() - 2
        place = bar.value()
        cursor = QTextCursor(self.view.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        blank = self.view.document().isEmpty()
        before = self.view.document().blockCount()
        cursor.insertText(("" if blank else "\n") + "\n".join(lines))
        if follows:
            bar.setValue(bar.maximum())
        else:
            # Blocks dropped at the top move the text up; scroll to the same lines.
            dropped = max(0, before + len(lines) - MAX_LINES - blank)
            bar.setValue(max(0, place - dropped))

    def _shows(self, line: LogLine) -> bool:
        wanted = self.search.text().lower()
        return line.level >= self.level.currentIndex() and wanted in line.text.lower()

    def _rebuild(self) -> None:
        self._buffer.start_over()
        self.view.clear()
        self.flush()
        self._tell()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.view.toPlainText())
