"""Rows and options of one run that another program logged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MOST_ROWS, MOST_VALUES = 500_000, 1_500_000
"""Limits for one run: some 300 MB during reading."""
MOST_NAMES = 10_000
"""Limit for the names of a configuration."""
MOST_LOGGED_BYTES = 256 << 20
"""Limit for a file, which is read as a whole."""


@dataclass
class LoggedRun:
    """Logged rows and options of one run. A row maps names to numbers.

    If known, a row has W&B's `_step`, and `_timestamp` and `_runtime` in seconds.
    """

    run_id: str = ""
    name: str = ""
    project: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    is_torn: bool = False
    """True if the file ends within a record: its writer was killed, or still writes."""
    _values: int = 0

    def add_row(self, row: dict[str, Any]) -> None:
        """Add a logged row, reduced to its numbers and the keys `NAME._type`, which mark NAME as a picture or a table.

        Texts and lists are dropped, as they would fill the memory. Raises ValueError beyond the limits.
        """
        kept = {name: value for name, value in row.items() if isinstance(value, int | float) or name.endswith("._type")}
        self._values += len(kept)
        if len(self.rows) == MOST_ROWS or self._values > MOST_VALUES:
            raise ValueError(f"more than {MOST_ROWS:,} rows or {MOST_VALUES:,} numbers: split it")
        self.rows.append(kept)

    def add_config(self, found: dict[str, Any]) -> None:
        """Add logged options of the run to `config`. Raises ValueError for more than MOST_NAMES."""
        self.config |= found
        if len(self.config) > MOST_NAMES:
            raise ValueError(f"a configuration of more than {MOST_NAMES} names")
