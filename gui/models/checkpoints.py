"""Checkpoints of every run: what the logs announced, what lies on disk, whether they agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt

from gui.models.indices import NO_PARENT, Index
from trainer_core.protocol import checkpoints, records
from trainer_core.protocol.errors import CheckpointError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.runs import RunRecord
from trainer_core.service import read_history

MOST_VERIFIED = 40


@dataclass(frozen=True, slots=True)
class CheckpointCard:
    """What the browser shows of one checkpoint."""

    folder: Path
    run_id: str
    task: str
    algo: str
    env_steps: int
    success_rate: float
    sha256: str
    size_bytes: int
    created_at: float
    integrity: str = "unverified"
    """unverified, verified, mismatch or missing."""

    @property
    def is_usable(self) -> bool:
        return self.integrity not in ("mismatch", "missing")

    @property
    def thumbnail(self) -> Path:
        return self.folder / checkpoints.THUMBNAIL


def card_of(run: RunRecord, run_dir: Path, record: records.CheckpointRecord) -> CheckpointCard:
    return CheckpointCard(
        folder=run_dir / record.path,
        run_id=run.run_id,
        task=run.task,
        algo=run.algo,
        env_steps=record.env_steps,
        success_rate=record.success_rate,
        sha256=record.sha256,
        size_bytes=record.size_bytes,
        created_at=record.time,
    )


def scan(home: HomePaths, runs: dict[str, RunRecord]) -> list[CheckpointCard]:
    """Every announced checkpoint that still exists, the newest with their hashes verified.

    Reads logs and weights: call it in a thread.
    """
    found = []
    for run_id, run in runs.items():
        paths = home.run(run_id)
        if not paths.checkpoints.is_dir():
            continue
        by_path: dict[str, CheckpointCard] = {}
        for event in read_history(paths.train_log).events:
            if isinstance(event, records.CheckpointRecord) and (paths.root / event.path).is_dir():
                by_path[event.path] = card_of(run, paths.root, event)
        found += by_path.values()
    newest = sorted(found, key=lambda card: -card.created_at)
    return [*map(verify, newest[:MOST_VERIFIED]), *newest[MOST_VERIFIED:]]


def verify(card: CheckpointCard) -> CheckpointCard:
    """The card with its weights' hash compared to the announced one. Call it in a thread."""
    if not (card.folder / checkpoints.POLICY).is_file():
        return replace(card, integrity="missing")
    try:
        checkpoints.verify(card.folder, (checkpoints.POLICY,))
    except CheckpointError:
        return replace(card, integrity="mismatch")
    return replace(card, integrity="verified")


class CheckpointList(QAbstractListModel):
    """Cards grouped by task and algorithm, the newest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.cards: list[CheckpointCard] = []

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.cards)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        card = self.cards[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{card.task} {card.env_steps:,} steps, success {card.success_rate:.2f}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{card.folder}\nSHA-256 {card.sha256}\n{card.integrity}"
        if role == Qt.ItemDataRole.UserRole:
            return card
        return None

    def set_cards(self, cards: list[CheckpointCard]) -> None:
        known = {(card.folder, card.sha256): card.integrity for card in self.cards}
        cards = [
            replace(card, integrity=known.get((card.folder, card.sha256), card.integrity))
            for card in cards
        ]
        scanned = {card.folder for card in cards}
        cards += [  # announced while the scan was reading
            card for card in self.cards if card.folder not in scanned and card.folder.is_dir()
        ]
        self.beginResetModel()
        self.cards = sorted(cards, key=_order)
        self.endResetModel()

    def put(self, card: CheckpointCard) -> int:
        """Add a card, or replace the one of the same folder. Returns its row."""
        for row, old in enumerate(self.cards):
            if old.folder == card.folder:
                self.cards[row] = card
                self.dataChanged.emit(self.index(row), self.index(row))
                return row
        row = sum(_order(old) < _order(card) for old in self.cards)
        self.beginInsertRows(QModelIndex(), row, row)
        self.cards.insert(row, card)
        self.endInsertRows()
        return row

    def drop_missing(self) -> None:
        """Forget cards whose folder retention has removed."""
        for row in reversed(range(len(self.cards))):
            if not self.cards[row].folder.is_dir():
                self.beginRemoveRows(QModelIndex(), row, row)
                del self.cards[row]
                self.endRemoveRows()

    def row_of(self, folder: Path) -> int:
        return next((i for i, card in enumerate(self.cards) if card.folder == folder), -1)


def _order(card: CheckpointCard) -> tuple[str, str, float]:
    return card.task, card.algo, -card.created_at
