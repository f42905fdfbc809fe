# pyright: strict
"""A user's program: ./test checks its types strictly, and test_public_face.py runs it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

import dmglab


def play(rom: Path, states: Path) -> str:
    with dmglab.GameBoy(rom) as game:
        game.press("start", frames=24)
        game.hold(["a", "up"])
        game.run(2)
        game.release()
        game.memory[0xC100:0xC102] = b"ok"
        pair, one = game.memory[0xC100:0xC102], game.memory[0xC100]
        game.save(states / "here.state")
        game.load(states / "here.state")
        picture = game.screen(rgb=True)
        return f"{game.title} {game.frames} {pair.sum() + one} {picture.shape} {game.observation().dtype}"


def step_many(rom: Path) -> list[int]:
    emulator = dmglab.Emulator(dmglab.Cartridge.from_file(rom), 4, device="cpu")
    emulator.run(["a", None, "up", 1 << 4], frames=2, release_after=1)
    emulator.run(np.zeros(4, np.uint8))
    emulator.run(torch.zeros(4, dtype=torch.uint8))
    shades = emulator.screens.numpy()
    shared: torch.Tensor = torch.from_dlpack(emulator.observations())
    state: dmglab.Snapshot = emulator.snapshot(1)
    emulator.restore(state)
    return [*shades.shape, *shared.shape, *emulator.work_ram.shape, emulator.registers(0)["pc"] >= 0]


def learn(home: Path) -> str:
    run = dmglab.train("tiny_goal", total_env_steps=2048, num_envs=32, home=home, progress=False)
    steps = run.curves["sps"][:, 0]
    best: dmglab.Checkpoint | None = run.best
    assert best is not None
    policy = dmglab.load_policy(best, mode="greedy")
    env = dmglab.make("tiny_goal", num_envs=8)
    obs, _ = env.reset(seed=1)
    obs, reward, terminated, truncated, infos = env.step(policy.act(obs))
    ended = terminated | truncated
    policy.act(obs, episode_start=ended)
    again = dmglab.runs(home)[-1]
    return f"{run.state} {steps[-1]:.0f} {again.id == run.id} {reward.shape[0]} {len(infos) > 3} {policy.actions[0]}"


def refused(rom: Path) -> str:
    try:
        dmglab.GameBoy(rom.with_suffix(".toml"))
    except dmglab.EmulatorError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    game, folder = Path(sys.argv[1]), Path(sys.argv[2])
    print(play(game, folder))
    print(*step_many(game))
    print(learn(folder))
    print(refused(game))
    print(", ".join(dmglab.tasks(folder)), dmglab.__version__)
