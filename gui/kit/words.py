"""Translation of the app's texts by `tr`, which is called for every text that is shown; numbers in each language.

The English text is the key; `gui/languages/NAME.json` has the translations. The language is chosen before the window is
made, as widgets do not update their texts. Logs and files are English.
"""

from __future__ import annotations

import json
import re
from functools import cache
from numbers import Real
from pathlib import Path
from string import Formatter

from PySide6.QtCore import QLocale

FOLDER = Path(__file__).parents[1] / "languages"
ENGLISH = "en"
LANGUAGE_SETTING = "view/language"
PSEUDO = "pseudo"
"""Test language in which each translated text is marked, so that a test finds texts without `tr`."""
MARKS = "\u27e6", "\u27e7"
_chosen: dict[str, str] | None = None
_is_pseudo = False
_locale = QLocale(ENGLISH)


class _Fields(Formatter):
    def format_field(self, value: object, format_spec: str) -> str:
        found = format(value, format_spec)
        return in_language(found) if format_spec and isinstance(value, Real) else found


_fields = _Fields()


def tr(text: str, /, **values: object) -> str:
    """Return the translation of an English text, with its `{fields}` replaced by `values` as in str.format.

    Numbers with a format, such as `{rate:.0%}`, are written as in the chosen language.
    """
    if _is_pseudo:
        text = f"{MARKS[0]}{text}{MARKS[1]}"
    elif _chosen:
        text = _chosen.get(text, text)
    if not values:
        return text
    return _fields.vformat(text, (), values) if ":" in text else text.format(**values)


def number(value: float, form: str = ",") -> str:
    """Return a number in a format such as ".0%", with the separators of the chosen language, a space before %."""
    return in_language(format(value, form))


def in_language(text: str) -> str:
    """Return a number as Python writes it with the separators of the chosen language, and a space before %."""
    point, comma = _locale.decimalPoint(), _locale.groupSeparator()
    return text.translate({ord("."): point, ord(","): comma}).replace("%", " %")


def as_python(text: str) -> str:
    """Return a number that was typed with the separators of the chosen language as Python writes it.

    A point that stands for no group of three digits is a decimal point in each language.
    """
    point, comma = _locale.decimalPoint(), _locale.groupSeparator()
    is_grouped = re.fullmatch(rf"\D*[1-9]\d{{0,2}}({re.escape(comma)}\d{{3}})+(\D.*)?", text.strip())
    if comma == "," or not (is_grouped or point in text):
        return text
    return text.replace(comma, "").replace(point, ".")


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
    """Set the language of `tr` and of numbers; an unknown code means English."""
    global _chosen, _is_pseudo, _locale
    _locale = QLocale(code if catalogue(code) else ENGLISH)
    QLocale.setDefault(_locale)  # of boxes with numbers
    _is_pseudo = code == PSEUDO
    _chosen = None if _is_pseudo else catalogue(code)
