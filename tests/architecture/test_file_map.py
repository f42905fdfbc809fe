"""ARCHITECTURE.md names every file of the three packages, and no file that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.imports import CHECKOUT, sources

ONE_FILE_A_COMMAND = "trainer_core/cli"


def sections() -> dict[str, str]:
    """The text about each folder, by the folder's path."""
    page = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("\n## Files\n")[1]
    found = dict(re.findall(r"\n### ([\w/]+)(.*?)(?=\n### |\Z)", page, flags=re.DOTALL))
    assert len(found) > 14
    return found


@pytest.mark.parametrize("folder", sections())
def test_the_map_of_files_is_whole(folder: str) -> None:
    text = sections()[folder]
    named = set(re.findall(r"`([\w/*]+)`", text))
    there = {
        str(path.relative_to(CHECKOUT / folder).with_suffix(""))
        for path in sources(folder)
        if not path.stem.startswith("__")
    }
    assert there
    whole = {name.removesuffix("/*") for name in named if name.endswith("/*")}
    if folder != ONE_FILE_A_COMMAND:
        missing = {name for name in there - named if not whole & set(map(str, Path(name).parents))}
        assert not missing, f"ARCHITECTURE.md does not name, below {folder}: {missing}"
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", text, flags=re.MULTILINE)
    for row in rows[1:]:
        for name in re.findall(r"`([\w/]+)`", row[0]):
            assert name in there, f"ARCHITECTURE.md names {folder}/{name}, which is gone"


def test_every_folder_of_the_trainer_has_its_part_of_the_map() -> None:
    folders = {path.parent.name for path in (CHECKOUT / "trainer_core").glob("*/__init__.py")}
    assert {f"trainer_core/{name}" for name in folders} <= sections().keys()
