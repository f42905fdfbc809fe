"""The documentation: links, anchors, commands and Python blocks are right; pages made from tables are current."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.imports import CHECKOUT
from trainer_core.cli.command_table import COMMANDS, find

DOCS = CHECKOUT / "docs"
GUIDE = sorted((DOCS / "guide").glob("*.md"))
FOR_USERS = [CHECKOUT / "README.md", *GUIDE]
PAGES = [*CHECKOUT.glob("*.md"), *DOCS.rglob("*.md")]
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
MOST_WORDS, MOST_WORDS_A_PAGE = 20_000, 1_200
PLACEHOLDER = re.compile(r"[A-Z]{3,}")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(page)), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()).strip() for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def commands(page: Path) -> Iterator[str]:
    """Yield each `dmglab ...` line of a page: after a prompt in a block, or in backquotes with words behind it."""
    text = text_of(page)
    for language, block in FENCE.findall(text):
        if language == "console":
            yield from re.findall(r"^\$ (dmglab\b.*)$", block, flags=re.MULTILINE)
    yield from re.findall(r"`(dmglab [^`]+)`", FENCE.sub("", text))


@cache
def options(command: str) -> set[str]:
    """Return the options of a command, as the reference has them."""
    reference = text_of(DOCS / "reference" / "cli.md")
    section = reference.split(f"\n## `dmglab {command}`\n")[1].split("\n## ")[0]
    return set(re.findall(r"--[a-z][a-z-]*", section))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_link_and_anchor_exists(page: Path) -> None:
    for target, anchor in LINK.findall(FENCE.sub("", text_of(page))):
        if "://" in target:
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(there), f"{page.name}: {target}#{anchor}"


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: page.stem)
def test_every_command_is_one_that_the_program_has(page: Path) -> None:
    for line in commands(page):
        words = shlex.split(line, comments=True)[1:]
        if PLACEHOLDER.fullmatch(words[0]):  # `dmglab COMMAND --help`
            continue
        command, rest = find(words)
        assert command is not None, line
        assert command.function or not rest, line
        given = {word.partition("=")[0] for word in rest if word.startswith("--")} - {"--help"}
        foreign = (
            {"--data", "--checkout", "--online-steps"} if "--runner" in given else set()
        )  # options of another library's trainer
        assert given - foreign <= options(command.name), line


def test_python_blocks_compile() -> None:
    blocks = [
        (page, code) for page in FOR_USERS for language, code in FENCE.findall(text_of(page)) if language == "python"
    ]
    assert len(blocks) > 8
    for page, code in blocks:
        compile(code, str(page), "exec")


def test_guide_and_readme_are_short_and_leave_the_notebook_alone() -> None:
    words = {page.stem: len(text_of(page).split()) for page in FOR_USERS}
    assert sum(words.values()) <= MOST_WORDS
    assert {name for name, count in words.items() if count > MOST_WORDS_A_PAGE} == set()
    assert [page.name for page in FOR_USERS if "notebook/" in text_of(page)] == []


def test_pages_that_code_names_are_there() -> None:
    folders = ("dmglab", "emulator", "trainer_core", "scripts", "tests")
    named = [
        (path, page)
        for folder in folders
        for path in (CHECKOUT / folder).rglob("*.py")
        for page in re.findall(r"\bdocs/[\w/-]+\.md", text_of(path))
    ]
    assert len(named) > 20
    assert [(str(path), page) for path, page in named if not (CHECKOUT / page).exists()] == []


def test_every_environment_variable_is_explained() -> None:
    page = text_of(DOCS / "reference" / "environment.md")
    sources = [
        path for folder in ("dmglab", "emulator", "trainer_core", "gui") for path in (CHECKOUT / folder).rglob("*.py")
    ]
    named = {
        name
        for path in [*sources, *(CHECKOUT / "scripts").glob("*.*"), *(CHECKOUT / "tests").rglob("*.py")]
        for name in re.findall(r"\bDMGLAB_[A-Z_]*[A-Z]\b", text_of(path))
    }
    assert "DMGLAB_HOME" in named
    assert {name for name in named if name not in page} == set()


def test_every_page_of_the_guide_is_on_the_site_and_in_the_index() -> None:
    site, index = text_of(CHECKOUT / "mkdocs.yml"), text_of(DOCS / "README.md")
    for page in GUIDE:
        assert f"guide/{page.name}\n" in site
        assert f"(guide/{page.name})" in index


def test_pages_made_from_tables_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/render_docs.py", "--check"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_reference_has_every_command() -> None:
    reference = text_of(DOCS / "reference" / "cli.md")
    assert [name for name in COMMANDS if f"\n## `dmglab {name}`\n" not in reference] == []


def test_what_shows_a_requirement_of_the_owner_is_there() -> None:
    page = DOCS / "reference" / "owners_documents.md"
    rows = [line for line in text_of(page).splitlines() if re.match(r"\| ([COEPGR]\d+b?|gate 4) \|", line)]
    assert len(rows) == 235
    for row in rows:
        cells = row.strip("| ").split(" | ")
        assert len(cells) == 5, row
        assert re.match("yes|better|otherwise", cells[3]), row
    tests = set(re.findall(r"`((?:trainer_core|gui|architecture|runners)/[\w/]*test_\w+\.py)`", text_of(page)))
    assert len(tests) > 50
    assert [path for path in tests if not (CHECKOUT / "tests" / path).is_file()] == []
    lines = [line.split()[1:] for line in commands(page)]
    assert [words for words in lines if words[0] != "--help" and find(words)[0] is None] == []
