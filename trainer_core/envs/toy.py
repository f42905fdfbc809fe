"""TinyGoalEnv: a torch-only goal task with the pictures, buttons and rewards of the real ones.

A walker on a 10x9 grid, one tile 16x16 pixels as on the Game Boy's screen, must reach one tile. Its row and column are
shaded, so that the goal distance decreases on the way. Start state s is a tile. It needs neither a ROM nor Warp: for
tests, and for a first curve while kernels still compile.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from trainer_core.envs.episodes import Episodes, GoalTemplates
from trainer_core.envs.frame_stack import FrameStack
from trainer_core.envs.scoring import Rules, make_rules
from trainer_core.envs.state_checks import check_keys, check_like, check_range
from trainer_core.envs.vec_env import StepInfo, StepResult, Stopwatch
from trainer_core.lab.tasks import Goal, Reward
from trainer_core.wire.buttons import ACTIONS

TASK_ID = "tiny_goal"
COLUMNS, ROWS, TILE = 10, 9, 8
GOAL_TILE = 7 * COLUMNS + 2
HORIZON = 32
HELD_OUT = 16
GOAL = Goal(file="", sha256="", tau=0.01)
MIN_TILES_TO_GOAL = 6
MOVES = {"UP": -COLUMNS, "DOWN": COLUMNS, "LEFT": -1, "RIGHT": 1}


def tile_pictures(device: torch.device) -> Tensor:
    """Return u8[90, 72, 80], the observation with the walker on each tile."""
    tiles = torch.arange(COLUMNS * ROWS, device=device)
    row, column = tiles // COLUMNS, tiles % COLUMNS
    grid = torch.zeros(len(tiles), ROWS, COLUMNS, dtype=torch.uint8, device=device)
    grid[tiles, row, :] = 1
    grid[tiles, :, column] = 1
    grid[tiles, row, column] = 3
    return grid.repeat_interleave(TILE, 1).repeat_interleave(TILE, 2)


def start_tiles() -> Tensor:
    """Return i64[S], the tiles that are start states, all far from the goal; the last HELD_OUT are for evaluation
    only."""
    tiles = torch.arange(COLUMNS * ROWS)
    apart = (tiles // COLUMNS - GOAL_TILE // COLUMNS).abs()
    apart = apart + (tiles % COLUMNS - GOAL_TILE % COLUMNS).abs()
    far = tiles[apart >= MIN_TILES_TO_GOAL]
    mixed = torch.randperm(len(far), generator=torch.Generator().manual_seed(0))
    return far[mixed]


def move_table(device: torch.device) -> Tensor:
    """Return i64[90, 7], the tile that each action leads to from each tile."""
    table = torch.arange(COLUMNS * ROWS)[:, None].repeat(1, len(ACTIONS))
    for name, offset in MOVES.items():
        for tile in range(COLUMNS * ROWS):
            row, column = divmod(tile, COLUMNS)
            row += (name == "DOWN") - (name == "UP")
            column += (name == "RIGHT") - (name == "LEFT")
            if 0 <= row < ROWS and 0 <= column < COLUMNS:
                table[tile, ACTIONS.index(name)] = tile + offset
    return table.to(device)


def tiny_rules(reward: Reward, success: str = "goal_template") -> Rules:
    """Return the scoring rules of the grid task, used by TinyGoalEnv and by the game that the user plays."""
    return make_rules(reward, GOAL, HORIZON, success)


class TinyGoalEnv:
    """VecEnv of N grids; with `held_out` episodes begin at the start states that are held out from training."""

    num_actions = len(ACTIONS)
    horizon = shortest_limit = HORIZON

    def __init__(
        self,
        num_envs: int,
        *,
        stack_k: int = 1,
        seed: int = 1,
        held_out: bool = False,
        device: torch.device | str = "cpu",
        reward: Reward | None = None,
        success: str = "goal_template",
    ) -> None:
        self.device = torch.device(device)
        self.num_envs, self.stack_k = num_envs, stack_k
        self._pictures = tile_pictures(self.device)
        height, width = self._pictures.shape[1:]
        self.obs_shape = (stack_k, height, width)
        self._moves = move_table(self.device)
        self._starts = start_tiles().to(self.device)
        split = len(self._starts) - HELD_OUT
        indices = torch.arange(len(self._starts), device=self.device)
        self.start_set = indices[split:] if held_out else indices[:split]
        goal_picture = self._pictures[GOAL_TILE][None]
        everywhere = torch.ones_like(goal_picture, dtype=torch.bool)
        goal = GoalTemplates(goal_picture, everywhere, GOAL.distance)
        self.episodes = Episodes(
            num_envs,
            goal,
            tiny_rules(reward or Reward(), success),
            self.start_set,
            self._pictures[self._starts],
            seed,
            novelty=not held_out,
        )
        self._stack = FrameStack(num_envs, stack_k, height, width, self.device)
        self._tile = torch.zeros(num_envs, dtype=torch.int64, device=self.device)
        self.stopwatch = Stopwatch(self.device)

    @property
    def episode_steps(self) -> Tensor:
        return self.episodes.steps

    @property
    def dist(self) -> Tensor:
        return self.episodes.dist

    @property
    def start_index(self) -> Tensor:
        return self.episodes.start_index

    def reset(self, seed: int | None = None) -> Tensor:
        if seed is not None:
            self.episodes.seed(seed)
        return self.reset_to(self.episodes.draw_starts())

    def reset_to(self, starts: Tensor) -> Tensor:
        self._tile.copy_(self._starts[starts])
        self.episodes.begin(starts)
        return self._stack.fill(self.episodes.start_pictures[starts])

    def step(self, actions: Tensor) -> StepResult:
        with self.stopwatch("emulate"):
            self._tile = self._moves[self._tile, actions]
        with self.stopwatch("observe"):
            pictures = self._pictures[self._tile]
            out = self.episodes.judge(pictures)
            self._tile = torch.where(out.reset_mask, self._starts[out.next_start], self._tile)
            self._stack.push(pictures, out.reset_mask, self.episodes.start_pictures, out.next_start)
        info = StepInfo(out.dist, out.reset_mask, out.success, out.start_index, out.episode_steps, out.from_demo)
        return StepResult(self._stack.obs, out.reward, out.done, out.trunc, self._stack.final, info)

    def screens(self, count: int) -> Tensor:
        pictures = self._pictures[self._tile[:count]]
        return pictures.repeat_interleave(2, 1).repeat_interleave(2, 2)

    def state_dict(self) -> dict[str, Any]:
        return {"tile": self._tile.cpu(), "obs": self._stack.obs.cpu(), "episodes": self.episodes.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError for an invalid one; the envs then need `reset`."""
        check_keys(state, ("tile", "obs", "episodes"), "the envs' state")
        check_like({"tile": state["tile"]}, {"tile": self._tile}, "the envs' state")
        check_range(state["tile"], 0, len(self._pictures) - 1, "the envs' tile")
        self._tile.copy_(state["tile"])
        self._stack.load(state["obs"])
        self.episodes.load_state_dict(state["episodes"])

    @property
    def obs(self) -> Tensor:
        """Observation to act on, u8[N, K, 72, 80]."""
        return self._stack.obs

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
