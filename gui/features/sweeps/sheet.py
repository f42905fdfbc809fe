"""Form of a sweep: fields to vary and their values, the resulting command, consent, Start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from gui.features.sweeps.controller import RULES, SEARCHES, SweepDraft
from gui.kit import theme
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.dialogs import Sheet
from gui.kit.labels import button, choice_box, label, spin_box
from gui.kit.words import tr

MAX_JOBS, MAX_SEEDS, MAX_TRIALS = 64, 20, 1000


class SweepSheet(Sheet):
    """Form of a sweep; `fields` are (name, label) that may be varied, `begin` is called when the user starts it."""

    def __init__(
        self,
        parent: QWidget,
        draft: SweepDraft,
        fields: Sequence[tuple[str, str]],
        refusal: Callable[[], str],
        begin: Callable[[], object],
    ) -> None:
        super().__init__(parent, "sweepSheet", tr("Sweep"))
        self.setMinimumWidth(520)
        self._draft, self._fields = draft, fields
        self._refusal, self._begin = refusal, begin
        column = vbox(self, margins=(16, 12, 16, 12), spacing=8)
        column.addWidget(
            label(
                tr(
                    "Trains the run in the form once for each value. Enter values such as 1e-3, 5e-4, or for random"
                    " draws a range such as 1e-4..1e-2 or log:1e-4..1e-2."
                ),
                "muted",
                wrap=True,
            )
        )
        put(column, self._axes(), self._rules())
        self.line = named(label("", wrap=True), "sweepLine", tr("The same sweep from a terminal"))
        self.line.setFont(theme.mono_font())
        self.line.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        put(column, self.line, self._feet())
        draft.changed.connect(self._show)
        self.finished.connect(lambda: draft.changed.disconnect(self._show))
        self._show()

    def _axes(self) -> QVBoxLayout:
        rows = vbox(spacing=4)
        self._rows: list[tuple[QComboBox, QLineEdit]] = []
        for number, (name, said) in enumerate(self._draft.texts.rows):
            box = choice_box(f"sweepField{number}", tr("Setting {number}", number=number + 1), self._fields, name)
            told = tr("Values of setting {number}", number=number + 1)
            line = named(QLineEdit(said), f"sweepValues{number}", told)
            line.setPlaceholderText(tr("not varied"))
            box.activated.connect(self._take)
            line.textEdited.connect(self._take)
            row = QHBoxLayout()
            put(row, (box, 2), (line, 3))
            rows.addLayout(row)
            self._rows.append((box, line))
        return rows

    def _rules(self) -> QFormLayout:
        texts = self._draft.texts
        self.search = choice_box("sweepSearch", tr("Settings"), _told(SEARCHES), texts.search)
        self.trials = spin_box("sweepTrials", tr("Random draws"), 1, MAX_TRIALS, texts.trials)
        self.seeds = spin_box("sweepSeeds", tr("Seeds per setting"), 1, MAX_SEEDS, texts.seeds)
        self.rule = choice_box("sweepRule", tr("Stop early"), _told(RULES), texts.rule)
        self.jobs = spin_box("sweepJobs", tr("Trials at the same time"), 1, MAX_JOBS, texts.jobs)
        self.steps = spin_box("sweepSteps", tr("Stop each trial after steps"), 1, 2_000_000_000, texts.steps)
        self.steps.setSingleStep(10_000)
        self.steps.setGroupSeparatorShown(True)
        for box in (self.search, self.rule):
            box.activated.connect(self._take)
        for spin in (self.trials, self.seeds, self.jobs, self.steps):
            spin.valueChanged.connect(self._take)
        settings = QHBoxLayout()
        put(settings, (self.search, 1), self.trials)
        form = self._form = QFormLayout()
        form.setVerticalSpacing(4)
        form.addRow(tr("Settings"), settings)
        form.addRow(tr("Seeds per setting"), self.seeds)
        form.addRow(tr("Stop each trial after steps"), self.steps)
        form.addRow(tr("Stop early"), self.rule)
        form.addRow(tr("Trials at the same time"), self.jobs)
        return form

    def _feet(self) -> QHBoxLayout:
        self.told = named(label("", "muted", wrap=True), "sweepTold")
        self.consent = QCheckBox(tr("Run this command on this computer"))
        self.consent.setObjectName("sweepConsent")
        self.consent.setAccessibleName(tr("I have read the command; run it on this computer"))
        self.consent.toggled.connect(self._show)
        self.start = button(tr("Start sweep"), "sweepStart", primary=True, clicked=self._agree)
        row = hbox(spacing=8)
        put(row, (self.told, 1), self.consent, button(tr("Cancel"), "sweepCancel", clicked=self.reject), self.start)
        return row

    def _take(self) -> None:
        self.consent.setChecked(False)  # the consent was given to another command
        self._draft.set(
            rows=[(str(box.currentData()), line.text()) for box, line in self._rows],
            search=str(self.search.currentData()),
            trials=self.trials.value(),
            seeds=self.seeds.value(),
            rule=str(self.rule.currentData()),
            jobs=self.jobs.value(),
            steps=self.steps.value(),
        )

    def _show(self) -> None:
        draft, refusal = self._draft, self._refusal()
        self._form.setRowVisible(self.steps, draft.needs_end)
        self.trials.setVisible(draft.texts.search == "random")
        self.line.setText(draft.line)
        self.told.setText(refusal or tr("{count} trials", count=draft.trials))
        self.consent.setEnabled(not refusal)
        lacks = refusal or ("" if self.consent.isChecked() else tr("Tick the box to start"))
        self.start.setEnabled(not lacks)
        self.start.setToolTip(lacks)

    def _agree(self) -> None:
        self.accept()
        self._begin()


def _told(choices: dict[str, str]) -> Iterable[tuple[str, str]]:
    return ((value, tr(text)) for value, text in choices.items())
