"""`dmglab arc eval` on a session's file, with agents of every kind, without the library and without a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.mock_llm import serving
from trainer_core.cli.arc import evaluate
from trainer_core.envs.arc.game import Turn, open_static_game
from trainer_core.envs.arc.llm_agent import LlmAgent, parse_answer
from trainer_core.envs.arc.rest import RestGame
from trainer_core.envs.arc.static import SESSION, StaticArcTransport
from trainer_core.envs.language_model import LanguageModel
from trainer_core.lab.arc_games import CLICK, RESET
from trainer_core.wire.errors import ConfigError, FailureError, TaskError

DOOR = Turn(CLICK, 44, 12)
CLICKS = (1, 4, CLICK)


def test_two_actions_win_the_mock_session(tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("ACTION4\nACTION6 44 12\n")
    found = evaluate(["--agent", "script", "--script", str(tmp_path / "plan.txt"), "--out", str(tmp_path / "out")])
    assert (found["ok"], found["state"], found["levels"], found["actions"]) == (True, "WIN", 2, 2)
    assert found["reward"] == pytest.approx(2 - 2 * 0.01)
    assert found["score"] == 100
    card = json.loads((tmp_path / "out" / "scorecard.json").read_text())
    assert card == found["card"]
    assert card["environments"][0]["runs"][0]["level_actions"] == [1, 1]


def test_the_explorer_wins_it_and_its_score_is_the_librarys_formula() -> None:
    found = evaluate([])
    run = found["card"]["environments"][0]["runs"][0]
    first, second = run["level_actions"]
    assert found["state"] == "WIN"
    assert found["score"] == pytest.approx((100 / first**2 + 2 * 100 / second**2) / 3)


def test_a_lost_game_begins_its_level_again_and_a_won_one_begins_anew() -> None:
    game = open_static_game()
    first = game.grid.copy()
    game.act(Turn(4))
    second = game.grid.copy()
    assert len(game.shown.frames) == 2
    game.act(Turn(1))
    assert (game.shown.state, game.levels) == ("GAME_OVER", 1)
    game.act(Turn(RESET))
    assert (game.grid == second).all()
    assert (game.shown.state, game.levels) == ("NOT_FINISHED", 1)
    game.act(DOOR)
    assert (game.shown.state, game.levels) == ("WIN", 2)
    game.act(Turn(RESET))
    assert (game.grid == first).all()
    assert game.levels == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda raw: raw["scenes"].clear(), "no ARC session"),
        (lambda raw: raw["scenes"]["won"]["frames"].append(["0123"]), "a frame is 8x8"),
        (lambda raw: raw["scenes"]["first"]["goes"].update(ACTION2="nowhere"), "'nowhere', which is no scene"),
    ],
)
def test_a_wrong_session_is_one_line(tmp_path: Path, change: Any, said: str) -> None:
    raw = json.loads(SESSION.read_text())
    change(raw)
    (tmp_path / "s.json").write_text(json.dumps(raw))
    with pytest.raises(TaskError, match=said):
        evaluate(["--session", str(tmp_path / "s.json")])


def test_the_addresses_of_a_servers_pages() -> None:
    game = RestGame("https://arc.example/", "mock", transport=StaticArcTransport())
    assert game.pages == {}, "a file has no pages"
    game._has_pages = True
    game.begin(0)
    assert game.pages == {
        "scorecard_url": "https://arc.example/scorecards/static",
        "replay_url": "https://arc.example/replay/mock-0001/static",
    }


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("ACTION4", Turn(4)),
        ("I tried ACTION1 before.\nNOTE: walls are 5\n**ACTION6 12 40**", Turn(CLICK, 12, 40)),
        ('{"action": "ACTION6", "x": 63, "y": 0}', Turn(CLICK, 63, 0)),
        ("action 4", Turn(4)),
        ("ACTION6(x=1, y=2)", Turn(CLICK, 1, 2)),
        ("ACTION4 would lose, so RESET", Turn(RESET)),
    ],
)
def test_the_last_action_of_an_answer_is_meant(text: str, turn: Turn) -> None:
    assert parse_answer(text, CLICKS) == turn


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no action"),
        ("ACTION9 or XACTION4", "names no action"),
        ("ACTION2", "does not take ACTION2; it takes ACTION1, ACTION4, ACTION6 and RESET"),
        ("ACTION6", "needs a cell"),
        ("ACTION6 64 0", "outside the grid"),
    ],
)
def test_the_model_is_told_what_is_wrong_with_an_answer(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_answer(text, CLICKS)


def test_a_language_model_reads_the_grid_its_note_and_what_it_changed() -> None:
    answers = ["NOTE: 9 is me\nACTION4", "no idea", "ACTION6 44 12"]
    asked: list[dict[str, Any]] = []

    def model(_: Any, request: dict[str, Any]) -> str:
        asked.append(request)
        return answers[len(asked) - 1]

    with serving(model) as url:
        found = evaluate(["--agent", "llm", "--llm", url, "--llm-model", "tiny"])
    assert (found["state"], found["actions"]) == ("WIN", 2)
    assert (found["answers"], found["unusable_answers"], found["failed_requests"]) == (3, 1, 0)
    first, second, again = (request["messages"] for request in asked)
    assert first[1]["content"].count("\n" + "5" * 64) == 16, "the grid's upper and lower wall"
    assert "Your note: 9 is me" in second[1]["content"]
    assert "ACTION4: 192 cells changed, x 8 to 47, y 8 to 31; level 1 completed" in second[1]["content"]
    assert again[-1]["content"] == "Your answer names no action."
    assert asked[0]["model"] == "tiny"


def test_a_model_that_answers_rubbish_ends_the_game_in_one_line() -> None:
    with serving(lambda _, request: "banana") as url:
        found = evaluate(["--agent", "llm", "--llm", url])
        with pytest.raises(FailureError, match="no usable action 3 times in a row, lastly: 'banana'"):
            LlmAgent(LanguageModel(url)).act(open_static_game())
    assert not found["ok"]
    assert found["state"] == "NOT_FINISHED"
    assert found["unusable_answers"] == 3


OWN = """
from trainer_core.envs.arc.game import Turn
class Clicker:
    def __init__(self, seed): self.turns = [Turn(4), Turn(6, 44, 12)]
    def act(self, game): return self.turns.pop(0)
class Broken(Clicker):
    def act(self, game): return 1 / 0
class Wrong(Clicker):
    def act(self, game): return "ACTION4"
class Nothing:
    def __init__(self, seed): pass
"""


def test_an_agent_of_ones_own_plays_and_its_errors_are_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_arc_agent.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    assert evaluate(["--agent", "own_arc_agent:Clicker"])["state"] == "WIN"
    assert "ZeroDivisionError: division by zero" in evaluate(["--agent", "own_arc_agent:Broken"])["error"]
    assert "own_arc_agent.py:7" in evaluate(["--agent", "own_arc_agent:Broken"])["error"]
    assert "returned 'ACTION4', not a Turn" in evaluate(["--agent", "own_arc_agent:Wrong"])["error"]
    for name, said in (
        ("own_arc_agent:Nothing", "has no method act"),
        ("own_arc_agent:Nobody", "AttributeError"),
        ("no_such_module_here:A", "ModuleNotFoundError"),
        ("explorer", "it is explore, random, script, llm, or MODULE:CLASS"),
        ("llm", "needs the address of a language model"),
        ("script", "needs a file of actions"),
    ):
        with pytest.raises((ConfigError, FailureError), match=said):
            evaluate(["--agent", name])
