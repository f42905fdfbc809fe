"""The tab *Episodes*: what a language model was asked, what it answered, what that earned.

There is such a tab only while a run in focus is of a runner with the capability `episodes`. The
files are the library's; this reads the ones of one training step at a time.
"""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QHeaderView, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from gui import object_names as names
from gui import theme
from gui.models.run_telemetry import TelemetryModel
from gui.models.session import Session
from gui.widgets.labels import label
from gui.words import tr
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.text_episodes import EpisodeBatch, TextEpisode, batches, read_batch

WAITING = "Nothing is kept yet: a run keeps some answers of each validation"
MODES = {"val": "validation", "train": "training"}


class EpisodesTab(QWidget):
    def __init__(self, model: TelemetryModel, session: Session, home: HomePaths) -> None:
        super().__init__()
        self._model, self._home = model, home
        self._with_text = {r.id for r in session.runners if r.capabilities.episodes}
        self._batches: list[EpisodeBatch] = []
        self._shown: list[TextEpisode] = []
        self._stamp = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        self.heading = label(tr(WAITING), "muted", wrap=True)
        column.addWidget(self.heading)
        self.choice = QComboBox()
        self.choice.setAccessibleName(tr("Training step"))
        self.choice.currentIndexChanged.connect(self._show_batch)
        column.addWidget(self.choice)
        self.table = QTreeWidget()
        self.table.setObjectName(names.EPISODES_TABLE)
        self.table.setAccessibleName(tr("Questions and answers"))
        self.table.setRootIsDecorated(False)
        self.table.setFont(theme.mono_font())
        self.table.setHeaderLabels([tr("Question"), tr("Answer"), tr("Reward")])
        self.table.header().setStretchLastSection(False)
        self.table.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.table.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        column.addWidget(self.table, 1)

    @property
    def is_wanted(self) -> bool:
        run = self._model.runs.get(self._model.focus)
        meta = run.meta if run else None
        return meta is not None and meta.runner in self._with_text

    def refresh(self) -> None:
        """Look for new steps; one who looks at an older step goes on seeing that."""
        if not self.isVisible() or not self.is_wanted:
            return
        found = batches(self._home.run(self._model.focus).root)
        if found == self._batches:
            if self._stamp != self._stamp_now():
                self._show_batch()
            return
        kept = self._kept_choice()
        self._batches = found
        self.choice.blockSignals(True)
        self.choice.clear()
        for batch in found:
            self.choice.addItem(tr("Step {step}, {mode}", step=f"{batch.step:,}", mode=tr(MODES[batch.mode])))
        self.choice.setCurrentIndex(found.index(kept) if kept in found else 0)
        self.choice.blockSignals(False)
        self._show_batch()

    def _kept_choice(self) -> EpisodeBatch | None:
        """The older step that is on show; None follows the newest."""
        return self._batch if self.choice.currentIndex() > 0 else None

    @property
    def _batch(self) -> EpisodeBatch | None:
        index = self.choice.currentIndex()
        return self._batches[index] if 0 <= index < len(self._batches) else None

    def _stamp_now(self) -> int:
        """Changes while files come in."""
        try:
            return self._batch.folder.stat().st_mtime_ns if self._batch else 0
        except OSError:
            return 0

    def _show_batch(self) -> None:
        self._stamp = self._stamp_now()
        self._shown = read_batch(self._batch) if self._batch else []
        self.table.clear()
        self.table.addTopLevelItems([_row(episode) for episode in self._shown])
        right = sum(episode.is_right is True for episode in self._shown)
        self.heading.setText(
            tr("{right} of {count} right", right=right, count=len(self._shown)) if self._shown else tr(WAITING)
        )


def _row(episode: TextEpisode) -> QTreeWidgetItem:
    reward = "" if episode.reward is None else f"{episode.reward:.2f}"
    mark = {True: "\u2713 ", False: "\u2717 ", None: ""}[episode.is_right]
    row = QTreeWidgetItem([_line(episode.question), _line(episode.answer), mark + reward])
    for place in range(3):
        row.setToolTip(place, episode.text)
    return row


def _line(text: str) -> str:
    return " ".join(text.split())
