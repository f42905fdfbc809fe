"""N ARC-AGI-3 games, run in the library's process, as a VecEnv for our own trainer.

An episode is a whole game from its first level with a seed, which is the start state; it ends with WIN (success), with
GAME_OVER, or at the horizon. ACTION6, a click, is none of the seven buttons: games that take only clicks cannot be
trained.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainer_core.envs.arc.rules import LEVEL_REWARD, OBS_SHAPE, STEP_COST, encode, horizon_of
from trainer_core.envs.arc.session import HostedGames
from trainer_core.envs.frame_stack import FrameStack
from trainer_core.envs.state_checks import check_keys
from trainer_core.envs.vec_env import StepInfo, StepResult, Stopwatch
from trainer_core.lab.arc_games import BUTTON_ACTIONS, HELD_OUT_STARTS, NOTHING, PALETTE, TRAIN_STARTS, ArcGameInfo
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.errors import CheckpointError, TaskError


class ArcVecEnv:
    """VecEnv of N copies of one game; start state s is the game with seed s."""

    num_actions = len(ACTIONS)

    def __init__(
        self,
        game: ArcGameInfo,
        home: HomePaths,
        num_envs: int,
        *,
        stack_k: int = 1,
        seed: int = 1,
        held_out: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        """Start N games. Raises LabError when the game cannot be started, TaskError when it takes only clicks."""
        self.device = torch.device(device)
        self.num_envs, self.stack_k, self.horizon = (num_envs, stack_k, horizon_of(game.baseline_actions))
        self.shortest_limit = self.horizon
        self.obs_shape: tuple[int, int, int] = (stack_k, *OBS_SHAPE)
        first = TRAIN_STARTS if held_out else 0
        count = HELD_OUT_STARTS if held_out else TRAIN_STARTS
        self.start_set = torch.arange(first, first + count, device=self.device)
        self._games = HostedGames(game, home, num_envs)
        available = self._games.shown[0].available
        if not set(available) & set(BUTTON_ACTIONS):
            self._games.close()
            raise TaskError(f"{game.task} takes clicks alone, and a policy has the seven buttons")
        # Actions that the game does not take cost a step and change nothing.
        self._codes = np.array([code if code in available else NOTHING for code in BUTTON_ACTIONS])
        self._colours = torch.tensor([(rgb >> 16, rgb >> 8 & 255, rgb & 255) for rgb in PALETTE], dtype=torch.uint8)
        self._rng = torch.Generator().manual_seed(seed)
        self._stack = FrameStack(num_envs, stack_k, *OBS_SHAPE, self.device)
        self._starts = torch.zeros(num_envs, dtype=torch.int64)
        self._steps = torch.zeros(num_envs, dtype=torch.int32)
        self._actions: list[list[int]] = [[] for _ in range(num_envs)]
        """Actions since each game began, which restore its state."""
        self._shown = self._games.shown
        self.stopwatch = Stopwatch(self.device)

    @property
    def episode_steps(self) -> Tensor:
        return self._steps.to(self.device)

    @property
    def dist(self) -> Tensor:
        """f32[N] goal distance of each env: share of the levels still to complete."""
        return torch.tensor([1 - it.levels / max(1, it.win_levels) for it in self._shown], device=self.device)

    @property
    def start_index(self) -> Tensor:
        return self._starts.to(self.device)

    def reset(self, seed: int | None = None) -> Tensor:
        if seed is not None:
            self._rng.manual_seed(seed)
        return self.reset_to(self._drawn(self.num_envs))

    def reset_to(self, starts: Tensor) -> Tensor:
        self._begin(list(range(self.num_envs)), starts.tolist())
        return self._stack.fill(self._pictures())

    def step(self, actions: Tensor) -> StepResult:
        codes = self._codes[actions.cpu().numpy()]
        levels = [shown.levels for shown in self._shown]
        with self.stopwatch("emulate"):
            zeros = [0] * self.num_envs
            self._shown = self._games.act(codes.tolist(), zeros, zeros)
        self._steps += 1
        for taken, code in zip(self._actions, codes.tolist(), strict=True):
            taken.append(code)
        success = torch.tensor([shown.state == "WIN" for shown in self._shown])
        done = torch.tensor([shown.state in ("WIN", "GAME_OVER") for shown in self._shown])
        trunc = ~done & (self._steps >= self.horizon)
        gained = torch.tensor([shown.levels - before for shown, before in zip(self._shown, levels, strict=True)])
        reward = gained.clamp(min=0).float() * LEVEL_REWARD - STEP_COST
        dist = self.dist
        over, steps, starts = done | trunc, self._steps.clone(), self._starts.clone()
        with self.stopwatch("observe"):
            pictures = self._pictures()
            ended = over.nonzero().flatten().tolist()
            if ended:
                self._begin(ended, self._drawn(len(ended)).tolist())
            fresh = self._pictures()
            each = torch.arange(self.num_envs, device=self.device)
            self._stack.push(pictures, over.to(self.device), fresh, each)
        where = self.device
        info = StepInfo(
            dist, over.to(where), success.to(where), starts.to(where), steps.to(where), torch.zeros_like(over).to(where)
        )
        return StepResult(self._stack.obs, reward.to(where), done.to(where), trunc.to(where), self._stack.final, info)

    def screens(self, count: int) -> Tensor:
        """Return u8[count, 64, 64, 3], the grids of the first envs in ARC's colours."""
        grids = np.stack([shown.frames[-1] for shown in self._shown[:count]])
        return self._colours[torch.from_numpy(grids).long()]

    @property
    def obs(self) -> Tensor:
        """Observation to act on, u8[N, K, 64, 128]."""
        return self._stack.obs

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the games: seeds and actions since then, which suffice because the games are
        deterministic."""
        return {
            "starts": self._starts.clone(),
            "actions": [list(taken) for taken in self._actions],
            "obs": self._stack.obs.cpu().clone(),
            "rng": self._rng.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replay the games to their saved state. Raises CheckpointError for an invalid state."""
        check_keys(state, ("starts", "actions", "obs", "rng"), "the envs' state")
        starts, actions = state["starts"], state["actions"]
        if len(starts) != self.num_envs or len(actions) != self.num_envs:
            raise CheckpointError(f"the envs' state: {len(starts)} games, not {self.num_envs}")
        known = {NOTHING, *BUTTON_ACTIONS}
        if any(len(it) > self.horizon or not known.issuperset(it) for it in actions):
            raise CheckpointError("the envs' state: actions that no game takes")
        self._begin(list(range(self.num_envs)), starts.tolist())
        zeros = [0] * self.num_envs
        for t in range(max(map(len, actions))):
            codes = [taken[t] if t < len(taken) else NOTHING for taken in actions]
            self._shown = self._games.act(codes, zeros, zeros)
        self._actions = [list(taken) for taken in actions]
        self._steps[:] = torch.tensor([len(taken) for taken in actions])
        self._stack.load(state["obs"])
        self._rng.set_state(state["rng"])

    def close(self) -> None:
        self._games.close()

    # -- inside -------------------------------------------------------------------------------

    def _drawn(self, count: int) -> Tensor:
        chosen = torch.randint(len(self.start_set), (count,), generator=self._rng)
        return self.start_set.cpu()[chosen]

    def _begin(self, envs: list[int], seeds: list[int]) -> None:
        self._shown = self._games.begin(envs, seeds)
        for env, seed in zip(envs, seeds, strict=True):
            self._starts[env], self._steps[env], self._actions[env] = seed, 0, []

    def _pictures(self) -> Tensor:
        grids = np.stack([shown.frames[-1] for shown in self._shown])
        return torch.from_numpy(encode(grids)).to(self.device)
