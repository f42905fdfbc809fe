"""What another program logged of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MOST_ROWS, MOST_VALUES = 500_000, 1_500_000
"""Of one run: some 300 MB while they are read."""
MOST_NAMES = 10_000
"""Of a configuration."""
MOST_LOGGED_BYTES = 256 << 20
"""Of a file that is read; whole files are held."""


@dataclass
class LoggedRun:
    """Rows have the names that were logged, and W&B's `_step`, `_timestamp` and `_runtime`, both
    in seconds, as far as they are known."""

    run_id: str = ""
    name: str = ""
    project: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    is_torn: bool = False
    """The file ends within a record: its writer was killed, or still writes."""
    _values: int = 0

    def add_row(self, row: dict[str, Any]) -> None:
        """Keep a row's numbers, and the names that say which of them describe a picture or table.

        Texts and lists would fill the memory. Raises ValueError for more than can be held.
        """
        kept = {name: value for name, value in row.items() if isinstance(value, int | float) or name.endswith("._type")}
        self._values += len(kept)
        if len(self.rows) == MOST_ROWS or self._values > MOST_VALUES:
            raise ValueError(f"more than {MOST_ROWS:,} rows or {MOST_VALUES:,} numbers: split it")
        self.rows.append(kept)

    def add_config(self, found: dict[str, Any]) -> None:
        """Keep what a run was configured with. Raises ValueError for more than a log can hold."""
        self.config |= found
        if len(self.config) > MOST_NAMES:
            raise ValueError(f"a configuration of more than {MOST_NAMES} names")
