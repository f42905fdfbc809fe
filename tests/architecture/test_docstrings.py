"""Docstrings: a function's begins with an imperative verb, other docstrings with a noun phrase."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.imports import BLOCKS, CHECKOUT, sources

VERBS = Path(__file__).with_name("imperative_verbs.txt")
NOUNS_TOO = re.compile("log|name|number|thread|record|place|page|frame|line|point|state|time|report")
"""Verbs that head noun phrases as well ("Log number of a register"): a lower-case noun may not follow."""
BEFORE_A_NOUN = re.compile(
    "an?|all|and|any|another|both|each|either|every|from|how|in|its|no|on|one|that|the|these|this|those|to|whether|which"
)
PRONOUN = re.compile("(What|Who|Whether|Those|It|That|Its|Which|Whose|How|Why|Where)\\b")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
LIMITS = {"dmglab": (2, 0), "emulator": (2, 0), "gui": (2, 0), "trainer_core": (2, 0)}
"""By package: most percent of functions without a verb, most other docstrings with a pronoun."""


class Docstring(NamedTuple):
    place: str
    text: str
    is_of_function: bool
    """True of functions and methods, false of modules, classes and properties."""


@functools.cache
def verbs() -> frozenset[str]:
    return frozenset(VERBS.read_text(encoding="utf-8").split())


@functools.cache  # two tests ask for each package
def docstrings(package: str) -> tuple[Docstring, ...]:
    return tuple(found for path in sources(package) for found in of_file(path))


def of_file(path: Path) -> Iterator[Docstring]:
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        nodes.extend(child for name in BLOCKS for child in getattr(node, name, ()))
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            place = f"{path.relative_to(CHECKOUT)}:{getattr(node, 'lineno', 1)}"
            is_of_function = not isinstance(node, ast.Module | ast.ClassDef) and not is_property(node)
            yield Docstring(place, text, is_of_function)


def is_property(function: ast.AST) -> bool:
    decorators: list[ast.expr] = getattr(function, "decorator_list", [])
    return any("property" in ast.unparse(decorator) for decorator in decorators)


def begins_with_verb(text: str) -> bool:
    """Return whether the first word is a verb, which no "of" and, if it may be a noun, no noun follows."""
    word, following = [*text.split(maxsplit=2), "", ""][:2]
    word, following = word.rstrip(",.:;").lower(), following.rstrip(",.:;")
    if word not in verbs() or following == "of":
        return False
    return not NOUNS_TOO.fullmatch(word) or bool(BEFORE_A_NOUN.fullmatch(following)) or not following[:1].islower()


def test_the_list_of_verbs_is_sorted() -> None:
    lines = VERBS.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    assert all(re.fullmatch("[a-z]+(-[a-z]+)?", line) for line in lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Return the checksum.", True),
        ("Log a write to a register.", True),
        ("Log OAM before it changes.", True),
        ("Re-time a transfer.", True),
        ("Log number of a register.", False),
        ("Number of set bits.", False),
        ("End of a transfer.", False),
        ("The checksum.", False),
        ("Returns the checksum.", False),
        ("`peek` without a call.", False),
        ("uint8[N, 72, 80]: pictures.", False),
    ],
)
def test_a_verb_is_told_from_a_noun(text: str, expected: bool) -> None:
    assert begins_with_verb(text) == expected


@pytest.mark.parametrize("package", LIMITS)
def test_functions_begin_with_a_verb(package: str) -> None:
    found = [docstring for docstring in docstrings(package) if docstring.is_of_function]
    bad = [docstring for docstring in found if not begins_with_verb(docstring.text)]
    assert found
    assert 100 * len(bad) <= LIMITS[package][0] * len(found), (
        f"{len(bad)} of {len(found)} docstrings of functions in {package} begin without a verb of {VERBS.name}:\n"
        + "\n".join(f"{docstring.place} {docstring.text.splitlines()[0]}" for docstring in bad[:50])
    )


@pytest.mark.parametrize("package", LIMITS)
def test_modules_classes_and_properties_begin_without_a_pronoun(package: str) -> None:
    found = [docstring for docstring in docstrings(package) if not docstring.is_of_function]
    bad = [docstring for docstring in found if PRONOUN.match(docstring.text)]
    assert found
    assert len(bad) <= LIMITS[package][1], "\n".join(
        f"{docstring.place} {docstring.text.splitlines()[0]}" for docstring in bad[:50]
    )
