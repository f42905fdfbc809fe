"""Networks from pixels to action logits and a value."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from trainer_core.envs.press_marks import has_room, presses_marked
from trainer_core.wire.config import RunConfig
from trainer_core.wire.shades import MAX_SHADE

PATCHES_PAY = torch.backends.cpu.get_cpu_capability() != "AVX512"
"""True if matrix products are faster than oneDNN's convolutions on this CPU. It depends on the computer only, not on a
measurement at the start: a resumed run must add in the same order as before."""

OFF_FOR_PRESSES = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Amount subtracted from an action's logit by the number of presses that its mark shows: after one it is e times less
likely. Each further press doubles the amount: an action that training chose a thousand times with success is 5 or more
above the others, and greedy play must still leave a wall."""


class PixelActorCritic(nn.Module):
    """Actor-critic network with one convolutional trunk and two heads, policy and value. `kind` is small, nature or
    impala."""

    HEADS = ("policy", "value")
    off_for_presses: Tensor

    def __init__(self, kind: str, obs_shape: tuple[int, int, int], num_actions: int, *, marked: bool = False) -> None:
        """Make the network.

        `obs_shape` is (K, H, W) of the u8 pictures that `forward` takes; with `marked` they have marks
        (envs/press_marks.py), which change the logits from the start.
        """
        super().__init__()
        self.kind = kind
        self.marked = marked and has_room(obs_shape, num_actions)
        off = torch.tensor(OFF_FOR_PRESSES)
        self.register_buffer("off_for_presses", off, persistent=False)
        self.obs_shape = obs_shape
        self.num_actions = num_actions
        self.trunk = TRUNKS[kind](obs_shape[0])
        with torch.no_grad():
            features = self.trunk(torch.zeros(1, *obs_shape)).shape[-1]
        width = {"small": 128, "nature": 512, "impala": 256}[kind]
        self.hidden = nn.Sequential(nn.Linear(features, width), nn.ReLU())
        self.policy_head = nn.Linear(width, num_actions)
        self.value_head = nn.Linear(width, 1)
        self._initialize()

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits f32[B, A] and values f32[B] of `obs` u8[B, K, H, W], shades 0..3."""
        pictures = obs.float() * (1 / MAX_SHADE)
        if pictures.is_cuda:
            pictures = pictures.contiguous(memory_format=torch.channels_last)
        features = self.hidden(self.trunk(pictures))
        logits, values = self.policy_head(features), self.value_head(features).squeeze(-1)
        return (logits + self.prior(obs) if self.marked else logits), values

    def prior(self, obs: Tensor) -> Tensor:
        """Return f32[B, A], the amount added to the logits because of press marks in `obs` u8[B, K, H, W]. It is not
        learned; learned logits may outweigh it."""
        return -self.off_for_presses[presses_marked(obs[:, -1], self.num_actions).long()]

    def _initialize(self) -> None:
        # Huang et al. 2022, detail 2: orthogonal weights, zero biases, a nearly uniform policy.
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.orthogonal_(module.weight, math.sqrt(2))
                assert module.bias is not None
                nn.init.zeros_(module.bias)
        nn.init.orthogonal_(self.policy_head.weight, 0.01)
        nn.init.orthogonal_(self.value_head.weight, 1.0)


class PatchConv2d(nn.Conv2d):
    """Convolution with adjacent windows: on a CPU one product of patches and weights.

    It computes the same function of the same parameters as nn.Conv2d(planes, width, size, stride=size). oneDNN's
    gradient of such a convolution takes more than half of a step of the small network on a CPU without AVX-512
    (docs/notebook/learning.md, notebook 6).
    """

    def __init__(self, planes: int, width: int, size: int) -> None:
        super().__init__(planes, width, size, stride=size)

    def forward(self, input: Tensor) -> Tensor:
        """Map f32[B, planes, H, W] to f32[B, width, H // size, W // size]."""
        if input.is_cuda or not PATCHES_PAY:
            return super().forward(input)
        size, (count, planes, height, width) = self.kernel_size[0], input.shape
        rows, columns = height // size, width // size
        windows = input[:, :, : rows * size, : columns * size]
        windows = windows.reshape(count, planes, rows, size, columns, size)
        patches = windows.permute(0, 2, 4, 1, 3, 5).reshape(count * rows * columns, -1)
        assert self.bias is not None
        found = torch.addmm(self.bias, patches, self.weight.flatten(1).t())
        return found.view(count, rows, columns, -1).permute(0, 3, 1, 2).contiguous()


def small_trunk(planes: int) -> nn.Sequential:
    """Return the trunk of the network `small`, whose first layer reads patches of 8x8 pixels.

    A patch is a 16x16 block of the Game Boy's screen after downsampling, the size of a tile in many games' rooms.

    The network takes a third of the Nature network's time on a CPU; to walk, a policy only needs such tiles.
    """
    return nn.Sequential(
        PatchConv2d(planes, 32, 8), nn.ReLU(), nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten()
    )


def nature_trunk(planes: int) -> nn.Sequential:
    """Return the convolutional trunk of Mnih et al. 2015, doi:10.1038/nature14236."""
    return nn.Sequential(
        nn.Conv2d(planes, 32, 8, stride=4),
        nn.ReLU(),
        nn.Conv2d(32, 64, 4, stride=2),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, stride=1),
        nn.ReLU(),
        nn.Flatten(),
    )


def impala_trunk(planes: int) -> nn.Sequential:
    """Return the convolutional trunk of Espeholt et al. 2018, arXiv:1802.01561, the deep variant with 16, 32, 32
    channels."""
    layers: list[nn.Module] = []
    for width in (16, 32, 32):
        layers += [
            nn.Conv2d(planes, width, 3, padding=1),
            nn.MaxPool2d(3, stride=2, padding=1),
            ResidualBlock(width),
            ResidualBlock(width),
        ]
        planes = width
    return nn.Sequential(*layers, nn.ReLU(), nn.Flatten())


class ResidualBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(torch.relu(self.first(torch.relu(x))))


TRUNKS = {"small": small_trunk, "nature": nature_trunk, "impala": impala_trunk}


def policy_kind(config: RunConfig) -> str:
    """Return the run's kind of network: `config.policy`, where auto means small on a CPU and nature on a GPU."""
    if config.policy != "auto":
        return config.policy
    return "small" if config.device == "cpu" else "nature"


def policy_for(config: RunConfig, obs_shape: tuple[int, int, int], num_actions: int) -> PixelActorCritic:
    """Return the run's network with new weights, on the CPU, initialised by torch's default random generator."""
    marked = config.obs_source == "marked"
    return PixelActorCritic(policy_kind(config), obs_shape, num_actions, marked=marked)
