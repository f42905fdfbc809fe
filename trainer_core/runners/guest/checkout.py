"""Commit of a library's checkout in a folder of the user's."""

from __future__ import annotations

from pathlib import Path


def checkout_commit(checkout: Path) -> str:
    """Return the commit of the checkout, for the meta record, or ""."""
    head = checkout / ".git" / "HEAD"
    try:
        text = head.read_text().strip()
        return (head.parent / text[5:]).read_text().strip() if text.startswith("ref: ") else text
    except OSError:
        return ""
