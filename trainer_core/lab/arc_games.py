"""ARC-AGI-3 games as tasks: where they lie, which colours they have, what the buttons mean.

Task `arc/wk01` is the game whose folder holds `metadata.json` with `"game_id": "wk01-..."` and
`wk01.py` with a class `Wk01(ARCBaseGame)`: the layout of the library `arc-agi` for local games.
Ours come with DMG Lab (`assets/arc`); a user's own, and games that the library downloaded, lie in
`<home>/arc`.
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
"""The library that plays the games, in an environment of its own, without torch."""
PYTHONS = ((3, 12), (3, 14))
"""Versions that it takes: from the first, below the second."""
"""The environment below a home that has the library."""
EXAMPLE = "http://127.0.0.1:8001"
"""An address of a server of these games."""
SIDE = 64
"""Cells of a grid, in both directions."""
PALETTE = (
    0xFFFFFF, 0xCCCCCC, 0x999999, 0x666666, 0x333333, 0x000000, 0xE53AA3, 0xFF7BCC,
    0xF93C31, 0x1E93FF, 0x88D8F1, 0xFFDC00, 0xFF851B, 0x921231, 0x4FCC30, 0xA356D6,
)  # fmt: skip
"""0xRRGGBB of the colours 0 to 15, as arc_agi.rendering has them."""
RESET, NOTHING, CLICK = 0, -1, 6
"""Action ids: RESET; none; ACTION6, which takes x and y."""
BUTTON_ACTIONS = (5, 7, NOTHING, 1, 2, 3, 4)
"""The ARC action of each button of buttons7.v1: A is ACTION5, B is ACTION7, the arrows are ACTION1
to ACTION4; START is none. ACTION6 belongs to the mouse."""
TRAIN_STARTS, HELD_OUT_STARTS = 4096, 32
"""Start states are seeds: those that training draws from, and those after them, never seen."""
ARC_RULE = "arc-base4.v1"
"""The observation: each colour as two digits to the base of 4, side by side (arc.rules.encode)."""
METADATA = "metadata.json"
WIN, GAME_OVER = "WIN", "GAME_OVER"


class _Metadata(msgspec.Struct):
    """What of metadata.json is read here; the library reads the rest."""

    game_id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9]{4}(-[A-Za-z0-9_.]+)?$")]
    title: str = ""
    baseline_actions: list[int] = []


@dataclass(frozen=True, slots=True)
class ArcGameInfo:
    """One game that lies on this computer."""

    id: str
    """Four letters and digits, without the version."""
    title: str
    folder: Path
    baseline_actions: tuple[int, ...]
    """Of each level: what a level's score is measured by; its count is the count of levels."""

    @property
    def task(self) -> str:
        return PREFIX + self.id


def server_of(task: str) -> str:
    """The address in `arc/ID@ADDRESS`, empty for a game that is played here. Raises ConfigError."""
    _, _, server = task.partition("@")
    if server:
        check_server(server, ARC_KEY, EXAMPLE)
    return server


def is_arc(task: str) -> bool:
    return task.startswith(PREFIX)


def game_folders(home: HomePaths) -> tuple[Path, Path]:
    """Where games lie: ours, then the user's."""
    return ASSETS / "arc", home.root / "arc"


def list_games(home: HomePaths) -> list[ArcGameInfo]:
    """Every game that can be read, by id; a user's game stands before one of ours."""
    found: dict[str, ArcGameInfo] = {}
    for root in game_folders(home):
        for folder in sorted(folders_with(root, METADATA)):
            try:
                game = read_game(folder)
            except TaskError:
                continue  # found and named by `find_game`
            found[game.id] = game
    return [found[name] for name in sorted(found)]


def read_game(folder: Path) -> ArcGameInfo:
    """The game in `folder`. Raises TaskError naming the file that is missing or wrong."""
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
    """The game of a task `arc/ID`. Raises TaskError naming those that there are."""
    name = task.removeprefix(PREFIX)
    games = {game.id: game for game in list_games(home)}
    if name in games:
        return games[name]
    for root in game_folders(home):
        if (root / name).is_dir() and name:
            read_game(root / name)  # says what is wrong with it
    known = ", ".join(game.task for game in games.values())
    raise TaskError(
        f"no ARC game '{shown(without_secrets(task))}'; known: {known}; others go to {game_folders(home)[1]}"
    )
