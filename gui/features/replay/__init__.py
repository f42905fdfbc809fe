"""Replay of recordings: play, compare, export, use as demonstrations for training."""

from __future__ import annotations

import importlib.util
import shutil
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QMainWindow

from gui.features.play.controller import PlayController
from gui.features.replay.controller import CLIP_SUFFIXES, ReplayController
from gui.features.replay.demonstrations import Demonstrations, DemoSheet
from gui.features.replay.export_sheet import ExportSheet
from gui.features.replay.pictures import PicturesController
from gui.features.replay.view import ReplayView
from gui.kit.actions import ActionRegistry
from gui.kit.dialogs import ask_file, ask_folder
from gui.kit.words import tr
from gui.state.appearance import Appearance
from gui.state.context import Context, Feature, TabSpec
from gui.state.session import Navigation, Place
from trainer_core.lab.checkpoint_manifest import is_checkpoint
from trainer_core.lab.paths import run_at
from trainer_core.lab.roms import rom_in


def feature(context: Context) -> Feature:
    playing, actions, window = context[PlayController], context.actions, context.window
    replay = context.add(ReplayController(context.bridge, playing, context.log, context.navigation, context.notices))
    pictures = context.add(
        PicturesController(context.bridge, playing, replay, context.navigation, context.notices, context.palette)
    )
    demonstrations = context.add(Demonstrations(context.bridge, replay, context.notices))
    define_replay(actions, replay, window)
    define_demonstrations(actions, demonstrations, replay, window)
    define_export(actions, replay, context.appearance, window)
    define_pictures(actions, pictures, playing, replay, context.navigation)

    def finish() -> None:
        view, recolored = context[ReplayView], context.appearance.screen_changed
        for shown in (view, *view.beside):
            recolored.connect(shown.screen_view.recolor)
        recolored.connect(view.strip.update)

    def take(path: Path) -> bool:
        if run_at(path) or is_checkpoint(path) or (path.is_dir() and rom_in(path)):
            return False
        found = path.is_dir() or path.suffix.lower() in CLIP_SUFFIXES
        if found:
            replay.open(path)
        return found

    return Feature(
        tabs=[TabSpec(Place.REPLAY, lambda: ReplayView(replay, actions, context.palette))],
        finish=finish,
        open_home=replay.reload,
        take_path=take,
    )


def define_replay(registry: ActionRegistry, replay: ReplayController, window: QMainWindow) -> None:
    add = partial(registry.add, follows=(replay.changed,))

    def refusal() -> str:
        return tr("{name} is still being opened", name=replay.opening) if replay.opening else ""

    def ask_rom(movie: Path) -> None:
        title, roms = tr("The game of {name}", name=movie.name), tr("Game Boy ROMs (*.gb *.gbc);;All files (*)")
        ask_file(window, title, roms, lambda rom: replay.open(movie, str(rom)))

    kinds = tr("Pictures and movies (*.gif *.apng *.png *.replay *.vbm *.json *.jsonl);;All files (*)")
    add(
        "openReplay",
        tr("Open a recording, GIF or movie..."),
        partial(ask_file, window, tr("Open in the replay"), kinds, replay.open),
        "Ctrl+Shift+Y",
        short=tr("Open..."),
        tip=tr("Rollouts, recordings, GIF and APNG, input movies of PyBoy and VisualBoyAdvance"),
        refusal=refusal,
    )
    add(
        "openReplayFolder",
        tr("Open a folder in the replay..."),
        partial(ask_folder, window, tr("Open in the replay"), replay.open),
        tip=tr("A recording, a rollout, or the error record of a failed run"),
        refusal=refusal,
    )
    add(
        "playOn",
        tr("Play from this frame"),
        replay.play_on,
        "Ctrl+Shift+R",
        short=tr("Play from here"),
        tip=tr("Take over the game at the frame shown"),
        refusal=replay.replay_refusal,
    )
    replay.rom_wanted.connect(ask_rom)


def define_demonstrations(
    registry: ActionRegistry, demos: Demonstrations, replay: ReplayController, window: QMainWindow
) -> None:
    def ask() -> None:
        if replay.replay is not None:
            DemoSheet(window, demos.tasks(), len(replay.replay), demos.add).open()

    registry.add(
        "useAsDemo",
        tr("Use as a demonstration..."),
        ask,
        short=tr("Demonstrate..."),
        tip=tr("Save it with a task, so that training can start along it"),
        refusal=demos.refusal,
        follows=(replay.changed,),
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
        tr("Save picture"),
        pictures.save,
        "F10",
        tip=tr("Save the game's picture as a PNG and copy it to the clipboard"),
        refusal=pictures.refusal,
        follows=(playing.changed, playing.started, replay.changed, navigation.place_changed),
    )


def define_export(
    registry: ActionRegistry, replay: ReplayController, appearance: Appearance, window: QMainWindow
) -> None:
    registry.add(
        "exportGif",
        lambda: tr("Cancel the export") if replay.is_exporting else tr("Export GIF"),
        lambda: replay.toggle_export(appearance.screen),
        "Ctrl+E",
        short=lambda: tr("Cancel") if replay.is_exporting else tr("Export GIF"),
        refusal=replay.export_refusal,
        follows=(replay.changed,),
    )

    def ask() -> None:
        if replay.replay is not None:
            place = Path.home() / replay.replay.folder.name
            ExportSheet(window, len(replay.replay), place, has_mp4(), appearance.screen, replay.export_as).open()

    def refusal() -> str:
        return tr("An export is running") if replay.is_exporting else replay.export_refusal()

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
    """Return whether a program that encodes MP4 is installed."""
    found = importlib.util.find_spec("imageio_ffmpeg") is not None
    return shutil.which("ffmpeg") is not None or found
