"""examples/pokemon_red_v2 and the profile of Pokemon Red, on Pocket Quest: same shape, other addresses."""

import contextlib
import importlib
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

import dmglab
from trainer_core.author.ram_task import RamTask, make_ram_task
from trainer_core.cli.task_reports import list_all
from trainer_core.envs.game_env import GameEnv, GameOptions
from trainer_core.envs.rom_registry import add_rom
from trainer_core.envs.single_game import open_game
from trainer_core.lab import roms
from trainer_core.lab.paths import ASSETS, CHECKOUT, HomePaths
from trainer_core.lab.tasks import find_task

ROM = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"
PLACES = {"x": 0xC1FD, "y": 0xC1FE, "map": 0xC14F, "battle": 0xC247, "party": 0xC245, "badges": 0xC24A}
"""Where Pocket Quest has what the example reads; its actors' places stand for health, which so goes up and down."""


@pytest.mark.warp
def test_the_tensors_and_one_pyboy_console_pay_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CHECKOUT is not None
    monkeypatch.syspath_prepend(str(CHECKOUT / "examples" / "pokemon_red_v2"))
    compare = importlib.import_module("compare")
    differ, total = compare.compare(str(ROM), compare.pocket_quest_state(), 100, compare.POCKET_QUEST)
    assert differ == 0
    assert total > 1
    for name in ("compare", "red_env"):
        sys.modules.pop(name)


@pytest.mark.warp
def test_the_profile_registers_for_a_patched_rom_and_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, patched = HomePaths(tmp_path), tmp_path / "red.gb"
    data = bytearray(ROM.read_bytes())
    data[0x134:0x13F] = b"POKEMON RED"
    data[0x14D] = -sum(data[0x134:0x14D]) - 25 & 0xFF
    patched.write_bytes(data)
    row = add_rom(patched, home)
    (red,) = (profile for profile in roms.load_profiles() if profile.id == "pokemon_red")
    assert red.ram is not None
    ram = msgspec.structs.replace(red.ram, watch=red.ram.watch | PLACES)
    known = msgspec.structs.replace(red, sha1=row["sha1"], ram=ram)
    for module in ("trainer_core.envs.rom_registry", "trainer_core.author.ram_task"):
        monkeypatch.setattr(f"{module}.load_profiles", lambda: [known])
    assert add_rom(patched, home)["profile"] == "pokemon_red"

    console, start = dmglab.GameBoy(str(patched)), tmp_path / "start.npz"
    console.run(200)
    console.press("start", frames=200)
    console.emulator.save_state(start)
    request = RamTask("mine/red", "", "", str(patched), (start,), {}, (), "", "", False, "pokemon_red", False, 16)
    make_ram_task(request, home)
    assert [task.get("badge") for task in list_all(["--home", str(tmp_path)])["tasks"]][-1] == "reads RAM"
    env = GameEnv.open(find_task("mine/red", home), home, GameOptions(num_envs=2))
    game = open_game("mine/red", home)
    game.restart(0)
    assert game.judge is not None
    game.judge.begin(game.observation())
    obs, rng, paid = env.reset(), torch.Generator().manual_seed(5), 0.0
    for _ in range(40):
        assert (obs[0, 0].numpy() == game.observation()).all()
        action = int(torch.randint(7, (1,), generator=rng))
        result = env.step(torch.full((2,), action))
        game.step(env.task.manifest.codec.masks[action])
        reward, _, trunc = game.judge.judge(game.observation())
        assert (result.reward[0].item(), bool(result.trunc[0])) == (reward, trunc)
        paid += game.judge.terms["explore"]
        if trunc:
            game.restart(0)
            game.judge.begin(game.observation())
        obs = result.obs
    assert obs.shape == (2, 1, 72 + 40, 80)
    assert paid > 0
    assert env.ram is not None
    assert env.ram.terms.take()["reward/explore"] == pytest.approx(paid / 40)
    env.close()
    with contextlib.closing(dmglab.make("mine/red", num_envs=2, home=tmp_path)) as made:
        made.reset(seed=1)
        assert made.step(np.array([0, 3]))[-1]["ram"].shape == (2, len(env.ram.terms.watched[0]))
