"""Hooks of `mkdocs build` (mkdocs.yml): links out of docs/ become text, the notebook stays out of the search."""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of a page without links to files outside docs/, which are not on the site."""
    if page.file.src_uri.startswith("notebook/"):
        page.meta["search"] = {"exclude": True}
    folder = posixpath.dirname(page.file.src_uri)

    def kept(link: re.Match[str]) -> str:
        target = link[2]
        if "://" in target or not posixpath.normpath(posixpath.join(folder, target)).startswith(".."):
            return link[0]
        return link[1]

    return LINK.sub(kept, markdown)
