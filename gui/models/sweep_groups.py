"""Which rows of the run table are trials of one sweep; folded, the first row speaks for all."""

from __future__ import annotations

import re

from trainer_core.wire.run_record import RunRecord

_VARIED = re.compile(r"( [\w.]+=\S+)+$")
"""What a trial's name says after the sweep's."""


def sweep_title(run: RunRecord) -> str:
    """What people call the sweep that a run is a trial of: its name, else the end of its id."""
    sweep_id = run.tags.get("sweep", "")
    title = _VARIED.sub("", run.name)
    return title if title and title != sweep_id else sweep_id.rsplit("-", 1)[-1]


class SweepGroups:
    """Rows by sweep, in the order in which they came; folded until somebody unfolds it."""

    def __init__(self, runs: list[RunRecord]) -> None:
        """`runs` is the table's own list, which grows."""
        self._runs = runs
        self._rows: dict[str, list[int]] = {}
        self._open: set[str] = set()

    def note(self, row: int) -> None:
        """A row came."""
        if name := self._runs[row].tags.get("sweep", ""):
            self._rows.setdefault(name, []).append(row)

    def toggle(self, name: str) -> None:
        self._open ^= {name} & self._rows.keys()

    def is_folded_sweep(self, run: RunRecord) -> bool:
        """Whether the run is of a sweep that is one row now."""
        name = run.tags.get("sweep", "")
        return len(self._rows.get(name, ())) > 1 and name not in self._open

    def folded_rows(self) -> set[int]:
        """Rows that are hidden behind the first of their sweep."""
        groups = (rows for name, rows in self._rows.items() if name not in self._open)
        return {row for rows in groups for row in rows[1:]}

    def led_by(self, row: int) -> list[RunRecord]:
        """Every trial of the sweep whose first row this is; empty for any other row."""
        rows = self._rows.get(self._runs[row].tags.get("sweep", ""), [])
        return [self._runs[one] for one in rows] if len(rows) > 1 and rows[0] == row else []

    def behind(self, row: int) -> list[str]:
        """Ids of all runs that a row stands for: a folded sweep's, else its own."""
        is_folded = self.is_folded_sweep(self._runs[row])
        return [run.run_id for run in (self.led_by(row) if is_folded else ()) or [self._runs[row]]]

    def leader_of(self, run: RunRecord) -> int:
        """The row that speaks for the run's sweep, -1 where none does."""
        rows = self._rows.get(run.tags.get("sweep", ""), [])
        return rows[0] if len(rows) > 1 else -1
