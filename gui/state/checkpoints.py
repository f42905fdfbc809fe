"""Checkpoints of all runs: from the runs' logs and from the disk, with the best of each run."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt, Signal

from gui.kit.text_search import NO_PARENT, Index
from gui.kit.words import number, tr
from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.wire import records
from trainer_core.wire.errors import CheckpointError
from trainer_core.wire.run_record import STORAGE_TAG, RunRecord

MOST_VERIFIED = 40
MOST_CARDS = 2000
"""Most checkpoints in the list, the newest of the home; those of the run in focus are added when needed."""
RUNS_A_CHUNK = 200
GREEDY = "greedy"
RATES = {GREEDY: "{rate:.0%} greedy", "leave_loops": "{rate:.0%} loops left by chance", "sample": "{rate:.0%} sampled"}
"""Text of a success rate by the mode of choosing actions."""


@dataclass(frozen=True, slots=True)
class CheckpointCard:
    """Data of one checkpoint in the list."""

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
    """unverified, verified, mismatch (wrong hash) or missing."""
    leaving_rate: float = 0.0
    """Success rate in the mode that leaves loops, in the same validation as `success_rate`."""
    sampled_rate: float = 0.0
    is_played: bool = False
    """True if the success rates were measured with this checkpoint's own weights, not with earlier ones."""
    is_validated: bool = True
    """False if no success rate was ever measured: a run that explores, or one that ended before."""
    place: str = ""
    """Name and kind of the storage profile that keeps the run; empty in the data folder."""
    offline_dataset: str = ""
    """Name and hash of the dataset that it learned from; empty for one that played."""

    @property
    def merit(self) -> tuple[float, ...]:
        """Sort key: the checkpoint with the greatest value is the run's best, as in `find_checkpoint`."""
        return (self.success_rate, self.leaving_rate, self.sampled_rate, self.is_played, self.created_at)

    @property
    def success_text(self) -> str:
        """Success rate of greedy play as short text, for a row of the list; `success_words` has every mode."""
        return number(self.success_rate, ".0%") if self.is_validated or any(self.merit[:3]) else "\u2013"

    def rate_words(self, mode: str) -> str:
        """Return the success rate of the last validation in one mode of choosing actions, as text."""
        rates = self.success_rate, self.leaving_rate, self.sampled_rate
        rate = dict(zip(RATES, rates, strict=True))[mode]
        if mode != GREEDY and not rate and self.success_rate:
            return self.rate_words(GREEDY)  # an older run validated greedy play only
        return tr(RATES[mode], rate=rate)

    @property
    def success_words(self) -> str:
        """Success rates as full text, for a tooltip."""
        return tr(
            "Held-out starts: greedy {greedy:.0%}, loops left by chance {leaving:.0%}, sampled {drawn:.0%}",
            greedy=self.success_rate,
            leaving=self.leaving_rate,
            drawn=self.sampled_rate,
        )

    @property
    def is_usable(self) -> bool:
        return self.integrity not in ("mismatch", "missing")

    @property
    def thumbnail(self) -> Path:
        return self.folder / checkpoint_manifest.THUMBNAIL


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
        leaving_rate=record.leaving_success_rate,
        sampled_rate=record.sampled_success_rate,
        is_played=record.validated_env_steps == record.env_steps,
        is_validated=record.validated_env_steps >= 0,
        place=run.tags.get(STORAGE_TAG, ""),
    )


def run_cards(run: RunRecord, paths: RunPaths) -> list[CheckpointCard]:
    """Return a run's finished checkpoints from their manifest files, without reading the run's log."""
    found = []
    for folder in checkpoint_manifest.list_checkpoints(paths) if paths.checkpoints.is_dir() else ():
        try:
            meta = checkpoint_manifest.read_meta(folder)
        except CheckpointError:
            continue
        files = checkpoint_manifest.policy_files(meta)
        is_whole = bool(files) and all((folder / name).is_file() for name in files)
        found.append(
            CheckpointCard(
                folder=folder,
                run_id=run.run_id,
                task=meta.task,
                algo=run.algo,
                env_steps=meta.env_steps,
                success_rate=meta.success_rate,
                sha256=meta.files[files[0]] if files else "",
                size_bytes=_size(folder, files) if is_whole else 0,
                created_at=meta.created_at,
                integrity="unverified" if is_whole else "missing",
                leaving_rate=meta.leaving_success_rate,
                sampled_rate=meta.sampled_success_rate,
                is_played=meta.validated_env_steps == meta.env_steps,
                is_validated=meta.validated_env_steps >= 0,
                place=run.tags.get(STORAGE_TAG, ""),
                offline_dataset=meta.offline_dataset,
            )
        )
    return found


def chunks(runs: Iterable[RunRecord]) -> Iterator[list[RunRecord]]:
    """Yield the runs in small groups, the newest runs first, to be scanned one group at a time."""
    ordered = sorted(runs, key=lambda run: -run.created_at)
    for first in range(0, len(ordered), RUNS_A_CHUNK):
        yield ordered[first : first + RUNS_A_CHUNK]


def scan(home: HomePaths, runs: Iterable[RunRecord]) -> list[CheckpointCard]:
    """Return the checkpoints of these runs, unverified. Reads folders, so call it in a thread."""
    return [card for run in runs for card in run_cards(run, home.run(run.run_id))]


def verify(card: CheckpointCard) -> CheckpointCard:
    """Return the card with `integrity` set after hashing the weights. Reads files, so call it in a thread."""
    if not (card.folder / checkpoint_manifest.META).is_file():
        return replace(card, integrity="missing")
    try:
        meta = checkpoint_manifest.read_meta(card.folder)
        files, card = checkpoint_manifest.policy_files(meta), replace(card, offline_dataset=meta.offline_dataset)
        if not files or not all((card.folder / name).is_file() for name in files):
            return replace(card, integrity="missing")
        checkpoint_manifest.verify(card.folder, files)
        return replace(card, integrity="verified", size_bytes=_size(card.folder, files))
    except CheckpointError:
        return replace(card, integrity="mismatch")
    except OSError:  # deleted just now
        return replace(card, integrity="missing")


def _size(folder: Path, files: Iterable[str]) -> int:
    return sum((folder / name).stat().st_size for name in files)


class CheckpointList(QAbstractListModel):
    """List model of checkpoints, grouped by task and algorithm, the newest first.

    The model, not its view, has the selection, as commands use it. One checkpoint is selected while there are any.
    """

    selection_changed = Signal()
    """Another checkpoint is selected, or the data of the selected one changed."""
    shown_changed = Signal()
    """The choice of one run's checkpoints or all runs' changed."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.cards: list[CheckpointCard] = []
        self.only = ""
        """Id of the run to which the list is limited; empty for all runs."""
        self.task_title: Callable[[str], str] = str
        """Function that returns the title of a task id."""
        self._selected: Path | None = None
        self._best: set[Path] | None = None
        for signal in (self.rowsInserted, self.rowsRemoved, self.dataChanged):
            signal.connect(self._forget_best)

    @property
    def selected(self) -> CheckpointCard | None:
        """The selected checkpoint; None if the list is empty. It is never a hidden one."""
        found = next((card for card in self.cards if card.folder == self._selected), None)
        return found if found is not None and self.shows(found) else None

    def select(self, folder: Path) -> None:
        """Select the checkpoint in this folder; an unknown folder changes nothing."""
        if folder != self._selected and self.row_of(folder) >= 0:
            self._selected = folder
            self.selection_changed.emit()

    def shows(self, card: CheckpointCard) -> bool:
        return not self.only or card.run_id == self.only

    def show_only(self, run_id: str) -> None:
        """Limit the list to one run, "" for all runs; select one of the visible checkpoints if there is any."""
        if run_id == self.only:
            return
        self.only = run_id
        self.shown_changed.emit()
        self._keep_one_selected()

    def _keep_one_selected(self) -> None:
        if self.selected is None:
            newest = self.newest_of(self.only)
            if newest is not None or not self.cards:
                self._selected = newest.folder if newest is not None else None
        self.selection_changed.emit()

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.cards)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        card = self.cards[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return tr(
                "{task} {env_steps:,} steps, success {success_rate:.0%}",
                task=self.task_title(card.task),
                env_steps=card.env_steps,
                success_rate=card.success_rate,
            )
        if role == Qt.ItemDataRole.ToolTipRole:
            words = [card.success_words]
            if self.is_best(card):
                words.append(
                    tr(
                        "★ best of its run: highest success in greedy play, then with loops left by chance, then "
                        "sampled"
                    )
                )
            words += [tr("Learned from {dataset}", dataset=card.offline_dataset)] if card.offline_dataset else []
            words += [str(card.folder), f"SHA-256 {card.sha256}", tr(card.integrity)]
            return "\n".join(words)
        if role == Qt.ItemDataRole.UserRole:
            return card
        return None

    def put_all(self, cards: Iterable[CheckpointCard]) -> None:
        """Add the checkpoints that are not in the list yet, in few model insertions."""
        known = {card.folder for card in self.cards}
        fresh = sorted((card for card in cards if card.folder not in known), key=_order)
        places = [bisect.bisect(self.cards, _order(card), key=_order) for card in fresh]
        pairs = list(zip(places, fresh, strict=True))
        for place, group in reversed(
            [(place, list(group)) for place, group in itertools.groupby(pairs, lambda p: p[0])]
        ):
            self.beginInsertRows(QModelIndex(), place, place + len(group) - 1)
            self.cards[place:place] = [card for _, card in group]
            self.endInsertRows()
        if fresh and self.selected is None:
            self._keep_one_selected()

    def put(self, card: CheckpointCard) -> int:
        """Add a checkpoint, or replace the data of the one in the same folder. Return the row."""
        for row, old in enumerate(self.cards):
            if old.folder == card.folder:
                self.cards[row] = card
                self.dataChanged.emit(self.index(row), self.index(row))
                if card.folder == self._selected:
                    self.selection_changed.emit()
                return row
        row = bisect.bisect(self.cards, _order(card), key=_order)
        self.beginInsertRows(QModelIndex(), row, row)
        self.cards.insert(row, card)
        self.endInsertRows()
        if self.selected is None:
            self._keep_one_selected()
        return row

    def newest_of(self, run_id: str) -> CheckpointCard | None:
        """Return the newest checkpoint of a run, of all runs for ""; None if there is none."""
        found = (card for card in self.cards if not run_id or card.run_id == run_id)
        return max(found, key=lambda card: card.created_at, default=None)

    def is_best(self, card: CheckpointCard) -> bool:
        """Return whether this is the best checkpoint of its run; cached, as it is called while painting."""
        if self._best is None:
            best: dict[str, CheckpointCard] = {}
            for found in sorted(self.cards, key=lambda card: card.merit):
                if found.success_rate > 0 or found.leaving_rate > 0:
                    best[found.run_id] = found
            self._best = {found.folder for found in best.values()}
        return card.folder in self._best

    def _forget_best(self, *_: object) -> None:
        self._best = None

    def drop_missing(self, run_id: str) -> None:
        """Remove a run's checkpoints whose folders do not exist any more."""
        for row in reversed(range(len(self.cards))):
            card = self.cards[row]
            if card.run_id == run_id and not card.folder.is_dir():
                self.beginRemoveRows(QModelIndex(), row, row)
                del self.cards[row]
                self.endRemoveRows()
        if self.selected is None:
            self._keep_one_selected()

    def row_of(self, folder: Path) -> int:
        return next((i for i, card in enumerate(self.cards) if card.folder == folder), -1)


def _order(card: CheckpointCard) -> tuple[str, str, float]:
    return card.task, card.algo, -card.created_at
