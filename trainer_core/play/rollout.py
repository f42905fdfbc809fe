"""One episode played frame by frame on the player's game, saved as files."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trainer_core.envs.single_game import Game, open_game
from trainer_core.formats.gif import GREENS, save_gif, shades_image, true_delays
from trainer_core.host.agent import Agent
from trainer_core.lab.checkpoint_manifest import POLICY, read_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import one_of
from trainer_core.play.episode import Chooser
from trainer_core.play.league.players import Settings, open_checkpoint
from trainer_core.runs.log_writer import disk_error, write_json
from trainer_core.wire.buttons import ALL_ACTIONS, ALL_MASKS
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.playing import PolicyMode
from trainer_core.wire.spec import NATIVE_ID

DEFAULT_MAX_STEPS = 1000


class Rollout:
    """Collector of the steps of one episode and of the GIF's pictures."""

    def __init__(self, game: Game, agent: Chooser, every: int) -> None:
        self.game, self.agent = game, agent
        self.every = every or game.frames_per_step
        self.pictures: list[np.ndarray] = []
        self.rows: list[dict[str, Any]] = []

    def play(self, start: int, max_steps: int) -> None:
        """Play an episode from start state `start` to success, the horizon or `max_steps` steps."""
        game, judge = self.game, self.game.judge
        assert judge is not None
        game.restart(start)
        seen = game.observation()
        self.agent.begin(seen)
        judge.begin(seen)
        self.pictures.append(game.picture().copy())
        for step in range(max_steps):
            action = self.agent.act()
            self._press(action, step)
            seen = game.observation()
            self.agent.see(seen)
            reward, success, trunc = judge.judge(seen)
            self.rows.append(
                {
                    "step": step,
                    "action": action,
                    "button": ALL_ACTIONS[action],
                    "reward": reward,
                    "dist": judge.dist,
                    "done": success,
                    "trunc": trunc,
                }
            )
            if success or trunc:
                break

    def _press(self, action: int, step: int) -> None:
        game = self.game
        for phase in range(game.frames_per_step):
            held = ALL_MASKS[action] if phase < game.release_after_frames else 0
            game.frame(held)
            if (step * game.frames_per_step + phase + 1) % self.every == 0:
                self.pictures.append(game.picture().copy())


@contextlib.contextmanager
def _agent_of(checkpoint: Path, runner: str, settings: Settings) -> Iterator[Chooser]:
    """Yield the checkpoint's player: our own policy in this process, another library's in its own interpreter.

    Raises LabError.
    """
    if runner == NATIVE_ID:
        yield Agent(checkpoint, mode=settings.mode, seed=settings.seed)
        return
    with contextlib.closing(open_checkpoint(str(checkpoint), settings)) as agent:
        yield agent


def write_rollout(
    out: Path,
    checkpoint: Path,
    home: HomePaths,
    *,
    task: str = "",
    mode: PolicyMode,
    steps: int,
    start: int,
    gif_every: int,
    seed: int,
) -> dict[str, Any]:
    """Play one episode and write its files; return the command's output.

    `task`: default the checkpoint's, the first of several. `gif_every` is in frames per picture, 0 = one per agent
    step. Raises LabError.
    """
    made = read_meta(checkpoint)
    task = task or one_of(made.task)
    game = open_game(task, home)
    if start == -1:
        start = game.held_out_start
    if not 0 <= start < game.num_starts:
        raise ConfigError(f"start {start}: the task has start states 0 to {game.num_starts - 1}")
    with _agent_of(checkpoint, made.runner, Settings(task=task, home=home, mode=mode, seed=seed)) as (agent):
        rollout = Rollout(game, agent, gif_every)
        rollout.play(start, steps or DEFAULT_MAX_STEPS)
    delays_cs = true_delays(len(rollout.pictures), rollout.every)
    meta = {
        "checkpoint": str(checkpoint),
        "checkpoint_sha256": made.files.get(POLICY, ""),
        "task": task,
        "hashes": made.hashes,
        "rom_sha256": game.rom_sha256,
        "config": made.config,
        "mode": mode,
        "seed": seed,
        "start_index": start,
        "codec": made.codec,
        "frames_per_step": game.frames_per_step,
        "release_after_frames": game.release_after_frames,
        "gif_every_frames": rollout.every,
        "gif_duration_ms": 10 * sum(delays_cs),
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        colours = game.screen.colours or GREENS
        images = (shades_image(shades, colours) for shades in rollout.pictures)
        save_gif(out / "rollout.gif", images, delays_cs)
        lines = "".join(json.dumps(row) + "\n" for row in rollout.rows)
        (out / "rollout.jsonl").write_text(lines, encoding="utf-8")
        write_json(out / "meta.json", meta)
    except OSError as error:
        raise disk_error(out, error, "--out") from None
    last = rollout.rows[-1]
    return {
        "ok": True,
        "out": str(out),
        "gif": str(out / "rollout.gif"),
        "success": last["done"],
        "steps": len(rollout.rows),
        "episode_return": sum(row["reward"] for row in rollout.rows),
        "start_index": start,
        "mode": mode,
        "pictures": len(rollout.pictures),
    }
