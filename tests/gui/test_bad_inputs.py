"""What a person gives the app that is not what it should be: a line, a way out, nothing lost."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gui.app import App
from gui.features.checkpoints.controller import CheckpointsController
from gui.features.games.controller import LibraryController, why_no_rom
from gui.features.games.model import RomLibrary, roms_in, unpack
from gui.features.play.controller import PlayController
from gui.features.play.live import LiveView
from gui.features.play.slots import SlotsController
from gui.features.replay.controller import ReplayController
from gui.features.runs.controller import RunsController
from gui.kit import object_names as names
from gui.state.checkpoints import CheckpointList
from gui.state.session import Navigation, Place, Session
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, click, find, press, there
from tests.support.made_checkpoints import make_checkpoint
from tests.support.made_records import run_record
from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.paths import ASSETS
from trainer_core.lab.roms import RegisteredRom, roms_file, sha256_of_rom
from trainer_core.runners.catalog import registered_runners
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunState


def rom(title: bytes) -> bytes:
    """Pocket Quest under another title, and so of another hash."""
    data = bytearray((ASSETS / "games/pocket_quest/pocket_quest.gb").read_bytes())
    data[0x134:0x144] = title.ljust(16, b"\0")
    data[0x14D] = (-sum(data[0x134:0x14D]) - 0x19) & 0xFF
    return bytes(data)


def zipped(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"roms/{name}.gb", data)
    return path


def said(app: App) -> list[str]:
    return [banner.accessibleName() for banner in app.window.banners.banners]


def test_a_zipped_rom_comes_beside_its_archive_when_asked(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    archive = zipped(tmp_path / "game.gb", mine=rom(b"MINE"), other=rom(b"OTHER"))
    app.open_path(archive)
    assert said(app) == [f"A zip archive: roms/mine.gb is inside {archive}, the first of 2 ROMs"]
    assert sorted(tmp_path.glob("*.gb")) == [archive], "nothing is written unasked"
    press(app.window.banners.banners[0])
    qtbot.waitUntil(lambda: app[LiveView].screen_view.has_picture)
    assert app[Session].rom == str(tmp_path / "mine.gb")
    assert (tmp_path / "mine.gb").read_bytes() == rom(b"MINE")
    # The same archive again finds what it left; another one takes nobody's place.
    app.open_path(archive)
    press(app.window.banners.banners[-1])
    qtbot.waitUntil(lambda: not app.window.banners.banners)
    app.open_path(zipped(tmp_path / "newer.zip", mine=rom(b"NEWER")))
    press(app.window.banners.banners[-1])
    qtbot.waitUntil(lambda: any("already exists" in line for line in said(app)))
    assert (tmp_path / "mine.gb").read_bytes() == rom(b"MINE")
    app.open_path(zipped(tmp_path / "empty.zip"))
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(archive.read_bytes()[:20_000])
    app.open_path(damaged)
    assert "a zip archive without a .gb file" in said(app)[-1]
    assert app[PlayController].is_active


def test_a_dropped_folder_goes_where_it_belongs_or_changes_nothing(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    navigation, own = app[Navigation], run_record("own", RunState.FINISHED)
    folder = make_checkpoint(tmp_path / "checkpoint")
    app.open_path(folder)
    qtbot.waitUntil(lambda: [card.integrity for card in app[CheckpointList].cards] == ["verified"])
    app.open_path(there(app[CheckpointList].selected).folder)
    assert len(app[CheckpointList].cards) == 1, "it is selected, not imported again"
    for root in (app.bridge.home.run(own.run_id).root, tmp_path / "other"):
        root.mkdir(parents=True)
        (root / "train_log.jsonl").touch()
    app.open_path(tmp_path / "other/train_log.jsonl")
    assert said(app)[-1].startswith("other is a run of another data folder")
    (tmp_path / "empty").mkdir()
    app.open_path(tmp_path / "empty")
    qtbot.waitUntil(lambda: said(app)[-1].startswith("empty cannot be shown"))
    assert navigation.place is Place.LIVE
    app[RunsController].take_in(own)
    app.open_path(app.bridge.home.run(own.run_id).root)
    assert navigation.place is Place.CURVES
    assert app[TelemetryModel].focus == own.run_id


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_unpacked_or_refused_in_one_line(tmp_path: Path, packing: int) -> None:
    archive, places = tmp_path / "game.zip", np.random.default_rng(7)
    with zipfile.ZipFile(archive, "w", packing) as file:
        file.writestr("game.gb", bytes(range(256)) * 4)
    whole, refused = archive.read_bytes(), list[str]()
    for place in [30, 31, 32, *places.integers(4, len(whole), 80)]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << places.integers(8)
        archive.write_bytes(damaged)
        for name in roms_in(archive) or ["game.gb"]:
            try:
                unpack(archive, name).unlink()
            except LabError as error:
                refused.append(str(error).removeprefix(str(archive)))
    assert refused
    assert all(line.isprintable() and len(line) < 300 for line in refused)


def test_a_game_for_the_color_alone_is_called_so_while_it_plays(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    data = bytearray(rom(b"FOR COLOR ONLY"))
    data[0x143] = 0xC0
    data[0x14D] = (-sum(data[0x134:0x14D]) - 0x19) & 0xFF
    (tmp_path / "color.gbc").write_bytes(data)
    (tmp_path / "mine.gb").write_bytes(rom(b"MINE"))
    badge, playing = find(app, "playsBadge"), app[PlayController]
    app.open_path(zipped(tmp_path / "late.zip", late=rom(b"LATE")))
    app[LibraryController].open_rom(tmp_path / "color.gbc")
    qtbot.waitUntil(lambda: playing.is_rom and not playing.busy)
    assert badge.toolTip() == "For the Game Boy Color only; color.gbc, you play"
    assert "A zip archive" not in " ".join(said(app)), "another game plays by now"
    app[LibraryController].open_rom(tmp_path / "mine.gb")
    qtbot.waitUntil(lambda: there(playing.request).task.endswith("mine.gb") and not playing.busy)
    assert "Color" not in badge.toolTip() + badge.text()


def register(app: App, path: Path) -> None:
    """As `dmglab rom add` does, whose process would cost seconds."""
    file = roms_file(app.bridge.home)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.encode({sha256_of_rom(path): RegisteredRom(path=str(path), title="MINE")}))
    app[RomLibrary].reload()


@pytest.mark.slow
def test_real_games_that_moved_or_are_none_lose_nothing(
    qtbot: QtBot, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(argv: list[str], on_progress: object = None) -> dict[str, Any]:
        return {"roms": [{"sha256": "", "title": ""}]}

    monkeypatch.setattr("gui.features.games.controller.run_job", nothing)
    playing, replay = app[PlayController], app[ReplayController]
    playing.player.runners = registered_runners()
    mine, noise = tmp_path / "mine.gb", tmp_path / "noise.gb"
    mine.write_bytes(rom(b"MINE"))
    noise.write_bytes(bytes(range(256)) * 160)
    app[LibraryController].open_rom(mine)
    qtbot.waitUntil(lambda: playing.is_rom and not playing.busy)
    app.actions["saveSlot"].trigger()
    slot = app[SlotsController].path(1)
    qtbot.waitUntil(slot.is_file)
    click(app, names.RECORD_BUTTON)
    qtbot.waitUntil(lambda: playing.recording)
    begun = app[LiveView].info.frame
    qtbot.waitUntil(lambda: app[LiveView].info.frame > begun + 20)
    click(app, names.RECORD_BUTTON)
    qtbot.waitUntil(lambda: replay.replay is not None)
    shown = there(replay.replay)
    playing.toggle_pause()
    # No ROM: one line that can be acted on, and what plays stays.
    app[LibraryController].open_rom(noise)
    qtbot.waitUntil(lambda: any(line.startswith("This ROM cannot be played") for line in said(app)))
    banner = next(b for b in app.window.banners.banners if b.title == "This ROM cannot be played")
    assert "not a Game Boy ROM" in banner.accessibleName()
    assert banner.button is not None
    assert banner.button.text() == "Open another..."
    assert app[Session].rom == str(mine)
    assert playing.is_active
    # The file moves: its recording cannot be played on, which says where to begin...
    moved = mine.rename(tmp_path / "moved.gb")
    app.actions["playOn"].trigger()
    assert "is not there any more: open the ROM where it is now" in said(app)[-1]
    assert there(app.window.banners.banners[-1].button).text() == "Open a ROM..."
    # ...and once it is known there, recording and slot are its own again, by its hash.
    register(app, moved)
    find(app, names.REPLAY_SLIDER).setValue(len(shown) - 1)
    app.actions["playOn"].trigger()
    qtbot.waitUntil(lambda: there(playing.request).task == str(moved) and not playing.busy)
    assert app[SlotsController].path(1) == slot
    assert "This ROM cannot be played" not in " ".join(said(app)), "that is over"
    last = shown.picture(len(shown) - 1)
    qtbot.waitUntil(lambda: playing.paused and (playing.picture == last).all())


def test_a_dropped_folder_with_a_rom_plays_it_and_an_empty_file_is_called_so(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    folder, recording = tmp_path / "games", tmp_path / "take"
    for made in (folder, recording):
        made.mkdir()
        (made / "b.gb").write_bytes(b"x")
    (folder / "notes.txt").write_text("x")
    (recording / "recording.json").write_text("{}")
    monkeypatch.setattr(app[LibraryController], "open_rom", opened.append)
    monkeypatch.setattr(app[ReplayController], "open", opened.append)
    app.open_path(folder)
    app.open_path(recording)
    assert opened == [folder / "b.gb", recording]
    (tmp_path / "none.gb").touch()
    assert "empty" in why_no_rom(tmp_path / "none.gb")


def test_a_zip_with_a_broken_stream_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.gb", bytes(range(256)) * 64)
    data = bytearray(path.read_bytes())
    start = 30 + len("a.gb")
    data[start : start + 8] = b"\xff" * 8
    path.write_bytes(data)
    with pytest.raises(LabError, match="cannot be unpacked"):
        unpack(path, "a.gb")


def test_a_checkpoint_is_looked_at_again_when_it_is_chosen(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    app[CheckpointsController].import_folder(make_checkpoint(tmp_path / "mail"))
    model = app[CheckpointList]
    qtbot.waitUntil(lambda: model.selected and model.selected.integrity == "verified")
    folder = there(model.selected).folder
    weights = folder / checkpoint_manifest.POLICY
    weights.write_bytes(weights.read_bytes() + b"x")
    model.selection_changed.emit()
    qtbot.waitUntil(lambda: there(model.selected).integrity == "mismatch")
