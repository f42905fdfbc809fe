"""The ROM as a file: its header, its size, and that its sources give exactly it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

GAME = Path(__file__).resolve().parents[2] / "assets" / "games" / "pocket_quest"
ROM = GAME / "pocket_quest.gb"


def test_header_checksums_hold():
    rom = ROM.read_bytes()
    checksum = 0
    for byte in rom[0x134:0x14D]:
        checksum = (checksum - byte - 1) & 0xFF
    assert rom[0x14D] == checksum
    assert int.from_bytes(rom[0x14E:0x150], "big") == (sum(rom) - rom[0x14E] - rom[0x14F]) & 0xFFFF
    assert len(rom) == 0x8000
    assert rom[0x147] == 0


def sdcc_version() -> str:
    if shutil.which("sdcc") is None:
        return "absent"
    return subprocess.run(["sdcc", "--version"], capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.skipif("4.2.0" not in sdcc_version(), reason="needs SDCC 4.2.0")
def test_sources_rebuild_the_committed_rom(tmp_path: Path):
    copy = tmp_path / "pocket_quest"
    shutil.copytree(GAME, copy, ignore=shutil.ignore_patterns("build", "*.gb", "*.sym"))
    subprocess.run([copy / "build.sh"], check=True, capture_output=True)
    assert (copy / "pocket_quest.gb").read_bytes() == ROM.read_bytes()
    assert (copy / "pocket_quest.sym").read_bytes() == ROM.with_suffix(".sym").read_bytes()
