"""Checkouts of libraries in folders of the user's: their commits, and those that our adapters were tried with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trainer_core.wire.checks import Check, judged

KNOWN_COMMITS = {
    "CleanRL": ("vwxyzjn/cleanrl", "fe8d8a03c41a7ef5b523e2e354bd01c363e786bb"),
    "CORL": ("tinkoff-ai/CORL", "6afec90484bbf47dee05fdf525e26a3ebe028e9b"),
}
"""Repository on GitHub, and the commit that the adapter was tried with, by the library's title."""


def checkout_commit(checkout: Path) -> str:
    """Return the commit of the checkout, for the meta record, or ""."""
    git = checkout / ".git"
    try:
        text = (git / "HEAD").read_text().strip()
        if not text.startswith("ref: "):
            return text
        ref = text[5:]
        if (git / ref).is_file():
            return (git / ref).read_text().strip()
        rows = (line.split(" ") for line in (git / "packed-refs").read_text().splitlines())
        return next((row[0] for row in rows if row[1:] == [ref]), "")
    except OSError:
        return ""


def check_checkout(library: str, source: Path, require: Callable[[], object]) -> Check:
    """Check that the checkout has what `require` asks for, and is at the commit that the adapter was tried with.

    Another commit is a warning: its scripts may have other options.
    """
    repository, known = KNOWN_COMMITS[library]
    found = judged("Checkout", lambda: str(require()), f"Clone {repository} from GitHub; give its folder as --checkout")
    commit = checkout_commit(source)
    if found.status != "ok" or commit == known:
        return found
    at = f"at {commit[:8]}" if commit else "no git checkout"
    return Check(
        name="Checkout",
        status="warn",
        detail=f"{source} is {at}; {library} was tried at {known[:8]}",
        fix=f"If the run fails: git -C {source} checkout {known}",
    )
