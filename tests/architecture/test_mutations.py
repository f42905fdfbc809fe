"""Lists that name lines and tests: the wrong lines of scripts/mutations, the slow tests."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
FILES = sorted((CHECKOUT / "scripts" / "mutations").glob("*.py"))


def test_the_list_of_slow_tests_names_tests_that_are_there() -> None:
    listed = (CHECKOUT / "tests" / "slow.txt").read_text().splitlines()
    for line in (line for line in listed if not line.startswith("#")):
        path, _, name = line.partition("::")
        assert f"def {name}(" in (CHECKOUT / path).read_text(), line


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_mutation_names_a_line_and_a_test_that_are_there(path: Path) -> None:
    rows = runpy.run_path(str(path))["MUTATIONS"]
    assert rows
    for source, old, _, selection in rows:
        found = (CHECKOUT / source).read_text().count(old)
        assert found == 1, f"{path.name}: {old!r} stands {found} times in {source}"
        tests = [word for word in selection.split() if word.startswith("tests/")]
        assert all((CHECKOUT / test.split("::")[0]).exists() for test in tests), selection
