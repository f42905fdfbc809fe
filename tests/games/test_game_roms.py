"""Our ROMs as files: header, size, and that their sources give exactly them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

GAMES = Path(__file__).resolve().parents[2] / "assets" / "games"
NO_MAPPER, MBC1 = 0x00, 0x01
ROMS = {"pocket_quest": (0x8000, NO_MAPPER), "nectar_run": (0x10000, MBC1), "mirror_moths": (0x8000, NO_MAPPER)}


@pytest.fixture(params=ROMS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_header_checksums_hold(name: str):
    rom = (GAMES / name / f"{name}.gb").read_bytes()
    size, mapper = ROMS[name]
    checksum = 0
    for byte in rom[0x134:0x14D]:
        checksum = (checksum - byte - 1) & 0xFF
    assert rom[0x14D] == checksum
    assert int.from_bytes(rom[0x14E:0x150], "big") == (sum(rom) - rom[0x14E] - rom[0x14F]) & 0xFFFF
    assert len(rom) == size == 0x8000 << rom[0x148]
    assert rom[0x147] == mapper


def sdcc_version() -> str:
    if shutil.which("sdcc") is None:
        return "absent"
    return subprocess.run(["sdcc", "--version"], capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.skipif("4.2.0" not in sdcc_version(), reason="needs SDCC 4.2.0 (Debian 12: sdcc)")
def test_sources_rebuild_the_committed_rom(name: str, tmp_path: Path):
    if name != "mirror_moths" and not os.environ.get("DMGLAB_SLOW_PROOFS"):
        pytest.skip("set DMGLAB_SLOW_PROOFS=1")
    left_out = shutil.ignore_patterns("build", "*.gb", "*.sym", "__pycache__")
    for part in ("kit", name):
        shutil.copytree(GAMES / part, tmp_path / part, ignore=left_out)
    subprocess.run([tmp_path / name / "build.sh"], check=True, capture_output=True)
    for suffix in (".gb", ".sym"):
        built = (tmp_path / name / name).with_suffix(suffix)
        assert built.read_bytes() == (GAMES / name / name).with_suffix(suffix).read_bytes()
