"""The test-ROM runner, on ROMs of our own that report in each of the known ways."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from micro.assembler import assemble

from emulator.__main__ import main
from emulator.tools import rom_suite
from emulator.tools.png import read_grey, write_screen
from emulator.verify import accuracy_table

pytestmark = pytest.mark.warp

SIGNATURE = """
; cartridge type=03 rom=00 ram=02
main:
  ld a, $0a
  ld ($0000), a
  ld a, $80
  ld ($a000), a
  ld a, $de
  ld ($a001), a
  ld a, $b0
  ld ($a002), a
  ld a, $61
  ld ($a003), a
  ld a, {code}
  ld ($a000), a
.end:
  jr .end
"""
SERIAL = """
main:
  ld hl, text
.next:
  ld a, (hl+)
  or a
  jr z, .end
  ldh ($01), a
  ld a, $81
  ldh ($02), a
.wait:
  ldh a, ($02)
  add a, a
  jr c, .wait
  jr .next
.end:
  jr .end
text:
  db "{text}", 0
"""
REGISTERS = """
main:
  ld bc, {bc}
  ld de, {de}
  ld hl, {hl}
  ld b, b
.end:
  jr .end
"""
FF82 = """
main:
  ld a, $12
  ldh ($80), a
  ldh ($81), a
  ld a, {wrong}
  or a
  jr nz, .failed
  ld a, $01
  ldh ($82), a
.end:
  jr .end
.failed:
  ld a, $ff
  ldh ($82), a
  jr .end
"""
PICTURE = """
main:
  ld a, {palette}
  ldh ($47), a
.end:
  jr .end
"""
OWN_USE_OF_LD_B_B = """
main:
  ld b, b
  ld a, $01
  ldh ($82), a
.end:
  jr .end
"""


def fibonacci(bc: str, de: str, hl: str) -> str:
    return REGISTERS.format(bc=bc, de=de, hl=hl)


ROMS = {
    "memory/good": (SIGNATURE.format(code=0), rom_suite.PASS),
    "memory/bad": (SIGNATURE.format(code=3), rom_suite.FAIL),
    "memory/running": (SIGNATURE.format(code="$80"), rom_suite.NONE),
    "serial/good": (SERIAL.format(text="x Passed"), rom_suite.PASS),
    "serial/bad": (SERIAL.format(text="x Failed 3"), rom_suite.FAIL),
    "serial/silent": (SERIAL.format(text="hello"), rom_suite.NONE),
    "registers/good": (fibonacci("$0305", "$080d", "$1522"), rom_suite.PASS),
    "registers/bad": (fibonacci("$4242", "$4242", "$4242"), rom_suite.FAIL),
    "registers/good-C": (fibonacci("$0305", "$080d", "$1522"), rom_suite.SKIP),
    "registers/own_use": (OWN_USE_OF_LD_B_B, rom_suite.PASS),
    "ff82/good": (FF82.format(wrong=0), rom_suite.PASS),
    "ff82/bad": (FF82.format(wrong=1), rom_suite.FAIL),
    "picture/good": (PICTURE.format(palette="$ff"), rom_suite.PASS),
    "picture/bad-dmgABC": (PICTURE.format(palette="$55"), rom_suite.FAIL),
    "picture/color_only": (PICTURE.format(palette="$00"), rom_suite.SKIP),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("suite")
    for name, (source, _) in ROMS.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.with_name("rom.asm").write_text(source)
        path.with_name(path.name + ".gb").write_bytes(assemble(path.with_name("rom.asm")).image)
    black = np.full((144, 160), 3, np.uint8)
    write_screen(root / "picture" / "good.png", black)
    write_screen(root / "picture" / "bad-dmg.png", black)
    write_screen(root / "picture" / "color_only-cgb.png", black)
    (root / "memory" / "broken.gb").write_bytes(b"short")
    return root


@pytest.fixture(scope="module")
def verdicts(folder: Path, device: str) -> dict[str, rom_suite.Verdict]:
    return {verdict.name: verdict for verdict in rom_suite.run_suite(folder, device)}


@pytest.mark.parametrize("name", ROMS)
def test_each_way_of_reporting_is_understood(name: str, verdicts: dict[str, rom_suite.Verdict]) -> None:
    assert verdicts[name].outcome == ROMS[name][1]


def test_an_unreadable_rom_is_named_and_stops_nothing(verdicts: dict[str, rom_suite.Verdict]) -> None:
    assert verdicts["memory/broken"].outcome == rom_suite.ERROR
    assert "5 bytes" in verdicts["memory/broken"].detail
    assert len(verdicts) == len(ROMS) + 1


def test_verdicts_say_how_they_were_reached(verdicts: dict[str, rom_suite.Verdict]) -> None:
    ways = {name: verdict.how for name, verdict in verdicts.items() if name.endswith("/good")}
    assert ways == {
        "memory/good": "memory",
        "serial/good": "serial",
        "registers/good": "registers",
        "ff82/good": "FF82",
        "picture/good": "picture",
    }
    assert verdicts["memory/bad"].detail == "code 3"


def test_reports_count_every_rom(verdicts: dict[str, rom_suite.Verdict]) -> None:
    listed = list(verdicts.values())
    assert rom_suite.totals(listed)["registers"] == {
        rom_suite.PASS: 2,
        rom_suite.FAIL: 1,
        rom_suite.NONE: 0,
        rom_suite.SKIP: 1,
        rom_suite.ERROR: 0,
    }
    assert "| serial | 3 | 1 | 1 | 1 | 0 |" in rom_suite.markdown(listed)
    assert all(verdict.name in rom_suite.table(listed) for verdict in listed)


def test_command_exits_1_when_a_rom_failed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", str(folder), "--match", "registers/good", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(entry["name"], entry["outcome"]) for entry in printed] == [
        ("registers/good", "pass"),
        ("registers/good-C", "skipped"),
    ]
    assert main(["suite", str(folder), "--match", "registers/bad"]) == 1


@pytest.mark.parametrize("extra", [["nowhere"], [".", "--match", "("], [".", "--match", "zzz"]])
def test_bad_arguments_are_one_line(extra: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", str(folder / extra[0]), *extra[1:]]) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("stem", "parts"),
    [
        ("x-dmgABC", ("x", ["dmgABC"])),
        ("boot_div-S", ("boot-div", ["S"])),
        ("m3_bgp_change_dmg_blob", ("m3-bgp-change", ["dmg", "blob"])),
        ("a-cgb-dmg", ("a", ["dmg", "cgb"])),
        ("mem_timing", ("mem-timing", [])),
        ("GS", ("GS", [])),
    ],
)
def test_device_tags_are_split_off(stem: str, parts: tuple[str, list[str]]) -> None:
    assert rom_suite.split_devices(stem) == parts


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([], True),
        (["dmgABC"], True),
        (["GS"], True),
        (["cgb", "dmg"], True),
        (["S"], False),
        (["dmg0"], False),
        (["cgb"], False),
    ],
)
def test_device_tags_name_the_dmg(tags: list[str], expected: bool) -> None:
    assert rom_suite.for_dmg(tags) is expected


def test_a_written_png_reads_back(tmp_path: Path) -> None:
    shades = np.random.default_rng(1).integers(0, 4, (144, 160)).astype(np.uint8)
    write_screen(tmp_path / "x.png", shades)
    assert np.array_equal(read_grey(tmp_path / "x.png"), 255 - 85 * shades)


def test_png_of_every_colour_type_reads_as_pillow_reads_it(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    gradient = np.cumsum(np.random.default_rng(2).integers(0, 3, (9, 13, 4)), axis=1) % 256
    for mode in ("1", "L", "P", "RGB", "RGBA", "LA"):
        picture = image.fromarray(gradient.astype(np.uint8), "RGBA").convert(mode)
        picture.save(tmp_path / "x.png")
        expected = np.asarray(picture.convert("RGB").convert("L")).astype(int)
        assert np.abs(read_grey(tmp_path / "x.png") - expected).max() <= 1, mode
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    with pytest.raises(ValueError, match=r"x\.png: damaged PNG"):
        read_grey(tmp_path / "x.png")


@pytest.mark.slow
def test_the_users_own_test_roms_pass(device: str) -> None:
    given = os.environ.get("DMGLAB_TEST_ROMS")
    if not given:
        pytest.skip("DMGLAB_TEST_ROMS names no folder of test ROMs")
    failed = [v for v in rom_suite.run_suite(Path(given), device) if v.outcome == rom_suite.FAIL]
    assert not failed, rom_suite.table(failed)


def test_the_documents_table_is_replaced_between_its_markers(folder: Path, tmp_path: Path) -> None:
    document = tmp_path / "accuracy.md"
    document.write_text(f"above\n{accuracy_table.BEGIN}\nold\n{accuracy_table.END}\nbelow\n")
    small = tmp_path / "roms"
    small.mkdir()
    (small / "good.gb").write_bytes((folder / "registers" / "good.gb").read_bytes())
    assert accuracy_table.main([str(small), str(document)]) == 0
    text = document.read_text()
    assert text.startswith("above\n")
    assert text.endswith("below\n")
    assert "old" not in text
    assert "| . | 1 | 1 | 0 | 0 | 0 |" in text
    document.write_text("no markers")
    assert accuracy_table.main([str(small), str(document)]) == 1
    assert document.read_text() == "no markers"
