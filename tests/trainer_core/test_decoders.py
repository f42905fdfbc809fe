"""Checkpoints, recordings and outputs that were damaged in a certain way: each is named.

Random damage is fed to all decoders by test_every_decoder.py.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch

from tests.support.refusals import rewrite
from tests.trainer_core.building import recorded, tiny_config, train_in
from trainer_core.cli.main import main
from trainer_core.envs.recording_writer import first_difference
from trainer_core.envs.single_game import TinyGame
from trainer_core.host.checkpoint import load_policy, load_trainer_state, read_state, unpack_state
from trainer_core.lab import checkpoint_manifest, recording
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_check import check_log
from trainer_core.wire import records
from trainer_core.wire.errors import CheckpointError, ProtocolError


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    train_in(home, tiny_config(eval_every=2, checkpoint_every=2))
    return HomePaths(home).run("run").root


@pytest.fixture(scope="module")
def checkpoint(run_folder: Path) -> Path:
    return max((run_folder / "checkpoints").iterdir())


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = recorded(tmp_path_factory.mktemp("recording") / "rec")
    first_difference(folder, TinyGame())  # imports are nobody's decoding time
    return folder


@pytest.fixture
def copy(checkpoint: Path, tmp_path: Path) -> Path:
    """A checkpoint that a test may spoil."""
    return Path(shutil.copytree(checkpoint, tmp_path / "copy"))


def test_weights_that_are_no_numbers_are_named(copy: Path) -> None:
    weights = safetensors.torch.load_file(copy / checkpoint_manifest.POLICY)
    name = sorted(weights)[0]
    weights[name].flatten()[3] = float("nan")
    rewrite(copy / checkpoint_manifest.POLICY, safetensors.torch.save(weights))
    with pytest.raises(CheckpointError, match=f"{name} holds NaN or infinity"):
        load_policy(copy)


@pytest.mark.parametrize("name", [checkpoint_manifest.POLICY, checkpoint_manifest.META])
def test_a_checkpoint_of_pipes_and_devices_is_refused_at_once(name: str, copy: Path) -> None:
    (copy / name).unlink()
    os.mkfifo(copy / name)
    with pytest.raises(CheckpointError, match="not a regular file"):
        load_policy(copy)
    (copy / name).unlink()
    (copy / name).symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match="not a regular file"):
        load_policy(copy)


def test_a_file_that_is_too_large_is_not_even_read(copy: Path) -> None:
    with (copy / checkpoint_manifest.POLICY).open("ab") as file:
        file.truncate(5 << 30)  # sparse
    with pytest.raises(CheckpointError, match="5368709120 bytes, at most 1073741824 are read"):
        load_policy(copy)


def test_a_pickle_with_code_is_one_line(copy: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (os.system, ("true",))

    for data in (pickle.dumps(Evil()), pickle.dumps(149), b"\x95" * 40):
        rewrite(copy / checkpoint_manifest.TRAINER, data)
        with pytest.raises(CheckpointError, match=r"trainer\.pt: holds no trainer's state") as found:
            load_trainer_state(copy)
        assert "\n" not in str(found.value)


def test_a_state_that_unpacks_without_end_is_refused() -> None:
    bomb = zlib.compress(bytes(64 << 20), 9)
    data = b"DMGM" + struct.pack("<IQ", 1, len(bomb)) + bomb
    with pytest.raises(CheckpointError, match="a piece of more than 8388608 bytes"):
        unpack_state(data, "machines.bin", 1 << 30)
    with pytest.raises(CheckpointError, match="no state of envs"):
        unpack_state(b"DMGM" + b"\xff" * 12, "machines.bin", 1 << 30)


def test_many_small_pieces_unpack_to_no_more_than_the_envs_can_have(tmp_path: Path) -> None:
    """3 MB of them came to 3.5 GB while only the size of each was limited."""
    piece = zlib.compress(bytes(8 << 20), 9)
    sizes = struct.pack("<I400Q", 400, *[len(piece)] * 400)
    (tmp_path / "machines.bin").write_bytes(b"DMGM" + sizes + piece * 400)
    with pytest.raises(CheckpointError, match=r"machines\.bin: .* more than the 66 MiB"):
        read_state(tmp_path / "machines.bin", 4)


def test_threads_of_a_checkpoint_are_held_to_their_range(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    meta = json.loads((copy / checkpoint_manifest.META).read_text())
    meta["config"]["threads"] = 2**70
    (copy / checkpoint_manifest.META).write_text(json.dumps(meta))
    assert main(["eval", "--checkpoint", str(copy)]) == 2
    assert "threads must be 0 to 256" in json.loads(capsys.readouterr().out)["error"]


def test_another_librarys_checkpoint_names_what_can_play_it(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eval plays it in that library's own interpreter, which is not installed in this home."""
    meta = json.loads((copy / checkpoint_manifest.META).read_text())
    meta |= {"runner": "sb3", "config": {"task": "tiny_goal", "buffer_size": 3}}
    (copy / checkpoint_manifest.META).write_text(json.dumps(meta))
    home = ["--home", str(tmp_path / "home")]
    for command, said in (
        (["eval", *home], "dmglab runner install sb3"),
        (["rollout", *home, "--out", str(tmp_path / "out")], "dmglab runner install sb3"),
        (["play", *home], "dmglab runner install sb3"),
    ):
        assert main([*command, "--checkpoint", str(copy)]) == 2
        error = json.loads(capsys.readouterr().out)["error"]
        assert "sb3" in error
        assert said in error


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04half", b"\x80\x04N."])
def test_a_recording_without_its_state_is_named(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recorded(tmp_path / "rec")
    (folder / "state.npz").unlink()
    if content is not None:
        (folder / "state.npz").write_bytes(content)
    assert main(["replay", str(folder)]) == 2
    assert "state.npz" in json.loads(capsys.readouterr().out)["error"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"frames": 0}, ">= 1"),
        ({"frames": 10**9}, "<= 3600"),
        ({"v": 99}, "version 99"),
        ({"state": "../../x"}, "state"),
        ({"mode": "dance"}, "mode"),
    ],
)
def test_a_manifest_of_nothing_is_named(changes: Any, words: str, tmp_path: Path) -> None:
    folder = recorded(tmp_path / "rec")
    manifest = folder / "recording.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | changes))
    with pytest.raises(ProtocolError, match=words):
        recording.read_recording(folder)


def test_an_output_that_is_no_file_stays_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(tmp_path / "rec")
    pipe = tmp_path / "out.gif"
    os.mkfifo(pipe)
    log = tmp_path / "log.jsonl"
    log.write_bytes(
        records.encode(records.UpdateRecord(run_id="r", seq=0, time=1.0, env_steps=1, wall_time_s=1.0, sps=1.0))
    )
    for command, of_folder in ((["export", str(folder)], "is there already"), (["plot", str(log)], "is a folder")):
        for out, words in ((pipe, "no regular file"), (tmp_path, of_folder), (".", of_folder)):
            assert main([*command, "--out", str(out)]) == 2
            assert words in json.loads(capsys.readouterr().out.splitlines()[-1])["error"]
    assert pipe.is_fifo()


def test_good_input_passes_every_decoder(checkpoint: Path, run_folder: Path, tmp_path: Path) -> None:
    """Without this the tests above would hold of decoders that refuse everything."""
    load_policy(checkpoint)
    state, machines = load_trainer_state(checkpoint)
    assert machines is not None
    assert {"trainer", "metrics", "run"} == set(state)
    assert check_log(run_folder / "train_log.jsonl").errors == []
    folder = recorded(tmp_path / "rec")
    assert len(recording.read_steps(folder, recording.read_recording(folder))) == 3
    assert first_difference(folder, TinyGame()) == -1
