"""A library of a few lines behind our worker: `python -m trainer_core.worker RUN_DIR THIS`.

Its model is one layer; each update takes `gradient_steps` steps of Adam. It fails at `fails_at`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trainer_core.envs.toy import TinyGoalEnv
from trainer_core.host.progress import RunProgress
from trainer_core.host.run import Host
from trainer_core.runners.guest.config import GuestConfig
from trainer_core.runners.guest.trainee import GuestTrainee, write_thumbnail
from trainer_core.wire.fields import described

FILE = "layer.pt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyConfig(GuestConfig):
    algo: str = "toy"
    gradient_steps: int = field(default=2, metadata=described("Steps", "learning", minimum=1))
    fails_at: int = field(default=0, metadata=described("Fails at", "learning", minimum=0))


class ToyTrainee(GuestTrainee):
    policy, file, num_envs, obs_shape, num_actions = "layer", FILE, 4, (1, 72, 80), 7

    def __init__(self, host: Host, config: ToyConfig) -> None:
        super().__init__(host, config)
        torch.manual_seed(config.seed)
        self.env = TinyGoalEnv(self.num_envs, stack_k=1, seed=config.seed)
        self.layer = torch.nn.Linear(1, 7)
        self.steps = 0

    def restore(self, folder: Path) -> RunProgress:
        kept = torch.load(folder / FILE, weights_only=True)
        self.layer.load_state_dict(kept["layer"])
        self.steps = kept["steps"]
        return RunProgress.from_state(kept["progress"])

    def logits(self, shades: Tensor) -> Tensor:
        return self.layer(shades.float().flatten(1).mean(1, keepdim=True))

    def train(self) -> None:
        host, optimizer = self.host, torch.optim.Adam(self.layer.parameters())
        host.watch(self.env)
        host.listen_between_gradient_steps()
        while True:
            host.boundary(self.steps)
            for _ in range(8):
                self.env.step(self.logits(self.env.obs).argmax(-1))
                self.steps += self.num_envs
                host.tick(self.steps)
            loss = torch.zeros(())
            for _ in range(self.config.gradient_steps):
                loss = self.logits(self.env.obs).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if self.config.fails_at and self.steps >= self.config.fails_at:
                raise ValueError("what a library\nsays when it fails")
            host.record(self.steps, {"loss": loss.item()})

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        kept = {"layer": self.layer.state_dict(), "steps": self.steps, "progress": progress}
        torch.save(kept, folder / FILE)
        write_thumbnail(folder, self.env)


def make_trainee(host: Host) -> ToyTrainee:
    host.find_task()
    return ToyTrainee(host, host.spec.configure(ToyConfig))
