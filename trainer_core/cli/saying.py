"""Words for a person: the one place where the command line prints what came from a file.

Names, reasons and titles may hold escape sequences that a terminal obeys; here they are shown.
"""

from __future__ import annotations

import sys
from typing import TextIO

from trainer_core.protocol.errors import visible


def say(text: str, to: TextIO | None = None) -> None:
    """Print lines on standard error, or `to` another stream, at once."""
    lines = "\n".join(map(visible, text.split("\n")))
    print(lines, file=to or sys.stderr, flush=True)
