"""Lists of test ROMs: each kind of expectation, buttons within a frame, and what is wrong with a list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from micro.assembler import assemble
from test_suite import PICTURE, SERIAL

from emulator.__main__ import main
from emulator.tools.png import write_screen
from emulator.tools.rom_list import opcode_of

pytestmark = pytest.mark.warp

REPORT = "main:\n  ld a, {code}\n  ldh ($f0), a\n.end:\n  jr .end\n"
COUNT = """
main:
  di
  ld a, $10
  ldh ($00), a
  ldh ($ff), a          ; the joypad's interrupt ends HALT, within a frame
  xor a
  ldh ($0f), a
  ldh ($04), a
  halt
  nop
  ldh a, ($04)          ; how long it lasted, 64 M-cycles a step
  ldh ($f0), a
  ld b, b
  ld c, c
.let_go:
  ldh a, ($00)
  and 1
  jr z, .let_go
  ld a, $01
  ldh ($f1), a
.end:
  jr .end
"""
PAUSE = "main:\n  ld a, $ff\n  ldh ($47), a\n.v:\n  ldh a, ($44)\n  cp 144\n  jr nz, .v\n  ld b, b\n.end:\n  jr .end\n"
ROMS = {
    "good": REPORT.format(code=1),
    "bad": REPORT.format(code=2),
    "count": COUNT,
    "sends": SERIAL.format(text="abc"),
    "black": PICTURE.format(palette="$ff"),
    "pause": PAUSE,
}
FFF0 = [{"address": 0xFFF0, "value": 1, "fail_value": 2}]
PRESS = {"key": "a", "state": "pressed"}
ENTRIES: list[dict[str, Any]] = [
    {"rom": "good.gb", "memory": FFF0},
    {"rom": "bad.gb", "memory": FFF0},
    {"rom": "sends.gb", "serial": list(b"abc")},
    {"rom": "black.gb", "framebuffer": "black.png", "palette": "grey"},
    {"rom": "black.gb", "framebuffer": "white.png", "palette": "grey", "max_ticks": 400_000},
    {"rom": "black.gb", "framebuffer": "black.png", "palette": "grey", "check_at_tick": 300_000},
    {"rom": "pause.gb", "framebuffer": "black.png", "palette": "grey", "check_at_instruction": "ld b,b"},
    {
        "rom": "count.gb",
        "memory": [{"address": 0xFFF0, "value": 0x11}, {"address": 0xFFF1, "value": 1}],
        "inputs": [
            PRESS | {"trigger_at_tick": 4500},
            {"key": "a", "state": "released", "trigger_at_instruction": "ld b,b"},
        ],
    },
    {
        "rom": "count.gb",
        "memory": [{"address": 0xFFF0, "value": 0x12}, {"address": 0xFFF1, "value": 1}],
        "inputs": [
            PRESS | {"trigger_at_tick": 4756},
            {"key": "a", "state": "pressed", "trigger_at_instruction": "ld b,b"},
            {"key": "a", "state": "released", "trigger_at_instruction": 0x49},
        ],
    },
    {"rom": "gone.gb", "memory": FFF0},
    {"rom": "good.gb", "framebuffer": "small.png"},
    {"rom": "good.gb", "framebuffer": "black.png", "rom2": "bad.gb", "framebuffer2": "black.png"},
]
OUTCOMES = {
    "bad": "FAIL", "black": "pass", "black#2": "FAIL", "black#3": "pass", "count": "pass", "count#2": "pass",
    "gone": "error", "good": "pass", "good#2": "error", "good#3": "skipped", "pause": "pass", "sends": "pass",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("list")
    for name in ("config", "roms/x", "results/x"):
        (root / name).mkdir(parents=True)
    for name, source in ROMS.items():
        (root / "rom.asm").write_text(source)
        (root / f"roms/x/{name}.gb").write_bytes(assemble(root / "rom.asm").image)
    write_screen(root / "results/x/black.png", np.full((144, 160), 3, np.uint8))
    write_screen(root / "results/x/white.png", np.zeros((144, 160), np.uint8))
    write_screen(root / "results/x/small.png", np.zeros((10, 10), np.uint8))
    return root


def run(folder: Path, document: Any, *more: str) -> int:
    path = folder / "config" / "x.json"
    path.write_text(json.dumps(document))
    return main(["suite", "--config", str(path), *more])


def test_each_expectation_has_its_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, {"one": ENTRIES[:5], "two": ENTRIES[5:]}, "--json") == 1
    verdicts = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert {name: verdict["outcome"] for name, verdict in verdicts.items()} == OUTCOMES
    assert verdicts["bad"]["detail"] == "FFF0: 02"
    assert "10x10 pixels, a screen has 160x144" in verdicts["good#2"]["detail"]
    assert "gone.gb" in verdicts["gone"]["detail"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"x": [{"rom": "good.gb", "colour": 3}]}, "colour; an entry expects one of memory, framebuffer, serial"),
        ([{"rom": "good.gb"}], "no single expectation"),
        ([{"memory": FFF0}], 'give {"rom": "x.gb", ...}'),
        ([{"rom": "good.gb", "memory": [{"value": 1}]}], "address"),
        ([{"rom": "good.gb", "memory": FFF0, "inputs": [{"key": "z", "state": "pressed"}]}], "'z'"),
        ([{"rom": "good.gb", "framebuffer": "black.png", "palette": "red"}], "palette 'red': give grey, or none"),
        ([], "no entry in it"),
        (7, "expected a list of entries"),
    ],
)
def test_a_bad_list_is_one_line(document: Any, said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, document) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert ": : " not in message
    assert message.count("\n") == 1
    assert said in message


def test_an_opcode_is_a_number_or_its_mnemonic() -> None:
    assert [opcode_of(text) for text in ("ld b,b", "LD C, C", 0x76)] == [0x40, 0x49, 0x76]
