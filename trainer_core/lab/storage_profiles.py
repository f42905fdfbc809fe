"""`storage_profiles.toml` of a home: folders that runs can be moved to, and the policy that tidies old runs.

TOML, as tasks and the ROM register, since Python reads it without another library.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.errors import ConfigError, shown
from trainer_core.wire.regular_files import read_regular

HOME_ITSELF = "home"
"""Name of the place that a run is made in; no profile may have it."""
TEMPLATE = """\
# Where runs are kept, and what happens to old ones. `dmglab storage` shows it, `dmglab storage apply` applies it; with
# `on = true` the app applies it too, when it starts and every hour. A run that has not ended is never touched.
[policy]
on = false
compress_after_days = 7    # pack worker logs and the pictures of recordings; opening one unpacks it. 0 = never
move_after_days = 0        # move runs to the profile `move_to`. 0 = never
move_to = ""
archive_after_days = 0     # pack a run into one file, which `dmglab archive restore` unpacks. 0 = never
prune_after_days = 0       # move runs to the trash, from which `dmglab storage undo` takes them. 0 = never
trash_days = 14            # runs in the trash are deleted after this time
keep = 20                  # this number of ended runs, the newest, is never moved, archived or pruned

# One table a folder; kind is "local", or "remote" for the mounted folder of another computer.
# [profiles.nas]
# folder = "/mnt/nas/dmglab"
# kind = "remote"
"""
Days = Annotated[float, Meta(ge=0, le=36_500)]


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Folder outside the home that holds moved runs."""

    folder: str
    kind: Literal["local", "remote"] = "local"


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ages in days, counted from the end of a run, at which something happens to it; 0 = never."""

    on: bool = False
    compress_after_days: Days = 0
    move_after_days: Days = 0
    move_to: str = ""
    archive_after_days: Days = 0
    prune_after_days: Days = 0
    trash_days: Days = 14
    keep: Annotated[int, Meta(ge=0)] = 20


class Storage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of the file."""

    policy: Policy = Policy()
    profiles: dict[str, Profile] = {}

    def folder(self, name: str) -> Path:
        """Return a profile's folder. Raises ConfigError for an unknown profile."""
        if name not in self.profiles:
            known = ", ".join([*self.profiles, HOME_ITSELF])
            raise ConfigError(f"no storage profile {shown(name)!r}; known: {known}; storage_profiles.toml defines them")
        return Path(self.profiles[name].folder)


def read_storage(home: HomePaths) -> Storage:
    """Return the home's profiles and policy; without a file none, switched off. Raises ConfigError naming the file."""
    path = home.storage_profiles
    try:
        found = msgspec.convert(tomllib.loads(read_regular(path).decode()), Storage)
    except FileNotFoundError:
        return Storage()
    except (OSError, ValueError, RecursionError) as error:  # msgspec's and tomllib's errors are ValueErrors
        raise ConfigError(f"{path}: {shown(error, 160)}") from None
    for name, profile in found.profiles.items():
        if name == HOME_ITSELF or not Path(profile.folder).is_absolute():
            raise ConfigError(f"{path}: profile {shown(name)!r} needs another name or an absolute folder")
    if found.policy.move_after_days:
        found.folder(found.policy.move_to)
    return found


def make_template(home: HomePaths) -> Path:
    """Return the file, after writing TEMPLATE where there is none. Raises OSError."""
    if not home.storage_profiles.exists():
        home.root.mkdir(parents=True, exist_ok=True)
        durable_files.replace_file(home.storage_profiles, TEMPLATE.encode())
    return home.storage_profiles


def switch_policy(home: HomePaths, on: bool) -> None:
    """Set `on` of the policy and leave all else in the file as it is. Raises ConfigError, OSError."""
    path = make_template(home)
    text, found = re.subn(
        r"(?m)^(\s*on\s*=\s*)(true|false)", rf"\g<1>{str(on).lower()}", read_regular(path).decode(), count=1
    )
    if not found:
        raise ConfigError(f"{path}: [policy] has no line `on = false`; add it")
    durable_files.replace_file(path, text.encode())
    read_storage(home)
