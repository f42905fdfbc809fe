"""`dmglab rom add|list|remove`: the register of ROM files; files are identified by hash and never copied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, HomeOptions, home_paths, parse
from trainer_core.cli.output import Result, table
from trainer_core.wire.errors import ConfigError


@dataclass(frozen=True)
class AddOptions:
    paths: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """ROM files, .gb; they stay where they are."""
    home: Home = None


@dataclass(frozen=True)
class RemoveOptions:
    rom: Annotated[str, tyro.conf.Positional]
    """Path, file name, title or SHA-256 of a registered ROM; the file stays."""
    home: Home = None


def add(argv: list[str]) -> dict[str, Any]:
    from trainer_core.envs.rom_registry import add_rom, list_profiles

    options = parse(AddOptions, "rom add", argv)
    if not options.paths:
        raise ConfigError("name at least one ROM file: dmglab rom add PATH")
    home = home_paths(options.home)
    found: dict[str, Any] = {"ok": True, "roms": [add_rom(path, home) for path in options.paths]}
    names = {row.get("profile") for row in found["roms"]}
    profiles = [row for row in list_profiles(home) if row["id"] in names]
    found |= {"profiles": profiles} if profiles else {}
    return Result(found, _roms(found["roms"]))


def list_all(argv: list[str]) -> dict[str, Any]:
    from trainer_core.envs.rom_registry import list_profiles, list_roms

    home = home_paths(parse(HomeOptions, "rom list", argv).home)
    roms, profiles = list_roms(home), list_profiles(home)
    games = [(row["id"], row["title"], "ready" if row["enabled"] else "ROM missing", row["sha1"]) for row in profiles]
    text = "\n\n".join(filter(None, (_roms(roms), table(("known game", "title", "state", "SHA-1 of its ROM"), games))))
    return Result({"ok": True, "roms": roms, "profiles": profiles}, text)


def _roms(rows: list[dict[str, Any]]) -> str:
    head = ("ROM", "title", "state", "path", "note")
    notes = (row.get("reason") or row.get("found") or row.get("fix") for row in rows)
    cells = (
        (row["sha256"][:12], row.get("title"), row.get("state", "ok"), row.get("path"), note)
        for row, note in zip(rows, notes, strict=True)
    )
    return table(head, cells, "No ROMs. `dmglab rom add` registers one.")


def remove(argv: list[str]) -> dict[str, Any]:
    from trainer_core.envs.rom_registry import remove_rom

    options = parse(RemoveOptions, "rom remove", argv)
    sha256 = remove_rom(options.rom, home_paths(options.home))
    return Result({"ok": True, "removed": sha256}, f"Removed {sha256} from the register; the file stays.")
