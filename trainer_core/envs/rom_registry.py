"""Adding, listing and removing of the user's ROMs in the register that `lab.roms` reads."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from emulator import Cartridge, EmulatorError
from emulator.rom.cartridge import MAX_ROM_SIZE
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import (
    REGISTER,
    ROM_SUFFIXES,
    KnownRom,
    Profile,
    RegisteredRom,
    fitting,
    load_profiles,
    read_register,
    registered_roms,
    roms_file,
)
from trainer_core.wire.errors import LabError, TaskError, shown
from trainer_core.wire.regular_files import is_regular, read_regular


def add_rom(path: Path, home: HomePaths) -> dict[str, Any]:
    """Register the ROM at `path`; return its row of `list_roms`. Raises LabError.

    A second copy of a registered ROM replaces the first path: only one is stored.
    """
    path = Path(os.path.abspath(path.expanduser()))
    if not str(path).isprintable():
        raise TaskError(f"{str(path)!r}: rename the file: its name cannot be written down")
    try:
        cartridge = Cartridge.from_file(path)
    except EmulatorError as error:
        raise TaskError(str(error)) from None
    data = read_regular(path, MAX_ROM_SIZE)
    header = cartridge.header
    rom = RegisteredRom(
        path=str(path),
        title=header.title,
        mapper=header.mapper.name,
        size=len(data),
        ram_size=header.ram_size,
        sha1=hashlib.sha1(data, usedforsecurity=False).hexdigest(),
        warnings=tuple(warning.removeprefix(f"{path}: ") for warning in cartridge.warnings),
    )
    _change(home, lambda roms: roms.__setitem__(cartridge.sha256, rom))
    return _row(cartridge.sha256, rom)


def remove_rom(which: str, home: HomePaths) -> str:
    """Unregister the ROM of that path, file name, title or SHA-256; return the SHA-256.

    The file itself stays. Raises TaskError when none or several match.
    """
    roms, bad = read_register(home)
    path = os.path.abspath(Path(which).expanduser())
    fits = [sha256 for sha256, rom in roms.items() if rom.path == path]
    if not fits:
        known = [KnownRom(Path(rom.path), sha256, rom.title) for sha256, rom in roms.items()]
        fits = [rom.sha256 for rom in fitting(which, known)]
    fits = fits or [name for name in bad if which and name.startswith(which)]
    if len(fits) != 1:
        problem = "no ROM is registered" if not fits else f"{len(fits)} ROMs are registered"
        raise TaskError(f"{shown(which)}: {problem} under this path, name or hash; see `dmglab rom list`")
    _change(home, lambda roms: roms.pop(fits[0], None), drop=fits[0])
    return fits[0]


def list_roms(home: HomePaths) -> list[dict[str, Any]]:
    """Return one row for each registered ROM: facts of its header, and `state`: ok, missing, changed, or bad with a
    reason.

    A missing one that is in its old folder under another name is `moved`, with its path in `found`.
    """
    register = read_register(home)
    rows = [_row(sha256, rom) for sha256, rom in sorted(register.roms.items())]
    return rows + [_bad_row(name, why) for name, (_, why) in sorted(register.bad.items())]


def list_profiles(home: HomePaths) -> list[dict[str, Any]]:
    """Return one row for each shipped profile: `enabled` if a ROM with its hash is registered, else how to enable
    it."""
    owned = {rom.sha1 for rom in registered_roms(home).values()}
    return [_profile_row(profile, profile.sha1 in owned) for profile in load_profiles()]


def _row(sha256: str, rom: RegisteredRom) -> dict[str, Any]:
    state, found = _state(sha256, rom)
    row: dict[str, Any] = {"sha256": sha256, "state": state, **msgspec.structs.asdict(rom)}
    if found:
        row["found"] = found
    if state != "ok":
        row["fix"] = f"{REGISTER} (where the file is now), or `dmglab rom remove {sha256[:12]}`"
    profile = next((p.id for p in load_profiles() if rom.sha1 and p.sha1 == rom.sha1), "")
    return row | ({"profile": profile} if profile else {})


def _bad_row(name: str, reason: str) -> dict[str, Any]:
    """Return the row in `list_roms` for an invalid entry of roms.json."""
    fix = f"`dmglab rom remove {shown(name, 12).removesuffix('...')}`, or repair settings/roms.json"
    return {"sha256": shown(name), "state": "bad", "reason": reason, "fix": fix}


def _state(sha256: str, rom: RegisteredRom) -> tuple[str, str]:
    """Return the state of a registered ROM's file (ok, missing, changed or moved), and its new path if it was moved."""
    path = Path(rom.path)
    if _hash(path) == sha256:
        return "ok", ""
    with contextlib.suppress(OSError):  # the folder is gone, or not readable by this user
        for other in sorted(path.parent.iterdir()):
            same_kind = other.suffix.lower() in ROM_SUFFIXES and other != path and is_regular(other)
            if same_kind and rom.size in (0, other.stat().st_size) and _hash(other) == sha256:
                return "moved", str(other)
    return ("changed" if is_regular(path) else "missing"), ""


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(read_regular(path, MAX_ROM_SIZE)).hexdigest()
    except OSError:
        return ""


def _profile_row(profile: Profile, enabled: bool) -> dict[str, Any]:
    row = msgspec.to_builtins(msgspec.structs.replace(profile, ram=None)) | {"enabled": enabled}
    row["ram"] = profile.ram is not None
    if not enabled:
        row["instructions"] = (
            f"disabled: bring your own copy of {profile.title}, SHA-1 {profile.sha1}, and register "
            f"it with `{REGISTER}`; then make each stage with `dmglab task new --rom`"
        )
    return row


def _change(home: HomePaths, change: Callable[[dict[str, RegisteredRom]], object], drop: str = "") -> None:
    """Apply `change` to the ROMs in roms.json, under a lock, so that changes of two processes at once both take effect.

    Invalid entries are kept unchanged, except the entry `drop`.
    """
    path = roms_file(home)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Links in a home of other authors are not followed, and pipes do not block.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with open(os.open(path.with_name(".roms.lock"), flags, 0o644), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            roms, bad = read_register(home)
            change(roms)
            kept = {name: raw for name, (raw, _) in bad.items() if name not in (drop, *roms)}
            partial = path.with_name(".roms.tmp")  # a fixed name: the next call removes what a killed one left
            partial.unlink(missing_ok=True)
            try:
                with partial.open("xb") as file:
                    file.write(msgspec.json.format(msgspec.json.encode(kept | roms)) + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(partial, path)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise LabError(f"{path}: cannot be written: {error.strerror}") from None
