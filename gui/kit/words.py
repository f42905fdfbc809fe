"""Translation of the app's texts: `tr` around every text that is shown.

English is the key; `gui/languages/NAME.json` has the other languages. A language is chosen once, before the window is
made: widgets do not update their texts. Logs and files stay English.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "languages"
ENGLISH = "en"
LANGUAGE_SETTING = "view/language"
PSEUDO = "pseudo"
"""Test language: every text that went through `tr` is marked; a test finds the others."""
MARKS = "\u27e6", "\u27e7"
_chosen: dict[str, str] | None = None
_is_pseudo = False


def tr(text: str, /, **values: object) -> str:
    """Return `text` in the chosen language, its `{fields}` filled with `values` as str.format does."""
    if _is_pseudo:
        text = f"{MARKS[0]}{text}{MARKS[1]}"
    elif _chosen:
        text = _chosen.get(text, text)
    return text.format(**values) if values else text


def languages() -> dict[str, str]:
    """Return the name of each language in itself, by its code; English first."""
    found = {path.stem: catalogue(path.stem)["English"] for path in sorted(FOLDER.glob("*.json"))}
    return {ENGLISH: "English", **found}


@cache
def catalogue(code: str) -> dict[str, str]:
    """Return a language's texts by the English ones; empty for English and unknown languages."""
    path = FOLDER / f"{code}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def choose_language(code: str) -> None:
    """Make `tr` use this language from now on; an unknown one is English."""
    global _chosen, _is_pseudo
    _is_pseudo = code == PSEUDO
    _chosen = None if _is_pseudo else catalogue(code)
