"""Search in lists: words, `-word`, wildcards, regular expressions; names that list models share."""

from __future__ import annotations

import re
from collections.abc import Iterable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRegularExpression

MOST_STEPS = 2000
"""Of backtracking in a text, then it counts as not found: `(a+)+$` has no end in a long name, and
Python's own `re` has no such limit. It is 15 us of CPU."""
_OPTIONS = (
    QRegularExpression.PatternOption.CaseInsensitiveOption | QRegularExpression.PatternOption.UseUnicodePropertiesOption
)
_WILD, _REGULAR = re.compile(r"[*?]"), re.compile(r"[\[\](){}|^$\\]|\.[*?+]")
Index = QModelIndex | QPersistentModelIndex
"""What Qt asks a list model with."""
NO_PARENT = QModelIndex()


class TextSearch:
    """Texts that hold every word and none of those behind a minus; case does not count.

    `loss_*` and `run?` are wildcards within a word; what has brackets, bars, anchors or `.*` is a
    regular expression. One that is half typed is a plain word.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.plain: list[str] = []
        """Words that have to be there as they are, in small letters."""
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
        """Whether the plain words are all there is."""
        return not self._patterns and not self._without

    def __bool__(self) -> bool:
        return bool(self.plain or self._patterns or self._without)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSearch) and self._parts() == other._parts()

    __hash__ = None  # type: ignore[assignment]

    def _parts(self) -> object:
        return self.plain, self._patterns, self._without

    def finds(self, text: str) -> bool:
        """Return whether a text in small letters is one of those that are looked for."""
        return (
            all(word in text for word in self.plain)
            and all(pattern.match(text).hasMatch() for pattern in self._patterns)
            and not any(other.finds(text) for other in self._without)
        )

    def narrows(self, before: TextSearch) -> bool:
        """Return whether all that this one finds was found before, because somebody typed on."""
        if self._patterns != before._patterns or self._without != before._without:
            return False
        return all(any(old in new for new in self.plain) for old in before.plain)


def _pattern(word: str) -> QRegularExpression | None:
    """The pattern of a word that is one; None of a plain word."""
    if _REGULAR.search(word):
        source = word
    elif _WILD.search(word):
        source = "".join(r"\S*" if letter == "*" else r"\S" if letter == "?" else re.escape(letter) for letter in word)
    else:
        return None
    pattern = QRegularExpression(f"(*LIMIT_MATCH={MOST_STEPS}){source}", _OPTIONS)
    return pattern if pattern.isValid() else None
