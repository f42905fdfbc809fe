"""Whatever a file holds: each decoder reads it, or refuses it in one short line, soon and small.

The decoders stand in `tests/support/decoders.py`. `DMGLAB_FUZZ_EXAMPLES=20000` makes the longer run
that docs/robustness.md reports.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.decoders import DECODERS, Decoder, Part
from tests.support.decoding_process import DecodingProcess
from tests.support.mutated import (
    Bytes,
    mutated,
    mutated_json,
    mutated_lines,
    mutated_npz,
    mutated_toml,
)

EXAMPLES = int(os.environ.get("DMGLAB_FUZZ_EXAMPLES", "12"))
FORMS = {
    "bytes": mutated, "json": mutated_json, "lines": mutated_lines, "npz": mutated_npz,
    "toml": mutated_toml,
}  # fmt: skip
DAMAGED = settings(
    max_examples=EXAMPLES, deadline=None, derandomize="DMGLAB_FUZZ_EXAMPLES" not in os.environ,
    database=None, suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.fixture(scope="module")
def process() -> Iterator[DecodingProcess]:
    process = DecodingProcess()
    yield process
    process.close()


@pytest.fixture(scope="module")
def visited() -> set[tuple[str, str]]:
    """(file, qualified name) of the functions that reading the good samples called."""
    return set()


def samples(decoder: Decoder, folder: Path) -> dict[Part, Bytes]:
    """What each part of the good sample in `folder` may become."""
    found = {}
    for part in decoder.parts:
        good = (folder / part.file).read_bytes()
        if part.inside is None:
            found[part] = FORMS[part.form](good)
        else:
            unwrap, wrap = part.inside
            found[part] = FORMS[part.form](unwrap(good)).map(wrap)
    return found


@pytest.mark.parametrize("name", DECODERS)
def test_damage_is_read_or_refused(
    name: str, tmp_path: Path, process: DecodingProcess, visited: set[tuple[str, str]]
) -> None:
    decoder, folder = DECODERS[name], tmp_path / "sample"
    folder.mkdir()
    decoder.make(folder)
    was_read, said = process.read(name, folder)
    assert was_read, f"the good sample was refused: {said}"
    visited |= process.functions(name, folder)
    good = {part: (folder / part.file).read_bytes() for part in decoder.parts}
    damage = [found.map(lambda data, part=part: (part, data))
              for part, found in samples(decoder, folder).items()]  # fmt: skip

    @DAMAGED
    @given(st.one_of(damage))
    def each(found: tuple[Part, bytes]) -> None:
        part, data = found
        (folder / part.file).write_bytes(data)
        try:
            process.read(name, folder)
        finally:
            (folder / part.file).write_bytes(good[part])

    each()
