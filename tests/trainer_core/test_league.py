"""`dmglab league`: unlike players on one task, and what becomes of one that fails."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.support.made_checkpoints import make_checkpoint
from tests.support.mock_llm import serving
from tests.support.processes import PATIENCE_S
from trainer_core.cli import eval as evaluation
from trainer_core.cli import league
from trainer_core.envs import toy
from trainer_core.envs.language_model import PATIENCE, LanguageModel
from trainer_core.host.agent import Agent
from trainer_core.host.checkpoint import Snapshot, write_checkpoint
from trainer_core.lab.checkpoint_manifest import META, read_meta
from trainer_core.lab.paths import CHECKOUT, HomePaths, RunPaths
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.play import rollout
from trainer_core.play.league import contestant
from trainer_core.play.league.contestant import Contestant
from trainer_core.play.league.llm import LlmPlayer
from trainer_core.play.league.players import NearestPlayer, RandomPlayer, Settings, league_tasks, parse_entry
from trainer_core.play.rollout import write_rollout
from trainer_core.service import run_job
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.errors import CheckpointError, ConfigError, LabError

PICTURES = toy.tile_pictures(toy.torch.device("cpu")).numpy()
MOVES = toy.move_table(toy.torch.device("cpu")).numpy()


def way_to_goal(picture: np.ndarray, request: dict[str, Any]) -> str:
    """A model that looks: it finds the walker's tile in the picture it was sent."""
    (tile,) = (number for number, shown in enumerate(PICTURES) if np.array_equal(shown, picture))
    away = np.full(len(MOVES), 999)
    away[toy.GOAL_TILE] = 0
    for _ in MOVES:
        away = np.minimum(away, away[MOVES].min(1) + 1)
    best = int(np.argmin(away[MOVES[tile]]))
    return f"Neither A nor B helps here. The button to press: **{ACTIONS[best].lower()}**"


def play(tmp_path: Path, *players: str, **options: str) -> dict[str, Any]:
    argv = [*players, "--task", "tiny_goal", "--episodes", "2", "--home", str(tmp_path)]
    for name, value in options.items():
        argv += [f"--{name.replace('_', '-')}", value]
    return league.run(argv)


def test_a_model_that_looks_wins_and_a_random_player_does_worse(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def model(picture: np.ndarray, request: dict[str, Any]) -> str:
        asked.append(request)
        return way_to_goal(picture, request)

    with serving(model) as url:
        found = play(tmp_path, "random", f"llm={url}", llm_model="mock-1", out=str(tmp_path / "o"))
    best, worst = found["rows"]
    assert found["ok"]
    assert (best["kind"], best["success_rate"], best["episodes"]) == ("llm", 1.0, 2)
    assert best["note"].startswith(f"{len(asked)} answers, 0 named no button")
    assert {request["model"] for request in asked} == {"mock-1"}
    assert worst["kind"] == "random"
    assert worst["mean_return"] < best["mean_return"]
    assert json.loads((tmp_path / "o" / "league.json").read_bytes())["rows"] == found["rows"]
    assert "| 1.000 |" in (tmp_path / "o" / "league.md").read_text()


def test_nonsense_is_counted_and_the_game_goes_on(tmp_path: Path) -> None:
    with serving(lambda picture, request: "I would rather read a book.") as url:
        found = play(tmp_path, f"llm={url}")
    (row,) = found["rows"]
    assert (found["ok"], row["success_rate"], row["episodes"]) == (True, 0.0, 2)
    answers, nonsense = (int(part.split()[0]) for part in row["note"].split(", ")[:2])
    assert answers == nonsense > 0


def test_a_model_that_hangs_is_out_and_the_others_play_on(tmp_path: Path) -> None:
    over = threading.Event()

    def never(picture: np.ndarray, request: dict[str, Any]) -> str:
        over.wait()
        return "A"

    with serving(never) as url:
        found = play(tmp_path, f"llm={url}", "random", llm_timeout="0.1")
        over.set()
    rows = {row["kind"]: row for row in found["rows"]}
    assert not found["ok"]
    assert rows["random"]["episodes"] == 2
    assert rows["llm"]["episodes"] == 0
    assert f"no answer within 0.1 s; gave up after {PATIENCE}" in rows["llm"]["error"]


def test_a_letter_is_a_button_only_where_it_is_meant() -> None:
    said = ["a", "B.", "Take a left", "I press START, then A", "a book", "Up!"]
    presses = ["A", "B", "LEFT", "A", "B", "UP"]  # B where no button is named
    with serving(lambda picture, request: said[player.model.answers]) as url:
        player = LlmPlayer(LanguageModel(url))
        player.begin(PICTURES[0])
        assert [ACTIONS[player.act()] for _ in said] == presses
    assert player.nonsense == 1


def test_what_is_no_chat_completion_or_no_server_is_one_line() -> None:
    with serving(lambda picture, request: '{"no": "choices"}') as url:
        player = LlmPlayer(LanguageModel(url))
        player.begin(PICTURES[0])
        with pytest.raises(LabError, match="the answer is no chat completion"):
            player.act()
    player = LlmPlayer(LanguageModel(url))  # nobody listens any more
    player.begin(PICTURES[0])
    with pytest.raises(LabError, match="gave up after"):
        player.act()
    with pytest.raises(ConfigError, match="name a server like"):
        LanguageModel("127.0.0.1:80")


def test_the_nearest_recorded_picture_decides_and_a_loop_tries_the_next() -> None:
    recorded = np.stack([np.full((72, 80), shade, np.uint8) for shade in (0, 1, 3)])
    player = NearestPlayer(recorded, np.array([4, 5, 6]))
    player.begin(np.full((72, 80), 3, np.uint8))
    assert [player.act() for _ in range(4)] == [6, 5, 4, 6]
    player.see(np.full((72, 80), 1, np.uint8))
    assert player.act() == 5
    player.begin(np.full((72, 80), 3, np.uint8))
    assert player.act() == 6


def test_what_a_library_says_on_standard_error_stops_nobody(tmp_path: Path) -> None:
    talker = tmp_path / "python"
    talker.write_text("#!/bin/sh\nhead -c 1000000 /dev/zero >&2\necho >&2\necho last words >&2\n")
    talker.chmod(0o755)
    with pytest.raises(CheckpointError, match="last words"):
        Contestant(str(talker), "", tmp_path, mode="greedy", seed=1)
    with talker.open("a") as file:
        file.write("printf R; cat >/dev/null\n")
    Contestant(str(talker), "", tmp_path, mode="greedy", seed=1).close()


def test_a_policy_that_never_speaks_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mute = tmp_path / "python"
    mute.write_text("#!/bin/sh\nexec sleep 600\n")
    mute.chmod(0o755)
    before = set(psutil.Process().children())
    for limit in ("LOAD_S", "END_S"):
        monkeypatch.setattr(contestant, limit, 0.1)
    with pytest.raises(CheckpointError, match="its process said nothing"):
        Contestant(str(mute), "", tmp_path, mode="greedy", seed=1)
    monkeypatch.setattr(contestant, "LOAD_S", PATIENCE_S)
    monkeypatch.setattr(contestant, "ANSWER_S", 0.1)
    mute.write_text("#!/bin/sh\nprintf R\nexec sleep 600\n")
    other = Contestant(str(mute), "", tmp_path, mode="greedy", seed=1)
    with pytest.raises(LabError, match=r"said nothing for 0.1 s and was ended"):
        other.act()
    other.close()
    mute.write_text("#!/bin/sh\nprintf R\nexec sleep 600\n")
    Contestant(str(mute), "", tmp_path, mode="greedy", seed=1).close()
    assert set(psutil.Process().children()) <= before


OPENING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever who runs the tests does
from pathlib import Path
from trainer_core.play.league.contestant import Contestant
Contestant(sys.argv[1], "", Path("."), mode="greedy", seed=1)
"""
WAITING = """
import sys
from pathlib import Path
from trainer_core.play.league import contestant
hear = contestant.hear
def wait(*how):
    Path(sys.argv[2]).touch()
    return hear(*how)
contestant.hear = wait
"""
"""Says when the parent waits: Ctrl-C that comes before ends the parent, and with it a real contestant."""


@pytest.mark.usefixtures("warm")
def test_a_policy_that_is_loading_when_ctrl_c_comes_is_ended(tmp_path: Path) -> None:
    loading, pid, waits = tmp_path / "python", tmp_path / "pid", tmp_path / "waits"
    loading.write_text(f"#!/bin/sh\necho $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600\n")
    loading.chmod(0o755)
    command = [sys.executable, "-c", WAITING + OPENING, str(loading), str(waits)]
    child = subprocess.Popen(command, cwd=CHECKOUT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (pid.exists() and waits.exists()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    child.wait(60)
    assert not psutil.pid_exists(int(pid.read_text()))


@pytest.mark.usefixtures("warm")
def test_a_policy_that_is_loading_ends_with_who_opened_it(tmp_path: Path) -> None:
    folder = save_policy(tmp_path / "run")
    opening = OPENING.replace('Path(".")', f"Path({str(folder)!r})") + "input()"
    child = subprocess.Popen([sys.executable, "-c", opening, sys.executable], cwd=CHECKOUT, stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while not (family := psutil.Process(child.pid).children(recursive=True)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        child.kill()
        child.wait()
    spent = 0.0
    while alive := [each for each in family if each.is_running() and each.status() != "zombie"]:
        assert time.monotonic() < deadline
        with contextlib.suppress(psutil.NoSuchProcess):
            spent = max(spent, *(each.cpu_times().user for each in alive))
        time.sleep(0.01)
    assert spent < 1.0, "it loaded torch for nobody, which takes two seconds of processor"


def test_a_policy_that_cannot_be_opened_ends_alone(tmp_path: Path) -> None:
    """The app's league bears a mark of its own, by which its processes are found and ended."""
    opener = "from trainer_core.wire.process_guard import die_with_parent; die_with_parent()"
    failing = tmp_path / "python"
    failing.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{opener}'\n")
    failing.chmod(0o755)
    going_on = "import contextlib, time\nwith contextlib.suppress(Exception):"
    going_on += OPENING.replace("\n", "\n    ") + "\ntime.sleep(0.5)\nprint('{\"rows\": []}')"
    tool = [sys.executable, "-c", going_on, str(failing)]
    assert asyncio.run(run_job(tool)) == {"rows": []}


@pytest.mark.usefixtures("warm")
def test_a_policy_plays_in_a_process_of_its_own(tmp_path: Path) -> None:
    """It presses what the same network chooses here."""
    folder = save_policy(tmp_path / "run")
    agent = Agent(folder, mode="greedy")
    other = Contestant(sys.executable, "", folder, mode="greedy", seed=1)
    try:
        for player in (agent, other):
            player.begin(PICTURES[0])
        chosen = [(agent.act(), other.act())]
        for picture in PICTURES[1:5]:
            for player in (agent, other):
                player.see(picture)
            chosen.append((agent.act(), other.act()))
    finally:
        other.close()
    assert all(here == there for here, there in chosen)
    assert other._process.returncode == 0


def save_policy(run: Path) -> Path:
    """A checkpoint of a small network with weights as they were drawn."""
    toy.torch.manual_seed(3)
    policy = PixelActorCritic("small", (1, 72, 80), len(ACTIONS))
    for weight in policy.parameters():
        toy.torch.nn.init.normal_(weight)
    meta = read_meta(make_checkpoint(run / "meta"))
    files = Snapshot({}, policy.state_dict(), PICTURES[0]).files({})
    folder, _ = write_checkpoint(RunPaths(run), meta, files)
    return folder


@pytest.mark.parametrize("text", ["", "llm", "llm=", "random=1", "dog=1", "nearest"])
def test_players_that_nobody_knows_are_named(text: str) -> None:
    with pytest.raises(ConfigError, match="say random, checkpoint=RUN"):
        parse_entry(text)


def test_what_is_missing_is_in_its_players_row(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name at least one player"):
        play(tmp_path)
    found = play(tmp_path, "checkpoint=nothing", f"recorded={tmp_path}", "random")
    rows = {row["kind"]: row for row in found["rows"]}
    assert "neither a checkpoint folder nor a run" in rows["checkpoint"]["error"]
    assert rows["recorded"]["error"]
    assert rows["random"]["error"] == ""


def test_every_player_has_a_row_a_task_and_the_policys_tasks_are_the_default(tmp_path: Path) -> None:
    both = "tiny_goal,pocket_quest/leave_bedroom"
    argv = ["random", "--task", both, "--episodes", "1", "--home", str(tmp_path)]
    found = league.run([*argv, "--out", str(tmp_path / "o")])
    assert [(row["task"], row["episodes"]) for row in found["rows"]] == [
        ("tiny_goal", 1),
        ("pocket_quest/leave_bedroom", 1),
    ]
    table = (tmp_path / "o" / "league.md").read_text()
    assert "| 0.000 | - |" in table, "no median where nobody got there"
    assert [line for line in table.splitlines() if line.startswith("#")] == [
        "# League: tiny_goal",
        "# League: pocket_quest/leave_bedroom",
    ]
    policy = make_checkpoint(tmp_path / "policy")
    raw = json.loads((policy / META).read_bytes())
    (policy / META).write_text(json.dumps({**raw, "task": both}))
    entries = [parse_entry("random"), parse_entry(f"checkpoint={policy}")]
    assert ",".join(league_tasks("", entries, HomePaths(tmp_path))) == both
    assert league_tasks("", entries[:1], HomePaths(tmp_path)) == ("pocket_quest/leave_bedroom",)


def test_eval_of_a_checkpoint_that_plays_nothing_says_where_its_figures_are(tmp_path: Path) -> None:
    policy = make_checkpoint(tmp_path / "policy")
    raw = json.loads((policy / META).read_bytes())
    (policy / META).write_text(json.dumps({**raw, "runner": "rllm"}))
    with pytest.raises(CheckpointError, match="rLLM's checkpoints play no Game Boy"):
        evaluation.run(["--checkpoint", str(policy), "--home", str(tmp_path)])


def test_a_rollout_of_another_librarys_policy_is_played_by_that_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make_checkpoint(tmp_path / "policy")
    raw = json.loads((policy / META).read_bytes())
    (policy / META).write_text(json.dumps({**raw, "runner": "sb3"}))
    closed: list[str] = []

    class Theirs(RandomPlayer):
        def close(self) -> None:
            closed.append("closed")

    def opened(checkpoint: str, settings: Settings) -> Theirs:
        assert (checkpoint, settings.mode, settings.seed) == (str(policy), "sample", 7)
        return Theirs(settings.seed)

    monkeypatch.setattr(rollout, "open_checkpoint", opened)
    out = tmp_path / "out"
    found = write_rollout(out, policy, HomePaths(tmp_path), mode="sample", steps=5, start=0, gif_every=0, seed=7)
    assert (found["steps"], closed) == (5, ["closed"])
    assert len((out / "rollout.jsonl").read_text().splitlines()) == 5
    assert json.loads((out / "meta.json").read_text())["config"] == raw["config"]
