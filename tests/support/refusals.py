"""How long hypothesis looks for damage that is not refused, and how a damaged checkpoint is made.

`DMGLAB_FUZZ_EXAMPLES=20000` makes the longer runs that docs/notebook/robustness.md reports.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainer_core.lab import checkpoint_manifest

EXAMPLES = int(os.environ.get("DMGLAB_FUZZ_EXAMPLES", "40"))
TORN = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="DMGLAB_FUZZ_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]  # its metaclass says no type
)
any_data = given(data=st.data())


def rewrite(path: Path, data: bytes) -> None:
    """Put `data` in, and its hash into the checkpoint's manifest: the decoder itself is tried."""
    path.write_bytes(data)
    manifest = path.parent / checkpoint_manifest.META
    meta = json.loads(manifest.read_bytes())
    meta["files"][path.name] = hashlib.sha256(data).hexdigest()
    manifest.write_text(json.dumps(meta))
