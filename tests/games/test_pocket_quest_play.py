"""Pocket Quest as an agent meets it: one press, one square; one A, one page; the two stages."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.warp
pytest.importorskip("warp")

from kit.game_batch import ACTIONS, MASKS, symbols  # noqa: E402
from kit.task_folder import Start, play  # noqa: E402
from make_tasks import OPENING, TITLE_FRAMES, TO_DOOR, TO_STAIRS  # noqa: E402
from walker import ROM, GameBatch, place  # noqa: E402


@pytest.fixture(scope="module")
def bedroom():
    """State in which the player stands beside the bed, free to walk."""
    (snapshot,), _ = play(ROM, [Start(TITLE_FRAMES, OPENING)])
    return snapshot


@pytest.fixture
def game(bedroom):
    batch = GameBatch(1)
    batch.load([bedroom])
    return batch


def act(game: GameBatch, *names: str) -> tuple[int, int, int, int] | None:
    for name in names:
        game.step(np.array([ACTIONS.index(name)]))
    return place(game.keys()[0])


def walk(game: GameBatch, *names: str) -> tuple[int, int, int, int]:
    """Press these; the room is on show afterwards, no text or menu."""
    found = act(game, *names)
    assert found is not None
    return found


def test_a_press_walks_exactly_one_square_whatever_the_facing(game):
    room, x, y, _ = walk(game, "RIGHT")
    for name, dx, dy, facing in (("RIGHT", 1, 0, 3), ("LEFT", -1, 0, 2), ("DOWN", 0, 1, 0), ("UP", 0, -1, 1)):
        x, y = x + dx, y + dy
        assert act(game, name) == (room, x, y, facing)


def test_a_held_button_walks_one_square_every_sixteen_frames(game):
    mask = MASKS[[ACTIONS.index("RIGHT")]]
    at = symbols(ROM)["actors"]
    steps = []
    for _ in range(5 * 16):
        game.emulator.run(mask, 1)
        steps.append(int(game.emulator.peek(0, at + 3)[0]))
    begins = [k for k in range(1, len(steps)) if steps[k] == 15 != steps[k - 1]]
    assert len(begins) >= 4
    assert set(np.diff(begins)) == {16}


def test_walls_and_furniture_stop_the_player(game):
    before = walk(game, "LEFT")
    assert before[1:] == (1, 7, 2)  # faces the bed, did not move


def test_one_press_of_a_opens_a_text_and_one_closes_it(game):
    act(game, "LEFT")
    assert act(game, "A") is None
    assert act(game, "UP") is None
    assert walk(game, "A")[1:] == (1, 7, 2)


def test_start_opens_nothing_before_there_is_a_satchel(game):
    before = place(game.keys()[0])
    assert act(game, "START", "START") == before


@pytest.mark.parametrize("button", ["B", "START", "LEFT"])
def test_the_menu_closes_with_the_buttons_that_go_back(game, button):
    before = act(game, *TO_STAIRS)
    assert act(game, "START") is None
    assert act(game, button) == before


def test_the_menu_has_pages_to_get_lost_in(game):
    before, seen = act(game, *TO_STAIRS), set()
    for name in ("START", "A", "A", "B", "B", "DOWN", "A", "A"):
        assert act(game, name) is None, name
        seen.add(game.pictures().tobytes())
    assert len(seen) >= 6
    assert act(game, "A", "B", "B", "B", "B") == before


def test_the_diary_outlives_a_restart(game):
    here = act(game, *TO_STAIRS, "LEFT")
    act(game, "START", "DOWN", "A", "A", "A", "B", "B", "B")
    assert place(game.keys()[0]) == here
    restart = np.array([16 + 32 + 64 + 128], dtype=np.uint8)
    game.emulator.run(restart, 4)
    game.emulator.run(None, TITLE_FRAMES)
    assert act(game, "START", "A", "B", "B") == here


def test_letters_come_one_by_one(game):
    act(game, "LEFT")
    counts = []
    game.emulator.run(MASKS[[ACTIONS.index("A")]], 1)
    for _ in range(24):
        game.emulator.run(None, 1)
        counts.append(len(np.unique(game.emulator.screens.numpy()[0][104:136], axis=1)[0]))
    assert len(set(counts)) > 12


def test_b_does_nothing_in_a_room(game):
    before, picture = game.keys()[0], game.pictures().copy()
    act(game, "B")
    assert game.keys()[0] == before
    assert np.array_equal(game.pictures(), picture)


def test_the_way_from_the_bed_to_the_village(game):
    bedroom = walk(game)[0]
    home = walk(game, *TO_STAIRS)
    assert home[0] != bedroom
    assert home[1:] == (8, 2, 2)
    village = walk(game, *TO_DOOR)
    assert village[0] not in (bedroom, home[0])
    assert village[1:] == (5, 8, 0)
    back = walk(game, "UP", "B", "B")
    assert back[0] == home[0]


def test_a_frame_at_rest_costs_few_instructions(game):
    game.emulator.run(None, 240)
    assert int(game.emulator.work()[0]) / 240 < 300
    act(game, *TO_STAIRS, *TO_DOOR)
    game.emulator.run(None, 480)
    assert int(game.emulator.work()[0]) / 480 < 1000


def test_villagers_depend_on_when_the_button_was_pressed():
    actions = OPENING + TO_STAIRS + TO_DOOR + ("B",) * 12
    _, pictures = play(ROM, [Start(TITLE_FRAMES + 5 * k, actions) for k in range(8)])
    assert len({picture.tobytes() for picture in pictures}) > 1
