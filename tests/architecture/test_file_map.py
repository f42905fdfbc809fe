"""docs/files.md names every file of our packages; pages name no file that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.imports import CHECKOUT, sources

PACKAGES = ("dmglab", "emulator", "gui", "trainer_core")
MAP = CHECKOUT / "docs" / "files.md"
ONE_FILE_A_COMMAND = "trainer_core/cli"
PAGES = [CHECKOUT / "README.md", CHECKOUT / "ARCHITECTURE.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
PATH = re.compile(r"`((?:emulator|gui|trainer_core|docs|scripts|tests)/[\w/.-]*)")
"""The beginning of code that is a path from the checkout, or from the folder `tests`."""
MOST_WORDS = 1500


def sections() -> dict[str, str]:
    """Return the text about each folder, by the folder's path."""
    found = dict(re.findall(r"\n## ([\w/]+): (.*?)(?=\n## |\Z)", MAP.read_text(encoding="utf-8"), flags=re.DOTALL))
    assert len(found) > 30
    return found


def files_of(folder: str) -> set[str]:
    """Return the files below a folder that no other section is about, by their names in it.

    Of files such as `__init__` only those of features count: they define commands.
    """
    others = [CHECKOUT / other for other in sections() if other.startswith(f"{folder}/")]
    return {
        str(path.relative_to(CHECKOUT / folder).with_suffix(""))
        for path in sources(folder)
        if not any(path.is_relative_to(other) for other in others)
        and (not path.stem.startswith("__") or path.parents[1].name == "features")
    }


@pytest.mark.parametrize("folder", sections())
def test_the_map_of_files_is_whole(folder: str) -> None:
    text, there = sections()[folder], files_of(folder)
    assert there
    named = set(re.findall(r"`([\w/*]+)`", text))
    whole = {name.removesuffix("/*") for name in named if name.endswith("/*")}
    if folder != ONE_FILE_A_COMMAND:
        missing = {name for name in there - named if not whole & set(map(str, Path(name).parents))}
        assert not missing, f"docs/files.md does not name, below {folder}: {missing}"
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", text, flags=re.MULTILINE)
    for row in rows[1:]:
        for name in re.findall(r"`([\w/]+)`", row[0]):
            assert (CHECKOUT / folder / f"{name}.py").is_file(), f"docs/files.md names {folder}/{name}, which is gone"


def test_every_folder_has_its_part_of_the_map() -> None:
    folders = {*PACKAGES}
    for parent in ("trainer_core", "gui", "gui/features"):
        folders |= {str(path.parent.relative_to(CHECKOUT)) for path in (CHECKOUT / parent).glob("*/__init__.py")}
    assert sections().keys() == folders - {"gui/features"}


def test_the_page_on_architecture_is_short() -> None:
    assert len((CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8").split()) < MOST_WORDS


def test_what_a_newcomer_changes_is_named_with_one_file_or_two() -> None:
    page = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", page.split("\n## Where do I change X\n")[1], flags=re.MULTILINE)
    assert len(rows) > 30
    wrong = [wish for wish, files in rows[1:] if len(PATH.findall(files)) not in (1, 2)]
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    """A path may end before `.py`; capital letters stand for any name."""
    text = page.read_text(encoding="utf-8")
    paths = set(PATH.findall(text)) | set(re.findall(r"(?<![\w/])(?:emulator|gui|trainer_core)/[\w/]+\.py\b", text))
    links = {target for target in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in target}
    gone = [
        path
        for path in paths
        if not re.search("[A-Z]{2}", path)
        and not any((CHECKOUT / top / f"{path}{end}").exists() for top in ("", "tests") for end in ("", ".py"))
    ]
    gone += [target for target in links if not (page.parent / target).exists()]
    assert not gone, gone
