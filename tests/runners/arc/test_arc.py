"""ARC-AGI-3 on the real library: its games in its own process, its REST server on loopback.

Skipped where `dmglab runner install arc` was not run; what needs no library is in the second half.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.support.guests import ended, history, home_with
from tests.support.loopback import serving
from tests.support.processes import in_service, until
from trainer_core.envs.arc import session
from trainer_core.envs.arc.agents import Explorer, parse_turn, patches
from trainer_core.envs.arc.env import ArcVecEnv
from trainer_core.envs.arc.game import FRAMES_PER_PICTURE, ArcGame, Turn, open_arc_game
from trainer_core.envs.arc.rest import RestGame
from trainer_core.envs.arc.rules import encode
from trainer_core.envs.arc.session import HostedGames, Shown
from trainer_core.lab.arc_games import CLICK, PALETTE, RESET, ArcGameInfo, find_game, list_games
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import read_recording, read_steps
from trainer_core.lab.trust import sha256_of, trust
from trainer_core.play.clips.opening import open_clip
from trainer_core.runners.arc.runner import ARC
from trainer_core.wire import records
from trainer_core.wire.buttons import ACTION_MASKS, ACTIONS
from trainer_core.wire.errors import ConfigError, LabError, TaskError
from trainer_core.wire.playing import with_click
from trainer_core.wire.spec import RunSpec

SLIDE = [2, 4, 1, 3, 1, 3, 4, 2, 4, 2, 4, 1]
"""Solves sl01 in as few actions as can be."""
LIGHTS = [(2, 2), (5, 2), (4, 5), (2, 3), (6, 6)]


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return home_with("arc", tmp_path)


def mask(name: str) -> int:
    return ACTION_MASKS[ACTIONS.index(name)]


def test_a_game_is_played_by_buttons_and_shows_its_animation(home: HomePaths) -> None:
    game = open_arc_game("arc/sl01", home)
    try:
        first = game.picture().copy()
        game.frame(mask("DOWN"))
        # The slider goes six cells and stops: the player sees each, the agent where it stopped.
        assert len(game.shown.frames) == 7
        assert (game.picture() == game.shown.frames[0]).all()
        assert (game.observation() == encode(game.shown.frames[-1])).all()
        for _ in range(40):
            game.frame(mask("DOWN"))  # held: no second action
        assert (game.picture() == game.shown.frames[-1]).all()
        assert "1 actions" in game.note()
        game.restart(0)
        assert (game.picture() == first).all()
    finally:
        game.close()


def test_clicks_win_the_lights_and_the_scorecard_counts_them(home: HomePaths) -> None:
    game = open_arc_game("arc/ck01", home, home.root / "kept")
    try:
        game.frame(mask("UP"))  # the game takes no ACTION1: nothing happens
        for column, row in LIGHTS:
            game.frame(with_click(0, 8 * column + 3, 8 * row + 4))
        assert game.shown.state == "WIN"
        card = game.card()
        (run,) = card["environments"][0]["runs"]
        assert run["levels_completed"] == 2
        assert run["actions"] == sum(turn.action == CLICK for turn in game.snapshot().turns)
        game.frame(with_click(0, 8, 8))  # after the end nothing counts
        assert game.levels == 2
        lines = next((home.root / "kept").rglob("ck01-*.jsonl"))
        assert open_clip(lines, home.root / "opened", "", home)["format"] == "rgb888"
        replayed = read_recording(home.root / "opened")
        steps = read_steps(home.root / "opened", replayed)
        assert len(steps) == len(LIGHTS)
        assert steps[-1].success
    finally:
        game.close()


def test_going_back_and_files_lead_to_the_same_grid(home: HomePaths, tmp_path: Path) -> None:
    game = open_arc_game("arc/wk01", home)
    try:
        game.restart(7)
        for name in ("UP", "LEFT", "DOWN", "RIGHT", "RIGHT"):
            game.step(mask(name))
        there, state = game.grid.copy(), game.snapshot()
        game.save_state(tmp_path / "state")
        game.step(mask("DOWN"))
        game.restart(3)
        game.restore(state)
        assert (game.grid == there).all()
        game.restart(3)
        game.load_state(tmp_path / "state")
        assert (game.grid == there).all()
        (tmp_path / "bad").write_text('{"game": "sl01", "seed": 0, "turns": []}')
        with pytest.raises(TaskError, match="another game"):
            game.load_state(tmp_path / "bad")
    finally:
        game.close()


def test_the_client_sees_on_the_librarys_server_what_its_process_shows(home: HomePaths) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    info = find_game("arc/sl01", home)
    python = ARC.environment(home).python
    argv = [str(python), "-P", "-m", "trainer_core.envs.arc.host", str(info.folder), str(home.root)]
    server = subprocess.Popen([*argv, str(port)], stderr=subprocess.DEVNULL, cwd=home.root)
    here = open_arc_game("arc/sl01", home)
    try:
        asyncio.run(until(lambda: _listens(port), 60))
        there = open_arc_game(f"arc/sl01@http://127.0.0.1:{port}", home)
        assert (there.shown.frames == here.shown.frames).all()
        for action in SLIDE:
            here.act(Turn(action))
            there.act(Turn(action))
            assert (there.shown.frames == here.shown.frames).all()
            assert there.shown.levels == here.shown.levels
        assert there.shown.state == here.shown.state == "WIN"
        assert there.card()["score"] == here.card()["score"] == pytest.approx(100.0)
        with pytest.raises(LabError, match="has no game zz99; it has sl01"):
            RestGame(f"http://127.0.0.1:{port}", "zz99")
        there.close()
    finally:
        here.close()
        server.kill()
        server.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_batch_goes_on_from_a_checkpoint_where_it_was(home: HomePaths) -> None:
    env = ArcVecEnv(find_game("arc/wk01", home), home, 4, seed=3)
    rng = torch.Generator().manual_seed(1)
    moves = [torch.randint(7, (4,), generator=rng) for _ in range(90)]
    try:
        env.reset()
        for actions in moves[:70]:
            env.step(actions)
        kept = env.state_dict()
        after = [env.step(actions) for actions in moves[70:]]
        seen, rewards = env.obs.clone(), torch.stack([step.reward for step in after])
        ends = torch.stack([step.info.reset_mask for step in after])
        assert env.screens(2).shape == (2, 64, 64, 3)
        env.reset(seed=9)
        env.load_state_dict(kept)
        again = [env.step(actions) for actions in moves[70:]]
        assert torch.equal(env.obs, seen)
        assert torch.equal(torch.stack([step.reward for step in again]), rewards)
        assert torch.equal(torch.stack([step.info.reset_mask for step in again]), ends)
    finally:
        env.close()


def test_a_game_of_clicks_cannot_be_trained_with_buttons(home: HomePaths, tmp_path: Path) -> None:
    folder = home.root / "arc" / "xx01"
    folder.mkdir(parents=True)
    (folder / "metadata.json").write_text('{"game_id": "xx01-v1"}')
    source = (find_game("arc/ck01", home).folder / "ck01.py").read_text()
    (folder / "xx01.py").write_text(source.replace("Ck01", "Xx01").replace("[5, 6]", "[6]"))
    trust(sha256_of(folder))
    with pytest.raises(TaskError, match="takes clicks alone"):
        ArcVecEnv(find_game("arc/xx01", home), home, 2)
    (folder / "xx01.py").write_text("class Xx01:\n    pass\n")
    trust(sha256_of(folder))
    with pytest.raises(LabError, match=r"xx01: .*not a subclass of ARCBaseGame"):
        open_arc_game("arc/xx01", home)
    (folder / "xx01.py").write_text("this is no Python\n")
    trust(sha256_of(folder))
    with pytest.raises(LabError, match=r"xx01: .*invalid syntax"):
        open_arc_game("arc/xx01", home)


async def test_the_explorer_wins_and_its_run_is_recorded(home: HomePaths) -> None:
    async with in_service(home.root) as service:
        spec = RunSpec(runner="arc", task="arc/sl01", total_env_steps=500, options={"algo": "explore"})
        record = await service.start(service.plan(spec))
        record = await ended(service, record.run_id)
        assert record.state.value == "finished", record
        paths = home.run(record.run_id)
        last = (await history(service, record.run_id, records.UpdateRecord))[-1]
        assert last.metrics["arc/wins"] == 1
        assert last.metrics["arc/levels"] == 3
        card = json.loads((paths.root / "scorecard.json").read_text())
        assert card["environments"][0]["runs"][0]["levels_completed"] == 3
        folder = home.players / record.run_id / "recordings" / "game"
        recording = read_recording(folder)
        assert (recording.width, recording.height, recording.format) == (64, 64, "rgb888")
        assert read_steps(folder, recording)[-1].success


# -- without the library --------------------------------------------------------------------------


class _Game:
    """What the explorer is shown."""

    is_over, levels = False, 0

    def __init__(self, grid: np.ndarray, available: tuple[int, ...]) -> None:
        self.grid, self.shown = grid, type("Shown", (), {"available": available})


def test_each_picture_of_an_animation_stands_for_its_frames() -> None:
    """Of a session that answers each action with three pictures."""
    pictures = np.arange(3, dtype=np.uint8)[:, None, None] * np.ones((1, 64, 64), np.uint8)
    shown = Shown(pictures, 0, 1, "NOT_FINISHED", (1,))
    session = SimpleNamespace(begin=lambda seed: shown, act=lambda *turn: shown)
    game = ArcGame(ArcGameInfo("ab01", "ab01", Path(), ()), session)  # type: ignore[arg-type]
    seen = [int(game.picture()[0, 0])]
    for _ in range(3 * FRAMES_PER_PICTURE):
        game.frame(0)
        seen.append(int(game.picture()[0, 0]))
    stand = FRAMES_PER_PICTURE
    assert seen == [0] * stand + [1] * stand + [2] * (stand + 1)


def test_the_explorer_tries_everything_once() -> None:
    grid = np.zeros((64, 64), np.uint8)
    grid[8:16, 8:16] = 5
    explorer = Explorer(1)
    game: ArcGame = _Game(grid, (1, 2, 6))  # type: ignore[assignment]
    turns = [explorer.act(game) for _ in range(5)]
    assert {turn.action for turn in turns[:4] if turn} == {1, 2, CLICK}
    assert {(turn.x, turn.y) for turn in turns[:4] if turn and turn.action == CLICK} == {
        (x, y) for x, y in patches(grid)
    }
    assert turns[4] == Turn(RESET)
    assert explorer.act(game) is None  # nothing happens in this game, ever


def test_the_explorer_does_again_what_gained_a_level() -> None:
    start, later = np.zeros((64, 64), np.uint8), np.ones((64, 64), np.uint8)
    explorer, game = Explorer(1), _Game(start, (1, 2, 3))
    first: ArcGame = game  # type: ignore[assignment]
    explorer.act(first)
    gained = explorer.act(first)
    game.grid, game.levels = later, 1
    explorer.act(first)
    game.grid, game.levels = start, 0  # another game begins
    assert explorer.act(first) == gained


@pytest.mark.parametrize("words", ["ACTION8", "ACTION6", "ACTION6 64 0", "ACTION1 2 3", "reset", "ACTION6 -1 0"])
def test_a_line_that_is_no_action_is_named(words: str) -> None:
    with pytest.raises(ConfigError, match="line 3"):
        parse_turn(words, "plan.txt, line 3")


def test_a_line_of_a_script() -> None:
    assert parse_turn("ACTION6 63 0", "") == Turn(CLICK, 63, 0)
    assert parse_turn("RESET", "") == Turn(RESET)


def test_both_digits_of_a_colour_are_seen() -> None:
    colours = np.arange(16, dtype=np.uint8).reshape(4, 4)
    shades = encode(colours)
    assert shades.shape == (4, 8)
    assert shades.max() == 3
    assert (4 * shades[:, 0::2] + shades[:, 1::2] == colours).all()
    assert len(PALETTE) == 16


def test_a_folder_without_metadata_is_named(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    shipped = [game.task for game in list_games(home)]
    assert shipped == ["arc/ck01", "arc/sl01", "arc/wk01"]
    (tmp_path / "arc" / "ab01").mkdir(parents=True)
    with pytest.raises(TaskError, match=r"ab01/metadata.json: .*an ARC game is a folder"):
        find_game("arc/ab01", home)
    (tmp_path / "arc" / "ab01" / "metadata.json").write_text('{"game_id": "ab01-v1"}')
    with pytest.raises(TaskError, match=r"ab01.py: no such file"):
        find_game("arc/ab01", home)
    with pytest.raises(TaskError, match="known: arc/ck01"):
        find_game("arc/nope", home)


def test_a_game_of_a_home_is_a_program_that_starts_once_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    home, folder = HomePaths(tmp_path), tmp_path / "arc" / "xx01"
    folder.mkdir(parents=True)
    (folder / "metadata.json").write_text('{"game_id": "xx01-v1"}')
    (folder / "xx01.py").write_text("class Xx01: ...\n")
    game = find_game("arc/xx01", home)
    with pytest.raises(LabError, match=r"dmglab runner trust [0-9a-f]{64}$") as caught:
        HostedGames(game, home)
    trust(str(caught.value)[-64:])
    with pytest.raises(LabError, match="has no environment"):
        HostedGames(game, home)
    (folder / "xx01.py").write_text("class Xx01: print('more')\n")
    with pytest.raises(LabError, match="dmglab runner trust"):
        HostedGames(game, home)


def test_a_game_that_never_answers_is_ended(home: HomePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "ANSWER_S", 0.1)
    games = object.__new__(HostedGames)  # as it is once its process has started
    games.game, games._scratch = list_games(home)[0], None
    games._process = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with pytest.raises(LabError, match=r"the game said nothing for 0.1 s and was ended"):
        games.card()
    games.close()
    assert games._process.returncode


class _Nonsense(BaseHTTPRequestHandler):
    answer = b"{}"

    def do_GET(self) -> None:
        self._send(b'[{"game_id": "ls20-1234"}]' if self.path == "/api/games" else self.answer)

    def do_POST(self) -> None:
        self._send(b'{"card_id": "c"}' if self.path.endswith("open") else self.answer)

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"{}", "no answer of the ARC-AGI-3 API"),
        (b'{"frame": [[[1]]], "state": "WIN"}', "no answer of the ARC-AGI-3 API"),
        (b'{"frame": [], "state": "WIN"}', "a game without a picture"),
        (json.dumps({"frame": [[[16] * 64] * 64], "state": "X"}).encode(), "a colour beyond 15"),
        (b"<html>", "no ARC server answers there"),
    ],
)
def test_a_server_that_talks_nonsense_is_named(answer: bytes, said: str) -> None:
    with serving(HTTPServer(("127.0.0.1", 0), type("Handler", (_Nonsense,), {"answer": answer}))) as server:
        game = RestGame(f"http://127.0.0.1:{server.server_port}", "ls20")
        with pytest.raises(LabError, match=said):
            game.begin(0)
    with pytest.raises(LabError, match="no ARC server answers there"):
        RestGame(f"http://127.0.0.1:{server.server_port}", "ls20")
