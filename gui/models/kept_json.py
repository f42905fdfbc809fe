"""What the app keeps between starts in one setting, as JSON: decoded to a type, or left."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from trainer_core.protocol.decoding import parsing
from trainer_core.protocol.errors import LabError

T = TypeVar("T")
MOST_LETTERS = 256 << 10
"""Of one setting; a home may be somebody else's."""


class Texts(Protocol):
    def text(self, key: str, default: str = "") -> str: ...


def kept_json(settings: Texts, key: str, kind: type[T], default: T) -> T:
    """Return the setting as `kind`; `default` for one that is not there, or is none."""
    text = settings.text(key)
    if not text or len(text) > MOST_LETTERS:
        return default
    try:
        with parsing(key):
            return msgspec.json.decode(text, type=kind)
    except LabError:
        return default
