"""Games: list of shipped games and of the user's ROMs; a chosen game is played at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QMainWindow, QMenu

from gui.features.games.controller import LibraryController
from gui.features.games.model import RomLibrary
from gui.features.games.view import GamesView
from gui.features.play.ahead import PlayAhead
from gui.features.play.controller import PlayController
from gui.kit.actions import ActionRegistry
from gui.kit.dialogs import ask_file
from gui.kit.words import tr
from gui.state.context import RECENT, Context, Feature, TabSpec
from gui.state.session import Place
from trainer_core.lab.roms import rom_in


def feature(context: Context) -> Feature:
    model = context.add(RomLibrary(context.home, context.settings))
    library = context.add(
        LibraryController(
            context.bridge,
            context.session,
            model,
            context[PlayController],
            context.navigation,
            context.notices,
            context.palette,
        )
    )
    library.looked_for.connect(context[PlayAhead].prepare_for_person)
    define_games(context.actions, library, context.window)

    recent = context.menus[RECENT] = QMenu(tr(RECENT), context.window)
    recent.setToolTipsVisible(True)
    recent.aboutToShow.connect(lambda: fill_recent(recent, model, library.play))

    def take(path: Path) -> bool:
        library.open_rom((rom_in(path) if path.is_dir() else None) or path)
        return True

    return Feature(
        tabs=[TabSpec(Place.GAMES, lambda: GamesView(library, context.actions))], open_home=model.reload, take_path=take
    )


def define_games(registry: ActionRegistry, library: LibraryController, window: QMainWindow) -> None:
    add = partial(registry.add, follows=(library.library.selection_changed,))
    roms = tr("Game Boy ROMs (*.gb *.gbc);;All files (*)")
    library.file_wanted.connect(lambda title, then: ask_file(window, title, roms, then))
    add(
        "openRom",
        tr("Open a ROM..."),
        library.ask_open,
        "Ctrl+Shift+O",
        tip=tr("Play a Game Boy game of your own; the file stays where it is"),
    )
    add("showGames", tr("Games"), library.show, "Ctrl+Shift+G", tip=tr("Every available game"))
    add(
        "playRom",
        tr("Play the chosen game"),
        library.play_selected,
        short=tr("Play"),
        refusal=library.refusal,
        is_there=lambda: not library.lacks_rom,
    )
    add(
        "makeStage",
        tr("Create the next stage of the chosen game"),
        library.make_stage,
        short=tr("Create this stage"),
        tip=tr("Play and create a task: save a start state, then capture the goal"),
        refusal=library.stage_refusal,
        is_there=lambda: library.has_stages,
        follows=(library.library.selection_changed, library.library.changed),
    )
    add(
        "locateRom",
        tr("Locate the chosen game..."),
        library.locate_selected,
        short=lambda: tr("Choose your ROM...") if library.lacks_rom else tr("Locate..."),
        tip=tr("Choose the file at its new place"),
        refusal=library.locate_refusal,
    )
    add(
        "forgetRom",
        tr("Remove the chosen game from the list"),
        library.forget_selected,
        short=tr("Remove"),
        tip=tr("Remove it from the list; the file stays"),
        refusal=library.forget_refusal,
        is_there=lambda: not library.lacks_rom,
    )


def fill_recent(menu: QMenu, library: RomLibrary, play: Callable[[str], None]) -> None:
    """Fill `menu` with the games played last; choosing one calls `play` with its key."""
    menu.clear()
    library.look_again()
    cards = library.recent()
    for card in cards:
        words = tr("{title} (missing)", title=card.title) if card.problem else card.title
        action = menu.addAction(words.replace("&", "&&"))
        action.setToolTip(card.problem or str(card.path))
        action.setEnabled(not card.problem)
        action.triggered.connect(lambda _, key=card.key: play(key))
    if not cards:
        menu.addAction(tr("No game played yet")).setEnabled(False)
        return
    menu.addSeparator()
    menu.addAction(tr("Clear this list")).triggered.connect(library.forget_recent)
