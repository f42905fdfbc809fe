"""What every decoder owes: bad input is read, or refused in one line, soon and in little memory.

`DMGLAB_FUZZ_EXAMPLES=20000` makes the longer runs that docs/robustness.md reports.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainer_core.protocol import checkpoints
from trainer_core.protocol.errors import LabError

EXAMPLES = int(os.environ.get("DMGLAB_FUZZ_EXAMPLES", "40"))
MAX_CPU_S, MAX_BYTES = 2.0, 256 << 20
TORN = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="DMGLAB_FUZZ_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
any_data = given(data=st.data())


def refused_or_read(decode: Callable[[], object], *, traced: bool = True) -> None:
    """Nothing but a LabError of one line leaves `decode`; it takes neither long nor much."""
    if traced:
        tracemalloc.start()
    began = time.process_time()
    refusal = ""
    try:
        decode()
    except LabError as error:
        refusal = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1] if traced else 0
        tracemalloc.stop()
    assert "\n" not in refusal
    assert len(refusal) < 1000
    assert time.process_time() - began < MAX_CPU_S
    assert peak < MAX_BYTES


def rewrite(path: Path, data: bytes) -> None:
    """Put `data` in, and its hash into the checkpoint's manifest: the decoder itself is tried."""
    path.write_bytes(data)
    manifest = path.parent / checkpoints.META
    meta = json.loads(manifest.read_bytes())
    meta["files"][path.name] = hashlib.sha256(data).hexdigest()
    manifest.write_text(json.dumps(meta))
