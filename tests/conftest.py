"""All tests: what they import stays, so that no collection of garbage has to look at it again."""

from __future__ import annotations

import gc
import os
import tempfile

gc.disable()
STATE = tempfile.TemporaryDirectory(prefix="dmglab-state-")
"""What a person consented to is noted here, not in the folder of whoever runs the tests."""
os.environ["XDG_STATE_HOME"] = STATE.name


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
