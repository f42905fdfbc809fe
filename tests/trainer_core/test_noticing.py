"""Mistakes that change no shape and no type: an action too short, a picture too old, the wrong set.

Each test states the fact by other means than the code that it watches.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from tests.trainer_core.building import read_log, tiny_config, tiny_trainer, train_in
from trainer_core.envs.game_env import GameEnv, GameOptions
from trainer_core.envs.single_game import open_game
from trainer_core.envs.toy import TinyGoalEnv
from trainer_core.envs.vec_env import StepInfo, StepResult
from trainer_core.host import watching
from trainer_core.host.control import Control
from trainer_core.host.evaluate import run_episodes, uniform
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import find_task
from trainer_core.learn.metrics import MetricsAccumulator
from trainer_core.play.played_game import Player
from trainer_core.wire.buttons import ACTION_MASKS, ACTIONS
from trainer_core.wire.frames import FrameReader
from trainer_core.wire.playing import PlayerConfig

HELD_OUT = 16
"""Start states of tiny_goal, the last ones, that nobody trains on."""


@pytest.mark.warp
def test_an_action_lasts_24_frames_and_is_held_for_8(tmp_path: Path) -> None:
    """The batch and a console that is driven frame by frame show the same after every step."""
    task, home = "pocket_quest/leave_bedroom", HomePaths(tmp_path)
    env = GameEnv.open(find_task(task, home), home, GameOptions(num_envs=1))
    env.reset_to(torch.tensor([0]))
    console = open_game(task, home)
    console.restart(0)
    drawn = []
    for name in ("DOWN", "LEFT", "DOWN", "LEFT", "LEFT", "DOWN", "DOWN", "LEFT", "A", "RIGHT"):
        action = ACTIONS.index(name)
        env.step(torch.tensor([action]))
        for frame in range(24):
            console.frame(ACTION_MASKS[action] if frame < 8 else 0)
        assert torch.equal(env.screens(1)[0], torch.from_numpy(console.picture().copy()))
        drawn.append(int(env.emulator.emulators[0].batch.console.numpy()["ppu_frames"][0]))
    # A step that is one frame too short shows in no picture of a game that waits for a button.
    assert set(drawn) == {24}, "frames that the PPU began in each launch"
    env.close()


def test_validation_plays_states_that_training_never_sees(tmp_path: Path) -> None:
    train_in(tmp_path, tiny_config(eval_every=1))
    log = read_log(tmp_path)
    played = {record["start_index"] for record in log if record["type"] == "episode"}
    assert played
    assert min(played) >= len(TinyGoalEnv(1)._starts) - HELD_OUT
    assert {r["distinct_starts"] for r in log if r["type"] == "eval"} == {HELD_OUT // 2}


def test_the_wall_shows_what_the_last_step_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "INTERVAL_S", 0.0)
    control, trainer = Control(), tiny_trainer(tiny_config())
    control.watch(16)
    monkeypatch.setattr(watching, "EVENT_INTERVAL_S", 0.0)
    told: list[dict[str, Any]] = []
    watcher = watching.Watcher(
        tmp_path / "frames.bin", trainer.env, control, lambda kind, **fields: told.append(fields)
    )
    wrong, ends = 0, torch.zeros(2, 16, dtype=torch.int64)

    def compare(info: StepInfo) -> None:
        nonlocal wrong, ends
        watcher.show(trainer.env_steps, info)
        ends = ends + torch.stack((info.success, info.reset_mask))[:, :16]
        assert told[-1]["dist"] == pytest.approx(info.dist[:16].tolist(), abs=1e-4)
        assert [told[-1]["successes"], told[-1]["episodes"]] == [tuple(e) for e in ends.tolist()]
        found = FrameReader(tmp_path / "frames.bin").latest()
        assert found is not None
        # Twice the observation's size, of every env one below the other.
        now = trainer.env.obs[:, -1].repeat_interleave(2, 1).repeat_interleave(2, 2)
        wrong += found[2] != now.contiguous().numpy().tobytes()

    trainer.on_step = compare
    trainer.run_update()
    # Called with the step's outcome in place: the loop's own observation is the env's.
    assert torch.equal(trainer.obs, trainer.env.obs)
    assert wrong == 0
    last = FrameReader(tmp_path / "frames.bin").latest()
    shown = trainer.obs[:, -1].repeat_interleave(2, 1).repeat_interleave(2, 2).contiguous()
    assert last is not None
    assert last[2] == shown.numpy().tobytes()
    count = len(told)
    control.watch(0)
    trainer.on_step = lambda info: watcher.show(trainer.env_steps, info)
    trainer.run_update()
    assert len(told) == count
    assert FrameReader(tmp_path / "frames.bin").seq == last[0], "nobody watches, nothing is copied"


def test_the_live_view_shows_the_frame_that_was_just_played(tmp_path: Path) -> None:
    def tell(*_: object, **__: object) -> None: ...

    player = Player(tmp_path, HomePaths(tmp_path), PlayerConfig(task="tiny_goal"), tell)
    shown = set()
    for frame in range(1, 41):
        player.press(8 if frame % 10 < 5 else 1)
        player.one_frame()
        found = FrameReader(tmp_path / "frames.bin").latest()
        assert found is not None
        assert found[1].frame == frame
        assert found[2] == player.game.picture().tobytes()
        shown.add(found[2])
    assert len(shown) > 2, "the walker must move"
    player.close()


def test_a_validation_gif_shows_ten_steps_a_second(tmp_path: Path) -> None:
    train_in(tmp_path, tiny_config(eval_every=4))
    episode = next(record for record in read_log(tmp_path) if record["type"] == "episode")
    total_ms = 0
    with Image.open(HomePaths(tmp_path).run("run").root / episode["gif"]) as gif:
        for index in range(getattr(gif, "n_frames", 1)):
            gif.seek(index)
            total_ms += gif.info["duration"]
    assert total_ms == 100 * episode["steps"]


WATCHING: list[list[tuple[str, Any]]] = []
"""Where the audit hook writes while a test listens: a hook cannot be taken away again."""


def _listen(event: str, arguments: Any) -> None:
    if WATCHING and event in ("open", "os.rename"):
        WATCHING[-1].append((event, arguments))


def test_a_checkpoint_appears_by_a_rename_and_never_in_part(tmp_path: Path) -> None:
    """Every file of it is written elsewhere: no reader meets half a checkpoint."""
    sys.addaudithook(_listen)
    WATCHING.append([])
    try:
        train_in(tmp_path, tiny_config(checkpoint_every=2))
    finally:
        events = WATCHING.pop()
    final = re.compile(r"/checkpoints/[0-9]+(/|$)")
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    written = [
        str(arguments[0])
        for event, arguments in events
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & writing
    ]
    assert any("/checkpoints/" in path for path in written)
    assert [path for path in written if final.search(path)] == []
    renamed = [str(arguments[1]) for event, arguments in events if event == "os.rename"]
    assert len([path for path in renamed if final.search(path)]) == 2


class Wasted(TinyGoalEnv):
    """Every episode ends after one step; those of even consoles are called a success."""

    def step(self, actions: torch.Tensor) -> StepResult:
        result = super().step(actions)
        even = torch.arange(self.num_envs) % 2 == 0
        yes = torch.ones_like(result.done)
        info = result.info._replace(success=even, reset_mask=yes)
        return result._replace(done=yes, trunc=~yes, info=info)


def test_success_is_the_named_functions_verdict_and_not_the_end() -> None:
    trainer = tiny_trainer(tiny_config())
    trainer.env = Wasted(16)
    trainer.obs = trainer.env.reset()
    losses = trainer.run_update()
    metrics = MetricsAccumulator(trainer.device)
    metrics.add(trainer.rollout, losses)
    found = metrics.emit()
    assert (found["done_rate"], found["success_rate"], found["episodes"]) == (1.0, 0.5, 128)
    env = Wasted(4)
    env.reset()
    act = uniform(env.num_actions, torch.Generator().manual_seed(1))
    played = run_episodes(env, act, torch.tensor([0, 1, 2, 3]), "sample")
    assert [episode.success for episode in played.episodes] == [True, False, True, False]


def test_a_full_disk_takes_the_pictures_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures lie in a file that is mapped: without a place on the disk of its own, writing to it
    would end the process by SIGBUS."""
    env, control, told = TinyGoalEnv(4, stack_k=1, seed=1), Control(), []
    control.watch(2)
    watcher = watching.Watcher(tmp_path / "frames.bin", env, control, lambda kind, **fields: told.append(fields))
    with monkeypatch.context() as full:
        full.setattr(os, "posix_fallocate", lambda *_: raise_full())
        watcher.show(1)
        assert list(tmp_path.iterdir()) == []
        assert [fields["detail"] for fields in told] == [
            "warning: no pictures of the Game Boys: No space left on device"
        ]
    monkeypatch.setattr(watcher, "_next", 0.0)
    watcher.show(2)
    found = (tmp_path / "frames.bin").stat()
    assert found.st_blocks * 512 >= found.st_size, "no holes"
    watcher.close()


def raise_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
