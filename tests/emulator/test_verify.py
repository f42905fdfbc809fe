"""Side by side with PyBoy: agreement is seen, and so is a difference."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from micro.assembler import assemble

from emulator.__main__ import main
from emulator.tools.job_files import parse_inputs
from emulator.tools.png import read_grey
from emulator.verify import compare, repro_bundle, soak

pytest.importorskip("pyboy")
pytestmark = pytest.mark.warp

POCKET_QUEST = Path(__file__).parents[2] / "assets" / "games" / "pocket_quest" / "pocket_quest.gb"

# Palette and scroll follow a byte of HRAM that only an HBlank interrupt in mid-line changes: PyBoy
# draws whole lines, so the two part ways where a palette is written while a line is drawn.
MID_LINE = """
main:
  ld sp, $dff0
.line:
  ldh a, ($44)
  cp 80
  jr nz, .line
.wait:
  ldh a, ($41)
  and 3
  cp 3
  jr nz, .wait
  ds 12, 0
  ld a, $ff
  ldh ($47), a
  ds 12, 0
  ld a, $fc
  ldh ($47), a
.later:
  ldh a, ($44)
  cp 81
  jr nz, .later
  jr .line
"""


@pytest.fixture
def mid_line(tmp_path: Path) -> Path:
    source = tmp_path / "mid_line.asm"
    source.write_text(MID_LINE)
    rom = tmp_path / "mid_line.gb"
    rom.write_bytes(assemble(source).image)
    return rom


def test_pocket_quest_agrees_picture_for_picture(device: str) -> None:
    pair = compare.SideBySide(POCKET_QUEST, device)
    outcome = pair.run(compare.random_buttons(500, 3))
    pair.close()
    assert outcome.difference is None
    assert outcome.equal == outcome.compared == 498
    assert outcome.aligned > 250
    assert outcome.first_state_difference == 0


def test_a_difference_becomes_a_bundle_that_replays(
    mid_line: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bundle"
    assert main(["verify", str(mid_line), "--frames", "60", "--out", str(out)]) == 1
    line = capsys.readouterr().out
    report = json.loads((out / "report.json").read_text())
    assert f"picture {report['frame']} differs in {report['pixels']} pixels" in line
    assert report["rom"] == str(mid_line)
    assert set(report["registers"]["ours"]) == set(report["registers"]["pyboy"])
    pictures = [read_grey(out / f"{name}.png") for name in ("ours", "pyboy", "difference")]
    assert (pictures[0] != pictures[1]).sum() == report["pixels"] == (pictures[2] == 0).sum()
    assert (out / "code.txt").read_text().count("\n> ") == 2
    command = report["replay"].split()
    assert command[:4] == ["python", "-m", "emulator", "verify"]
    assert main(command[3:]) == 1
    assert f"picture {report['frame']} differs" in capsys.readouterr().out


def test_a_soak_counts_every_picture_and_goes_on_after_a_difference(
    mid_line: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "ROUND_FRAMES", 150)
    rows = soak.soak([POCKET_QUEST, mid_line, mid_line.with_name("none.gb")], 7.0)
    quest, broken, missing = rows
    assert quest.pictures == quest.equal == soak.ROUND_FRAMES - compare.PHASE
    assert quest.rounds_without_difference == quest.rounds == 1
    assert 0 <= broken.equal < broken.pictures
    assert broken.rounds_without_difference == 0
    assert "none.gb" in missing.error
    text = soak.summary(rows)
    assert f"{quest.equal + broken.equal} of {2 * quest.pictures} pictures equal" in text


def test_inputs_survive_the_way_through_a_file() -> None:
    masks = compare.random_buttons(400, 7)
    assert masks == compare.random_buttons(400, 7)
    assert masks != compare.random_buttons(400, 8)
    pairs = parse_inputs(json.loads(json.dumps(repro_bundle.inputs_of(masks))))
    assert compare.masks_of(pairs, 400) == masks


def test_code_is_shown_around_pc_at_instruction_borders() -> None:
    code = bytes(4) + bytes([0x3E, 0x76, 0xC3, 0x00, 0x01] * 12)
    pc = compare.code_start(0x1000) + 24
    lines = repro_bundle.code_around(code, pc)
    assert [line for line in lines if line.startswith(">")] == [f"> {pc:04x}  3e 76     ld a, $76"]
    assert compare.code_start(0xFFFF) == 0xFFC0
    assert compare.code_start(3) == 0


def test_a_missing_pyboy_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "pyboy", None)
    assert main(["verify", str(POCKET_QUEST)]) == 1
    message = capsys.readouterr().err
    assert "pip install pyboy" in message
    assert message.count("\n") == 1


def test_pictures_of_both_have_the_same_shades() -> None:
    pair = compare.SideBySide(POCKET_QUEST)
    shades = pair.reference.shades
    assert shades.shape == (144, 160)
    assert set(np.unique(shades)) <= {0, 1, 2, 3}
    assert np.array_equal(shades, pair.emulator.screens.numpy()[0])
    pair.close()
