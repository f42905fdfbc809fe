"""Profiles: what to make of a game that we may not ship, as data without anything of the game."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from trainer_core.protocol.errors import TaskError, shown
from trainer_core.protocol.manifest_checks import refuse_long_keys
from trainer_core.protocol.paths import ASSETS
from trainer_core.protocol.regular_files import read_regular


class Stage(msgspec.Struct, kw_only=True, frozen=True):
    """One task to make, in words: which states to save, which picture to capture."""

    id: str
    title: str
    start: str
    goal: str


class Profile(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    id: str
    title: str
    sha1: str
    """As published; `source` says where."""
    source: str
    verified: bool
    """Whether we compared the hash with a cartridge of our own."""
    stages: tuple[Stage, ...]


def load_profiles(root: Path = ASSETS / "profiles") -> list[Profile]:
    """Every profile that we ship, by id. Raises TaskError for one that cannot be read."""
    found = []
    for path in sorted(root.glob("*.toml")):
        try:
            data = read_regular(path)
            refuse_long_keys(path, data)
            raw = tomllib.loads(data.decode())
            found.append(msgspec.convert(raw, Profile))
        except (OSError, ValueError, OverflowError, RecursionError) as error:
            raise TaskError(f"{path}: {shown(error, 120)}") from None
    return found
