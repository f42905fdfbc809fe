"""What is being done while an environment is made, for whoever waits for it.

On a busy computer that takes minutes. One listener a process: it makes one environment at a time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

_listeners: list[Callable[[str], None]] = []


@contextlib.contextmanager
def heard_by(listener: Callable[[str], None]) -> Iterator[None]:
    """Call `listener` with the words of each step that is taken within."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(words: str) -> None:
    """Say what is done now; often, so a listener passes on what it wants."""
    for listener in _listeners:
        listener(words)
