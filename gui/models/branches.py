"""Recordings as a tree: which one branched off which, and at what frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trainer_core.lab.recording import Recording, read_recording
from trainer_core.wire.errors import ProtocolError


@dataclass(slots=True)
class Branch:
    """A recording, and those that share its beginning."""

    folder: Path
    recording: Recording
    children: list[Branch] = field(default_factory=list)


def branch_trees(folders: list[Path]) -> list[Branch]:
    """The roots in the order of `folders`; whose parent is not among them is a root itself."""
    found: dict[str, Branch] = {}
    for folder in folders:
        try:
            found.setdefault(folder.name, Branch(folder, read_recording(folder)))
        except ProtocolError:
            continue  # it is being written, or removed
    roots = []
    for branch in found.values():
        parent = found.get(branch.recording.parent)
        if parent is None or _is_above(branch, parent, found):
            roots.append(branch)
        else:
            parent.children.append(branch)
    for branch in found.values():
        branch.children.sort(key=lambda child: (child.recording.forked_at, child.folder.name))
    return roots


def _is_above(branch: Branch, other: Branch, found: dict[str, Branch]) -> bool:
    """Whether `branch` is an ancestor of `other`, or itself: files may say anything."""
    seen: set[str] = set()
    at: Branch | None = other
    while at is not None and at.folder.name not in seen:
        if at is branch:
            return True
        seen.add(at.folder.name)
        at = found.get(at.recording.parent)
    return False
