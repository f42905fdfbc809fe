"""Tasks from scripts, recordings and captured states; checked, audited, sent and refused."""

from __future__ import annotations

import importlib.util
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from emulator import Cartridge
from emulator.state.snapshot import load_snapshots
from emulator.tools.input_script import replay
from tests.trainer_core.building import read_log, tiny_config, train_in
from trainer_core.author import new_task, suggestions
from trainer_core.author.demonstration import Replay, play_demonstration, save_demonstrations
from trainer_core.author.goals import LEAST_DISTANCE, GoalPictures, suggest_tau
from trainer_core.author.inputs import follows_codec, read_inputs, steps_of
from trainer_core.author.reports import HIDDEN_ALLOWED, aliasing
from trainer_core.author.suggestions import rank_correlation, suggest_reward
from trainer_core.author.walks import random_walks
from trainer_core.cli.main import main
from trainer_core.cli.queue import AddOptions
from trainer_core.cli.train import Options, options
from trainer_core.envs.demonstrations import Demonstration, task_demonstrations
from trainer_core.envs.preparing import Preparing
from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import ConsoleGame, open_game
from trainer_core.envs.start_states import read_scripts
from trainer_core.envs.task_files import load_goal, load_rom, save_goal
from trainer_core.lab.checkpoint_manifest import list_checkpoints, read_meta
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.roms import registered_roms
from trainer_core.lab.task_checks import check_guest_task, check_tasks
from trainer_core.lab.tasks import Codec, Task, find_task
from trainer_core.play.rollout import write_rollout
from trainer_core.runs.log_check import check_log
from trainer_core.wire.buttons import (
    ACTION_MASKS,
    ACTIONS,
    ALL_ACTIONS,
    ALL_MASKS,
    CODEC_ID,
    CODECS,
    TWO_BUTTONS_ID,
    mask_of,
)
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError, TaskError

pytestmark = pytest.mark.warp

GAME = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"
BASE = "pocket_quest/leave_bedroom"
OPENING = "wait 180  # title\nSTART 2 UP 2 A\n"
WALK = "RIGHT 3 UP 2 RIGHT"
FIRST_STEP = 5

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def called(home: Path, *words: object) -> dict[str, Any]:
        capsys.readouterr()
        told = [*map(str, words)]
        if words[0] == "new" and "--random-episodes" not in told:
            told += ["--random-episodes", "0"]  # which one test spends for all
        code = main(["task", *told, "--home", str(home)])
        printed = capsys.readouterr().out.splitlines()
        assert len(printed) == 1
        found = json.loads(printed[0])
        assert (code == 0) == found["ok"]
        assert "\n" not in found.get("error", "")
        return found

    return called


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the task mine/walk, made of a script."""
    home = tmp_path_factory.mktemp("home")
    (home / "walk.txt").write_text(OPENING + WALK)
    command = ["task", "new", "--id", "mine/walk", "--rom", GAME, "--script", home / "walk.txt",
               "--from-step", FIRST_STEP, "--count", 6, "--walk", 3, "--horizon", 24,
               "--random-episodes", 0, "--home", home]  # fmt: skip
    assert main([str(word) for word in command]) == 0
    return home


def walk(home: Path) -> Task:
    return find_task("mine/walk", HomePaths(home))


def test_a_script_becomes_a_task_with_held_out_starts_and_its_way(made: Path) -> None:
    task = walk(made)
    manifest = task.manifest
    assert manifest.rom.path == "assets/games/pocket_quest/pocket_quest.gb"
    assert 0 < manifest.starts.heldout < manifest.starts.count == 6
    assert manifest.reward.shaping == "new_minimum"
    assert 0 < manifest.reward.novelty_bonus < manifest.reward.step_cost
    (demo,) = task_demonstrations(task)
    assert steps_of(demo.masks, manifest.codec).tolist() == [6, 3, 3, 3, 6, 6]
    game = open_game("mine/walk", HomePaths(made))
    assert game.judge is not None
    shown = set()
    for start in range(6):
        game.restart(start)
        game.judge.begin(game.observation())
        assert game.judge.dist >= manifest.goal.tau
        shown.add(game.observation().tobytes())
    assert len(shown) == 6


def test_no_start_shows_what_no_tau_tells_from_the_goal(made: Path) -> None:
    task = walk(made)
    cartridge, codec = load_rom(task, HomePaths(made)), task.manifest.codec
    (demo,) = task_demonstrations(task)
    trace = play_demonstration(cartridge, demo, codec)
    alike = trace.pictures[0].copy()
    alike[:2, :4] ^= 1  # eight pixels by a shade: between a tau of 0.0002 and LEAST_DISTANCE
    goal = GoalPictures(alike[None], np.ones((1, 72, 80), bool), "l1")
    assert 0.0002 < goal.distances(trace.pictures[:1])[0] < LEAST_DISTANCE
    found = random_walks(cartridge, trace.states[:2], goal, 0.0002, codec, count=4, longest=3, least=1, seed=1)
    near = goal.distances(np.stack([start.picture for start in found]))
    assert suggest_tau(near)[0] > 0


def test_the_starts_can_be_made_again_from_their_inputs(made: Path) -> None:
    task = walk(made)
    states = load_snapshots(task.starts_path)
    scripts = read_scripts(task.folder / "starts.json", task.manifest.codec)
    for one, other in zip(states, replay(Cartridge.from_file(GAME), scripts), strict=True):
        # Between VRAM, work RAM and I/O lies what a drawn picture left; the rows may differ there.
        np.testing.assert_array_equal(one.row[:0x6000], other.row[:0x6000])
        np.testing.assert_array_equal(one.row[0x7E00:0x8000], other.row[0x7E00:0x8000])


def test_check_replays_the_way_and_says_what_is_wrong(
    made: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    preparing = "trainer_core.cli.task_reports.PreparingLine"
    monkeypatch.setattr(preparing, lambda: Preparing(told.append, every_s=0.0))
    found = call(made, "check", "mine/walk", "--episodes", 4)
    assert "preparing episodes of play: 0 of 4" in told
    assert found["demonstrations"] == [{"steps": 6, "done_at_step": 6}]
    assert 0 <= found["false_positive_rate"] <= 1
    assert found["problems"] == []
    assert found["hidden_screens"] <= HIDDEN_ALLOWED
    folder = tmp_path / "tasks" / "mine" / "walk"
    shutil.copytree(walk(made).folder, folder)
    text = (folder / "task.toml").read_text().replace("hold_steps = 1", "hold_steps = 2")
    (folder / "task.toml").write_text(text)
    found = call(tmp_path, "check", "mine/walk", "--episodes", 1)
    assert "done does not fire within its 6 steps" in found["error"]
    (folder / "task.toml").write_text(text.replace("horizon = 24", "horizon = 5"))
    (folder / "demo.npz").write_bytes(b"")
    found = call(tmp_path, "check", "mine/walk", "--episodes", 1)
    assert "this file of demonstrations has SHA-256" in found["error"]
    row = next(row for row in call(tmp_path, "list")["tasks"] if row["id"] == "mine/walk")
    assert "broken" not in row, "a broken demonstration keeps nobody from training"
    (folder / "goal.npz").write_bytes(b"")
    row = next(row for row in call(tmp_path, "list")["tasks"] if row["id"] == "mine/walk")
    assert "goal template has SHA-256" in row["broken"]


def test_audit_prints_what_the_task_is_worth(made: Path, call: Call) -> None:
    found = call(made, "audit", "mine/walk", "--episodes", 2)
    assert (found["distinct_starts"], found["shortest_demonstration"]) == (6, 6)
    assert len(found["one_button_success"]) == 7
    assert found["aliasing"] == 0
    assert "6 distinct starts, 32 are wanted" in found["misses"]


def test_what_is_too_easy_is_told_and_a_rom_that_is_registered_is_named(
    tmp_path: Path, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.gb"
    mine.write_bytes(Path(GAME).read_bytes())
    script = tmp_path / "walk.txt"
    script.write_text(OPENING + WALK)
    home = HomePaths(tmp_path)
    picture = tmp_path / "look.png"
    assert call(tmp_path, "capture", script, "--rom", mine, "--picture", picture)["ok"]
    assert registered_roms(home) == {}, "looking at a game registers nothing"
    found = call(tmp_path, "new", "--id", "mine/easy", "--rom", mine, "--script", script,
                 "--from-step", FIRST_STEP, "--count", 4, "--walk", 2, "--horizon", 48,
                 "--min-distinct", 2, "--spread", 1, "--tau", 0.0005,
                 "--random-episodes", 32)  # fmt: skip
    assert found["registered"] == f"{mine}, see `dmglab rom list`"
    assert [rom.path for rom in registered_roms(home).values()] == [str(mine)]
    assert " of 32 episodes" in found["random"]
    assert "warning: below 0.002" in found["tau"]
    assert "--stack-k" not in found["train"]


def test_an_old_reward_is_told_and_updated(made: Path, tmp_path: Path, call: Call) -> None:
    shutil.copytree(made / "tasks", tmp_path / "tasks")
    manifest = tmp_path / "tasks" / "mine" / "walk" / "task.toml"
    old = manifest.read_text().replace("novelty_bonus = 0.004", "novelty_bonus = 0.05")
    manifest.write_text(old.replace("new_minimum", "difference").replace("alpha = 1.0", "alpha = 2"))
    (row,) = [row for row in call(tmp_path, "list")["tasks"] if row["id"] == "mine/walk"]
    assert "dmglab task update mine/walk" in row["warning"]
    assert check_tasks("mine/walk", HomePaths(tmp_path), 4).status == "warn"
    changed = call(tmp_path, "update", "mine/walk")["changed"]
    assert changed == {"shaping": "difference to new_minimum", "novelty_bonus": "0.05 to 0.004"}
    (row,) = [row for row in call(tmp_path, "list")["tasks"] if row["id"] == "mine/walk"]
    assert "warning" not in row
    assert find_task("mine/walk", HomePaths(tmp_path)).manifest.reward.alpha == 2
    assert "comes with DMG Lab" in call(tmp_path, "update", BASE)["error"]


def test_two_pictures_are_suggested_where_one_says_too_little() -> None:
    same, other = np.zeros((72, 80), np.uint8), np.ones((72, 80), np.uint8)
    assert suggestions.ambiguous_share([same, same, other], [1, 2, 3]) == pytest.approx(2 / 3)
    assert suggestions.ambiguous_share([], []) is None
    assert suggestions.suggest_stack(24, 0.34)[0] == 2
    assert suggestions.suggest_stack(8, None)[0] == 2
    assert suggestions.suggest_stack(24, 0.2)[0] == 1
    assert suggestions.suggest_stack(24, None)[0] == 1


def test_what_is_suggested_is_what_a_run_has(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    none_lost = np.zeros(2, bool)  # the plays that look for such are seconds of work
    monkeypatch.setattr(new_task, "find_lost", lambda *told, **named: none_lost)
    ways = ["START UP UP A A", "RIGHT UP UP UP RIGHT RIGHT"]  # in steps of 8 frames
    opening, way = (way.replace(" ", " wait 16 ") + " wait 16\n" for way in ways)
    way = way.replace("RIGHT wait 16", "RIGHT wait 160", 1)
    (tmp_path / "walk.txt").write_text(f"wait 180\n{opening}begin\n{way}")
    told = call(tmp_path, "new", "--id", "mine/far", "--rom", GAME, "--script",
                tmp_path / "walk.txt", "--count", 2, "--walk", 3, "--heldout", 1,
                "--frames-per-step", 8, "--release-after-frames", 8)  # fmt: skip
    assert told["train"] == "dmglab train --task mine/far"
    words = [*told["train"].split()[2:], "--home", str(tmp_path)]
    gamma, stack_k = (float(told[name].split(":")[0]) for name in ("gamma", "stack_k"))
    assert gamma > RunConfig().gamma
    assert stack_k > RunConfig().stack_k
    for command, verb in (("train", Options), ("queue add", AddOptions)):
        found = options(command, words, verb).run
        assert (found.gamma, found.stack_k) == (gamma, stack_k)
        found = options(command, [*words, "--gamma=0.97", "--stack-k", "1"], verb).run
        assert (found.gamma, found.stack_k) == (0.97, 1)
    several = ["--task", "tiny_goal,mine/far", "--home", str(tmp_path)]
    assert options("train", several, Options).run.gamma == gamma
    begun = options("train", [*words, "--warm-start", str(tmp_path)], Options).run
    assert (begun.gamma, begun.stack_k) == (gamma, 1), "its weights saw one picture"


def test_aliasing_counts_equal_pictures_that_ask_for_different_buttons() -> None:
    a, b, c = (np.full((72, 80), shade, np.uint8) for shade in (0, 1, 2))
    one = Replay(np.stack([a, b, a, c]), np.array([3, 4, 3]), 3)
    other = Replay(np.stack([b, a, c]), np.array([5, 3]), 2)
    assert aliasing([one]) == 0
    assert aliasing([one, other]) == pytest.approx(2 / 5)
    assert aliasing([]) is None


def test_the_next_stage_begins_where_this_one_ends(made: Path, tmp_path: Path, call: Call) -> None:
    shutil.copytree(made / "tasks", tmp_path / "tasks")
    (tmp_path / "on.txt").write_text("4 RIGHT 2 UP")
    call(tmp_path, "new", "--id", "mine/next", "--from-goal-of", "mine/walk", "--script",
         tmp_path / "on.txt", "--count", 4, "--min-distinct", 2)  # fmt: skip
    templates, _ = load_goal(walk(made).goal_path)
    (demo,) = task_demonstrations(find_task("mine/next", HomePaths(tmp_path)))
    game = ConsoleGame(Cartridge.from_file(GAME), "x", [demo.start])
    game.restart(0)
    np.testing.assert_array_equal(game.observation(), templates[0])


def test_captured_states_make_a_task_and_some_are_held_out(made: Path, tmp_path: Path, call: Call) -> None:
    (tmp_path / "walk.txt").write_text(OPENING + WALK)
    for step in (5, 7):
        call(
            tmp_path,
            "capture",
            tmp_path / "walk.txt",
            "--rom",
            GAME,
            "--step",
            step,
            "--state",
            tmp_path / f"{step}.npz",
        )
    call(
        tmp_path,
        "capture",
        tmp_path / "walk.txt",
        "--base",
        BASE,
        "--goal",
        tmp_path / "goal.npz",
        "--picture",
        tmp_path / "goal.png",
        "--sheet",
        tmp_path / "all.png",
    )
    for kind in ("--state", "--goal", "--picture", "--sheet"):
        found = call(tmp_path, "capture", tmp_path / "walk.txt", "--base", BASE, kind, "/dev/null")
        assert found["error"] == "/dev/null: is no regular file; name another file"
    picture = np.array(Image.open(tmp_path / "goal.png").convert("L"))
    sheet = np.array(Image.open(tmp_path / "all.png"))
    rows, columns = sheet.shape[0] // 160, sheet.shape[1] // 164
    tiles = [sheet[160 * y + 12 : 160 * y + 156, 164 * x : 164 * x + 160] for y in range(rows) for x in range(columns)]
    assert any((tile == picture).all() for tile in tiles), "the last step is on the sheet"
    starts = [tmp_path / "5.npz", tmp_path / "7.npz"]
    goal = ["--goal", tmp_path / "goal.npz"]
    call(tmp_path, "make", "--id", "mine/two", "--base", BASE, "--start", *starts, *goal)
    task = find_task("mine/two", HomePaths(tmp_path))
    assert (task.manifest.starts.count, task.manifest.starts.heldout) == (2, 1)
    assert task.manifest.reward == find_task(BASE, HomePaths(tmp_path)).manifest.reward
    found = call(tmp_path, "make", "--id", "mine/one", "--base", BASE, "--start", starts[0], *goal)
    assert "one start only" in found["starts"]
    found = call(
        tmp_path, "new", "--id", "mine/around", "--rom", GAME, "--start", starts[0], *goal, "--around", "--count", 6
    )
    assert found["starts"] == "6 start states, 2 held out"
    again = ["make", "--base", BASE, "--start", *starts]
    for words, message in (
        (["--id", "mine/two", *goal], "exists"),
        (["--id", "../escape", *goal], "lower-case letters"),
        (["--id", "mine/two/inside", *goal], "is a task"),
        (["--id", "mine/x", "--goal", tmp_path / "none.npz"], "none.npz"),
        (["--id", "mine/x", "--goal", tmp_path / "5.npz"], "holds no goal templates"),
    ):
        assert message in call(tmp_path, *again, *words)["error"]
    save_goal(tmp_path / "same.npz", load_snapshots_picture(starts[0]))
    found = call(tmp_path, *again, "--id", "mine/x", "--goal", tmp_path / "same.npz")
    assert "looks like" in found["error"]
    assert not (tmp_path / "tasks" / "mine" / "x").exists()
    assert not list(tmp_path.rglob(".*"))

    # The random play needs no goal; kept, it is judged as if it had been played for it.
    kept = tmp_path / "seen.npz"
    play = ["probe", "--base", BASE, "--start", *starts, "--seconds", 3, "--consoles", 4]
    direct = call(tmp_path, *play, *goal)
    assert call(tmp_path, *play, "--kept", kept)["seconds"] == direct["seconds"]
    written = kept.stat().st_mtime_ns
    assert call(tmp_path, *play, *goal, "--kept", kept) == direct
    assert kept.stat().st_mtime_ns == written
    assert direct["nearest_start"] > 0
    call(tmp_path, *play, "--seed", 2, *goal, "--kept", kept)
    assert kept.stat().st_mtime_ns > written, "another play takes its place"
    kept.write_bytes(kept.read_bytes()[:999])
    assert call(tmp_path, *play, *goal, "--kept", kept) == direct
    assert "--kept" in call(tmp_path, *play)["error"]

    # With a demonstration tau comes from its pictures, here and in the task.
    base = find_task(BASE, HomePaths(tmp_path))
    task_demonstrations(base)[0].start.save(starts[0])
    told = ["--base", BASE, "--start", starts[0], "--goal", base.goal_path, "--way", str(base.demo_path)]
    found = call(tmp_path, "probe", *told, "--seconds", 3, "--consoles", 4)
    assert found["tau"] == suggest_tau(np.array([0.5], np.float32))[0] > direct["tau"]
    call(tmp_path, "new", "--id", "mine/shown", *told, "--around", "--count", 4, "--tau", found["tau"])
    assert find_task("mine/shown", HomePaths(tmp_path)).manifest.goal.tau == found["tau"]


def load_snapshots_picture(path: Path) -> np.ndarray:
    game = ConsoleGame(Cartridge.from_file(GAME), "x", load_snapshots(path))
    game.restart(0)
    return game.observation()[None]


def record(folder: Path, made: Path, masks: list[int]) -> Path:
    """A recording of a person holding `masks`, one a frame, from the task's first start on."""
    game = open_game("mine/walk", HomePaths(made))
    game.load_state(made / "start.npz")
    writer = RecordingWriter(folder, game, mode="human", checkpoint="", checkpoint_sha256="")
    for mask in masks:
        game.frame(mask)
        writer.add_frame(game.picture(), mask)
    return writer.finish()


def test_human_play_becomes_a_demonstration_and_what_seven_buttons_lack_is_counted(
    made: Path, tmp_path: Path, call: Call
) -> None:
    shutil.copytree(made / "tasks", tmp_path / "tasks")
    task = walk(tmp_path)
    (demo,) = task_demonstrations(task)
    demo.start.save(made / "start.npz")
    held = demo.masks.tolist()
    good = record(tmp_path / "good", made, [*held, *[0] * 48])
    found = call(tmp_path, "demo", good, "--task", "mine/walk")
    assert (found["demonstrations"], found["steps"], found["follows_codec"]) == (2, 6, True)
    first, second = task_demonstrations(walk(tmp_path))
    np.testing.assert_array_equal(first.masks, second.masks)
    both = record(tmp_path / "both", made, [held[0] | 16, 64, *held[2:], *[0] * 48])
    found = call(tmp_path, "demo", both, "--task", "mine/walk")
    assert "1 frames hold SELECT and 1 hold two buttons" in found["error"]
    assert found["error"].endswith("with --codec buttons21.v1, which has them")
    late = call(tmp_path, "demo", good, "--task", "mine/walk", "--from-frame", 144)
    assert "error" in late or late["steps"] < 6
    with (good / "buttons.bin").open("r+b") as file:
        file.truncate(100)
    assert "do not match" in call(tmp_path, "demo", good, "--task", "mine/walk")["error"]
    assert "is shipped" in call(tmp_path, "demo", both, "--task", BASE)["error"]
    if importlib.util.find_spec("minari") is None:
        found = call(tmp_path, "demo", both, "--task", "mine/walk", "--minari", "x/y-v0")
        assert "needs the package minari" in found["error"]


def test_a_codec_by_name_has_select_and_two_buttons_from_script_to_rollout(
    made: Path, tmp_path: Path, call: Call
) -> None:
    script = tmp_path / "walk.txt"
    script.write_text(OPENING + "B+RIGHT SELECT 3 UP 2 RIGHT")
    options = ["--rom", GAME, "--script", script, "--from-step", FIRST_STEP, "--count", 6, "--walk", 3, "--horizon", 24]
    assert "B+RIGHT" in call(tmp_path, "new", "--id", "mine/seven", *options)["error"]
    wrong = call(tmp_path, "new", "--id", "mine/wide", *options, "--codec", "buttons8")
    assert "give buttons7.v1 or buttons21.v1" in wrong["error"]
    assert call(tmp_path, "new", "--id", "mine/wide", *options, "--codec", TWO_BUTTONS_ID)["ok"]
    home = HomePaths(tmp_path)
    task = find_task("mine/wide", home)
    (demo,) = task_demonstrations(task)
    names = [task.manifest.codec.actions[n] for n in steps_of(demo.masks, task.manifest.codec)]
    assert names == ["B+RIGHT", "SELECT", "UP", "UP", "UP", "RIGHT", "RIGHT"]
    assert follows_codec(demo.masks, task.manifest.codec)
    assert read_scripts(task.folder / "starts.json", task.manifest.codec)
    demo.start.save(made / "start.npz")
    both = record(tmp_path / "both", made, [*demo.masks.tolist(), *[0] * 48])
    told = call(tmp_path, "demo", both, "--task", "mine/wide")
    assert (told["follows_codec"], told["frames_with_two_buttons"]) == (True, 0)
    assert len(call(tmp_path, "audit", "mine/wide", "--episodes", 21)["one_button_success"]) == 21
    assert check_guest_task("mine/wide", home).status == "fail"
    assert check_tasks("mine/wide", home, 4).status == "ok"

    config = tiny_config(task="mine/wide", num_envs=4, num_steps=16, total_env_steps=128)
    train_in(tmp_path, config)
    folder = list_checkpoints(home.run("run"))[-1]
    meta = read_meta(folder)
    assert (meta.codec, meta.num_actions) == (TWO_BUTTONS_ID, 21)
    updates = [r for r in read_log(tmp_path) if r["type"] == "update"]
    assert len(updates[-1]["action_hist"]) == 21
    assert sum(updates[-1]["action_hist"][len(ACTIONS) :]) > 0
    log = home.run("run").train_log
    assert check_log(log).errors == []
    log.write_text(log.read_text().replace(TWO_BUTTONS_ID, CODEC_ID))
    assert any("21 bins, expected 7" in error for error in check_log(log).errors)
    write_rollout(tmp_path / "out", folder, home, mode="sample", steps=8, start=0, gif_every=0, seed=1)
    pressed = [json.loads(line) for line in (tmp_path / "out/rollout.jsonl").open()]
    assert all(ALL_ACTIONS[row["action"]] == row["button"] for row in pressed)
    assert any(row["action"] >= len(ACTIONS) for row in pressed)
    assert json.loads((tmp_path / "out/meta.json").read_text())["codec"] == TWO_BUTTONS_ID
    with pytest.raises(CheckpointError, match="21 actions"):
        train_in(tmp_path, tiny_config(warm_start=str(folder)), run_id="other")


def test_a_way_of_two_buttons_takes_the_codec_that_has_them(made: Path, tmp_path: Path, call: Call) -> None:
    (demo,) = task_demonstrations(walk(made))
    demo.start.save(tmp_path / "start.npz")
    (goal,) = (walk(made).folder).glob("goal*.npz")
    held, b = demo.masks.tolist(), mask_of("B")
    options = [
        "--rom",
        GAME,
        "--start",
        tmp_path / "start.npz",
        "--goal",
        goal,
        "--around",
        "--count",
        6,
        "--min-distinct",
        2,
        "--walk",
        3,
        "--horizon",
        24,
    ]
    both, three = tmp_path / "both.npz", tmp_path / "three.npz"
    save_demonstrations(both, [Demonstration(demo.start, np.array([held[0] | b, held[1] | b, *held[2:]], np.uint8))])
    save_demonstrations(three, [Demonstration(demo.start, np.array([held[0] | mask_of("A+B"), *held[1:]], np.uint8))])
    found = call(tmp_path, "new", "--id", "mine/both", *options, "--way", both)
    assert found["way"] == "kept as a demonstration"
    assert found["buttons"] == f"{TWO_BUTTONS_ID}: the way holds SELECT or two buttons at once in 2 frames"
    assert find_task("mine/both", HomePaths(tmp_path)).manifest.codec.id == TWO_BUTTONS_ID
    found = call(tmp_path, "new", "--id", "mine/asked", *options, "--way", both, "--codec", CODEC_ID)
    assert found["way"].startswith("left out: ")
    assert find_task("mine/asked", HomePaths(tmp_path)).manifest.codec.id == CODEC_ID
    found = call(tmp_path, "new", "--id", "mine/three", *options, "--way", three)
    assert found["way"].startswith("left out: ")
    assert found["buttons"].startswith(CODEC_ID), "none has three at once"


def test_every_codec_begins_the_longest() -> None:
    assert len(set(ALL_MASKS)) == len(ALL_ACTIONS) == 21
    assert all(ALL_ACTIONS[: len(names)] == names for names in CODECS.values())
    assert ALL_MASKS[: len(ACTIONS)] == ACTION_MASKS == (16, 32, 128, 4, 8, 2, 1)
    assert mask_of("B+LEFT") == 32 | 2


def test_a_script_may_begin_episodes_at_its_first_step() -> None:
    """Without --from-step nothing was pressed before them: no step, and that follows any codec."""
    assert steps_of(np.zeros(0, np.uint8), Codec()).shape == (0,)
    assert follows_codec(np.zeros(0, np.uint8), Codec())


def test_a_minari_dataset_holds_the_way(
    made: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    call(made, "demo", made / "walk.txt", "--task", "mine/walk", "--from-frame", 300, "--out",
         tmp_path / "demo.npz", "--minari", "dmglab/walk-v0")  # fmt: skip
    (episode,) = minari.load_dataset("dmglab/walk-v0").iterate_episodes()
    assert episode.actions.tolist() == [6, 3, 3, 3, 6, 6]
    assert episode.observations.shape == (7, 72, 80)
    assert episode.terminations.tolist() == [False] * 5 + [True]


def test_an_archive_brings_the_task_elsewhere_without_the_rom(made: Path, tmp_path: Path, call: Call) -> None:
    archive = tmp_path / "walk.zip"
    call(made, "export", "mine/walk", "--out", archive)
    bytes_once = archive.read_bytes()
    call(made, "export", "mine/walk", "--out", archive)
    assert archive.read_bytes() == bytes_once
    assert not [name for name in zipfile.ZipFile(archive).namelist() if name.endswith(".gb")]
    found = call(tmp_path, "import", archive, "--id", "theirs/walk")
    assert found["rom"] == "found"
    task = find_task("theirs/walk", HomePaths(tmp_path))
    assert task.manifest.starts == walk(made).manifest.starts
    assert "exists" in call(tmp_path, "import", archive, "--id", "theirs/walk")["error"]


def repacked(archive: Path, out: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    with zipfile.ZipFile(archive) as read:
        files = {name: read.read(name) for name in read.namelist()}
    change(files)
    with zipfile.ZipFile(out, "w") as written:
        for name, data in files.items():
            written.writestr(name, data)
    return out


def with_text(old: str, new: str) -> Callable[[dict[str, bytes]], object]:
    def change(files: dict[str, bytes]) -> None:
        assert old.encode() in files["task.toml"]
        files["task.toml"] = files["task.toml"].replace(old.encode(), new.encode())

    return change


def test_a_bad_archive_is_one_line_and_nothing_of_it_stays(made: Path, tmp_path: Path, call: Call) -> None:
    good = tmp_path / "good.zip"
    call(made, "export", "mine/walk", "--out", good)
    rom = walk(made).manifest.rom.sha256
    bad: list[tuple[str, Callable[[dict[str, bytes]], object]]] = [
        ("would leave the task's folder", lambda f: f.update({"../escape": b"x"})),
        ("would leave the task's folder", lambda f: f.update({"/tmp/escape": b"x"})),
        ("would leave the task's folder", lambda f: f.update({"a/b.npz": b"x"})),
        ("holds no task.toml", lambda f: f.pop("task.toml")),
        ("does not name", lambda f: f.update({"virus.exe": b"x"})),
        ("goal template has SHA-256", lambda f: f.update({"goal.npz": b"x"})),
        ("start states cannot be read", lambda f: f.pop("starts.npz")),
        ("file of demonstrations has SHA-256", lambda f: f.update({"demo.npz": f["goal.npz"]})),
        ("another version of the game", with_text(rom, "ab" * 32)),
        ("unknown key", with_text("tau =", "taus =")),
        ("the manifest says 7", with_text("count = 6", "count = 7")),
        ("no success function", with_text("goal_template", "goal_guessed")),
        ("not a list of wait_frames", lambda f: f.update({"starts.json": b"[3]"})),
    ]
    for number, (message, change) in enumerate(bad):
        found = call(tmp_path, "import", repacked(good, tmp_path / f"{number}.zip", change))
        assert message in found["error"], (number, found)
        assert "/.import" not in found["error"]
    (tmp_path / "cut.zip").write_bytes(good.read_bytes()[:-100])
    (tmp_path / "text.zip").write_text("no archive")
    for name in ("cut.zip", "text.zip", "none.zip"):
        assert "archive" in call(tmp_path, "import", tmp_path / name)["error"]
    assert not list((tmp_path / "tasks").rglob("*"))
    assert not (tmp_path / "escape").exists()


def test_scripts_are_words_or_json_and_rubbish_is_named(tmp_path: Path) -> None:
    path, codec = tmp_path / "script", Codec()
    path.write_text("wait 3 A 2 left")
    (words,) = read_inputs(path, codec)
    path.write_text('{"wait_frames": 3, "actions": "A 2 LEFT"}')
    (row,) = read_inputs(path, codec)
    np.testing.assert_array_equal(words.masks, row.masks)
    assert words.first_step == 3
    assert follows_codec(words.masks[3:], codec)
    assert not follows_codec(words.masks[2:], codec)
    path.write_text("wait 7 A wait 25 B begin UP")  # a wait between buttons lasts whole steps
    (later,) = read_inputs(path, codec)
    assert (later.first_step, later.begins) == (7, 4)
    assert steps_of(later.masks[7:], codec).tolist() == [0, -1, -1, 1, 3]
    for text in ("wait", "wait x", "wait -3", "A 3", "2 begin A", "JUMP", "999999999 A", "{", "[3]",
                 "[]", '{"actions": 3}', '{"actions": "A", "frames": 3}', "[" * 9999):  # fmt: skip
        path.write_text(text)
        with pytest.raises(TaskError, match=str(path)):
            read_inputs(path, codec)


def test_shaping_is_left_out_where_the_distance_rises_on_the_way() -> None:
    falls = suggest_reward(np.linspace(0.5, 0.1, 12, dtype=np.float32))
    rises = suggest_reward(np.linspace(0.1, 0.5, 12, dtype=np.float32))
    flat = suggest_reward(np.full(12, 0.5, np.float32))
    assert [found[0].alpha for found in (falls, rises, flat)] == [1, 0, 1]
    assert not any(found[0].pays_for_dawdling for found in (falls, rises, flat))
    assert rank_correlation(np.array([1, 2, 2, 3]), np.array([10, 20, 20, 90])) == pytest.approx(1)
    assert rank_correlation(np.array([1, 2, 3]), np.array([3, 2, 1])) == pytest.approx(-1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("wait", "wait: frames come behind it"),
        ("wait soon UP", "wait soon: frames come"),
        ("wait -5", "wait -5: frames come behind it"),
        ("3 begin UP", "3 begin: a number repeats"),
        ("UP 3 wait 10", "3 wait: a number repeats a button"),
        ("{}", "it has no 'actions'"),
    ],
)
def test_a_script_that_cannot_be_read_is_told_in_words(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "s.txt").write_text(text)
    with pytest.raises(TaskError, match=rf"s.txt: no input script: {said}"):
        read_inputs(tmp_path / "s.txt", Codec())
