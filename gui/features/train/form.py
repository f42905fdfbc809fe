"""Form widget for a ConfigDraft, built from the fields of the draft's runner."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QGridLayout, QLineEdit, QWidget

from gui.features.train.draft import ConfigDraft
from gui.kit.boxes import hbox, keep_room, vbox
from gui.kit.containers import Section
from gui.kit.dialogs import begin_folder
from gui.kit.labels import LABEL_WIDTH, ElidedBox, ElidedLabel, icon_button, label, set_role
from gui.kit.object_names import CONFIG_FORM
from gui.kit.words import as_python, in_language, tr
from gui.state.config_fields import GROUPS, FieldSpec
from trainer_core.runners.catalog import AgentRunner
from trainer_core.wire.algorithms import ALGORITHMS
from trainer_core.wire.spec import NATIVE_ID

LIMITS = {"seconds", "total_env_steps", "max_episodes", "target_success"}
"""Fields in which 0 means no limit: the form shows an empty field that says so."""
UNITS = {"seconds": ("min", 60.0), "target_success": ("%", 0.01)}
"""Unit that the form shows for a field, and its size in the unit of the configuration."""
SUFFIXES = {"%": 0.01, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Units that may be typed behind a number, with their sizes."""
_NUMBER = re.compile(r"([-+\d.,]+)\s*(%|s|min|h)?")
_TIP = Qt.ItemDataRole.ToolTipRole


class ConfigForm(QWidget):
    """Form of a ConfigDraft in foldable sections; every edit is written to the draft at once."""

    def __init__(self, draft: ConfigDraft, hides: Callable[[str], bool] = lambda name: False) -> None:
        """Build the form; `hides` returns whether a field that has its default value is left out for now."""
        super().__init__()
        self.setObjectName(CONFIG_FORM)
        self._draft, self._hides = draft, hides
        self._rows: dict[str, _Row] = {}
        self._sections: dict[str, Section] = {}
        self._offered: dict[str, Mapping[str, str]] = {"device": {"cpu": "cpu", "cuda:0": "cuda:0"}}
        self._open = {"basics"}
        self._column = vbox(self, margins=(8, 4, 8, 4), spacing=0)
        draft.changed.connect(lambda name: self.refresh())
        self._build()

    def _rebuild(self) -> None:
        self._open = {group for group, section in self._sections.items() if section.is_open}
        while (item := self._column.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self._rows, self._sections = {}, {}
        self._build()

    def _build(self) -> None:
        self._specs = self._drawn()
        for group, title in GROUPS.items():
            specs = [spec for spec in self._specs if spec.group == group]
            if not specs:
                continue
            section = Section(tr(title), is_open=group in self._open)
            grid = QGridLayout()
            grid.setHorizontalSpacing(8)
            grid.setVerticalSpacing(2)
            grid.setColumnMinimumWidth(0, LABEL_WIDTH)
            grid.setColumnStretch(1, 1)
            for spec in specs:
                row = _Row(spec, self._offered.get("dataset" if spec.is_dataset else spec.name) or _words(spec))
                row.edited.connect(self._draft.set_text)
                row.reset.connect(self._draft.reset)
                row.add_to(grid)
                self._rows[spec.name] = row
            section.body.addLayout(grid)
            self._column.addWidget(section)
            self._sections[group] = section
        self._column.addStretch(1)
        self.refresh()

    def _drawn(self) -> list[FieldSpec]:
        """Return the fields to show.

        The task is only shown for runners with tasks of their own, and for several tasks; else the agent dock has it.
        """
        runner = self._draft.runner
        is_guest = runner.id != NATIVE_ID
        has_own_tasks = is_guest and type(runner).check_task is not AgentRunner.check_task
        has_own_tasks = has_own_tasks or "," in self._draft.text("task")
        return [
            spec
            for spec in self._draft.fields
            if (has_own_tasks if spec.name == "task" else not self._is_hidden(spec.name))
        ]

    def _is_hidden(self, name: str) -> bool:
        return self._hides(name) and not self._draft.is_changed(name)

    def editor(self, name: str) -> QWidget:
        """Return the widget that edits the field `name`; its objectName is `field_<name>`."""
        return self._rows[name].editor

    def set_options(self, name: str, options: Mapping[str, str]) -> None:
        """Offer values for the field `name`, or for fields that take a `dataset`, with the text of each."""
        self._offered[name] = options
        for spec in self._specs:
            if name == ("dataset" if spec.is_dataset else spec.name):
                self._rows[spec.name].set_options(options)
                self.refresh()

    def refresh(self) -> None:
        if self._drawn() != self._specs:  # of another runner, or several tasks now
            self._rebuild()
            return
        errors = self._draft.errors
        for name, row in self._rows.items():
            row.show_value(self._draft.text(name), self._draft.is_changed(name), errors.get(name, ""))
        for group, section in self._sections.items():
            names = [spec.name for spec in self._drawn() if spec.group == group]
            wrong = sum(name in errors for name in names)
            changed = sum(self._draft.is_changed(name) for name in names)
            text = (
                tr("{wrong} invalid", wrong=wrong)
                if wrong
                else tr("{changed} changed", changed=changed)
                if changed
                else ""
            )
            section.note.setText(text)
            set_role(section.note, "role", "error" if wrong else "muted")


class ChoiceBox(ElidedBox):
    """Combo box that ignores the mouse wheel, so that scrolling the form does not change a value."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class _Row(QObject):
    """Widgets of one field: label, editor, unit, and a dot whose click restores the default."""

    edited = Signal(str, str)
    reset = Signal(str)

    def __init__(self, spec: FieldSpec, options: Mapping[str, str]) -> None:
        super().__init__()
        self._spec = spec
        self.label = ElidedLabel(tr(spec.label), "muted")
        self.label.setFixedWidth(LABEL_WIDTH)
        self.label.setToolTip(f"{tr(spec.label)}: {tr(spec.help)}")
        self.editor: QWidget
        if spec.kind is bool:
            self.editor = QCheckBox()
            self.editor.toggled.connect(lambda on: self._send("true" if on else "false"))
        elif options or spec.is_dataset:
            self.editor = ChoiceBox()
            self.editor.setEditable(not spec.choices)
            self.editor.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            self.editor.setMinimumContentsLength(6)
            self.set_options(options)
            self.editor.currentTextChanged.connect(self._send)
        else:
            self.editor = QLineEdit()
            self.editor.textEdited.connect(self._send)
            if spec.kind in (int, float):
                self.editor.setAlignment(Qt.AlignmentFlag.AlignRight)
            if spec.kind is str:
                self.editor.setPlaceholderText(tr("this computer") if spec.name == "on" else tr("none"))
            if spec.name in LIMITS:
                self.editor.setPlaceholderText(tr("No limit"))
        self.editor.setObjectName(f"field_{spec.name}")
        self.editor.setProperty("compact", True)
        if isinstance(self.editor, QComboBox) and (line := self.editor.lineEdit()) is not None:
            line.setAccessibleName(tr(spec.label))
        unit = tr(UNITS[spec.name][0] if spec.name in UNITS else spec.unit)
        self.editor.setAccessibleName(f"{tr(spec.label)}, {unit}" if unit else tr(spec.label))
        self.editor.setAccessibleDescription(tr(spec.help))
        self.label.setBuddy(self.editor)
        self._unit = label(unit, "muted")
        self._dot = icon_button("restart", tr("Reset {label} to its default", label=tr(spec.label)))
        self._dot.setFixedSize(20, 20)
        self._dot.clicked.connect(lambda: self.reset.emit(spec.name))
        keep_room(self._dot)

    def add_to(self, grid: QGridLayout) -> None:
        line = grid.rowCount()
        grid.addWidget(self.label, line, 0)
        box = hbox(spacing=4)
        box.addWidget(self.editor, 1)
        if self._unit.text():
            box.addWidget(self._unit)
        if self._spec.is_folder or self._spec.is_file:
            name = f"browse_{self._spec.name}"
            box.addWidget(icon_button("folder", self._question(), name, clicked=self._browse))
        grid.addLayout(box, line, 1)
        grid.addWidget(self._dot, line, 2)

    def set_options(self, options: Mapping[str, str]) -> None:
        if isinstance(self.editor, QComboBox):
            text = self.editor.currentText()
            self.editor.blockSignals(True)
            self.editor.clear()
            for value, words in options.items():
                self.editor.addItem(words, value)
                self.editor.setItemData(self.editor.count() - 1, _caution(self._spec, value), _TIP)
            self.editor.setCurrentText(text)
            self.editor.blockSignals(False)

    def show_value(self, text: str, changed: bool, error: str) -> None:
        editor = self.editor
        editor.blockSignals(True)
        if isinstance(editor, QCheckBox):
            editor.setChecked(text == "true")
        elif isinstance(editor, QComboBox):
            self._show_choice(editor, text)
        elif isinstance(editor, QLineEdit) and from_form(self._spec, editor.text()) != text:
            editor.setText(to_form(self._spec, text))
        editor.blockSignals(False)
        if self._unit.text():  # else it is in no layout, and would be a window
            self._unit.setVisible(not isinstance(editor, QLineEdit) or bool(editor.text()))
        self._dot.setVisible(changed)
        set_role(editor, "invalid", bool(error))
        shown = f"{text}\n{_help(self._spec)}" if isinstance(editor, QComboBox) else _help(self._spec)
        editor.setToolTip(error or shown)

    @staticmethod
    def _show_choice(editor: QComboBox, text: str) -> None:
        index = editor.findData(text)
        if index < 0 and not editor.isEditable():
            editor.addItem(text, text)  # a value from elsewhere, such as another run's
            index = editor.count() - 1
        if index >= 0:
            editor.setCurrentIndex(index)
        elif editor.currentText() != text:
            editor.setCurrentText(text)
        if (line := editor.lineEdit()) is not None and not line.hasFocus():
            line.setCursorPosition(0)  # show a long id from its beginning

    def _question(self) -> str:
        name = tr(self._spec.label)
        if self._spec.is_file:
            return tr("Choose the file of {label}", label=name)
        return tr("Choose the folder of {label}", label=name)

    def _browse(self) -> None:
        begin = self.editor.text() if isinstance(self.editor, QLineEdit) else ""
        asked = self.editor.window(), self._question(), begin or begin_folder()
        if self._spec.is_file:
            path, _ = QFileDialog.getOpenFileName(*asked)
        else:
            path = QFileDialog.getExistingDirectory(*asked)
        if path:
            self._send(path)

    def _send(self, text: str) -> None:
        if isinstance(self.editor, QComboBox) and (index := self.editor.findText(text)) >= 0:
            text = self.editor.itemData(index)
        self.edited.emit(self._spec.name, from_form(self._spec, text))


def _words(spec: FieldSpec) -> dict[str, str]:
    """Return the text of each choice of a field by its value; algorithms are written in capitals."""
    return {value: value.upper() if spec.name == "algo" else value for value in spec.choices}


def _caution(spec: FieldSpec, value: str) -> str:
    """Return what an algorithm is known not to learn; empty for others and for any other field."""
    row = ALGORITHMS.get(value) if spec.name == "algo" else None
    return tr(row.caution.partition(" (")[0]) if row else ""


def to_form(spec: FieldSpec, text: str) -> str:
    """Return the text of the draft as the form shows it: in its unit and the app's language, and empty for no limit."""
    if spec.name in LIMITS and text.strip() in ("0", "0.0"):
        return ""
    number = _number(text) if spec.name in UNITS else None
    text = text if number is None else f"{number / UNITS[spec.name][1]:.6g}"
    return in_language(text) if spec.kind in (int, float) else text


def from_form(spec: FieldSpec, text: str) -> str:
    """Return the text for the draft of what was typed in the form: in the unit of the configuration, 0 for no limit."""
    if spec.name in LIMITS and not text.strip():
        return "0"
    text = as_python(text) if spec.kind in (int, float) else text
    if spec.name not in UNITS:
        return text
    found = _NUMBER.fullmatch(text.strip().lower())
    number = _number(found[1]) if found else None
    if found is None or number is None:
        return text
    return f"{number * SUFFIXES.get(found[2], UNITS[spec.name][1]):.6g}"


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _help(spec: FieldSpec) -> str:
    parts = [tr(spec.help)]
    if spec.minimum is not None and spec.maximum is not None:
        parts.append(tr("{show} to {show2}.", show=spec.words(spec.minimum), show2=spec.words(spec.maximum)))
    parts.append(tr("Default {show}.", show=spec.words(spec.default)))
    return " ".join(part for part in parts if part)
