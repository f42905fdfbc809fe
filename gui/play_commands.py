"""What the app can do with games: open and find them, make tasks of them, rewind, save slots."""

from __future__ import annotations

import importlib.util
import shutil
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QMainWindow

from gui.actions import ActionRegistry
from gui.controllers.appearance import Appearance
from gui.controllers.league import LeagueController
from gui.controllers.library import LibraryController
from gui.controllers.pictures import PicturesController
from gui.controllers.playing import PlayController
from gui.controllers.replay import ReplayController
from gui.controllers.saliency import SaliencyController
from gui.controllers.slots import SlotsController
from gui.controllers.sound import SoundController
from gui.controllers.task_draft import TaskDraft
from gui.models.navigation import Navigation
from gui.widgets.dialogs import begin_folder
from gui.widgets.export_sheet import ExportSheet
from gui.words import tr


def define_games(registry: ActionRegistry, library: LibraryController, window: QMainWindow) -> None:
    add, chosen = registry.add, (library.library.selection_changed,)
    library.file_wanted.connect(partial(_ask_rom, window))
    add(
        "openRom",
        tr("Open ROM..."),
        library.ask_open,
        "Ctrl+Shift+O",
        tip=tr("Play a Game Boy game of your own; the file stays where it is"),
    )
    add("showGames", tr("Games"), library.show, "Ctrl+Shift+G", tip=tr("Every game there is to play"))
    add(
        "playRom",
        tr("Play the chosen game"),
        library.play_selected,
        short=tr("Play"),
        refusal=library.refusal,
        follows=chosen,
    )
    add(
        "locateRom",
        tr("Locate the chosen game..."),
        library.locate_selected,
        short=tr("Locate..."),
        tip=tr("Say where its file is now"),
        refusal=library.locate_refusal,
        follows=chosen,
    )
    add(
        "forgetRom",
        tr("Take the chosen game off the list"),
        library.forget_selected,
        short=tr("Forget"),
        tip=tr("Take it off the list; the file stays"),
        refusal=library.locate_refusal,
        follows=chosen,
    )


def define_league(registry: ActionRegistry, league: LeagueController) -> None:
    add, told = registry.add, (league.changed,)
    add("showLeague", tr("League"), league.show, tip=tr("Unlike players in one table"))
    add(
        "leagueStart",
        tr("Play the league"),
        league.toggle,
        short=lambda: tr("Stop") if league.is_busy else tr("Play"),
        tip=tr("Every player plays the test starts; again: stop"),
        refusal=league.refusal,
        is_on=lambda: league.is_busy,
        follows=told,
    )
    add(
        "leagueAdd",
        tr("Add the checkpoint to the league"),
        league.add_checkpoint,
        short=tr("Add checkpoint"),
        refusal=league.add_refusal,
        follows=told,
    )
    add(
        "leagueReplay",
        tr("Play back the league's player"),
        league.replay,
        short=tr("Play back"),
        tip=tr("Its first episode, in the Replay tab"),
        refusal=league.replay_refusal,
        follows=told,
    )


def define_task_making(registry: ActionRegistry, draft: TaskDraft) -> None:
    add, changed = registry.add, (draft.model.changed,)
    add(
        "makeTask",
        tr("Make the task"),
        draft.make,
        "Ctrl+M",
        refusal=draft.make_refusal,
        tip=tr("Write it, then find out how hard it is"),
        follows=changed,
    )
    add(
        "trainTask",
        tr("Train on the new task"),
        draft.train,
        "Ctrl+Shift+N",
        short=tr("Train new"),
        refusal=draft.train_refusal,
        follows=changed,
    )
    add(
        "newDraft",
        tr("Begin another task"),
        lambda: draft.start_over(),
        tip=tr("Forget the start states and the goal"),
        refusal=lambda: tr("Nothing was captured yet") if draft.model.is_empty else "",
        follows=changed,
    )


def define_slots(registry: ActionRegistry, slots: SlotsController, playing: PlayController) -> None:
    add, changed = registry.add, (slots.changed,)
    add(
        "saveSlot",
        lambda: tr("Save state, slot {current}", current=slots.current),
        slots.save,
        "F5",
        refusal=playing.solo_refusal,
        follows=changed,
    )
    add(
        "loadSlot",
        lambda: tr("Load state, slot {current}", current=slots.current),
        slots.load,
        "F9",
        refusal=slots.load_refusal,
        follows=changed,
    )
    add("undoLoad", tr("Take the load back"), slots.undo, "Shift+F9", refusal=slots.undo_refusal, follows=changed)
    add(
        "recordEpisode",
        tr("Recordings end with the episode"),
        lambda: playing.set_until("stopped" if playing.until == "episode" else "episode"),
        tip=tr("Else they go on until you stop them, ten minutes at most"),
        is_on=lambda: playing.until == "episode",
        follows=(playing.changed,),
    )


def define_sound(registry: ActionRegistry, sound: SoundController) -> None:
    registry.add(
        "mute",
        tr("Sound off"),
        sound.toggle_mute,
        "Ctrl+Shift+M",
        tip=tr("No sound is made at all"),
        is_on=lambda: sound.is_muted,
        follows=(sound.changed,),
    )


def define_pictures(
    registry: ActionRegistry,
    pictures: PicturesController,
    playing: PlayController,
    replay: ReplayController,
    navigation: Navigation,
) -> None:
    registry.add(
        "savePicture",
        tr("Save the picture"),
        pictures.save,
        "F10",
        tip=tr("The game's picture as a PNG, and on the clipboard"),
        refusal=pictures.refusal,
        follows=(playing.changed, playing.started, replay.changed, navigation.place_changed),
    )


def define_saliency(registry: ActionRegistry, saliency: SaliencyController) -> None:
    registry.add(
        "saliency",
        tr("What the policy looks at"),
        saliency.toggle,
        "Ctrl+Shift+H",
        short=tr("Saliency"),
        tip=tr("Heat where covering the picture changes the policy's mind most"),
        is_on=lambda: saliency.is_on,
        refusal=saliency.refusal,
        follows=(saliency.changed,),
    )


def define_export(
    registry: ActionRegistry, replay: ReplayController, appearance: Appearance, window: QMainWindow
) -> None:
    registry.add(
        "playOn",
        tr("Play on from this frame"),
        replay.play_on,
        "Ctrl+Shift+R",
        short=tr("Play on"),
        tip=tr("Take over where the recording was in the frame on show"),
        refusal=replay.replay_refusal,
        follows=(replay.changed,),
    )

    def ask() -> None:
        if replay.replay is not None:
            place = Path.home() / replay.replay.folder.name
            ExportSheet(window, len(replay.replay), place, has_mp4(), appearance.screen, replay.export_as).open()

    def refusal() -> str:
        return tr("An export is under way") if replay.is_exporting else replay.export_refusal()

    registry.add(
        "exportAs",
        tr("Export the recording as..."),
        ask,
        "Ctrl+Shift+E",
        short=tr("Export..."),
        tip=tr("GIF, APNG, MP4 or PNGs; range, speed, scale and colours"),
        refusal=refusal,
        follows=(replay.changed,),
    )


def has_mp4() -> bool:
    """Whether there is a program that encodes MP4."""
    found = importlib.util.find_spec("imageio_ffmpeg") is not None
    return shutil.which("ffmpeg") is not None or found


def _ask_rom(window: QMainWindow, title: str, then: object) -> None:
    """Ask for a ROM file; `then` gets its path unless the person cancels."""
    path, _ = QFileDialog.getOpenFileName(
        window, title, begin_folder(), tr("Game Boy ROMs (*.gb *.gbc);;All files (*)")
    )
    if path:
        then(Path(path))  # type: ignore[operator]
