"""`dmglab rom add|list|remove`: the ROMs that a person owns, known by hash, never copied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.wire.errors import ConfigError


@dataclass(frozen=True)
class AddOptions:
    paths: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """ROM files, .gb; they stay where they are."""
    home: Path | None = None
    """Whose register; default DMGLAB_HOME or var/ of the checkout."""


@dataclass(frozen=True)
class ListOptions:
    home: Path | None = None
    """Whose register; default DMGLAB_HOME or var/ of the checkout."""


@dataclass(frozen=True)
class RemoveOptions:
    rom: Annotated[str, tyro.conf.Positional]
    """Path, file name, title or SHA-256 of a registered ROM; the file stays."""
    home: Path | None = None
    """Whose register; default DMGLAB_HOME or var/ of the checkout."""


def add(argv: list[str]) -> dict[str, Any]:
    from trainer_core.envs.rom_registry import add_rom, list_profiles

    options = parse(AddOptions, "rom add", argv)
    if not options.paths:
        raise ConfigError("name at least one ROM file: dmglab rom add PATH")
    home = home_paths(options.home)
    found: dict[str, Any] = {"ok": True, "roms": [add_rom(path, home) for path in options.paths]}
    names = {row.get("profile") for row in found["roms"]}
    profiles = [row for row in list_profiles(home) if row["id"] in names]
    return found | ({"profiles": profiles} if profiles else {})


def list_all(argv: list[str]) -> dict[str, Any]:
    from trainer_core.envs.rom_registry import list_profiles, list_roms

    home = home_paths(parse(ListOptions, "rom list", argv).home)
    return {"ok": True, "roms": list_roms(home), "profiles": list_profiles(home)}


def remove(argv: list[str]) -> dict[str, Any]:
    from trainer_core.envs.rom_registry import remove_rom

    options = parse(RemoveOptions, "rom remove", argv)
    return {"ok": True, "removed": remove_rom(options.rom, home_paths(options.home))}
