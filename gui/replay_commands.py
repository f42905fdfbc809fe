"""What the app can do with recordings: open, compare, edit, use as demonstrations."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QMainWindow

from gui.actions import ActionRegistry
from gui.controllers.demonstrations import Demonstrations
from gui.controllers.replay import ReplayController
from gui.controllers.roll import RollController
from gui.widgets.demo_sheet import DemoSheet
from gui.widgets.dialogs import begin_folder
from gui.words import tr


def define_replay(registry: ActionRegistry, replay: ReplayController, window: QMainWindow) -> None:
    add, changed = registry.add, (replay.changed,)

    def refusal() -> str:
        return tr("{name} is still being opened", name=replay.opening) if replay.opening else ""

    add(
        "openReplay",
        tr("Open a recording, GIF or movie..."),
        partial(_ask_clip, window, replay),
        "Ctrl+Shift+Y",
        short=tr("Open..."),
        tip=tr("Rollouts, recordings, GIF and APNG, input movies of PyBoy and VisualBoyAdvance"),
        refusal=refusal,
        follows=changed,
    )
    add(
        "openReplayFolder",
        tr("Open a folder in the replay..."),
        partial(_ask_folder, window, replay),
        tip=tr("A recording, a rollout, or the receipt of a failed run"),
        refusal=refusal,
        follows=changed,
    )
    replay.rom_wanted.connect(partial(_ask_rom_of, window, replay))


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
        tip=tr("Keep it with a task: training may begin along it"),
        refusal=demos.refusal,
        follows=(replay.changed,),
    )


def define_roll(registry: ActionRegistry, roll: RollController) -> None:
    add, changed = registry.add, (roll.changed,)
    add(
        "rollOpen",
        tr("Edit the buttons"),
        roll.toggle,
        "Ctrl+Shift+B",
        short=tr("Edit"),
        tip=tr("Change the buttons of any frame; the recording stays as it is"),
        refusal=roll.refusal,
        is_on=lambda: roll.is_open,
        follows=changed,
    )
    add(
        "rollUndo",
        tr("Undo the change of buttons"),
        roll.undo,
        "Ctrl+Alt+Z",
        short=tr("Undo"),
        symbol="undo",
        refusal=roll.undo_refusal,
        follows=changed,
    )
    add(
        "rollRedo",
        tr("Redo the change of buttons"),
        roll.redo,
        "Ctrl+Alt+Y",
        short=tr("Redo"),
        symbol="redo",
        refusal=roll.redo_refusal,
        follows=changed,
    )
    add(
        "rollInsert",
        tr("Insert a frame"),
        roll.insert,
        short=tr("Insert"),
        symbol="plus",
        tip=tr("A frame without a button before this one"),
        refusal=roll.open_refusal,
        follows=changed,
    )
    add(
        "rollDelete",
        tr("Delete the frame"),
        roll.delete,
        short=tr("Delete"),
        symbol="minus",
        refusal=roll.open_refusal,
        follows=changed,
    )
    add(
        "rollSave",
        tr("Save the branch"),
        roll.save,
        "Ctrl+Alt+S",
        short=tr("Save branch"),
        tip=tr("Keep the changed copy as a recording of its own"),
        refusal=roll.save_refusal,
        follows=changed,
    )
    add(
        "rollPlayOn",
        tr("Play a branch from this frame"),
        roll.play_on,
        short=tr("Play from here"),
        tip=tr("Take over here; the beginning and what you play become a branch"),
        refusal=roll.open_refusal,
        follows=changed,
    )


def _ask_clip(window: QMainWindow, replay: ReplayController) -> None:
    path, _ = QFileDialog.getOpenFileName(
        window,
        tr("Open in the replay"),
        begin_folder(),
        tr("Pictures and movies (*.gif *.apng *.png *.replay *.vbm *.json *.jsonl);;All files (*)"),
    )
    if path:
        replay.open(Path(path))


def _ask_folder(window: QMainWindow, replay: ReplayController) -> None:
    path = QFileDialog.getExistingDirectory(window, tr("Open in the replay"), begin_folder())
    if path:
        replay.open(Path(path))


def _ask_rom_of(window: QMainWindow, replay: ReplayController, movie: Path) -> None:
    rom, _ = QFileDialog.getOpenFileName(
        window,
        tr("The game of {name}", name=movie.name),
        begin_folder(),
        tr("Game Boy ROMs (*.gb *.gbc);;All files (*)"),
    )
    if rom:
        replay.open(movie, rom)
