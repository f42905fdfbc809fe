"""Trained policies that play: `load_policy` and `Policy`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dmglab.library import find_home
from trainer_core.envs.pressed import Pressed
from trainer_core.envs.startable import find_device
from trainer_core.host.checkpoint import load_policy as load_network
from trainer_core.host.loop_leaving import leaving_loops
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire.buttons import ALL_ACTIONS
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.playing import PolicyMode

if TYPE_CHECKING:
    from dmglab.training import Run

MODES = ("leave_loops", "greedy", "sample")
REMEMBERED = 256
"""Steps of an episode that `leave_loops` keeps."""
GREY_OR_SHADE = 84
"""Divisor whose remainder is the shade, 0 to 3, of both a grey 0, 85, 170, 255 and a shade."""


def load_policy(
    source: str | os.PathLike[str] | Run = "latest",
    *,
    mode: PolicyMode = "leave_loops",
    device: str = "cpu",
    seed: int = 1,
    home: str | os.PathLike[str] | None = None,
) -> Policy:
    """Load the policy of a checkpoint, or of the best checkpoint of a run.

    `source`: a `Run`, a `Checkpoint`, a run's name or id, the folder of a run or checkpoint, or `latest`.
    `mode`: `greedy` takes the likeliest action, `leave_loops` the same but the next likeliest where a
    picture comes back within an episode, `sample` draws by the probabilities. Raises LabError, one
    line, for a missing policy and for one of another library, which only that library can load.
    """
    if mode not in MODES:
        raise ConfigError(f"mode={mode!r:.60}: give {', '.join(MODES)}")
    if isinstance(source, (str, os.PathLike)):
        text, where = os.fspath(source), find_home(home)
    else:
        text, where = source.id, source.home
    return Policy(find_checkpoint(text, where), mode, str(find_device(device)), seed)


class Policy:
    """A trained policy with its memory of the current episodes.

    It plays one environment or a batch; `act` tells them apart by the shape of the observations.
    """

    def __init__(self, checkpoint: Path, mode: PolicyMode, device: str, seed: int) -> None:
        """Load a checkpoint. Raises LabError for a folder without a policy of DMG Lab's own trainer."""
        self._network, meta = load_network(checkpoint, device)
        self.checkpoint, self.mode, self.device = checkpoint, mode, device
        self.task = meta.task
        self.obs_shape = meta.obs_shape
        """(K, H, W) of one observation: K stacked pictures of H by W."""
        self.actions = ALL_ACTIONS[: meta.num_actions]
        """Buttons of each action, like `A` or `A+UP`, in the order of their numbers."""
        self._rng = torch.Generator(device).manual_seed(seed)
        self._count = 0
        self.reset()

    def __repr__(self) -> str:
        return f"<Policy for {self.task}, {self.mode}, of {self.checkpoint}>"

    def reset(self) -> None:
        """Forget all episodes; the next observations of `act` begin new ones."""
        self._count = 0

    def act(self, obs: Tensor | NDArray[Any], episode_start: Tensor | NDArray[Any] | None = None) -> Any:
        """Return the action for one observation as an int, or an action for each of N as int64[N].

        `obs`: observations of an environment of this package, or `GameBoy.observation()`: uint8[H, W] or
        [K, H, W] of one environment, [N, K, H, W] of a batch; greys or shades; a NumPy array or a
        tensor, which the result for a batch is too. If the policy needs K pictures and gets one, it
        adds the earlier ones itself. `episode_start`: bool[N], True for observations that begin an
        episode; default: all in the first call and after `reset`, none later. Raises LabError for
        another shape.
        """
        pictures, is_one = self._pictures(obs)
        begins = self._begins(episode_start, len(pictures))
        seen = self._seen(pictures, begins)
        with torch.no_grad():
            actions = self._choose(seen)
        self._steps += 1
        self._actions = actions
        if is_one:
            return int(actions[0])
        return actions if isinstance(obs, Tensor) else actions.cpu().numpy()

    def _pictures(self, obs: Any) -> tuple[Tensor, bool]:
        """Return shades u8[N, K or 1, H, W] on the device, and True if `obs` is of a single environment."""
        given = obs if isinstance(obs, Tensor) else torch.from_numpy(np.ascontiguousarray(obs))
        stack, *size = self.obs_shape
        planes = 1 if given.ndim == 2 else given.shape[-3] if given.ndim > 2 else 0
        if given.dtype != torch.uint8 or list(given.shape[-2:]) != size or planes not in (1, stack) or given.ndim > 4:
            kind = f"{str(given.dtype).removeprefix('torch.')}{list(given.shape)}"
            raise ConfigError(
                f"obs {kind}: this policy sees uint8{[stack, *size]}, or uint8{['N', stack, *size]} of a batch"
            )
        return given.to(self.device).reshape(-1, planes, *size) % GREY_OR_SHADE, given.ndim < 4

    def _begins(self, episode_start: Any, count: int) -> Tensor:
        """Return bool[N], True for beginning episodes; allocate for N if the number of episodes changed."""
        if count != self._count:
            self._make_room(count)
            return torch.ones(count, dtype=torch.bool, device=self.device)
        if episode_start is None:
            return torch.zeros(count, dtype=torch.bool, device=self.device)
        begins = torch.as_tensor(episode_start, device=self.device).reshape(-1)
        if begins.shape != (count,) or begins.dtype != torch.bool:
            raise ConfigError(f"episode_start {begins.dtype}{list(begins.shape)}: give bool[{count}]")
        return begins

    def _make_room(self, count: int) -> None:
        device, (stack, height, width) = torch.device(self.device), self.obs_shape
        self._count = count
        self._steps = torch.zeros(count, dtype=torch.int32, device=device)
        self._actions = torch.zeros(count, dtype=torch.int64, device=device)
        self._stack = torch.zeros(count, stack, height, width, dtype=torch.uint8, device=device)
        self._pressed = Pressed(count, len(self.actions), (height, width), device) if self._network.marked else None
        self._leave = leaving_loops(self._network, lambda: self._steps, REMEMBERED)

    def _seen(self, pictures: Tensor, begins: Tensor) -> Tensor:
        """Return the network's input, u8[N, K, H, W]: stacked, with press marks if it was trained with them."""
        everywhere = begins[:, None, None, None]
        if pictures.shape[1] < self._stack.shape[1]:
            later = torch.cat([self._stack[:, 1:], pictures], 1)
            pictures = torch.where(everywhere, pictures.expand_as(later), later)
        self._steps = torch.where(begins, 0, self._steps)
        self._stack = pictures
        if self._pressed is None:
            return pictures
        self._pressed.press(self._actions)
        marked = pictures.clone()
        self._pressed.show(marked[:, -1])
        self._pressed.begin(pictures[:, -1], begins)
        return torch.where(everywhere, pictures, marked)

    def _choose(self, seen: Tensor) -> Tensor:
        if self.mode == "leave_loops":
            return self._leave(seen)
        logits = self._network(seen)[0].float()
        if self.mode == "greedy":
            return logits.argmax(-1)
        return torch.multinomial(logits.softmax(-1), 1, generator=self._rng).squeeze(1)
