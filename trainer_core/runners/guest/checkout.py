"""A library's source, as the user has it in a folder."""

from __future__ import annotations

from pathlib import Path


def checkout_commit(checkout: Path) -> str:
    """The commit of the checkout where it says one, for the meta record; otherwise empty."""
    head = checkout / ".git" / "HEAD"
    try:
        text = head.read_text().strip()
        return (head.parent / text[5:]).read_text().strip() if text.startswith("ref: ") else text
    except OSError:
        return ""
