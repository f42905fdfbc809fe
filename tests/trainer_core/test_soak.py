"""What the soak measures: memory that a process wrote, whoever else maps its libraries."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from scripts.endurance.soak import Sample, grown, own_mib, take

PAGES_MIB = 24


def test_a_file_that_is_mapped_is_no_memory_of_ones_own(tmp_path: Path) -> None:
    """Of its pages the unique set size counts what no other process maps, from when on it ends."""
    path = tmp_path / "library"
    with path.open("wb") as file:
        file.write(bytes(PAGES_MIB << 20))
        os.fsync(file.fileno())  # as a library's pages are
    before = own_mib(os.getpid())
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE) as mapped:
        assert sum(mapped[place] for place in range(0, len(mapped), mmap.PAGESIZE)) == 0
        assert own_mib(os.getpid()) < before + PAGES_MIB / 4
        for place in range(0, len(mapped), mmap.PAGESIZE):
            mapped[place] = 1
        assert own_mib(os.getpid()) > before + PAGES_MIB * 3 / 4


def test_what_grows_is_named() -> None:
    rows = {
        name: [Sample(minute, size(minute), 8, 3) for minute in range(60)]
        for name, size in (("app", lambda at: 120.0), ("worker", lambda at: 300.0), ("player", lambda at: 200.0 + at))
    }
    assert grown(rows, 60) == ["player: 228 to 249 MiB"]
    here: dict[str, list[Sample]] = {"app": []}
    take(here, 0.5)
    assert [sample.minute for sample in here["app"]] == [0.5]
