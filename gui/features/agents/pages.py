"""Tabs of the telemetry dock: an agent's beliefs, and the questions to a language model with its answers."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QHeaderView, QTreeWidget, QTreeWidgetItem

from gui.features.curves.dock import OwnPage
from gui.features.play.controller import PlayController
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.boxes import named, vbox
from gui.kit.labels import label
from gui.kit.words import number, tr
from gui.state.session import Session
from gui.state.telemetry import TelemetryModel
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.text_episodes import EpisodeBatch, TextEpisode, batches, read_batch
from trainer_core.wire.records import BeliefsEvent, Mind

NO_BELIEFS = "No beliefs yet: an agent reports them several times a second while its run is shown here"
MIND_SECTIONS = ("Beliefs", "Intentions", "Messages")
NO_EPISODES = "No episodes yet: a run saves some answers of each validation"
EPISODE_MODES = {"val": "validation", "train": "training"}


class BeliefsTab(OwnPage):
    def __init__(self, model: TelemetryModel, playing: PlayController, session: Session) -> None:
        super().__init__()
        self._model, self._playing = model, playing
        self._with_mind = {r.id for r in session.runners if r.capabilities.beliefs}
        self._played: BeliefsEvent | None = None
        self._shown: BeliefsEvent | Mind | None = None
        column = vbox(self, margins=(12, 8, 12, 8), spacing=8)
        self.heading = label(tr(NO_BELIEFS), "muted", wrap=True)
        column.addWidget(self.heading)
        self.tree = named(QTreeWidget(), names.BELIEFS_TREE, tr("Beliefs, intentions and messages"))
        self.tree.setHeaderHidden(True)
        self.tree.setFont(theme.mono_font())
        self.sections = [QTreeWidgetItem(self.tree, [tr(title)]) for title in MIND_SECTIONS]
        for section in self.sections:
            section.setExpanded(True)
        column.addWidget(self.tree, 1)
        playing.mind_told.connect(self._on_played)
        playing.changed.connect(self._on_player)

    @property
    def is_wanted(self) -> bool:
        """True while the run in focus has an agent that reports beliefs, or such an agent plays."""
        run = self._model.runs.get(self._model.focus)
        meta = run.meta if run else None
        return self._played is not None or (meta is not None and meta.runner in self._with_mind)

    def refresh(self) -> None:
        """Show the newest beliefs, unless they are shown already or the tab is hidden."""
        run = self._model.runs.get(self._model.focus)
        event = self._played or (run.mind if run else None)
        if event is self._shown or not self.isVisible():
            return
        self._shown = event
        newest_first = [_short(line) for line in reversed(event.messages)] if event else []
        told = (event.beliefs, event.intentions, newest_first) if event else ([], [], [])
        for section, title, lines in zip(self.sections, MIND_SECTIONS, told, strict=True):
            section.setText(0, f"{tr(title)} ({len(lines)})")
            _fill(section, lines)
        if event is None:
            self.heading.setText(tr(NO_BELIEFS))
            return
        who = tr("The agent at the buttons") if self._played else self._model.label(self._model.focus)
        self.heading.setText(
            tr("{who}: episode {episode}, step {step}", who=who, episode=event.episode, step=event.step)
        )

    def _on_played(self, event: BeliefsEvent) -> None:
        self._played = event

    def _on_player(self) -> None:
        if not self._playing.is_active:
            self._played = None


def _short(message: str) -> str:
    """Return a message between agents without the server name, which is the same in all of them."""
    return message.replace("@localhost", "")


def _fill(section: QTreeWidgetItem, lines: list[str]) -> None:
    """Show one child row per line below `section`, reusing existing rows so that the view keeps its scroll position."""
    while section.childCount() > len(lines):
        section.takeChild(section.childCount() - 1)
    for row, line in enumerate(lines):
        item = section.child(row) or QTreeWidgetItem(section)
        if item.text(0) != line:
            item.setText(0, line)
            item.setToolTip(0, line)


class EpisodesTab(OwnPage):
    def __init__(self, model: TelemetryModel, session: Session, home: HomePaths) -> None:
        super().__init__()
        self._model, self._home = model, home
        self._with_text = {r.id for r in session.runners if r.capabilities.episodes}
        self._batches: list[EpisodeBatch] = []
        self._shown: list[TextEpisode] = []
        self._stamp = 0
        column = vbox(self, margins=(12, 8, 12, 8), spacing=8)
        self.heading = label(tr(NO_EPISODES), "muted", wrap=True)
        column.addWidget(self.heading)
        self.choice = QComboBox()
        self.choice.setAccessibleName(tr("Training step"))
        self.choice.currentIndexChanged.connect(self._show_batch)
        column.addWidget(self.choice)
        self.table = named(QTreeWidget(), names.EPISODES_TABLE, tr("Questions and answers"))
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
        """Read new episode steps from the run's folder; a step that the user selected stays selected."""
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
            self.choice.addItem(tr("Step {step:,}, {mode}", step=batch.step, mode=tr(EPISODE_MODES[batch.mode])))
        self.choice.setCurrentIndex(found.index(kept) if kept in found else 0)
        self.choice.blockSignals(False)
        self._show_batch()

    def _kept_choice(self) -> EpisodeBatch | None:
        """Return the older step that the user selected; None while the tab follows the newest step."""
        return self._batch if self.choice.currentIndex() > 0 else None

    @property
    def _batch(self) -> EpisodeBatch | None:
        index = self.choice.currentIndex()
        return self._batches[index] if 0 <= index < len(self._batches) else None

    def _stamp_now(self) -> int:
        """Return the modification time in ns of the folder of steps, which new files change; 0 without a folder."""
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
            tr("{right} of {count} right", right=right, count=len(self._shown)) if self._shown else tr(NO_EPISODES)
        )


def _row(episode: TextEpisode) -> QTreeWidgetItem:
    reward = "" if episode.reward is None else number(episode.reward, ".2f")
    mark = {True: "\u2713 ", False: "\u2717 ", None: ""}[episode.is_right]
    row = QTreeWidgetItem([_line(episode.question), _line(episode.answer), mark + reward])
    for place in range(3):
        row.setToolTip(place, episode.text)
    return row


def _line(text: str) -> str:
    return " ".join(text.split())
