"""All tests: what they import stays, so that no collection of garbage has to look at it again."""

from __future__ import annotations

import gc

gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
