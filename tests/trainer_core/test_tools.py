"""The commands, as a script calls them: one JSON object, 0, 1 or 2, no traceback."""

from __future__ import annotations

import asyncio
import errno
import importlib
import json
import os
import shlex
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageSequence

from tests.trainer_core.building import recorded
from trainer_core import player
from trainer_core.cli.command_table import COMMANDS, Command
from trainer_core.cli.main import main
from trainer_core.envs.recording_writer import first_difference
from trainer_core.envs.single_game import TinyGame
from trainer_core.formats.plot import read_series, smooth
from trainer_core.formats.video import chosen_frames
from trainer_core.lab.paths import CHECKOUT, HomePaths
from trainer_core.lab.recording import FRAMES_PER_SECOND, pack_picture, read_recording, unpack_picture
from trainer_core.service.job import run_job
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.playing import PlayerConfig

TRAIN = [
    "train", "--task", "tiny_goal", "--num-envs", "16", "--num-steps", "8",
    "--num-minibatches", "2", "--eval-every", "2", "--threads", "1", "--total-env-steps", "512",
]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("home")
    assert main([*TRAIN, "--home", str(found)]) == 0
    return found


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    """(exit status, the one object that was printed)."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1, lines
    return code, json.loads(lines[0])


def test_train_says_where_everything_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = call(capsys, *TRAIN, "--home", tmp_path)
    assert code == 0
    assert (found["env_steps"], found["state"]) == (512, "finished")
    assert Path(found["checkpoint"], "meta.json").is_file()
    for named in (found["log"], found["run_id"], "latest"):
        assert call(capsys, "validate", named, "--home", tmp_path)[0] == 0


def test_resume_continues_the_counters(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = call(capsys, "resume", "latest", "--home", home, "--total-env-steps", 1024)
    assert (code, found["env_steps"]) == (0, 1024)
    code, found = call(capsys, "runs", "--home", home, "--json")
    assert [run["state"] for run in found["runs"]] == ["finished"]
    assert found["runs"][0]["env_steps"] == 1024


def test_eval_and_its_baselines(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = call(capsys, "eval", "--checkpoint", "latest", "--home", home, "--episodes", 16)
    assert (code, found["distinct_starts"], found["mode"]) == (0, 8, "greedy")
    assert found["starts"] == "test"
    words = ("eval", "--checkpoint", "latest", "--home", home, "--starts", "heldout")
    assert call(capsys, *words)[1]["distinct_starts"] == 16
    code, found = call(capsys, "eval", "--policy", "random", "--task", "tiny_goal")
    assert (code, found["episodes"], found["policy"]) == (0, 64, "random")
    assert found["success_rate"] < 0.2
    code, found = call(capsys, "eval", "--policy", "untrained", "--task", "tiny_goal")
    assert (code, found["success_rate"]) == (0, 0.0)


@pytest.mark.parametrize(
    "words",
    [
        "eval --checkpoint /nowhere",
        "eval --policy random",
        "eval --policy random --task none",
        "eval --policy random --task tiny_goal --episodes 0",
        "rollout --out x --checkpoint none",
        "plot /nowhere --out x.png",
        "export /nowhere --out x.gif",
        "replay /nowhere",
        "resume none",
        "train --num-envs 0",
        "train --device gpu",
        "train --task none",
        "train --preset none",
        "train --lr-schedule linear --task tiny_goal",
        "train --task tiny_goal --device cuda:0 --seconds 1",
        "bench train --updates 0",
        "archive restore",
        "resume latest --seconds nan",
        "resume latest --total-env-steps -1",
    ],
)
def test_what_cannot_work_is_one_line_that_names_it(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DMGLAB_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    code, found = call(capsys, *words.split())
    assert code == 2
    assert found["ok"] is False
    assert "\n" not in found["error"]
    assert not list(tmp_path.glob("x*")), "nothing half-written"


def test_sound_is_whole_or_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("sound", "pocket_quest/leave_bedroom", "--frames", 20, "--home", tmp_path, "--out")
    code, found = call(capsys, *words, tmp_path / "a.wav")
    assert code == 0
    with wave.open(str(tmp_path / "a.wav")) as heard:
        assert heard.getnframes() == pytest.approx(20 * 70224 / 2**22 * found["rate"], abs=2)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(wave.Wave_write, "writeframes", full)
    code, found = call(capsys, *words, tmp_path / "b.wav")
    assert code == 1
    assert found["error"] == f"{tmp_path / 'b.wav'}: cannot be written: No space left on device"
    assert [path.name for path in tmp_path.glob("*.wav*")] == ["a.wav"]
    assert "is a folder" in call(capsys, *words, tmp_path)[1]["error"]


def test_a_folder_that_cannot_be_is_refused_before_anybody_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    words = ("league", "random", "--task", "tiny_goal", "--out", tmp_path / "file")
    assert main([*map(str, words), "--home", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert "is no folder; name a folder that can be written (--out)" in told.err
    assert "steps" not in told.err, "no episode was played for nothing"


def test_rollout_leaves_a_gif_at_true_speed(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = call(capsys, "rollout", "--out", tmp_path, "--home", home, "--steps", 5)
    assert (code, found["steps"]) == (0, 5)
    rows = [json.loads(line) for line in (tmp_path / "rollout.jsonl").read_text().splitlines()]
    assert [set(row) for row in rows] == [{"step", "action", "button", "reward", "dist", "done", "trunc"}] * 5
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["gif_every_frames"] == 2
    assert {"checkpoint_sha256", "hashes", "config"} <= set(meta)
    with Image.open(tmp_path / "rollout.gif") as gif:
        total = 0
        for frame in ImageSequence.Iterator(gif):
            total += frame.info["duration"]
    assert total == meta["gif_duration_ms"]
    assert total / 1000 == pytest.approx(found["pictures"] * 2 / FRAMES_PER_SECOND, abs=0.006)


def test_one_picture_a_step_lasts_as_long_as_the_step(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = call(capsys, "rollout", "--out", tmp_path, "--home", home, "--steps", 4, "--per-step", "--sample")
    assert (code, found["pictures"]) == (0, 5)
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["gif_duration_ms"] / 1000 == pytest.approx(5 * 24 / FRAMES_PER_SECOND, abs=0.006)


def log_line(kind: str = "update", **fields: Any) -> str:
    """One record of another trainer, with the least that it owes."""
    envelope = {"type": kind, "run_id": "run", "seq": 0, "time": 1.0}
    return json.dumps({**envelope, "wall_time_s": 1.0, "sps": 1.0, **fields}) + "\n"


def test_plot_draws_several_runs_and_names_what_is_missing(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = next(home.rglob("train_log.jsonl"))
    bare = tmp_path / "bare.jsonl"
    bare.write_text(log_line(env_steps=5, reward_mean=1.0) + 'not json\n[1]\n{"type":')
    out = tmp_path / "train.png"
    code, found = call(capsys, "plot", log, bare, "--out", out, "--smoothing", 0.5)
    assert (code, found["missing_panels"]) == (0, [])
    assert out.read_bytes().startswith(b"\x89PNG")
    code, found = call(capsys, "plot", bare, "--out", out)
    assert "goal distance" in found["missing_panels"]
    assert call(capsys, "plot", log, "--out", out, "--smoothing", 1.5)[0] == 2


def test_a_plot_shows_repeated_updates_once(tmp_path: Path) -> None:
    log = tmp_path / "train_log.jsonl"
    rows = [log_line(env_steps=n, reward_mean=n) for n in (10, 20, 30)]
    rows += [log_line("resume", env_steps=20, update=2, checkpoint="", previous_seq=0)]
    log.write_text("".join([*rows, log_line(env_steps=30)]))
    series = read_series(log)
    assert (series.steps, series.resumes) == ([10, 20, 30], [20])
    assert series.values["reward_mean"][:2] == [10, 20]


def test_any_scalar_of_a_log_can_be_plotted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = tmp_path / "train_log.jsonl", tmp_path / "own.png"
    log.write_text("".join(log_line(env_steps=n, metrics={"loss/q": n}) for n in (10, 20)))
    assert read_series(log).values["loss/q"] == [10, 20]
    names = ("--metrics", "loss/q", "sps")
    code, found = call(capsys, "plot", log, "--out", out, *names)
    assert (code, found["missing_panels"]) == (0, [])
    assert out.read_bytes().startswith(b"\x89PNG")
    code, found = call(capsys, "plot", log, "--out", out, "--metrics", "no_such")
    assert code == 2
    assert "no_such" in found["error"]
    assert "loss/q" in found["error"]


def test_smoothing_is_unbiased_and_keeps_gaps() -> None:
    found = smooth([2.0, 2.0, float("nan"), 2.0], 0.9)
    assert found[:2] == pytest.approx([2.0, 2.0])
    assert found[2] != found[2]


# -- recordings and GIFs ----------------------------------------------------------------------


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two seconds of a walker that turns around."""
    return recorded(tmp_path / "rec", [8, 8, 8, 1, 1])


def test_pictures_survive_packing() -> None:
    shades = np.random.default_rng(1).integers(0, 4, (144, 160), dtype=np.uint8)
    packed = pack_picture(shades.tobytes())
    assert len(packed) == 5760
    assert packed[0] & 3 == shades[0, 0], "the leftmost pixel lies in the low bits"
    assert unpack_picture(packed) == shades.tobytes()


def test_pressing_the_buttons_again_gives_the_same_pictures(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_recording(recording).frames == 120
    code, found = call(capsys, "replay", recording)
    assert (code, found["frames"]) == (0, 120)
    data = bytearray((recording / "pictures.bin").read_bytes())
    data[5760 * 50] ^= 1
    (recording / "pictures.bin").write_bytes(data)
    assert first_difference(recording, TinyGame()) == 50
    code, found = call(capsys, "replay", recording)
    assert code == 1
    assert "frame 50" in found["error"]


def test_the_gif_lasts_as_long_as_the_game(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gif"
    command = [
        sys.executable,
        "-m",
        "trainer_core.cli.main",
        "export",
        str(recording),
        "--out",
        str(out),
        "--scale",
        "3",
    ]
    shares: list[float] = []
    result = asyncio.run(run_job(command, on_progress=shares.append))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert (result["width"], result["height"]) == (480, 432)
    assert result["seconds"] == pytest.approx(120 / FRAMES_PER_SECOND, abs=0.02)
    assert [path.name for path in tmp_path.glob("*.gif*")] == ["out.gif"]


def test_gif_frames_are_the_ones_on_the_screen_at_their_time() -> None:
    chosen = chosen_frames(0, 119, 1.0, 50)
    assert len(chosen) == 100
    for index, frame in enumerate(chosen):
        assert frame / FRAMES_PER_SECOND <= index * 0.02 + 1e-9
        assert (frame + 1) / FRAMES_PER_SECOND > index * 0.02 - 1e-9


FULL, CLOSED = "No space left on device", "standard output: closed"
LAB, ROM = "trainer_core.cli.main", "assets/games/pocket_quest/pocket_quest.gb"
OUTPUTS = (
    (LAB, "runs", ">/dev/full", FULL),  # a table
    (LAB, "runs --help", ">/dev/full", FULL),  # tyro's
    (LAB, "rom list", ">/dev/full", FULL),  # a JSON line
    (LAB, "rom list", ">&-", CLOSED),
    (LAB, "--version", ">&- 2>&- <&-", ""),
    ("gui", "--help", ">/dev/full", FULL),
    ("gui", "--help", ">&-", CLOSED),
    ("emulator", f"disassemble {ROM}", ">&-", CLOSED),
    ("emulator", f"disassemble {ROM} --count 9000", ">/dev/full", FULL),  # more than a buffer
)


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
@pytest.mark.parametrize(("module", "words", "streams", "said"), OUTPUTS)
def test_standard_output_that_is_full_or_closed_is_one_line_and_status_1(
    module: str, words: str, streams: str, said: str, tmp_path: Path
) -> None:
    python = shlex.join([sys.executable, "-m", module, *words.split()])
    done = subprocess.run(
        ["sh", "-c", f"exec {python} {streams}"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DMGLAB_HOME": str(tmp_path)},
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (1, bool(said)), done.stderr
    assert said in done.stderr


@pytest.mark.parametrize(
    ("module", "words"), [(LAB, "runs"), (LAB, "--help"), ("gui", "--help"), ("emulator", f"disassemble {ROM}")]
)
def test_a_reader_that_has_read_enough_is_no_error(module: str, words: str, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", module, *words.split()],
        cwd=CHECKOUT,
        stdout=write,
        text=True,
        stderr=subprocess.PIPE,
        env={**os.environ, "DMGLAB_HOME": str(tmp_path)},
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_light_commands_load_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from trainer_core.cli.main import main; "
        f"main(['runs', '--home', {str(tmp_path)!r}]); main(['export', '/nowhere', '--out', 'x']); "
        "sys.stderr.write(str(sorted({'torch', 'warp', 'matplotlib'} & set(sys.modules))))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1].endswith("[]")


def test_a_home_that_cannot_be_written_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = call(capsys, *TRAIN, "--home", "/proc/nope")
    assert code == 1
    assert "/proc/nope" in found["error"]
    assert HomePaths(Path("/proc/nope")).runs.exists() is False


def test_a_player_that_ends_by_itself_is_no_success(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "player").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "player").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "player"))
    code, found = call(capsys, "play", "--checkpoint", "latest", "--home", home, "--record")
    assert (code, found["ok"]) == (1, False)
    assert "ended by itself with status 3" in found["error"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a computer without a GPU")
def test_a_player_without_its_gpu_says_so(tmp_path: Path) -> None:
    unused: Any = None
    with pytest.raises(ConfigError, match="cuda:0: torch finds no CUDA device"):
        player._open(tmp_path, PlayerConfig(task="tiny_goal", device="cuda:0"), unused, unused, unused)


def test_what_people_type_first_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    with pytest.raises(SystemExit):
        main(["help", "export"])
    told = capsys.readouterr().out
    assert told.startswith("dmglab ")
    assert "usage: dmglab export" in told


@pytest.mark.parametrize("command", ["stop", "archive", "queue add", "task check"])
def test_help_is_what_was_asked_for(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard output, where `| less` finds it, and with status 0."""
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])
    told = capsys.readouterr()
    assert ended.value.code in (0, None)
    assert told.err == ""
    assert f"usage: dmglab {command}" in told.out
    assert COMMANDS[command].summary[1:] in " ".join(told.out.split())


@pytest.mark.parametrize("command", [row for row in COMMANDS.values() if not row.function])
def test_each_verb_has_its_line(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command.name, "--help"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.startswith(f"usage: dmglab {command.name} VERB")
    known = [row.name.split()[1] for row in command.verbs]
    lines = told.out.partition("verbs:\n")[2].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == known
    for words, said in (([], "a verb is missing"), (["none"], "unknown verb 'none'")):
        code, found = call(capsys, command.name, *words)
        assert code == 2
        assert found["error"].startswith(f"{said}: {', '.join(known)};")


def test_every_row_of_the_table_names_a_function_and_every_command_has_a_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["help"]) == 0
    shown = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert shown == [name for name in COMMANDS if " " not in name]
    named = {row.load() for row in COMMANDS.values() if row.function}
    written = {
        getattr(importlib.import_module(f"trainer_core.cli.{path.stem}"), "run", None)
        for path in Path(sys.modules[main.__module__].__file__ or "").parent.glob("*.py")
    }
    assert written - named == {None}
    assert main(["queue list"]) == 2, "one word is no command with a verb"
