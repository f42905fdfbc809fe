"""Labelled frames: `dmglab export --to webdataset, minari, inputs`."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from emulator import Emulator
from trainer_core.cli import export
from trainer_core.lab.paths import ASSETS
from trainer_core.play.labelled import writers
from trainer_core.play.labelled.frames import Labelled, parse_watch, shades_of
from trainer_core.wire.errors import ConfigError, LabError

pytestmark = pytest.mark.warp
ROM = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"


def exported(source: str | Path, to: str, out: Path, *more: str) -> dict[str, Any]:
    return dict(export.run([str(source), "--to", to, "--out", str(out), *more]))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "inputs"
    exported(ROM, "inputs", folder, "--episodes", "3", "--frames", "200")
    return folder


def samples(folder: Path) -> dict[str, dict[str, Any]]:
    """Arrays and JSON objects of all shards by key and name, as WebDataset groups them."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as shard:
            for entry in shard:
                key, _, name = entry.name.partition(".")
                data = shard.extractfile(entry).read()  # type: ignore[union-attr]
                value = json.loads(data) if name.endswith("json") else np.load(io.BytesIO(data))
                found.setdefault(key, {})[name.partition(".")[0]] = value
    return found


def test_inputs_make_the_same_frames_again(inputs: Path, tmp_path: Path) -> None:
    assert sum(path.stat().st_size for path in inputs.iterdir()) < 40_000
    found = exported(inputs, "webdataset", tmp_path / "frames", "--watch", "pad=FF00", "ram=C000+16")
    assert found["equal_hashes"] == 3
    clips = samples(tmp_path / "frames")
    assert list(clips) == [f"{n:06d}-{begin:06d}" for n in range(3) for begin in (0, 128)]
    clip = clips["000001-000128"]
    assert {name: part.shape for name, part in clip.items() if name != "meta"} == {
        "pictures": (89, 144, 2, 20),
        "buttons": (88, 1),
        "tile_map": (89, 2, 32, 32),
        "sprites": (89, 40, 4),
        "registers": (89, 12),
        "pad": (89, 1),
        "ram": (89, 16),
    }
    emulator = Emulator(ROM)
    buttons = np.concatenate([clips[f"000001-{begin:06d}"]["buttons"][:, 0] for begin in (0, 128)])
    for held in buttons[:140]:
        emulator.run(np.array([held]))
    assert np.array_equal(shades_of(clip["pictures"][12]), emulator.screens.numpy()[0])
    assert bytes(clip["tile_map"][12]) == bytes(emulator.peek(0, 0x9800, 0x800))
    assert bytes(clip["sprites"][12]) == bytes(emulator.peek(0, 0xFE00, 0xA0))
    assert bytes(clip["ram"][12]) == bytes(emulator.peek(0, 0xC000, 16))


def test_another_button_has_another_hash(inputs: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    changed.mkdir()
    (changed / "inputs.json").write_bytes((inputs / "inputs.json").read_bytes())
    arrays = dict(np.load(inputs / "inputs.npz"))
    arrays["masks"] = arrays["masks"].copy()
    arrays["masks"][300:] = 0x80
    np.savez_compressed(changed / "inputs.npz", **arrays)
    found = exported(changed, "inputs", tmp_path / "again")
    assert not found["ok"]
    assert found["equal_hashes"] < 3
    arrays["frames"][0] += 1
    np.savez_compressed(changed / "inputs.npz", **arrays)
    with pytest.raises(LabError, match="do not fit together"):
        exported(changed, "inputs", tmp_path / "third")


def test_minari_gets_episodes_one_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept: dict[str, Any] = {}

    def create(name: str, buffer: Any, **more: Any) -> None:
        kept.update(more, name=name, episodes=list(buffer))

    spaces = SimpleNamespace(Box=lambda *a: a, Dict=lambda d: d, Discrete=int)
    fake = (SimpleNamespace(create_dataset_from_buffers=create), SimpleNamespace(EpisodeBuffer=SimpleNamespace), spaces)
    monkeypatch.setattr(writers, "load_minari", lambda: fake)
    labels = {"xy": np.zeros((3, 2), np.uint8)}
    buttons = np.array([[1, 0], [2, 0]], np.uint8)
    episode = Labelled(0, buttons, np.zeros((3, 144, 2, 20), np.uint8), labels, "abc")
    source: Any = SimpleNamespace(name="test", cartridge=SimpleNamespace(header=SimpleNamespace(title="T")))
    assert writers.write_minari(tmp_path, source, [episode, episode], 2) == ["abc", "abc"]
    first = kept["episodes"][0]
    assert first.observations["picture"].shape == (3, 144, 160)
    assert first.actions.tolist() == [1, 2]
    assert first.truncations.tolist() == [False, True]
    assert kept["observation_space"]["xy"] == (0, 255, (2,), np.uint8)


def test_recordings_and_demonstrations_are_sources(tmp_path: Path) -> None:
    demo = next((ASSETS / "tasks").rglob("demo.npz"))
    found = exported(demo, "inputs", tmp_path / "demo", "--every", "24")
    assert found["frames"] > 10 * found["episodes"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "no folder of recordings or inputs"),
        ([str(ROM), "--watch", "xy="], "give NAME=ADDRESS"),
        ([str(ROM), "--watch", "xy=FEA0"], "nothing is connected"),
        ([str(ROM), "--every", "1000", "--frames", "24"], "smaller --every"),
        ([__file__], "no Game Boy ROM"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_folder(words: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match=message):
        exported(words[0], "inputs", tmp_path / "out", *words[1:], "--episodes", "2", "--home", str(tmp_path))
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(ConfigError, match="not empty"):
        exported(ROM, "inputs", tmp_path)


def test_watch_words() -> None:
    assert parse_watch(["xy=D361+2", "0xC000", "hp=wHP+2", "01:A000"]) == {
        "xy": (0xD361, 2),
        "0xC000": 0xC000,
        "hp": ("wHP", 2),
        "01:A000": "01:A000",
    }
