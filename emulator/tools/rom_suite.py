"""Test ROMs of a folder: run them and read the verdict of each.

Recognised verdicts: serial text ("Passed", "Failed"), the signature DE B0 61 at A001 with a status at A000 (blargg),
Fibonacci registers at LD B,B (mooneye, AGE, SameSuite), a byte at FF82 (gbmicrotest), and the picture beside the ROM
(acid, mealybug and others). All ROMs of one kind run as lanes of one batch; no ROM is known by name.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from emulator import constants as k
from emulator.emulator import Emulator
from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.tools.png import read_grey

MAX_FRAMES = 4000
CHECK_EVERY = 60
PICTURE_CHECK_EVERY = 150
PICTURE_PHASES = 3
"""Number of consecutive frames of which one must show the expected picture."""
SERIAL_CAPACITY = 4096
BATCH_LANES = 256
BATCH_ROM_BYTES = 1 << 26

FIBONACCI = {"b": 3, "c": 5, "d": 8, "e": 13, "h": 21, "l": 34}
MOONEYE_FAILED = dict.fromkeys("bcdehl", 0x42)
SIGNATURE = bytes((0xDE, 0xB0, 0x61))
SIGNATURE_RUNNING = 0x80
FF82_PASSED, FF82_FAILED = 0x01, 0xFF
FF82_CODE = bytes((0x3E, FF82_PASSED, 0xE0, 0x82))
"""Code `ld a, 1 / ldh [$82], a`, by which a gbmicrotest ROM reports; FF82 is read only if the ROM contains it."""

DEVICE_TOKEN = re.compile(r"(?i:(dmg|mgb|sgb|cgb|agb|ags|ncm)[0-9a-z]*|ds)|[GSCA]{1,3}")
DMG_TOKEN = re.compile(r"(?i:dmg(?!0)[0-9a-z]*)|[SCA]?G[SCA]?")

PASS, FAIL, NONE, SKIP, ERROR = "pass", "FAIL", "none", "skipped", "error"


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """Result of one test ROM."""

    name: str
    """Path of the ROM below the folder, without suffix."""
    outcome: str
    """One of pass, FAIL, none (no verdict seen), skipped (not for a DMG) or error (could not be run)."""
    how: str = ""
    detail: str = ""
    frames: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """Test ROM and its expected pictures."""

    name: str
    cartridge: Cartridge
    pictures: tuple[np.ndarray, ...] = ()
    """Expected screens, shades uint8[144, 160]; the ROM passes with any of them."""


def split_devices(stem: str) -> tuple[str, list[str]]:
    """Split a name from its trailing device tags: `x-dmgABC` -> `x`, [`dmgABC`]."""
    parts = re.split(r"[-_]", stem)
    tags: list[str] = []
    while len(parts) > 1 and DEVICE_TOKEN.fullmatch(parts[-1]):
        tags.append(parts.pop())
    # dmg_blob, cpu_b: a revision behind the device
    if len(parts) > 2 and parts[-1] in ("blob", "a", "b", "c") and parts[-2] in ("dmg", "cgb"):
        tags = parts[-2:]
        parts = parts[:-2]
    return "-".join(parts), tags


def for_dmg(tags: Sequence[str]) -> bool:
    """Return whether the device tags of a ROM or picture include the DMG; True if there are none."""
    return not tags or any(DMG_TOKEN.fullmatch(tag) for tag in tags)


def walk(folder: Path, suffix: str) -> list[Path]:
    """Return the files below `folder` with this suffix, sorted; links are followed."""
    found = []
    for where, _, files in os.walk(folder, followlinks=True):
        found += [Path(where, name) for name in files if name.lower().endswith(suffix)]
    return sorted(found)


class Pictures:
    """Expected pictures of the ROMs of a folder, PNG files found by the ROM's name.

    They lie in the ROM's folder or below; if the ROM's name is unique, anywhere.
    """

    def __init__(self, folder: Path, roms: Sequence[Path]) -> None:
        self._roms = Counter(split_devices(rom.stem)[0] for rom in roms)
        self._by_name: dict[str, list[tuple[Path, list[str]]]] = {}
        for path in walk(folder, ".png"):
            name, tags = split_devices(path.stem)
            self._by_name.setdefault(name, []).append((path, tags))

    def of(self, rom: Path) -> tuple[list[np.ndarray], bool]:
        """Return a ROM's expected screens for the DMG, and True if it has pictures of other devices only."""
        name = split_devices(rom.stem)[0]
        known = self._by_name.get(name, [])
        if self._roms[name] > 1:
            known = [(path, tags) for path, tags in known if path.is_relative_to(rom.parent)]
        if not known:
            return [], False
        near = max(_shared_parts(path, rom) for path, _ in known)
        close = [(path, tags) for path, tags in known if _shared_parts(path, rom) == near]
        screens = []
        for path, tags in close:
            if for_dmg(tags):
                try:
                    grey = read_grey(path)
                except (OSError, ValueError):
                    continue
                if grey.shape == (k.SCREEN_HEIGHT, k.SCREEN_WIDTH):
                    screens.append((3 - np.rint(grey / 85.0)).astype(np.uint8))
        return screens, not any(for_dmg(tags) for _, tags in close)


def _shared_parts(a: Path, b: Path) -> int:
    """Return the number of leading folders that two paths have in common."""
    return len(os.path.commonpath([a.parent, b.parent]))


def named_like(match: str) -> re.Pattern[str]:
    """Return the pattern of wanted names; raise EmulatorError for one that is no regular expression."""
    try:
        return re.compile(match)
    except re.error as error:
        raise EmulatorError(f"--match {match!r}: no regular expression ({error})") from None


def collect(folder: Path, match: str = "") -> tuple[list[Case], list[Verdict]]:
    """Return the test cases below `folder`, and verdicts on ROMs that are not run."""
    if not folder.is_dir():
        raise EmulatorError(f"{folder}: no such folder; give one that holds .gb test ROMs")
    wanted = named_like(match)
    roms = walk(folder, ".gb")
    pictures = Pictures(folder, roms)
    cases, verdicts = [], []
    for path in roms:
        name = path.relative_to(folder).with_suffix("").as_posix()
        if not wanted.search(name):
            continue
        screens, others_only = pictures.of(path)
        tags = split_devices(path.stem)[1]
        try:
            cartridge = Cartridge.from_file(path)
        except EmulatorError as error:
            verdicts.append(Verdict(name, ERROR, detail=str(error).partition(": ")[2]))
            continue
        if not for_dmg(tags):
            verdicts.append(Verdict(name, SKIP, detail=f"for {', '.join(tags)}"))
        elif not screens and (others_only or cartridge.header.cgb_only):
            verdicts.append(Verdict(name, SKIP, detail="for the Game Boy Color"))
        else:
            cases.append(Case(name, cartridge, tuple(screens)))
    if not cases and not verdicts:
        raise EmulatorError(f"{folder}: no .gb file in it" + (f" matches {match}" * bool(match)))
    return cases, verdicts


def run_suite(
    folder: Path, device: str, match: str = "", progress: Callable[[str], None] | None = None
) -> list[Verdict]:
    """Run every test ROM below `folder` and return one verdict each, sorted by name."""
    cases, verdicts = collect(folder, match)
    tell = progress or (lambda text: None)
    signals = [case for case in cases if not case.pictures]
    shown = [case for case in cases if case.pictures]
    for group, runner in ((signals, run_signals), (shown, run_pictures)):
        done = 0
        for batch in batches(group):
            verdicts += runner(batch, device)
            done += len(batch)
            tell(f"{done} of {len(group)} ROMs {'with' if runner is run_pictures else 'without'} a picture")
    return sorted(verdicts, key=lambda verdict: verdict.name)


def batches(cases: Sequence[Case]) -> Iterable[list[Case]]:
    """Split cases into batches that fit into memory."""
    batch: list[Case] = []
    size = 0
    for case in cases:
        size += len(case.cartridge.rom)
        if batch and (len(batch) == BATCH_LANES or size > BATCH_ROM_BYTES):
            yield batch
            batch, size = [], len(case.cartridge.rom)
        batch.append(case)
    if batch:
        yield batch


def machine_for(cases: Sequence[Case], device: str, trap: bool | np.ndarray) -> Emulator:
    """Return an emulator with one env for each case; `trap`, one or bool[N]: LD B,B stops the env."""
    return Emulator(
        [case.cartridge for case in cases],
        len(cases),
        device,
        rom_of_env=np.arange(len(cases)),
        trap_ld_b_b=trap,
        serial_capacity=SERIAL_CAPACITY,
    )


def run_signals(cases: Sequence[Case], device: str, trap: bool = True) -> list[Verdict]:
    """Run test ROMs that report by registers, memory or serial text; return a verdict for each.

    `trap`: stop a ROM at LD B,B, by which some report; those that use it otherwise are run again without.
    """
    emulator = machine_for(cases, device, trap)
    verdicts: dict[int, Verdict] = {}
    again: list[Case] = []
    frame = 0
    while frame < MAX_FRAMES and len(verdicts) < len(cases):
        step = CHECK_EVERY if frame else CHECK_EVERY // 3
        emulator.run(None, step)
        frame += step
        stopped = emulator.stopped()
        rows = emulator.batch.ram.numpy()
        for env, case in enumerate(cases):
            if env in verdicts:
                continue
            found = _signal(emulator, env, case, bool(stopped[env]), rows[env])
            if found is None:
                continue
            outcome, how, detail = found
            if outcome == NONE:  # an LD B,B that reports nothing: the ROM has another use for it
                again.append(case)
            verdicts[env] = Verdict(case.name, outcome, how, detail, frame)
            emulator.freeze(env)
    kept = [verdict for verdict in verdicts.values() if verdict.outcome != NONE]
    kept += [Verdict(case.name, NONE, frames=frame) for env, case in enumerate(cases) if env not in verdicts]
    return kept + (run_signals(again, device, trap=False) if again else [])


def _signal(emulator: Emulator, env: int, case: Case, stopped: bool, row: np.ndarray) -> tuple[str, str, str] | None:
    """Return (outcome, kind of report, detail) if the ROM has reported by now, else None."""
    if stopped:
        registers = emulator.registers(env)
        seen = {name: registers[name] for name in FIBONACCI}
        if seen == FIBONACCI:
            return PASS, "registers", ""
        if seen == MOONEYE_FAILED:
            return FAIL, "registers", ""
        return NONE, "", ""
    ram = bytes(row[k.ROW_CART_RAM : k.ROW_CART_RAM + 4])
    if ram[1:] == SIGNATURE and ram[0] != SIGNATURE_RUNNING:
        return (PASS if ram[0] == 0 else FAIL), "memory", f"code {ram[0]}" if ram[0] else ""
    text = emulator.serial_output(env).decode("latin-1")
    if "Failed" in text:
        return FAIL, "serial", " ".join(text.split())[-60:]
    if "Passed" in text:
        return PASS, "serial", ""
    got, expected, status = (int(byte) for byte in row[k.ROW_HRAM : k.ROW_HRAM + 3])
    if status in (FF82_PASSED, FF82_FAILED) and FF82_CODE in case.cartridge.rom.tobytes():
        detail = f"got {got:02X}, expected {expected:02X}" if status == FF82_FAILED else ""
        return (PASS if status == FF82_PASSED else FAIL), "FF82", detail
    return None


def run_pictures(cases: Sequence[Case], device: str) -> list[Verdict]:
    """Run test ROMs with expected pictures; return a verdict for each, by its picture or another report."""
    emulator = machine_for(cases, device, trap=False)
    verdicts: dict[int, Verdict] = {}
    fewest = [k.SCREEN_HEIGHT * k.SCREEN_WIDTH] * len(cases)
    frame = 0
    while frame < MAX_FRAMES and len(verdicts) < len(cases):
        emulator.run(None, PICTURE_CHECK_EVERY - PICTURE_PHASES)
        frame += PICTURE_CHECK_EVERY
        for _ in range(PICTURE_PHASES):
            emulator.run(None, 1)
            screens = emulator.screens.numpy()
            for env, case in enumerate(cases):
                if env in verdicts:
                    continue
                wrong = min(int((screens[env] != picture).sum()) for picture in case.pictures)
                fewest[env] = min(fewest[env], wrong)
                if wrong == 0:
                    verdicts[env] = Verdict(case.name, PASS, "picture", "", frame)
                    emulator.freeze(env)
        rows = emulator.batch.ram.numpy()
        for env, case in enumerate(cases):
            found = None if env in verdicts else _signal(emulator, env, case, False, rows[env])
            if found is not None:
                verdicts[env] = Verdict(case.name, *found, frame)
                emulator.freeze(env)
    for env, case in enumerate(cases):
        if env not in verdicts:
            detail = f"{fewest[env]} pixels differ at best"
            verdicts[env] = Verdict(case.name, FAIL, "picture", detail, frame)
    return list(verdicts.values())


# ---- reports ---------------------------------------------------------------------------------


def group_of(name: str) -> str:
    """Return the name of a ROM's test suite: its folder, at most two levels deep."""
    return "/".join(name.split("/")[:-1][:2]) or "."


def totals(verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    """Return the number of verdicts by group and outcome."""
    counted: dict[str, dict[str, int]] = {}
    for verdict in verdicts:
        row = counted.setdefault(group_of(verdict.name), dict.fromkeys((PASS, FAIL, NONE, SKIP, ERROR), 0))
        row[verdict.outcome] += 1
    return counted


def table(verdicts: Sequence[Verdict]) -> str:
    """Return a text table of verdicts: one line for each ROM, then one for each group."""
    width = max(len(verdict.name) for verdict in verdicts)
    lines = [f"{v.name:{width}}  {v.outcome:7}  {v.how:9}  {v.detail}".rstrip() for v in verdicts]
    lines.append("")
    for group, row in totals(verdicts).items():
        parts = [f"{count} {outcome}" for outcome, count in row.items() if count]
        lines.append(f"{group:40} {', '.join(parts)}")
    return "\n".join(lines)


def markdown(verdicts: Sequence[Verdict]) -> str:
    """Return a Markdown table of groups, then all ROMs that did not pass, for docs/notebook/accuracy.md."""
    lines = ["| suite | run | pass | fail | no verdict | not for a DMG |", "|---|---|---|---|---|---|"]
    for group, row in totals(verdicts).items():
        run = row[PASS] + row[FAIL] + row[NONE]
        counts = (run, row[PASS], row[FAIL], row[NONE], row[SKIP] + row[ERROR])
        lines.append(f"| {group} | " + " | ".join(str(count) for count in counts) + " |")
    failed = [verdict for verdict in verdicts if verdict.outcome == FAIL]
    if failed:
        lines += ["", "| failing ROM | verdict |", "|---|---|"]
        lines += [f"| {v.name} | {v.how}: {v.detail or 'failed'} |" for v in failed]
    return "\n".join(lines)
