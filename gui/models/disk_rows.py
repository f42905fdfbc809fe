"""What runs take of the disk, and which of them an archive would make room of."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from trainer_core.wire.run_record import RunRecord

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class DiskRow:
    """Sizes are in bytes."""

    run: RunRecord
    label: str
    total: int
    checkpoints: int

    @property
    def is_movable(self) -> bool:
        """Only what has ended, and is there, can be archived."""
        return self.run.state.is_end and self.total > 0


def old_rows(rows: Iterable[DiskRow], days: float, keep: int, now: float | None = None) -> list[DiskRow]:
    """The rule of `dmglab archive --older-than DAYS --keep N`: the newest `keep` are spared."""
    ended = sorted((row for row in rows if row.is_movable), key=lambda row: row.run.finished_at)
    spared = ended[: len(ended) - keep] if keep else ended
    limit = (now or time.time()) - days * DAY_S
    return [row for row in spared if row.run.finished_at < limit]


def size_text(size: float) -> str:
    """1.2 GB, 340 MB, 12 kB."""
    for unit, least in (("GB", 1e9), ("MB", 1e6)):
        if size >= least:
            value = size / least
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{size / 1e3:.0f} kB"
