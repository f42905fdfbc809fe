"""The register of a person's own ROMs, through the commands that keep it."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from emulator.rom.cartridge import EmulatorError, parse_header
from trainer_core.cli.main import main
from trainer_core.envs.rom_registry import add_rom
from trainer_core.envs.task_files import load_rom
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.roms import (
    find_game_again,
    has_rom_header,
    load_profiles,
    named_rom,
    registered_roms,
    sha256_of_rom,
)
from trainer_core.lab.tasks import find_task
from trainer_core.wire.errors import TaskError

GAME = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return HomePaths(tmp_path / "home")


def call(capsys: pytest.CaptureFixture[str], home: HomePaths, *words: object) -> dict[str, Any]:
    capsys.readouterr()
    code = main(["rom", *map(str, words), "--home", str(home.root)])
    found = json.loads(capsys.readouterr().out)
    assert code == (0 if found["ok"] else 2)
    return found


def patched(path: Path, byte: int) -> Path:
    """Another version of our game: one byte of its program differs, the header stays right."""
    data = bytearray(GAME.read_bytes())
    data[0x7000] = byte
    path.write_bytes(bytes(data))
    return path


def test_a_rom_is_added_from_a_relative_path_listed_moved_changed_and_removed(
    home: HomePaths, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(GAME, tmp_path / "mine.gb")
    monkeypatch.chdir(tmp_path)
    (row,) = call(capsys, home, "add", "mine.gb")["roms"]
    assert row["path"] == str(tmp_path / "mine.gb")
    assert (row["title"], row["size"]) == ("POCKET QUEST", GAME.stat().st_size)
    monkeypatch.chdir("/")
    assert [rom["state"] for rom in call(capsys, home, "list")["roms"]] == ["ok"]
    (tmp_path / "mine.gb").rename(tmp_path / "other.gb")
    (row,) = call(capsys, home, "list")["roms"]
    assert (row["state"], row["found"]) == ("moved", str(tmp_path / "other.gb"))
    (tmp_path / "other.gb").unlink()
    (row,) = call(capsys, home, "list")["roms"]
    assert row["state"] == "missing"
    assert "dmglab rom add" in row["fix"]
    patched(tmp_path / "mine.gb", 1)
    assert [rom["state"] for rom in call(capsys, home, "list")["roms"]] == ["changed"]
    assert call(capsys, home, "remove", row["sha256"][:8])["removed"] == row["sha256"]
    assert call(capsys, home, "list")["roms"] == []
    assert (tmp_path / "mine.gb").is_file()


@pytest.mark.parametrize(
    "words", ["add /nowhere.gb", "add /etc/hostname", "add /dev", "add", "remove 000000", "sell x"]
)
def test_what_cannot_be_registered_is_one_line_and_registers_nothing(
    words: str, home: HomePaths, capsys: pytest.CaptureFixture[str]
) -> None:
    found = call(capsys, home, *words.split())
    assert not found["ok"]
    assert "\n" not in found["error"]
    assert not (home.settings / "roms.json").exists()


@pytest.mark.parametrize(("at", "is_one"), [((), True), ((0x104,), True), ((0x14D,), True), ((0x104, 0x14D), False)])
def test_the_look_at_a_header_is_the_emulators(tmp_path: Path, at: tuple[int, ...], is_one: bool) -> None:
    data = bytearray((ASSETS / "games/pocket_quest/pocket_quest.gb").read_bytes())
    for place in at:
        data[place] ^= 0xFF
    (tmp_path / "a.gb").write_bytes(data)
    assert has_rom_header(tmp_path / "a.gb") is is_one
    if is_one:
        parse_header(bytes(data))
    else:
        with pytest.raises(EmulatorError, match="no Game Boy ROM"):
            parse_header(bytes(data))


def test_a_task_without_its_rom_names_the_command(home: HomePaths, tmp_path: Path) -> None:
    folder = home.tasks / "mine" / "door"
    shutil.copytree(ASSETS / "tasks" / "pocket_quest" / "leave_bedroom", folder)
    text = (folder / "task.toml").read_text(encoding="utf-8")
    text = text.replace('id = "pocket_quest/leave_bedroom"', 'id = "mine/door"')
    text = "".join(line for line in text.splitlines(True) if not line.startswith("path = "))
    (folder / "task.toml").write_text(text, encoding="utf-8")
    task = find_task("mine/door", home)
    with pytest.raises(TaskError, match="dmglab rom add"):
        load_rom(task, home)
    mine = tmp_path / "mine.gb"
    shutil.copy(GAME, mine)
    add_rom(mine, home)
    assert load_rom(task, home).sha256 == task.manifest.rom.sha256
    patched(mine, 1)
    with pytest.raises(TaskError, match=r"was made for .*dmglab rom add"):
        load_rom(task, home)
    mine.unlink()
    with pytest.raises(TaskError, match="dmglab rom add"):
        load_rom(task, home)


def test_a_relative_path_written_by_hand_counts_from_its_file(
    home: HomePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.settings.mkdir(parents=True)
    (home.settings / "roms.json").write_text(json.dumps({"ab" * 32: "../roms/x.gb"}))
    monkeypatch.chdir(tmp_path)
    (rom,) = registered_roms(home).values()
    assert Path(rom.path).resolve() == (home.root / "roms" / "x.gb").resolve()


def test_a_bad_entry_stands_in_the_list_with_its_reason_and_takes_no_good_one_along(
    home: HomePaths, capsys: pytest.CaptureFixture[str]
) -> None:
    good = call(capsys, home, "add", GAME)["roms"][0]["sha256"]
    path = home.settings / "roms.json"
    bad = {
        "0" * 64: {"path": "a\0b"},
        "1" * 64: 3,
        "2" * 64: {"path": "x.gb", "size": 10**30},
        "3" * 64: "a" * 50_000,
        "\x1b[2J" * 9_000: "x.gb",
        "4" * 64: "",
        "5" * 64: None,
    }
    path.write_text(json.dumps(json.loads(path.read_text()) | bad))
    rows = {row["sha256"]: row for row in call(capsys, home, "list")["roms"]}
    assert rows.pop(good)["state"] == "ok"
    assert len(rows) == len(bad)
    for row in rows.values():
        assert row["state"] == "bad"
        assert row["reason"]
        assert "repair" in row["fix"]
        assert json.dumps(row, ensure_ascii=False).isprintable()
        assert len(json.dumps(row)) < 600
    call(capsys, home, "add", GAME)
    assert len(json.loads(path.read_text())) == len(bad) + 1, "what is bad is kept as it stood"
    assert call(capsys, home, "remove", "00000000")["removed"] == "0" * 64
    assert len(json.loads(path.read_text())) == len(bad)


def test_a_rom_beside_a_link_that_leads_nowhere_is_missing_not_an_error(
    home: HomePaths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop.gb").symlink_to("loop.gb")
    home.settings.mkdir(parents=True)
    (home.settings / "roms.json").write_text(
        json.dumps({"0" * 64: str(tmp_path / "gone.gb"), "1" * 64: str(tmp_path / ("x" * 300))})
    )
    assert [row["state"] for row in call(capsys, home, "list")["roms"]] == ["missing"] * 2


def test_a_register_that_is_none_of_ours_is_named_and_left_alone(
    home: HomePaths, capsys: pytest.CaptureFixture[str]
) -> None:
    home.settings.mkdir(parents=True)
    for text in ("{", "[]", "3", "[" * 100_000):
        (home.settings / "roms.json").write_text(text)
        assert "roms.json: cannot be read" in call(capsys, home, "add", GAME)["error"]
        assert (home.settings / "roms.json").read_text() == text


def test_two_that_add_at_once_both_count(home: HomePaths, tmp_path: Path) -> None:
    roms = [patched(tmp_path / f"{byte}.gb", byte) for byte in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda rom: add_rom(rom, home), roms))
    assert len(registered_roms(home)) == 8
    assert [path.name for path in home.settings.iterdir() if ".json" in path.name] == ["roms.json"]


def test_a_profile_is_data_and_disabled_until_its_rom_is_there(
    home: HomePaths, capsys: pytest.CaptureFixture[str]
) -> None:
    (profile,) = load_profiles()
    assert (profile.id, profile.verified, len(profile.stages)) == ("pokemon_red", False, 5)
    assert [path.suffix for path in (ASSETS / "profiles").iterdir()] == [".toml"]
    (row,) = call(capsys, home, "list")["profiles"]
    assert row["enabled"] is False
    assert "dmglab rom add" in row["instructions"]


def test_a_rom_is_known_by_file_name_title_and_hash(home: HomePaths, tmp_path: Path) -> None:
    mine = patched(tmp_path / "Mine (v2).gb", 1)
    row = add_rom(mine, home)
    for name in (str(mine), "Mine (v2).gb", "mine (V2)", "mine", row["sha256"], row["sha256"][:6]):
        assert named_rom(name, home) == mine
    assert named_rom("nectar_run", home).name == "nectar_run.gb"
    # A whole name is meant before a name that only begins so.
    assert named_rom("pocket_quest", home) == GAME
    add_rom(patched(tmp_path / "mine.gb", 2), home)
    assert named_rom("mine", home) == tmp_path / "mine.gb"
    with pytest.raises(TaskError, match=r"2 ROMs are called so: .*mine\.gb"):
        named_rom("POCKET QUEST", home)
    with pytest.raises(TaskError, match=r"near: pocket_quest.*dmglab rom add"):
        named_rom("poket_quest.gb", home)
    for nothing in ("", "0000", "/nowhere/mine.gb"):
        with pytest.raises(TaskError, match="dmglab rom add"):
            named_rom(nothing, home)


def test_a_recordings_game_is_found_again_by_its_hash(home: HomePaths, tmp_path: Path) -> None:
    shipped = ASSETS / "games/pocket_quest/pocket_quest.gb"
    sha256 = sha256_of_rom(shipped)
    assert find_game_again("pocket_quest/leave_house", sha256, home) == "pocket_quest/leave_house"
    assert find_game_again(str(shipped), sha256, home) == str(shipped)
    copy = tmp_path / "copy.gb"
    assert find_game_again(str(copy), sha256, home) == str(shipped), "it was a copy of ours"
    copy.write_bytes(shipped.read_bytes() + bytes(0x8000))
    other = sha256_of_rom(copy)
    assert find_game_again(str(copy), other, home) == str(copy)
    with pytest.raises(TaskError, match=r"is another file now: open the ROM where it is now"):
        find_game_again(str(copy), "ab" * 32, home)
    add_rom(copy, home)
    assert find_game_again(str(tmp_path / "before.gb"), other, home) == str(copy)
    copy.unlink()
    with pytest.raises(TaskError, match=r"is not there any more.*dmglab rom add"):
        find_game_again(str(tmp_path / "before.gb"), other, home)
