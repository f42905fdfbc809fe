"""Single-step vectors of every opcode: registers, memory, M-cycles.

Data: SingleStepTests/sm83, MIT (data/LICENSE.sm83_vectors). HALT (76) and STOP (10) are left out:
upstream's rows for them are not hardware's.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from flat_bus import FlatBus

VECTORS = Path(__file__).parent / "data" / "sm83_v1_0_100.jsonl.xz"
BATCH = 498
"""A tenth is run at a time: memory is used again, not asked of the kernel for each copy."""

pytestmark = pytest.mark.warp


class Cells(NamedTuple):
    """Bytes of memory of cases: int arrays of equal length."""

    cases: np.ndarray
    addresses: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, memory: list[dict[int, int]]) -> Cells:
        rows = [(at, *cell) for at, cells in enumerate(memory) for cell in cells.items()]
        return cls(*np.array(rows).T)

    def part(self, start: int, end: int) -> Cells:
        """Those of the cases from `start` to before `end`, which count from 0 then."""
        first, last = np.searchsorted(self.cases, [start, end])
        cases, addresses, values = (column[first:last] for column in self)
        return Cells(cases - start, addresses, values)


class Vectors(NamedTuple):
    """All cases, column by column."""

    opcodes: list[str]
    before: np.ndarray
    after: np.ndarray
    m_cycles: np.ndarray
    given: Cells
    """Memory before the instruction; the rest is 0."""
    wanted: Cells
    """What lies there and at what the instruction changes afterwards."""


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    with lzma.open(VECTORS, "rt") as lines:
        found = [json.loads(line) for line in lines]
    opcodes, before, _, memory, after, changed, m_cycles = zip(
        *(case for case in found if case[0] not in ("10", "76")), strict=True
    )
    given = [dict(cells) for cells in memory]
    wanted = [cells | dict(more) for cells, more in zip(given, changed, strict=True)]
    before, after, m_cycles = (np.array(column) for column in (before, after, m_cycles))
    return Vectors(list(opcodes), before, after, m_cycles, Cells.of(given), Cells.of(wanted))


def test_every_vector_passes(engine: tuple[str, str], vectors: Vectors) -> None:
    assert len(vectors.opcodes) == 49_800
    bus = FlatBus(BATCH, *engine)
    failures = []
    for start in range(0, len(vectors.opcodes), BATCH):
        failures += run_batch(bus, vectors, start)
    assert not failures, f"{len(failures)} vectors fail, first: {failures[0]}"


def run_batch(bus: FlatBus, vectors: Vectors, start: int) -> list[str]:
    """Run one instruction of each case; return what differs. Memory is 0 before and after."""
    part = slice(start, start + BATCH)
    bus.state[:] = np.zeros((), bus.state.dtype)
    bus.high[:, 0x8000:] = 0
    bus.set_registers(vectors.before[part])
    bus.poke(*vectors.given.part(start, start + BATCH))
    bus.step()
    found, now = bus.registers(), bus.state["now"]
    wanted, m_cycles = vectors.after[part], vectors.m_cycles[part]
    opcodes = vectors.opcodes[part]
    failures = [
        f"{opcodes[at]}: {found[at].tolist()} {now[at]} != {wanted[at].tolist()} {m_cycles[at]}"
        for at in np.flatnonzero((found != wanted).any(1) | (now != m_cycles))
    ]
    envs, addresses, values = vectors.wanted.part(start, start + BATCH)
    other = set(envs[bus.peek(envs, addresses) != values].tolist())
    bus.poke(envs, addresses, np.zeros_like(values))
    for memory in (bus.low, bus.high[:, :0x8000]):
        other |= set(np.flatnonzero(memory.view(np.uint64).any(1)).tolist())
    if other:
        bus.clear()
    return failures + [f"{opcodes[at]}: memory" for at in sorted(other)]
