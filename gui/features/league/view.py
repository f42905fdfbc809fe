"""The league's dialog: players, table of results, replay of a player's first episode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QProgressBar,
    QStackedWidget,
    QTableWidgetItem,
    QWidget,
)

from gui.features.league.controller import LeagueController
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.containers import empty_page
from gui.kit.labels import ElidedLabel, set_role
from gui.kit.tables import RIGHT, row_table
from gui.kit.words import number, tr
from trainer_core.lab.task_lists import is_several


class LeagueView(QWidget):
    def __init__(self, controller: LeagueController, actions: ActionRegistry) -> None:
        super().__init__()
        self.setObjectName(names.LEAGUE_VIEW)
        self._controller = controller
        self.players = named(QLineEdit(), names.LEAGUE_PLAYERS, tr("Players of the league"))
        self.players.setToolTip(tr("random, checkpoint=RUN, nearest=FOLDER, recorded=FOLDER, llm=http://..."))
        self.players.textEdited.connect(controller.set_players)
        heads = (
            tr("Player"),
            tr("Task"),
            tr("Episodes"),
            tr("Success"),
            tr("Median steps"),
            tr("Mean return"),
            tr("s/step"),
            tr("Note"),
        )
        self.table = row_table(names.LEAGUE_TABLE, tr("Players of the league, best first"), heads, range(2, 7))
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        for stretched in (0, 7):
            header.setSectionResizeMode(stretched, QHeaderView.ResizeMode.Stretch)
        self.table.currentCellChanged.connect(lambda row, *_: controller.choose(row))
        self.table.cellDoubleClicked.connect(lambda *_: controller.replay())
        self.caption = ElidedLabel("", "muted")
        self.progress = QProgressBar()
        self.progress.setRange(0, 100)
        self.progress.setTextVisible(False)
        self.progress.setFixedWidth(96)
        self.progress.setAccessibleName(tr("Progress of the league"))
        controller.progressed.connect(lambda share: self.progress.setValue(round(100 * share)))
        column = vbox(self, spacing=0)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.table)
        told = empty_page(
            tr("No league played yet"),
            tr(
                "A league lets checkpoints, random play and recordings play the same start states of one task, and "
                "ranks them. Name players below or press Add checkpoint, then press Play."
            ),
        )
        told.setObjectName("leagueEmpty")
        self._stack.addWidget(told)
        column.addWidget(self._stack, 1)
        below = vbox(margins=(12, 8, 12, 8), spacing=8)
        for layout in (self._players_row(actions), self._control_row(actions)):
            below.addLayout(layout)
        column.addLayout(below)
        controller.changed.connect(self._refresh)
        self._rows: list[dict[str, Any]] | None = None
        self._refresh()

    def _players_row(self, actions: ActionRegistry) -> QHBoxLayout:
        row = hbox(spacing=8)
        put(row, (self.players, 1), action_button(actions["leagueAdd"], "leagueAddButton"))
        return row

    def _control_row(self, actions: ActionRegistry) -> QHBoxLayout:
        row = hbox(spacing=8)
        put(row, (self.caption, 1), self.progress, action_button(actions["leagueReplay"], "leagueReplayButton"))
        row.addWidget(action_button(actions["leagueStart"], "leagueStartButton", primary=True))
        return row

    def _refresh(self) -> None:
        controller = self._controller
        if self.players.text() != controller.players:
            self.players.setText(controller.players)
        self.players.setEnabled(not controller.is_busy)
        self.progress.setVisible(controller.is_busy)
        if not controller.is_busy:
            self.progress.setValue(0)
        self.caption.setText(self._caption())
        self._stack.setCurrentIndex(0 if controller.rows else 1)
        set_role(self.caption, "role", "error" if controller.error else "muted")
        if self._rows is not controller.rows:
            self._rows = controller.rows
            self._fill(controller.rows)

    def _caption(self) -> str:
        controller = self._controller
        if controller.error:
            return controller.error
        if controller.is_busy:
            return tr("Playing {task}...", task=controller.task_title(controller.task))
        if controller.rows:
            return tr("On the held-out starts of {task}", task=controller.task_title(controller.task))
        return tr("All players play the held-out starts of {task}", task=controller.task_title(controller.next_task))

    def _fill(self, rows: list[dict[str, Any]]) -> None:
        self.table.blockSignals(True)
        self.table.clearContents()
        self.table.setRowCount(len(rows))
        self.table.setColumnHidden(1, not is_several(self._controller.task))
        for place, row in enumerate(rows):
            cells = (
                short_name(str(row["player"]), self._controller.name_of),
                self._controller.task_title(str(row.get("task", ""))),
                str(row["episodes"]),
                number(row["success_rate"], ".0%"),
                number(row["median_steps_to_goal"], "g") if row["success_rate"] else "-",
                number(row["mean_return"], ".3f"),
                number(row["seconds_per_step"], ".3f"),
                str(row["error"] or row["note"]),
            )
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setToolTip(text if column else str(row["player"]))
                if 1 < column < 7:
                    item.setTextAlignment(RIGHT)
                self.table.setItem(place, column, item)
        self.table.blockSignals(False)


def short_name(player: str, name_of: Callable[[str], str]) -> str:
    """Return a player's text with shortened paths: `kind=demos` for `kind=/a/b/demos`.

    For a checkpoint the name of its run is added, from the run's id by `name_of`.
    """
    kind, _, where = player.partition("=")
    if "/" not in where or "://" in where:
        return player
    path = Path(where)
    run = f"{name_of(path.parents[1].name)}/" if path.parent.name == "checkpoints" else ""
    return f"{kind}={run}{path.name}"
