"""The same inputs give the same pictures in PyBoy and in our emulator.

People move by chance (DIV at power-on differs between emulators), so the pictures are compared
where nobody walks. PyBoy's frames need not begin where ours do: two frames either way are allowed.
"""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = [pytest.mark.warp, pytest.mark.slow]
pytest.importorskip("warp")
pyboy = pytest.importorskip("pyboy")

from kit.game_batch import ACTIONS, MASKS  # noqa: E402
from make_tasks import OPENING, TITLE_FRAMES, TO_DOOR, TO_STAIRS  # noqa: E402
from walker import ROM  # noqa: E402

from emulator import Cartridge, Emulator  # noqa: E402

ALL = (slice(0, 144), slice(0, 160))
ABOVE_MOTHER = (slice(0, 44), slice(0, 160))
BELOW_MOTHER = (slice(61, 144), slice(0, 160))
COTTAGE = (slice(0, 60), slice(0, 80))
SLACK = 2


class OurGame:
    def __init__(self) -> None:
        self.emulator = Emulator(Cartridge.from_file(ROM), 1, "cpu")

    def frames(self, button: str | None, count: int) -> list[np.ndarray]:
        mask = MASKS[[ACTIONS.index(button)]] if button else None
        pictures = []
        for _ in range(count):
            self.emulator.run(mask, 1)
            pictures.append(self.emulator.screens.numpy()[0].copy())
        return pictures


class PyBoyGame:
    def __init__(self) -> None:
        self.machine = pyboy.PyBoy(str(ROM), window="null", sound_emulated=False, log_level="CRITICAL")

    def frames(self, button: str | None, count: int) -> list[np.ndarray]:
        if button:
            self.machine.button_press(button.lower())
        pictures = []
        for _ in range(count):
            self.machine.tick(1, True)
            pictures.append((255 - self.machine.screen.ndarray[:, :, 0]) // 85)
        if button:
            self.machine.button_release(button.lower())
        return pictures


def last_pictures(game: OurGame | PyBoyGame, actions: tuple[str, ...]) -> list[np.ndarray]:
    """Play the actions; the pictures around the end."""
    for name in actions:
        game.frames(name, 8)
        game.frames(None, 16)
    return game.frames(None, 2 * SLACK + 1)


def assert_alike(ours: list[np.ndarray], theirs: list[np.ndarray], *parts: tuple) -> None:
    middle = ours[SLACK]
    differing = min(sum(int((middle[part] != picture[part]).sum()) for part in parts) for picture in theirs)
    assert differing == 0, f"{differing} pixels differ"


def test_pictures_agree_from_the_title_to_the_village():
    games = OurGame(), PyBoyGame()
    for game in games:
        game.frames(None, TITLE_FRAMES)
    for name, actions, parts in (
        ("title", (), (ALL,)),
        ("first page", OPENING[:3], ((slice(0, 128), slice(0, 160)),)),  # the mark blinks below
        ("bedroom", OPENING[3:], (ALL,)),
        ("walk", ("RIGHT", "UP", "UP", "UP", "RIGHT"), (ALL,)),
        ("no menu yet", ("START",), (ALL,)),
        ("way back", ("LEFT", "DOWN", "DOWN", "DOWN", "LEFT"), (ALL,)),
        ("home", TO_STAIRS, (ABOVE_MOTHER, BELOW_MOTHER)),
        ("menu", ("START",), (ABOVE_MOTHER, BELOW_MOTHER)),
        ("menu closed", ("B",), (ABOVE_MOTHER, BELOW_MOTHER)),
        ("village", TO_DOOR, (COTTAGE,)),
    ):
        ours, theirs = (last_pictures(game, actions) for game in games)
        assert len(np.unique(ours[SLACK])) > 1, name
        assert_alike(ours, theirs, *parts)
