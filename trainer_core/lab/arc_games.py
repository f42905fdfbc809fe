"""ARC-AGI-3 games as tasks: their folders, their colours, and the action of each button.

Task `arc/wk01` is the game whose folder holds `metadata.json` with `"game_id": "wk01-..."` and `wk01.py` with a class
`Wk01(ARCBaseGame)`: the layout of the library `arc-agi` for local games. Our games are in `assets/arc`; the user's own,
and games that the library downloaded, are in `<home>/arc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.wire.addresses import ARC_KEY, check_server, without_secrets
from trainer_core.wire.errors import TaskError, shown
from trainer_core.wire.regular_files import folders_with, read_regular

PREFIX = "arc/"
RUNNER_ID, TITLE = "arc", "ARC-AGI-3"
MODULES = ("arcengine", "arc_agi")
"""Modules of the library that runs the games, in an environment of its own, without torch."""
PYTHONS = ((3, 12), (3, 14))
"""Python versions that the library supports: from the first, below the second."""
EXAMPLE = "http://127.0.0.1:8001"
"""Example address of a server of these games."""
SIDE = 64
"""Width and height of a game's grid in cells."""
PALETTE = (
    0xFFFFFF, 0xCCCCCC, 0x999999, 0x666666, 0x333333, 0x000000, 0xE53AA3, 0xFF7BCC,
    0xF93C31, 0x1E93FF, 0x88D8F1, 0xFFDC00, 0xFF851B, 0x921231, 0x4FCC30, 0xA356D6,
)  # fmt: skip
"""0xRRGGBB of the colours 0 to 15, as in arc_agi.rendering."""
RESET, NOTHING, CLICK = 0, -1, 6
"""Ids of ARC actions: RESET; no action; ACTION6, a click that takes x and y."""
BUTTON_ACTIONS = (5, 7, NOTHING, 1, 2, 3, 4)
"""ARC action of each button of buttons7.v1: A is ACTION5, B is ACTION7, the arrows are ACTION1 to ACTION4; START is
none. ACTION6 belongs to the mouse."""
TRAIN_STARTS, HELD_OUT_STARTS = 4096, 32
"""Numbers of seeds used as start states: those for training, then those held out for validation."""
ARC_RULE = "arc-base4.v1"
"""Observation rule: each colour as two base-4 digits, side by side (arc.rules.encode)."""
METADATA = "metadata.json"
WIN, GAME_OVER = "WIN", "GAME_OVER"


class _Metadata(msgspec.Struct):
    """Fields of a game's metadata.json that this program uses; the library reads the others."""

    game_id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9]{4}(-[A-Za-z0-9_.]+)?$")]
    title: str = ""
    baseline_actions: list[int] = []


@dataclass(frozen=True, slots=True)
class ArcGameInfo:
    """Description of one ARC-AGI-3 game on this computer."""

    id: str
    """Four letters and digits, without the version."""
    title: str
    folder: Path
    baseline_actions: tuple[int, ...]
    """Number of actions that the game's authors needed for each level; a player's score is measured by it."""

    @property
    def task(self) -> str:
        return PREFIX + self.id


def server_of(task: str) -> str:
    """Return ADDRESS of a task `arc/ID@ADDRESS`, empty for a local game. Raises ConfigError for a bad address."""
    _, _, server = task.partition("@")
    if server:
        check_server(server, ARC_KEY, EXAMPLE)
    return server


def is_arc(task: str) -> bool:
    return task.startswith(PREFIX)


def game_folders(home: HomePaths) -> tuple[Path, Path]:
    """Return the two folders that hold games: the shipped one, then the user's."""
    return ASSETS / "arc", home.root / "arc"


def list_games(home: HomePaths) -> list[ArcGameInfo]:
    """Return every readable game, sorted by id; a user's game replaces a shipped one with the same id."""
    found: dict[str, ArcGameInfo] = {}
    for root in game_folders(home):
        for folder in sorted(folders_with(root, METADATA)):
            try:
                game = read_game(folder)
            except TaskError:
                continue  # `find_game` finds and reports it
            found[game.id] = game
    return [found[name] for name in sorted(found)]


def read_game(folder: Path) -> ArcGameInfo:
    """Return the game in `folder`. Raises TaskError naming the file that is missing or wrong."""
    path = folder / METADATA
    try:
        data = msgspec.json.decode(read_regular(path), type=_Metadata)
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror}; an ARC game is a folder with {METADATA} and its .py file") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TaskError(f"{path}: {shown(error, 120)}") from None
    game_id = data.game_id[:4]
    source = folder / f"{game_id.lower()}.py"
    if not source.is_file():
        raise TaskError(f"{source}: no such file; {METADATA} names the game {data.game_id}")
    return ArcGameInfo(game_id, shown(data.title) or game_id, folder, tuple(data.baseline_actions))


def find_game(task: str, home: HomePaths) -> ArcGameInfo:
    """Return the game of a task `arc/ID`. Raises TaskError naming the known ones."""
    name = task.removeprefix(PREFIX)
    games = {game.id: game for game in list_games(home)}
    if name in games:
        return games[name]
    for root in game_folders(home):
        if (root / name).is_dir() and name:
            read_game(root / name)  # raises an error that names its fault
    known = ", ".join(game.task for game in games.values())
    raise TaskError(
        f"no ARC game '{shown(without_secrets(task))}'; known: {known}; others go to {game_folders(home)[1]}"
    )
