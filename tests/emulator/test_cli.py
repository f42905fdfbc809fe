"""`python -m emulator`: the black-box contract, in one process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from emulator import Cartridge, Emulator
from emulator.__main__ import main
from emulator.warmup import blank_rom

pytestmark = pytest.mark.warp


@pytest.fixture(scope="module")
def roms(tmp_path_factory: pytest.TempPathFactory, micro_roms: dict) -> Path:
    folder = tmp_path_factory.mktemp("roms")
    for name in ("busy", "pop_af", "serial_internal"):
        (folder / f"{name}.gb").write_bytes(micro_roms[name].image)
    return folder


def result(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())


def test_run_writes_result_and_screens(roms: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs.json"
    inputs.write_text('[{"frame": 5, "buttons": ["a", "right"]}, {"frame": 9, "buttons": []}]')
    out = tmp_path / "out"
    code = main(["run", str(roms / "busy.gb"), "--frames", "40", "--out", str(out), "--inputs",
                 str(inputs), "--screens", "10,40", "--memory", "0xC000:4,0xFF80:3"])  # fmt: skip
    assert code == 0
    written = result(out)
    assert (written["frames"], written["stopped"]) == (40, "frames")
    assert list(written["memory"]) == ["0xC000", "0xFF80"]
    assert written["memory"]["0xFF80"] == [0x3E, 0xC1, 0xE0]
    image = np.asarray(Image.open(out / "frame_40.png"))
    assert image.shape == (144, 160)
    emulator = Emulator(Cartridge.from_file(roms / "busy.gb"))
    for buttons, frames in ((0, 4), (0x11, 4), (0, 32)):
        emulator.run(np.array([buttons], np.uint8), frames)
    assert emulator.peek(0, 0xC000, 4).tolist() == written["memory"]["0xC000"]
    assert np.array_equal(image, 255 - 85 * emulator.screens.numpy()[0])


def test_run_stops_at_ld_b_b_with_its_registers(roms: Path, tmp_path: Path) -> None:
    args = ["run", str(roms / "pop_af.gb"), "--frames", "300", "--out", str(tmp_path)]
    assert main([*args, "--until-ld-b-b"]) == 0
    written = result(tmp_path)
    assert written["stopped"] == "ld_b_b"
    rom = (roms / "pop_af.gb").read_bytes()
    assert rom[written["registers"]["pc"]] == 0x40


def test_run_many_goes_on_after_a_bad_job(roms: Path, tmp_path: Path) -> None:
    (tmp_path / "short.gb").write_bytes(blank_rom()[:100])
    busy = str(roms / "busy.gb")
    jobs = [
        {"id": "a/short", "rom": str(tmp_path / "short.gb"), "frames": 10},
        {"id": "a/busy", "rom": busy, "frames": 30, "screens": [12], "memory": [[49152, 2]],
         "inputs": [{"frame": 1, "buttons": ["start"]}], "until": {}},
        {"id": "b/stop", "rom": str(roms / "pop_af.gb"), "frames": 90, "until": {"ld_b_b": True}},
        {"id": "b/button", "rom": busy, "frames": 9, "inputs": [{"frame": 1, "buttons": ["x"]}]},
    ]  # fmt: skip
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": jobs}))
    assert main(["run-many", str(path), "--out", str(tmp_path / "out")]) == 0
    out = tmp_path / "out"
    assert "less than the 32768" in result(out / "a/short")["error"]
    assert "button 'x'" in result(out / "b/button")["error"]
    assert result(out / "a/busy")["memory"].keys() == {"0xC000"}
    assert (out / "a/busy/frame_12.png").exists()
    assert result(out / "b/stop")["stopped"] == "ld_b_b"
    assert not list(out.rglob("*.partial"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "missing.gb", "--frames", "1", "--out", "o"], "missing.gb: cannot read"),
        (["run", "{busy}", "--frames", "0", "--out", "o"], "--frames 0"),
        (["run", "{busy}", "--frames", "1", "--out", "o", "--memory", "zz"], "--memory 'zz'"),
        (["run", "{busy}", "--frames", "1", "--out", "o", "--device", "cuda:77"], "--device"),
        (["run-many", "{busy}", "--out", "o"], "no JSON"),
    ],
)
def test_bad_input_is_one_line_and_status_1(
    arguments: list[str], message: str, roms: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    given = [argument.format(busy=roms / "busy.gb") for argument in arguments]
    assert main(given) == 1
    error = capsys.readouterr().err.strip()
    assert message in error
    assert error.count("\n") == 0
    assert not (tmp_path / "o").exists()


def test_trace_prints_one_line_an_instruction(
    roms: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", str(roms / "busy.gb"), "--count", "3"]) == 0
    first, second, _ = capsys.readouterr().out.strip().splitlines()[-3:]
    assert first.startswith("A:01 F:B0 B:00 C:13 D:00 E:D8 H:01 L:4D SP:FFFE PC:0100 PCMEM:00,C3")
    assert " PC:0101 " in second
