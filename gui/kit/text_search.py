"""Text search in lists: words, `-word`, wildcards, regular expressions; and types shared by list models."""

from __future__ import annotations

import re
from collections.abc import Iterable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRegularExpression

MOST_STEPS = 2000
"""Most backtracking steps of a regular expression per text, after which the text does not match.

Patterns such as `(a+)+$` would take for ever in a long name, and Python's own `re` has no such limit.
"""
_OPTIONS = (
    QRegularExpression.PatternOption.CaseInsensitiveOption | QRegularExpression.PatternOption.UseUnicodePropertiesOption
)
_WILD, _REGULAR = re.compile(r"[*?]"), re.compile(r"[\[\](){}|^$\\]|\.[*?+]")
Index = QModelIndex | QPersistentModelIndex
"""Type of the index that Qt passes to a list model."""
NO_PARENT = QModelIndex()


class TextSearch:
    """Search for texts that contain all words, and none of the words after a minus, in upper or lower case.

    `loss_*` and `run?` are wildcards within a word; a word with brackets, bars, anchors or `.*` is a regular
    expression. An invalid regular expression is a plain word.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.plain: list[str] = []
        """Required plain words, in lower case."""
        self._patterns: list[QRegularExpression] = []
        self._without: list[TextSearch] = []
        for word in words:
            if len(word) > 1 and word.startswith("-"):
                self._without.append(TextSearch([word[1:]]))
            elif (pattern := _pattern(word)) is not None:
                self._patterns.append(pattern)
            else:
                self.plain.append(word.lower())

    @property
    def is_plain(self) -> bool:
        """True if the search has only plain words, and none to exclude."""
        return not self._patterns and not self._without

    def __bool__(self) -> bool:
        return bool(self.plain or self._patterns or self._without)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSearch) and self._parts() == other._parts()

    __hash__ = None  # type: ignore[assignment]

    def _parts(self) -> object:
        return self.plain, self._patterns, self._without

    def finds(self, text: str) -> bool:
        """Return whether a text in lower case matches."""
        return (
            all(word in text for word in self.plain)
            and all(pattern.match(text).hasMatch() for pattern in self._patterns)
            and not any(other.finds(text) for other in self._without)
        )

    def narrows(self, before: TextSearch) -> bool:
        """Return whether each text that matches this search is known to match the search `before`.

        True while the user types on, so that only the previous matches need a new check.
        """
        if self._patterns != before._patterns or self._without != before._without:
            return False
        return all(any(old in new for new in self.plain) for old in before.plain)


def _pattern(word: str) -> QRegularExpression | None:
    """Return the regular expression of a word with wildcards or regular syntax; None for a plain word."""
    if _REGULAR.search(word):
        source = word
    elif _WILD.search(word):
        source = "".join(r"\S*" if letter == "*" else r"\S" if letter == "?" else re.escape(letter) for letter in word)
    else:
        return None
    pattern = QRegularExpression(f"(*LIMIT_MATCH={MOST_STEPS}){source}", _OPTIONS)
    return pattern if pattern.isValid() else None
