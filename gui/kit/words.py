"""Translation of the app's texts by `tr`, which is called for every text that is shown.

The English text is the key; `gui/languages/NAME.json` has the translations. The language is chosen before the window is
made, as widgets do not update their texts. Logs and files are English.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "languages"
ENGLISH = "en"
LANGUAGE_SETTING = "view/language"
PSEUDO = "pseudo"
"""Test language in which each translated text is marked, so that a test finds texts without `tr`."""
MARKS = "\u27e6", "\u27e7"
_chosen: dict[str, str] | None = None
_is_pseudo = False


def tr(text: str, /, **values: object) -> str:
    """Return the translation of an English text, with its `{fields}` replaced by `values` as in str.format."""
    if _is_pseudo:
        text = f"{MARKS[0]}{text}{MARKS[1]}"
    elif _chosen:
        text = _chosen.get(text, text)
    return text.format(**values) if values else text


def languages() -> dict[str, str]:
    """Return the name of each language, in that language, by its code; English first."""
    found = {path.stem: catalogue(path.stem)["English"] for path in sorted(FOLDER.glob("*.json"))}
    return {ENGLISH: "English", **found}


@cache
def catalogue(code: str) -> dict[str, str]:
    """Return the translations of a language by English text; empty for English and unknown codes."""
    path = FOLDER / f"{code}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def choose_language(code: str) -> None:
    """Set the language of `tr`; an unknown code means English."""
    global _chosen, _is_pseudo
    _is_pseudo = code == PSEUDO
    _chosen = None if _is_pseudo else catalogue(code)
