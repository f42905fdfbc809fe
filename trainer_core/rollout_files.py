"""One episode, played frame by frame on the console that people play on, kept as files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from trainer_core.agent import Agent
from trainer_core.console import Console, open_console
from trainer_core.export_gif import GREENS, save_gif, true_delays
from trainer_core.protocol.buttons import ACTION_MASKS, ACTIONS, CODEC_ID
from trainer_core.protocol.errors import ConfigError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.tasks import find_task
from trainer_core.run_dir import disk_error, write_json

DEFAULT_MAX_STEPS = 1000


class Rollout:
    """Collects steps and the pictures that the GIF will show."""

    def __init__(self, console: Console, agent: Agent, every: int) -> None:
        self.console, self.agent = console, agent
        self.every = every or console.frames_per_step
        self.pictures: list[np.ndarray] = []
        self.rows: list[dict[str, Any]] = []

    def play(self, start: int, max_steps: int) -> None:
        """From start state `start` to success, horizon or `max_steps`."""
        console, judge = self.console, self.console.judge
        assert judge is not None
        console.restart(start)
        seen = console.observation()
        self.agent.begin(seen)
        judge.begin(seen)
        self.pictures.append(console.picture().copy())
        for step in range(max_steps):
            action = self.agent.act()
            self._press(action, step)
            seen = console.observation()
            self.agent.see(seen)
            reward, success, trunc = judge.judge(seen)
            self.rows.append(
                {
                    "step": step, "action": action, "button": ACTIONS[action], "reward": reward,
                    "dist": judge.dist, "done": success, "trunc": trunc,
                }
            )  # fmt: skip
            if success or trunc:
                break

    def _press(self, action: int, step: int) -> None:
        console = self.console
        for phase in range(console.frames_per_step):
            held = ACTION_MASKS[action] if phase < console.release_after_frames else 0
            console.frame(held)
            if (step * console.frames_per_step + phase + 1) % self.every == 0:
                self.pictures.append(console.picture().copy())


def write_rollout(
    out: Path,
    checkpoint: Path,
    home: HomePaths,
    *,
    mode: str,
    steps: int,
    start: int,
    gif_every: int,
    seed: int,
) -> dict[str, Any]:
    """Play one episode and write its files; returns what is printed.

    `gif_every` counts frames per picture, 0 = one per agent step. Raises LabError.
    """
    agent = Agent(checkpoint, mode=mode, seed=seed)
    console = open_console(agent.meta.task, home)
    if start == -1:
        start = first_held_out(agent.meta.task, home, console)
    if not 0 <= start < console.num_starts:
        raise ConfigError(f"start {start}: the task has start states 0 to {console.num_starts - 1}")
    rollout = Rollout(console, agent, gif_every)
    rollout.play(start, steps or DEFAULT_MAX_STEPS)
    delays_cs = true_delays(len(rollout.pictures), rollout.every)
    meta = {
        "checkpoint": str(checkpoint), "checkpoint_sha256": agent.sha256,
        "task": agent.meta.task, "hashes": agent.meta.hashes, "rom_sha256": console.rom_sha256,
        "config": agent.meta.config, "mode": mode, "seed": seed, "start_index": start,
        "codec": CODEC_ID, "frames_per_step": console.frames_per_step,
        "release_after_frames": console.release_after_frames, "gif_every_frames": rollout.every,
        "gif_duration_ms": 10 * sum(delays_cs),
    }  # fmt: skip
    try:
        out.mkdir(parents=True, exist_ok=True)
        save_gif(out / "rollout.gif", _images(rollout.pictures), delays_cs)
        lines = "".join(json.dumps(row) + "\n" for row in rollout.rows)
        (out / "rollout.jsonl").write_text(lines, encoding="utf-8")
        write_json(out / "meta.json", meta)
    except OSError as error:
        raise disk_error(out, error) from None
    last = rollout.rows[-1]
    return {
        "ok": True, "out": str(out), "success": last["done"], "steps": len(rollout.rows),
        "episode_return": sum(row["reward"] for row in rollout.rows), "start_index": start,
        "mode": mode, "pictures": len(rollout.pictures),
    }  # fmt: skip


def first_held_out(task_id: str, home: HomePaths, console: Console) -> int:
    """Index of the first start state that training never saw."""
    if console.task == "tiny_goal":
        from trainer_core.envs.toy import HELD_OUT

        return console.num_starts - HELD_OUT
    return console.num_starts - find_task(task_id, home).manifest.starts.heldout


def _images(pictures: list[np.ndarray]) -> Iterator[Image.Image]:
    for shades in pictures:
        image = Image.fromarray(shades)
        image.putpalette([level for colour in GREENS for level in colour])
        yield image
