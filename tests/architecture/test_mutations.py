"""The wrong lines of scripts/mutations can still be put in: one that moved tests nothing."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
FILES = sorted((CHECKOUT / "scripts" / "mutations").glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_mutation_names_a_line_and_a_test_that_are_there(path: Path) -> None:
    rows = runpy.run_path(str(path))["MUTATIONS"]
    assert rows
    for source, old, _, selection in rows:
        found = (CHECKOUT / source).read_text().count(old)
        assert found == 1, f"{path.name}: {old!r} stands {found} times in {source}"
        tests = [word for word in selection.split() if word.startswith("tests/")]
        assert all((CHECKOUT / test.split("::")[0]).exists() for test in tests), selection
