"""All tests: what they import stays, so that no collection of garbage has to look at it again."""

from __future__ import annotations

import gc
import os

gc.disable()
# A user's shell has not set it, and it hides output that is flushed too late or never.
os.environ.pop("PYTHONUNBUFFERED", None)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
