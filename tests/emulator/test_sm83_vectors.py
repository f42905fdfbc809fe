"""Single-step vectors of every opcode: registers, memory, M-cycles.

Data: SingleStepTests/sm83, MIT (data/LICENSE.sm83_vectors). HALT (76) and STOP (10) are left out:
upstream's rows for them are not hardware's.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from flat_bus import FlatBus

VECTORS = Path(__file__).parent / "data" / "sm83_v1_0_100.jsonl.xz"
BATCH = 498
"""A tenth is run at a time: memory is used again, not asked of the kernel for each copy."""

pytestmark = pytest.mark.warp


@pytest.fixture(scope="module")
def cases() -> list:
    with lzma.open(VECTORS, "rt") as lines:
        found = [json.loads(line) for line in lines]
    return [case for case in found if case[0] not in ("10", "76")]


def test_every_vector_passes(engine: tuple[str, str], cases: list) -> None:
    assert len(cases) == 49_800
    bus = FlatBus(BATCH, *engine)
    failures = []
    for start in range(0, len(cases), BATCH):
        failures += run_batch(bus, cases[start : start + BATCH])
    assert not failures, f"{len(failures)} vectors fail, first: {failures[0]}"


def run_batch(bus: FlatBus, cases: list) -> list[str]:
    """Run one instruction of each case; return what differs."""
    bus.clear()
    for env, (_, before, _, memory, *_) in enumerate(cases):
        bus.set_registers(env, before)
        for address, value in memory:
            bus.poke(env, address, value)
    low, high = bus.low.copy(), bus.high.copy()
    bus.step()
    failures = []
    for env, (opcode, _, _, _, after, changed, m_cycles) in enumerate(cases):
        for address, value in changed:
            if address < 0x8000:
                low[env, address] = value
            else:
                high[env, address - 0x8000] = value
        now = int(bus.state[env]["now"])
        if bus.registers(env) != after or now != m_cycles:
            failures.append(f"{opcode}: {bus.registers(env)} {now} != {after} {m_cycles}")
    for env in np.nonzero((bus.low != low).any(1) | (bus.high != high)[:, :0x8000].any(1))[0]:
        failures.append(f"{cases[env][0]}: memory")
    return failures
