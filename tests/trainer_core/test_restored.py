"""What a checkpoint holds of the envs, the learner and the sums: put in place, or refused."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st

from emulator import Cartridge, Emulator, SnapshotError
from emulator.state.batch import CONSOLE_DTYPE
from tests.support.mutated import EXTREMES
from tests.support.refusals import EXAMPLES, TORN, any_data, rewrite
from tests.trainer_core.building import tiny_config, tiny_trainer, train_in
from trainer_core.envs.game_env import GameEnv, GameOptions
from trainer_core.envs.toy import TinyGoalEnv
from trainer_core.host.checkpoint import pack_state
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import find_task
from trainer_core.wire.errors import CheckpointError, LabError

GAMES = Path(__file__).parents[2] / "assets" / "games"
ROMS = sorted(GAMES.glob("*/*.gb"))
ENVS = 4
FEWER = settings(TORN, max_examples=max(10, EXAMPLES * 3 // 8))
WORDS = (0, 1, 2, 1000, 0x7FFF, 0xFFFF, 0x10000, 0x3FFFFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


# -- consoles -------------------------------------------------------------------------------------


@pytest.mark.warp
@pytest.mark.parametrize("executor", ["native", "uniform"])
@pytest.mark.parametrize("rom", ROMS, ids=lambda path: path.stem)
def test_no_state_of_real_play_is_refused_and_it_goes_on_the_same(rom: Path, executor: Any) -> None:
    random = np.random.default_rng(1)
    cartridge = Cartridge.from_file(rom)
    played, copied = (Emulator(cartridge, ENVS, executor=executor) for _ in range(2))
    for launch in range(24):
        buttons = random.integers(0, 256, ENVS).astype(np.uint8)
        played.run(buttons, int(random.integers(1, 30)), int(random.integers(0, 9)))
        if launch % 4 == 1:
            played.observations()
        if launch % 4 == 3:
            copied.put_batch(played.batch.console.numpy().copy(), played.batch.ram.numpy().copy())
            assert copied.state_hash() == played.state_hash()
            for emulator in (played, copied):
                emulator.run(buttons, 24, 8)
            assert copied.state_hash() == played.state_hash()
            assert np.array_equal(copied.observations().numpy(), played.observations().numpy())


@pytest.mark.warp
def test_a_batch_larger_than_what_is_put_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.emulator.STATES_AT_ONCE", 3)
    random = np.random.default_rng(2)
    cartridges = [Cartridge.from_file(rom) for rom in ROMS]
    played, copied = (Emulator(cartridges, 7) for _ in range(2))
    for _ in range(5):
        played.run(random.integers(0, 256, 7).astype(np.uint8), 20)
    copied.put_batch(played.batch.console.numpy().copy(), played.batch.ram.numpy().copy())
    assert copied.state_hash() == played.state_hash()
    assert copied.refused_resets == 0


@pytest.mark.warp
def test_a_state_of_another_cartridge_is_named_with_its_console() -> None:
    cartridges = [Cartridge.from_file(rom) for rom in ROMS]
    emulator = Emulator(cartridges[0], 3)
    records, rows = emulator.batch.console.numpy().copy(), emulator.batch.ram.numpy().copy()
    before = emulator.state_hash()
    records["ppu_front"][1] = 1000
    with pytest.raises(SnapshotError, match="console 1 is damaged: ppu_front"):
        emulator.put_batch(records, rows)
    records["ppu_front"][1] = 0
    records["rom_banks"][2] *= 2
    with pytest.raises(SnapshotError, match="console 2 is damaged: rom_banks"):
        emulator.put_batch(records, rows)
    with pytest.raises(SnapshotError, match="memory rows uint8"):
        emulator.put_batch(records, rows[:, :100])
    with pytest.raises(SnapshotError, match="records; the batch has"):
        emulator.put_batch(records[:2], rows)
    assert emulator.state_hash() == before


# -- environments ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GameEnv]:
    home = HomePaths(tmp_path_factory.mktemp("home"))
    env = GameEnv.open(find_task("pocket_quest/leave_bedroom", home), home, GameOptions(num_envs=ENVS, stack_k=2))
    env.reset(seed=1)
    yield env
    env.close()


@pytest.fixture(scope="module")
def good(game: GameEnv) -> dict[str, Any]:
    return played_on(game, 3)


def played_on(env: Any, steps: int) -> dict[str, Any]:
    random = torch.Generator().manual_seed(3)
    for _ in range(steps):
        env.step(torch.randint(7, (env.num_envs,), generator=random))
    return env.state_dict()


@pytest.mark.warp
@FEWER
@any_data
def test_a_console_that_cannot_be_is_refused_and_any_other_runs(
    game: GameEnv, good: dict[str, Any], data: st.DataObject
) -> None:
    state = copy.deepcopy(good)
    records = state["machines"]["consoles"].numpy().view(CONSOLE_DTYPE).reshape(-1)
    rows = state["machines"]["rows"].numpy()
    word = st.sampled_from(WORDS) | st.integers(0, 0xFFFFFFFF)
    name = st.sampled_from(CONSOLE_DTYPE.names or ())
    for field, value in data.draw(st.lists(st.tuples(name, word), max_size=3)):
        records[field][data.draw(st.integers(0, ENVS - 1))] = value
    seed = data.draw(st.integers(0, 2**32 - 1))
    if seed % 2:
        places = np.random.default_rng(seed).integers(0, rows.shape[1], 2000)
        rows[:, places] = seed >> 8 & 0xFF
    if refusal := refusal_of(game, state):
        assert "is damaged" in refusal
    else:
        played_on(game, 2)


@pytest.mark.warp
@FEWER
@any_data
def test_a_state_of_another_form_is_refused(game: GameEnv, good: dict[str, Any], data: st.DataObject) -> None:
    refuse_or_load(game, good, data)


@FEWER
@any_data
def test_a_state_of_the_tiny_grid_is_checked_too(data: st.DataObject) -> None:
    env = TinyGoalEnv(ENVS, seed=1)
    env.reset(seed=1)
    refuse_or_load(env, played_on(env, 2), data)


def refuse_or_load(env: Any, good: dict[str, Any], data: st.DataObject) -> None:
    refusal_of(env, spoilt(good, data))
    env.reset()
    played_on(env, 1)
    env.load_state_dict(good)


def refusal_of(owner: Any, state: Any) -> str:
    """Load a state; why it was refused, in one line, or ""."""
    refusal = ""
    try:
        owner.load_state_dict(state)
    except CheckpointError as error:
        refusal = str(error)
    assert "\n" not in refusal
    assert len(refusal) < 500
    return refusal


def spoilt(good: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """A copy of nested dictionaries in which one entry is gone, added, or something else."""
    state = copy.deepcopy(good)
    inner: Any = state
    while True:
        name = data.draw(st.sampled_from(sorted(inner, key=str)))
        if not isinstance(inner[name], dict) or not inner[name] or data.draw(st.booleans()):
            break
        inner = inner[name]
    other = st.sampled_from([*EXTREMES, torch.zeros(0), torch.zeros(3), torch.tensor(1 << 40)])
    match data.draw(st.sampled_from(["drop", "add", "change", "cut", "retype", "extreme"])):
        case "drop":
            del inner[name]
        case "add":
            inner["surplus"] = data.draw(other)
        case "change":
            inner[name] = data.draw(other)
        case kind if isinstance(inner[name], torch.Tensor):
            inner[name] = TORN_TENSORS[kind](inner[name])
    return state


TORN_TENSORS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "cut": lambda tensor: tensor[:-1] if tensor.dim() else tensor[None],
    "retype": lambda tensor: tensor.double(),
    "extreme": lambda tensor: (
        torch.full_like(tensor, torch.iinfo(tensor.dtype).max)
        if not tensor.is_floating_point()
        else torch.full_like(tensor, float("nan"))
    ),
}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("tile",), 90),
        (("tile",), -1),
        (("episodes", "start_index"), 10**6),
        (("episodes", "steps"), -1),
        (("episodes", "held"), 10**6),
        (("episodes", "dist"), float("nan")),
        (("episodes", "best"), 1.5),
        (("obs",), 4),
    ],
)
def test_a_value_outside_its_range_is_named(place: tuple[str, ...], value: float) -> None:
    env = TinyGoalEnv(ENVS, seed=1)
    state = env.state_dict()
    inner = state if len(place) == 1 else state[place[0]]
    inner[place[-1]].flatten()[2] = value
    with pytest.raises(CheckpointError, match=f"{place[-1]} holds values outside 0 to"):
        env.load_state_dict(state)


@pytest.mark.warp
def test_a_refused_reset_is_an_error_before_anything_is_saved(game: GameEnv) -> None:
    emulator = game.emulator
    emulator.mask.zero_()
    emulator.mask[1] = 1
    emulator.index[1] = 10**6
    kept = [one._refused.numpy().copy() for one in emulator.emulators]
    try:
        emulator.reset()
        with pytest.raises(LabError, match="1 resets named a start state that is none"):
            game.state_dict()
    finally:
        for one, value in zip(emulator.emulators, kept, strict=True):
            one._refused.assign(value)


# -- the learner and the run ----------------------------------------------------------------------


@FEWER
@any_data
def test_a_trainers_state_is_its_own_or_refused(data: st.DataObject) -> None:
    trainer = tiny_trainer(tiny_config(num_envs=4, num_steps=2, update_epochs=1))
    trainer.run_update()
    good = copy.deepcopy(trainer.state_dict())
    for _ in range(4):
        refusal_of(trainer, spoilt(good, data))
    trainer.load_state_dict(good)
    trainer.run_update()


def test_a_checkpoint_whose_envs_cannot_be_is_passed_over_for_the_one_before(tmp_path: Path) -> None:
    config = tiny_config(checkpoint_every=2)
    train_in(tmp_path, config)
    newest = max((tmp_path / "training/runs/run/checkpoints").iterdir(), key=lambda p: int(p.name))
    env = TinyGoalEnv(config.num_envs, seed=1)
    state = env.state_dict()
    state["tile"][3] = 10**9
    rewrite(newest / "machines.bin", pack_state(state))
    longer = tiny_config(checkpoint_every=2, total_env_steps=16 * 8 * 6)
    assert train_in(tmp_path, longer).state == "finished"
    resume = resumes(tmp_path)[-1]
    assert resume["env_steps"] == 16 * 8 * 2
    assert resume["checkpoint"] == "checkpoints/000000000256"


def test_a_run_whose_only_checkpoint_has_such_envs_is_refused_in_one_line(tmp_path: Path) -> None:
    config = tiny_config(checkpoint_every=4)
    train_in(tmp_path, config)
    folder = tmp_path / "training/runs/run/checkpoints"
    newest, *older = sorted(folder.iterdir(), key=lambda path: -int(path.name))
    for path in older:
        shutil.rmtree(path)
    rewrite(newest / "machines.bin", pack_state({"tile": 3}))
    with pytest.raises(LabError, match=r"none of 1 checkpoints can be lo.* lacks episodes"):
        train_in(tmp_path, tiny_config(checkpoint_every=4, total_env_steps=16 * 8 * 6))


def resumes(home: Path) -> list[dict[str, Any]]:
    lines = (home / "training/runs/run/train_log.jsonl").read_text().splitlines()
    return [record for line in lines if (record := json.loads(line))["type"] == "resume"]
