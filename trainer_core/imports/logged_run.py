"""What another program logged of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


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
