"""`python -m emulator`: the black-box contract, in one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from emulator import Cartridge, Emulator
from emulator.__main__ import main
from emulator.launch.warp_start import has_driver
from emulator.tools import jobs as tools_jobs
from emulator.tools.jobs import run_many
from emulator.tools.warmup import blank_rom

pytestmark = pytest.mark.warp


@pytest.fixture(scope="module")
def roms(tmp_path_factory: pytest.TempPathFactory, micro_roms: dict) -> Path:
    folder = tmp_path_factory.mktemp("roms")
    for name in ("busy", "pop_af", "serial_internal", "joypad_count"):
        (folder / f"{name}.gb").write_bytes(micro_roms[name].image)
    return folder


def result(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())


def test_run_writes_result_and_screens(roms: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = tmp_path / "inputs.json"
    inputs.write_text('[{"frame": 5, "buttons": ["a", "right"]}, {"frame": 9, "buttons": []}]')
    out = tmp_path / "out"
    code = main(["run", str(roms / "busy.gb"), "--frames", "40", "--out", str(out), "--inputs",
                 str(inputs), "--screens", "10,40", "--memory", "0xC000:4,0xFF80:3"])  # fmt: skip
    assert code == 0
    said = f"{out}: result.json, frame_10.png, frame_40.png; 40 frames ran\n"
    assert capsys.readouterr().out == said
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


def test_buttons_are_held_from_the_frame_that_the_job_names(roms: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs.json"
    inputs.write_text('[{"frame": 5, "buttons": ["right"]}, {"frame": 7, "buttons": []}]')
    rom = roms / "joypad_count.gb"
    assert main(["run", str(rom), "--frames", "12", "--out", str(tmp_path / "out"), "--inputs",
                 str(inputs), "--memory", "0xC000:2"]) == 0  # fmt: skip
    emulator = Emulator(Cartridge.from_file(rom))
    for buttons, frames in ((0, 4), (0x01, 2), (0, 6)):  # frame 5 is the one after four
        emulator.run(np.array([buttons], np.uint8), frames)
    counted = emulator.peek(0, 0xC000, 2).tolist()
    assert result(tmp_path / "out")["memory"]["0xC000"] == counted
    assert counted[1] > 0


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
        {
            "id": "a/busy",
            "rom": busy,
            "frames": 30,
            "screens": [12],
            "memory": [[49152, 2]],
            "inputs": [{"frame": 1, "buttons": ["start"]}],
            "until": {},
        },
        {"id": "b/stop", "rom": str(roms / "pop_af.gb"), "frames": 90, "until": {"ld_b_b": True}},
        {"id": "b/button", "rom": busy, "frames": 9, "inputs": [{"frame": 1, "buttons": ["x"]}]},
    ]
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


BAD_JOBS = {
    "until_list": {"until": [1]}, "until_text": {"until": "x"}, "until_other": {"until": {"x": 1}},
    "nul": {"rom": "a\0b.gb"}, "surrogate": {"rom": "\ud800.gb"}, "no_rom": {"rom": None},
    "memory_negative": {"memory": [[0xA000, -1]]}, "memory_huge": {"memory": [[0, 1 << 60]]},
    "memory_flat": {"memory": [1, 2]}, "memory_text": {"memory": "x"},
    "memory_long": {"memory": [[0, 0x10000]] * 17}, "true": {"frames": True},
    "for_ever": {"frames": 10**9}, "number": {"frames": 1 << 20_000}, "half": {"frames": 1.5},
    "screens": {"screens": [0]}, "screen_nan": {"screens": [float("nan")]},
    "button": {"inputs": [{"frame": 1, "buttons": [[]]}]},
    "input_at_0": {"inputs": [{"frame": 0}]}, "a" * 300: {}, "x/result.json": {}, "..": {},
    "line\nbreak": {}, "fifo": {"rom": "FIFO"},
}  # fmt: skip


def test_each_bad_job_is_one_line_and_the_others_run(
    roms: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "fifo.gb")
    busy = {"rom": str(roms / "busy.gb"), "frames": 3}
    jobs: list[Any] = [{"id": "first"} | busy, None, 7, {"id": 5}, {"id": "first"} | busy]
    for name, change in BAD_JOBS.items():
        job = {"id": name} | busy | change
        if job["rom"] == "FIFO":
            job["rom"] = str(tmp_path / "fifo.gb")
        jobs.append(job)
    jobs.append({"id": "last"} | busy)
    failed = run_many(jobs, tmp_path / "out", "cpu")
    lines = capsys.readouterr().err.splitlines()
    assert failed == len(jobs) - 2 == len(lines)
    assert all(line.startswith(f"error: entry {n}: ") for n, line in enumerate(lines, start=1))
    for name, line in zip(BAD_JOBS, lines[4:], strict=True):
        assert ascii(name)[1:-1][:20] in line
    for name in ("first", "last"):
        assert result(tmp_path / "out" / name)["stopped"] == "frames"
    assert "until is" in result(tmp_path / "out/until_list")["error"]


def test_many_jobs_run_as_several_batches(roms: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools_jobs, "BATCH_LANES", 2)
    names = ("busy", "pop_af", "busy", "busy", "pop_af")
    jobs = [
        {"id": str(n), "rom": str(roms / f"{name}.gb"), "frames": 20, "memory": [[0xFF80, 2]]}
        for n, name in enumerate(names)
    ]
    assert run_many(jobs, tmp_path, "cpu") == 0
    found = [result(tmp_path / str(n)) for n in range(len(names))]
    assert found[0]["registers"] == found[2]["registers"] == found[3]["registers"]
    assert found[1]["registers"] == found[4]["registers"] != found[0]["registers"]


@pytest.mark.skipif(has_driver(), reason="an NVIDIA driver is installed")
def test_no_word_about_a_gpu_that_is_not_there(roms: Path, tmp_path: Path) -> None:
    command = ["run", str(roms / "busy.gb"), "--frames", "1", "--out", str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", "emulator", *command], capture_output=True, text=True, check=True)
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "missing.gb", "--frames", "1", "--out", "o"], "missing.gb: cannot read"),
        (["run", "{busy}", "--frames", "0", "--out", "o"], "--frames 0"),
        (["run", "{busy}", "--frames", "1", "--out", "o", "--memory", "zz"], "--memory 'zz'"),
        (["run", "{busy}", "--frames", "1", "--out", "o", "--device", "cuda:77"], "--device"),
        (["run-many", "{busy}", "--out", "o"], "no JSON"),
        (["run", "{busy}", "--frames", "1000000000", "--out", "o"], "--frames 1000000000: give 1"),
        (["run", "{busy}", "--frames", "1", "--out", "o", "--screens", "0"], "--screens 0"),
        (["disassemble", "{busy}", "--start", "10000"], "--start 65536: give 0 to 65535"),
        (["disassemble", "{busy}", "--count", "-1"], "--count -1"),
        (["disassemble", "{busy}", "--bank", "9999"], "--bank 9999"),
        (["trace", "{busy}", "--frames", "-1"], "--frames -1"),
        (["verify", "{busy}", "--seed", "-1"], "--seed -1"),
        (["verify", "{busy}", "--soak", "nan"], "--soak nan: give seconds"),
        (["fuzz", "--consoles", "1000000"], "--consoles 1000000"),
        (["fuzz", "--seed", "-5"], "--seed -5"),
    ],
)
def test_bad_input_is_one_line_and_status_1(
    arguments: list[str],
    message: str,
    roms: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [argument.format(busy=roms / "busy.gb") for argument in arguments]
    assert main(given) == 1
    error = capsys.readouterr().err.strip()
    assert message in error
    assert error.count("\n") == 0
    assert not (tmp_path / "o").exists()


def test_trace_prints_one_line_an_instruction(roms: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(roms / "busy.gb"), "--count", "3"]) == 0
    first, second, _ = capsys.readouterr().out.strip().splitlines()[-3:]
    assert first.startswith("A:01 F:B0 B:00 C:13 D:00 E:D8 H:01 L:4D SP:FFFE PC:0100 PCMEM:00,C3")
    assert " PC:0101 " in second


def test_the_example_of_the_docs_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    checkout = Path(__file__).resolve().parents[2]
    text = (checkout / "docs" / "notebook" / "python.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(checkout)
    exec(compile(code, "docs/notebook/python.md", "exec"), {})
    assert capsys.readouterr().out.startswith("(2, 144, 160) [0 1 2 3]")
