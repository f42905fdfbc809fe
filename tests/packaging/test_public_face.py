"""`import dmglab`: what a user's program may call, and what it is told when it calls it wrongly."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import msgspec
import numpy as np
import pytest
import safetensors.torch
import torch
from gymnasium.error import ClosedEnvironmentError, NameNotFound

import dmglab
from tests.support.extras import extra_library
from tests.support.made_checkpoints import make_checkpoint
from trainer_core.host.agent import Agent
from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.paths import CHECKOUT
from trainer_core.learn.policy import PixelActorCritic

assert CHECKOUT is not None
ROM = CHECKOUT / "assets" / "games" / "pocket_quest" / "pocket_quest.gb"
SCRIPT = CHECKOUT / "tests" / "packaging" / "user_script.py"
pytestmark = pytest.mark.warp


# -- the package ----------------------------------------------------------------------------


def test_importing_takes_a_tenth_of_a_second_and_loads_nothing() -> None:
    code = """
import time; began = time.process_time()
import dmglab, sys
heavy = {"torch", "warp", "numpy", "PySide6", "gymnasium", "trainer_core"}
print(time.process_time() - began, heavy & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    seconds, loaded = done.stdout.split(maxsplit=1)
    assert float(seconds) < 0.1
    assert loaded.strip() == "set()"


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    assert sorted(dmglab.__all__) == dmglab.__all__ == dir(dmglab)
    for name in set(dmglab.__all__) - {"__version__"}:
        assert getattr(dmglab, name).__doc__
    with pytest.raises(AttributeError, match="'dmglab' has no attribute 'Emulater'"):
        dmglab.Emulater  # noqa: B018


def test_the_reference_is_written_from_the_docstrings() -> None:
    spec = importlib.util.spec_from_file_location("python_reference", CHECKOUT / "scripts" / "python_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (CHECKOUT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert text == module.rendered(), "run scripts/python_reference.py"
    assert set(re.findall(r"\*\*`dmglab\.(\w+)", text)) == set(dmglab.__all__) - {"__version__"}


@pytest.mark.usefixtures("warm")
def test_a_users_script_runs(tmp_path: Path) -> None:
    """The one whose types ./test checks strictly; it trains for a second, in a process of its own."""
    assert SCRIPT.read_text().startswith("# pyright: strict\n")
    checked = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["pyright"]["include"]
    assert SCRIPT.relative_to(CHECKOUT).parts[0] in checked
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, str(SCRIPT), str(ROM), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    played, shapes, learned, refused, known = done.stdout.splitlines()
    assert played == f"POCKET QUEST 26 {sum(b'ok') + ord('o')} (144, 160, 3) uint8"
    assert shapes == "4 144 160 4 72 80 4 8192 True"
    assert learned == "finished 2048 True 8 True A"
    assert "pocket_quest.toml: cannot read the ROM" in refused
    assert known.startswith("tiny_goal, ")


def test_what_is_not_installed_is_told_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import sys
sys.modules["warp"] = sys.modules["torch"] = None
import dmglab
for name in ("GameBoy", "Emulator", "make", "load_policy"):
    try:
        getattr(dmglab, name)
    except ImportError as error:
        print(error)
print(len(dmglab.tasks()) > 3, bool(dmglab.roms()), dmglab.runs(home="nowhere"))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    *told, light = done.stdout.splitlines()
    assert told == [
        "dmglab.GameBoy needs warp, which is not installed: pip install 'dmglab[emulator]'",
        "dmglab.Emulator needs warp, which is not installed: pip install 'dmglab[emulator]'",
        "dmglab.make needs torch, which is not installed: pip install 'dmglab[train]'",
        "dmglab.load_policy needs torch, which is not installed: pip install 'dmglab[train]'",
    ]
    assert light == "True True []"
    for module, make in (("stable_baselines3", dmglab.make_sb3), ("torchrl", dmglab.make_torchrl)):
        monkeypatch.setitem(sys.modules, module, None)
        for ours in ("trainer_core.envs.sb3_vec_env", "dmglab.torchrl_env", "tensordict"):
            monkeypatch.delitem(sys.modules, ours, raising=False)
        with pytest.raises(ImportError, match="is not installed: pip install"):
            make("tiny_goal")


# -- one console ----------------------------------------------------------------------------


def test_buttons_are_pressed_held_and_let_go_as_the_batch_has_them() -> None:
    game, batch = dmglab.GameBoy(ROM), dmglab.Emulator(ROM, 1)
    game.run(212)
    game.press("START", frames=24)
    game.hold("up")
    game.press("A", frames=10, hold=4)
    game.release("up")
    game.press(["a", "b"], frames=3)
    batch.run(None, 212)
    for buttons, frames in ((["start"], 8), ([None], 16), (["a+up"], 4), (["up"], 6), (["a+b"], 3)):
        batch.run(buttons, frames)
    assert game.emulator.state_hash() == batch.state_hash()
    assert game.frames == 212 + 24 + 10 + 3
    assert np.array_equal(game.screen(), batch.screens.numpy()[0])
    assert np.array_equal(game.screen(rgb=True)[..., 1], np.array([255, 170, 85, 0])[game.screen()])
    assert np.array_equal(game.observation(), batch.observations().numpy()[0] * 85)
    assert repr(game) == "<GameBoy: POCKET QUEST, frame 249, on cpu>"


def test_a_game_goes_on_from_a_saved_state(tmp_path: Path) -> None:
    with dmglab.GameBoy(ROM.read_bytes()) as game:
        game.run(100)
        game.save(tmp_path / "here.state")
        state, there = game.snapshot(), game.emulator.state_hash()
        game.press("start")
        assert game.emulator.state_hash() != there
        game.load(tmp_path / "here.state")
        assert game.emulator.state_hash() == there
        game.reset()
        game.restore(state)
        assert game.emulator.state_hash() == there
    assert repr(game) == "<GameBoy, closed>"
    game.close()


def test_memory_is_read_and_written_as_the_cpu_sees_it() -> None:
    game = dmglab.GameBoy(dmglab.Cartridge.from_file(ROM))
    game.run(300)
    assert game.memory[0x100:0x104].tobytes() == ROM.read_bytes()[0x100:0x104]
    assert game.memory[:2].shape == (2,)
    assert len(game.memory) == 0x10000
    before = game.screen()
    game.memory[0xDF00] = 7
    game.memory[0xDF01:0xDF04] = b"abc"
    game.memory[0xFF90:0xFF94] = 9
    game.memory[0xFE00] = np.array([5], np.uint8)
    game.memory[0xFCFF:0xFD01] = [1, 2]  # the echo
    assert game.memory[0xDF00:0xDF04].tolist() == [7, *b"abc"]
    assert (game.memory[0xDCFF], game.memory[0xDD00], game.memory[0xFE00]) == (1, 2, 5)
    assert game.memory[0xFF90:0xFF94].tolist() == [9] * 4
    assert np.array_equal(game.screen(), before), "the picture was complete before"
    assert game.emulator.work_ram.numpy()[0, 0x1F00] == 7


# -- many consoles --------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda array: array.numpy(),
    "numpy's DLPack": np.from_dlpack,
    "torch": lambda array: torch.from_dlpack(array).numpy(),
    "Warp": lambda array: array,
}


@pytest.mark.parametrize("how", VIEWS)
@pytest.mark.parametrize("closes", [True, False])
def test_a_view_of_pictures_or_memory_outlives_its_consoles(how: str, closes: bool) -> None:
    consoles = dmglab.Emulator(ROM, 64)
    consoles.run(None, 100)
    arrays = [consoles.observations(), consoles.screens, consoles.work_ram]
    views = [VIEWS[how](array) for array in arrays]
    before = [array.numpy().copy() for array in arrays]
    if closes:
        consoles.close()
    del consoles, arrays
    gc.collect()
    noise = [np.full((64, 144, 160), 99, np.uint8) for _ in range(8)]  # where the memory was, if it is free
    for view, kept in zip(views, before, strict=True):
        assert np.array_equal(view.numpy() if how == "Warp" else view, kept)
    assert len(noise) == 8


def test_a_view_shows_what_the_consoles_do_and_writes_into_them() -> None:
    consoles = dmglab.Emulator(ROM, 2)
    ram = torch.from_dlpack(consoles.work_ram)
    consoles.run(None, 100)
    assert consoles.peek(1, 0xC000, 0x2000).tolist() == ram[1].tolist()
    ram[1, 0x1F00] = 77
    assert (consoles.peek(0, 0xDF00)[0], consoles.peek(1, 0xDF00)[0]) == (0, 77)


def test_buttons_are_names_masks_arrays_or_tensors() -> None:
    masks = [16, 0, 20, 128]
    hashes = []
    for given in (
        ["a", None, ["A", "up"], "start"],
        masks,
        np.array(masks, np.uint8),
        np.array(masks),
        torch.tensor(masks),
        torch.tensor(masks, dtype=torch.uint8),
    ):
        consoles = dmglab.Emulator([ROM], 4)
        consoles.run(None, 212)
        consoles.run(given, frames=24, release_after=8)
        hashes.append(consoles.state_hash())
    assert hashes == [hashes[0]] * 6


# -- environments ---------------------------------------------------------------------------


def test_gymnasium_knows_each_task() -> None:
    for task in dmglab.tasks():
        assert gymnasium.spec(f"dmglab/{task.replace('/', '.')}-v0").kwargs == {"task": task}
    env = gymnasium.make("dmglab/pocket_quest.leave_bedroom-v0")
    assert env.reset(seed=1)[0].shape == (1, 72, 80)
    env.close()
    many = gymnasium.make_vec("dmglab/tiny_goal-v0", num_envs=256)
    assert many.reset(seed=1)[0].shape == (256, 1, 72, 80)


def test_own_tasks_are_known_where_only_gymnasium_is_imported(tmp_path: Path) -> None:
    task = tmp_path / "tasks" / "mine" / "door"
    task.mkdir(parents=True)
    (task / "task.toml").touch()
    code = """
import gymnasium, sys
try:
    gymnasium.make("dmglab:dmglab/mine.dor-v0")
except gymnasium.error.NameNotFound as error:
    print(error, {"torch", "warp"} & set(sys.modules))
"""
    environment = {**os.environ, "DMGLAB_HOME": str(tmp_path)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("Did you mean: `mine.door`? set()\n")


def test_tensors_say_what_the_arrays_of_the_vector_env_say() -> None:
    tensors = dmglab.make("tiny_goal", num_envs=6, stack_k=2)
    arrays = gymnasium.make_vec("dmglab/tiny_goal-v0", num_envs=6, stack_k=2)
    (first, begun), (obs, info) = tensors.reset(seed=3), arrays.reset(seed=3)
    assert np.array_equal(first, obs)
    assert all(np.array_equal(begun[name], info[name]) for name in begun)
    seen, ends = [first.clone(), first], 0
    rng = np.random.default_rng(0)
    for _ in range(40):
        actions = rng.integers(0, 7, 6)
        mine, other = tensors.step(torch.from_numpy(actions)), arrays.step(actions)
        for tensor, array in zip(mine[:4], other[:4], strict=True):
            assert isinstance(tensor, torch.Tensor)
            assert np.array_equal(tensor.numpy().astype(array.dtype), array)
        ended = other[2] | other[3]
        assert np.array_equal(mine[4]["_final_obs"], ended)
        for name in ("dist", "success", "start_index", "episode_steps"):
            assert np.array_equal(mine[4][name], other[4][name])
            if ended.any():
                assert np.array_equal(mine[4]["final_info"][name][ended], other[4]["final_info"][name][ended])
        for env in np.flatnonzero(ended):
            assert np.array_equal(mine[4]["final_obs"][env], other[4]["final_obs"][env])
            ends += 1
    assert ends > 5
    assert torch.equal(*seen), "what was handed out stays"


def test_torchrl_finds_nothing_wrong_with_its_face() -> None:
    extra_library("torchrl")
    from torchrl.envs.utils import check_env_specs  # pyright: ignore

    env = dmglab.make_torchrl("tiny_goal", num_envs=3)
    check_env_specs(env)
    found = env.rollout(70, break_when_any_done=False)
    ended = found["next", "done"][:, :-1, 0]
    same = (found["observation"][:, 1:] == found["next", "observation"][:, :-1]).flatten(2).all(-1)
    assert ended.any()
    assert torch.equal(same, ~ended), "an episode goes on at what the step before reached"
    env.close()


# -- policies and trainings -----------------------------------------------------------------


def saved_policy(folder: Path, stack: int, source: str) -> Path:
    """A checkpoint with the weights of a network that has learned nothing."""
    network = PixelActorCritic("small", (stack, 72, 80), 7, marked=source == "marked")
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    make_checkpoint(folder, safetensors.torch.save(network.state_dict()))
    meta = checkpoint_manifest.read_meta(folder)
    meta = msgspec.structs.replace(
        meta, obs_shape=(stack, 72, 80), config=meta.config | {"obs_source": source, "stack_k": stack}
    )
    (folder / checkpoint_manifest.META).write_bytes(msgspec.json.encode(meta))
    return folder


@pytest.mark.parametrize("mode", ["greedy", "leave_loops"])
@pytest.mark.parametrize("source", ["screen", "marked"])
@pytest.mark.parametrize("stack", [1, 2])
def test_a_policy_plays_a_batch_as_the_player_plays_each(stack: int, source: str, mode: Any, tmp_path: Path) -> None:
    folder = saved_policy(tmp_path / "one", stack, source)
    policy = dmglab.load_policy(folder, mode=mode)
    env = dmglab.make("tiny_goal", num_envs=3)
    obs, _ = env.reset(seed=1)
    players = [Agent(folder, mode=mode) for _ in range(3)]
    begins = torch.ones(3, dtype=torch.bool)
    taken = set()
    for _ in range(45):
        for player, picture, is_new in zip(players, obs[:, 0].numpy() // 85, begins, strict=True):
            (player.begin if is_new else player.see)(picture)
        actions = policy.act(obs, begins)
        assert actions.tolist() == [player.act() for player in players]
        taken |= set(actions.tolist())
        obs, _, done, trunc, _ = env.step(actions)
        begins = done | trunc
    assert len(taken) > 1


def test_a_policy_answers_one_picture_with_a_number(tmp_path: Path) -> None:
    policy = dmglab.load_policy(saved_policy(tmp_path / "one", 1, "screen"), mode="sample", seed=2)
    with dmglab.GameBoy(ROM) as game:
        game.run(100)
        actions = [policy.act(game.observation()) for _ in range(30)]
        game.press(policy.actions[actions[0]])
    assert set(map(type, actions)) == {int}
    assert policy.act(np.zeros((4, 1, 72, 80), np.uint8)).shape == (4,)
    policy.reset()
    with pytest.raises(dmglab.LabError, match=r"obs float32\[72, 80\]: this policy sees uint8\[1, 72, 80\]"):
        policy.act(np.zeros((72, 80), np.float32))
    with pytest.raises(dmglab.LabError, match=r"obs uint8\[3, 72, 80\]"):
        policy.act(np.zeros((3, 72, 80), np.uint8))
    policy.act(np.zeros((4, 1, 72, 80), np.uint8))
    with pytest.raises(dmglab.LabError, match=r"episode_start .*: give bool\[4\]"):
        policy.act(np.zeros((4, 1, 72, 80), np.uint8), np.zeros(3, bool))


ENDS_EARLY = """
import dmglab, sys
run = dmglab.train("tiny_goal", seconds=300, num_envs=8, wait=False, home=sys.argv[1])
while not run.wait(timeout=0.2).env_steps:
    pass
print(run.id, run.state)
"""


@pytest.mark.usefixtures("warm")
def test_a_training_saves_and_ends_with_the_program_that_started_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDS_EARLY, str(tmp_path)], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    (run,) = dmglab.runs(tmp_path)
    assert done.stdout.split() == [run.id, "running"]
    assert "dmglab: saving and ending the training" in done.stderr
    assert (run.state, run.reason) == ("stopped", "the Python program that started it ended")
    assert run.best is not None
    assert run.wait().stop() is run, "nothing is left to do"
    run.folder.rename(tmp_path / "elsewhere")
    assert run.checkpoints == []
    assert "stopped" in repr(run)


def test_a_training_is_stopped_and_told_while_it_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = dmglab.train("tiny_goal", num_envs=8, wait=False, home=tmp_path, name="mine")
    run.wait(timeout=2.5, progress=True)
    assert f"{run.id}: " in capsys.readouterr().err
    while "sps" not in run.curves:
        assert not run.wait(timeout=0.1).has_ended
    assert run.stop().state == "stopped"
    assert (run.task, run.name, run.reason) == ("tiny_goal", "mine", "stopped from Python")
    assert dmglab.load_policy(run).task == "tiny_goal"


# -- bad input ------------------------------------------------------------------------------

CONSOLE, LAB = dmglab.EmulatorError, dmglab.LabError


def play(call: Callable[[dmglab.GameBoy], Any]) -> Callable[[Path], Any]:
    return lambda folder: call(dmglab.GameBoy(ROM))


def step(buttons: Any) -> Callable[[Path], Any]:
    return lambda folder: dmglab.Emulator(ROM, 4).run(buttons)


def act(actions: Any) -> Callable[[Path], Any]:
    return lambda folder: dmglab.make("tiny_goal", num_envs=4).step(actions)


def closed(call: Callable[[Any], Any], thing: Callable[..., Any]) -> Callable[[Path], Any]:
    def ask(folder: Path) -> Any:
        with thing(ROM) as game:
            pass
        return call(game)

    return ask


def closed_env() -> dmglab.BatchedEnv:
    env = dmglab.make("tiny_goal", num_envs=1)
    env.close()
    return env


REFUSED: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "no file": (lambda f: dmglab.GameBoy(f / "x.gb"), CONSOLE, r"x\.gb: cannot read .* give the path"),
    "no ROM": (lambda f: dmglab.GameBoy(b"no ROM"), CONSOLE, "6 bytes is less than the 32768"),
    "a number": (lambda f: dmglab.Emulator(3), CONSOLE, "3 is no ROM; give the path"),  # type: ignore[arg-type]
    "no device": (lambda f: dmglab.Emulator(ROM, device="cuda:63"), CONSOLE, "'cuda:63': .* one of cpu"),
    "no console": (lambda f: dmglab.Emulator(ROM, 0), CONSOLE, "num_envs=0: give 1 to"),
    "closed": (closed(lambda g: g.run(), dmglab.GameBoy), CONSOLE, "GameBoy is closed; open the ROM"),
    "closed memory": (closed(lambda g: g.memory[0], dmglab.GameBoy), CONSOLE, "GameBoy is closed"),
    "closed batch": (closed(lambda g: g.screens, dmglab.Emulator), CONSOLE, "screens: .* is closed; make"),
    "button": (play(lambda g: g.press("jump")), CONSOLE, "button 'jump': give right, left"),
    "frames": (play(lambda g: g.press("a", frames=0)), CONSOLE, "frames=0: give 1 to"),
    "hold": (play(lambda g: g.press("a", hold=1.5)), CONSOLE, "hold=1.5: give a whole number"),  # type: ignore[arg-type]
    "address": (play(lambda g: g.memory[0x10000]), CONSOLE, "address=65536: give 0 to 65535"),
    "slice": (play(lambda g: g.memory[10:4]), CONSOLE, "addresses 10:4:None: give first:end"),
    "ROM written": (play(lambda g: g.emulator.poke(0x147, 1)), CONSOLE, "0x0147 is no RAM: write to"),
    "no RAM": (play(lambda g: g.emulator.poke(0xA000, 1)), CONSOLE, "0xA000: .* has no RAM there"),
    "no byte": (play(lambda g: g.emulator.poke(0xC000, 256)), CONSOLE, "byte=256: give 0 to 255"),
    "bytes": (play(lambda g: g.memory.__setitem__(slice(1, 4), b"ab")), CONSOLE, "2 bytes for 3 addresses"),
    "no state": (play(lambda g: g.load(ROM)), CONSOLE, "no save state of this emulator"),
    "buttons' shape": (step(np.zeros(3, np.uint8)), CONSOLE, r"buttons: shape \(3,\): give one value"),
    "buttons' type": (step(torch.zeros(4)), CONSOLE, "buttons: float32: give whole numbers"),
    "buttons' size": (step([300, 0, 0, 0]), CONSOLE, "buttons: 0 to 300: give bytes"),
    "one number": (step(16), CONSOLE, "buttons=16: give names"),
    "task": (lambda f: dmglab.make("pocket_quest/leave_bed"), LAB, "near tasks: pocket_quest/leave_bedroom"),
    "gymnasium's": (lambda f: gymnasium.make("dmglab/tiny_gaol-v0"), NameNotFound, "mean: `tiny_goal`"),
    "env's device": (lambda f: dmglab.make("tiny_goal", device="cuda:63"), LAB, "cuda:63: "),
    "gymnasium's device": (lambda f: gymnasium.make("dmglab/tiny_goal-v0", device="cuda:63"), LAB, "cuda:63: "),
    "closed env": (lambda f: closed_env().step(torch.tensor([0])), ClosedEnvironmentError, "is closed; make it again"),
    "closed env's reset": (lambda f: closed_env().reset(), ClosedEnvironmentError, "is closed; make it again"),
    "half an env": (lambda f: dmglab.make("tiny_goal", 2.5), LAB, "num_envs=2.5: give a whole"),  # type: ignore[arg-type]
    "actions' type": (act(torch.zeros(4)), ValueError, r"actions of type float32 and shape \(4,\): give 4 whole"),
    "actions' shape": (act([0, 1]), ValueError, r"shape \(2,\): give 4 whole numbers"),
    "action": (act(torch.full((4,), 7)), ValueError, "action 7: there are 0 to 6"),
    "training's task": (lambda f: dmglab.train("tiny_gaol", 1, home=f), LAB, "near tasks: tiny_goal"),
    "option": (lambda f: dmglab.train("tiny_goal", num_env=1, home=f), LAB, "'num_env' .*num_envs"),
    "value": (lambda f: dmglab.train("tiny_goal", num_envs=0, home=f), LAB, "num_envs must be 1 to"),
    "runner": (lambda f: dmglab.train("tiny_goal", runner="x", home=f), LAB, "no runner 'x'; known runners"),
    "training's device": (lambda f: dmglab.train("tiny_goal", device="cuda:63", home=f), LAB, "cuda:63"),
    "policy": (lambda f: dmglab.load_policy("nope", home=f), LAB, "'nope' is neither a checkpoint"),
    "no run": (lambda f: dmglab.load_policy(home=f), LAB, "no runs yet"),
    "mode": (lambda f: dmglab.load_policy(mode="best"), LAB, "mode='best': give leave_loops"),  # type: ignore[arg-type]
    "script": (lambda f: dmglab.make_task("a/b", ROM, "JUMP", home=f), LAB, "b.txt: .*JUMP"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_meant_is_one_line_with_the_way_out(what: str, tmp_path: Path) -> None:
    call, kind, words = REFUSED[what]
    with pytest.raises(kind, match=words) as refusal:
        call(tmp_path)
    assert "\n" not in str(refusal.value)
