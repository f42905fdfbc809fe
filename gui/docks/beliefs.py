"""The tab *Beliefs*: what an agent with a mind believes, intends and hears.

There is such a tab only where a runner has the capability `beliefs`: for its run in focus, and for
its checkpoint at the buttons.
"""

from __future__ import annotations

from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from gui import object_names as names
from gui import theme
from gui.controllers.playing import PlayController
from gui.models.run_telemetry import TelemetryModel
from gui.models.session import Session
from gui.widgets.labels import label
from gui.words import tr
from trainer_core.wire.records import BeliefsEvent

WAITING = "Nothing was told yet: an agent tells a few times a second while its run is kept here"
SECTIONS = ("Beliefs", "Intentions", "Messages")


class BeliefsTab(QWidget):
    def __init__(self, model: TelemetryModel, playing: PlayController, session: Session) -> None:
        super().__init__()
        self._model, self._playing = model, playing
        self._with_mind = {r.id for r in session.runners if r.capabilities.beliefs}
        self._played: BeliefsEvent | None = None
        self._shown: BeliefsEvent | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        self.heading = label(tr(WAITING), "muted", wrap=True)
        column.addWidget(self.heading)
        self.tree = QTreeWidget()
        self.tree.setObjectName(names.BELIEFS_TREE)
        self.tree.setAccessibleName(tr("Beliefs, intentions and messages"))
        self.tree.setHeaderHidden(True)
        self.tree.setFont(theme.mono_font())
        self.sections = [QTreeWidgetItem(self.tree, [tr(title)]) for title in SECTIONS]
        for section in self.sections:
            section.setExpanded(True)
        column.addWidget(self.tree, 1)
        playing.mind_told.connect(self._on_played)
        playing.changed.connect(self._on_player)

    @property
    def is_wanted(self) -> bool:
        """Whether something with a mind is in focus or plays."""
        run = self._model.runs.get(self._model.focus)
        meta = run.meta if run else None
        return self._played is not None or (meta is not None and meta.runner in self._with_mind)

    def refresh(self) -> None:
        """Show what was told last; cheap when that is on show, or nobody looks."""
        run = self._model.runs.get(self._model.focus)
        event = self._played or (run.mind if run else None)
        if event is self._shown or not self.isVisible():
            return
        self._shown = event
        newest_first = [_short(line) for line in reversed(event.messages)] if event else []
        told = (event.beliefs, event.intentions, newest_first) if event else ([], [], [])
        for section, title, lines in zip(self.sections, SECTIONS, told, strict=True):
            section.setText(0, f"{tr(title)} ({len(lines)})")
            _fill(section, lines)
        if event is None:
            self.heading.setText(tr(WAITING))
            return
        who = tr("The agent at the buttons") if self._played else self._model.label(event.run_id)
        self.heading.setText(
            tr("{who}: episode {episode}, step {step}", who=who, episode=event.episode, step=event.step)
        )

    def _on_played(self, event: BeliefsEvent) -> None:
        self._played = event

    def _on_player(self) -> None:
        if not self._playing.is_active:
            self._played = None


def _short(message: str) -> str:
    """Who said what to whom, without the one server that all of them are on."""
    return message.replace("@localhost", "")


def _fill(section: QTreeWidgetItem, lines: list[str]) -> None:
    """One row a line; rows that are there are written over, so that nothing jumps."""
    while section.childCount() > len(lines):
        section.takeChild(section.childCount() - 1)
    for row, line in enumerate(lines):
        item = section.child(row) or QTreeWidgetItem(section)
        if item.text(0) != line:
            item.setText(0, line)
            item.setToolTip(0, line)
