"""`dmglab bench train`: environment steps per second of the whole loop, after warm-up."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import ConfigError


@dataclass(frozen=True)
class Options:
    what: Annotated[Literal["train", "env"], tyro.conf.Positional] = "train"
    """train: rollout and learning; env: random buttons only."""
    run: RunConfig = field(default_factory=RunConfig)
    updates: int = 10
    """Updates (or rollouts of num_steps) to measure."""
    warm_up: int = 3
    """Updates before the clock starts."""
    max_mem_delta: int = -1
    """Fail when CUDA allocations grow by more bytes than this after warm-up; -1 = only report."""
    home: Path | None = None
    """Where tasks lie; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "bench", argv)
    if options.updates < 1 or options.warm_up < 0:
        raise ConfigError("updates must be at least 1 and warm_up at least 0")
    import torch

    from trainer_core.algo.learner import Learner
    from trainer_core.algo.policy import PixelActorCritic, policy_kind
    from trainer_core.envs.build import make_env
    from trainer_core.loop import Trainer
    from trainer_core.provenance import device_name
    from trainer_core.startable import check_startable
    from trainer_core.training import default_threads

    config, home = options.run, home_paths(options.home)
    check_startable(config, home)
    torch.set_num_threads(config.threads or default_threads(config))
    device = torch.device(config.device)
    env = make_env(config, home)
    policy = PixelActorCritic(policy_kind(config), env.obs_shape, env.num_actions).to(device)
    trainer = Trainer(env, Learner(policy, config, device), config)
    actions = torch.randint(7, (config.num_steps, config.num_envs), device=device)

    def once() -> None:
        if options.what == "train":
            trainer.run_update()
        else:
            for t in range(config.num_steps):
                env.step(actions[t])

    def settle() -> int:
        if device.type != "cuda":
            return 0
        torch.cuda.synchronize(device)
        return torch.cuda.memory_stats(device)["allocated_bytes.all.peak"]

    for _ in range(options.warm_up):
        once()
    before = settle()
    trainer.stopwatch.take()
    began = time.perf_counter()
    for _ in range(options.updates):
        once()
    grown = settle() - before
    elapsed = time.perf_counter() - began
    steps = options.updates * config.batch_size
    env.close()
    fits = options.max_mem_delta < 0 or grown <= options.max_mem_delta
    return {
        "ok": fits,
        **({} if fits else {"error": f"CUDA allocations grew by {grown} bytes after warm-up"}),
        "what": options.what,
        "device": config.device,
        "device_name": device_name(device),
        "env_steps_per_sec": steps / elapsed,
        "ms_per_step": 1000 * elapsed / (options.updates * config.num_steps),
        "cuda_peak_growth_bytes": grown,
        "time_split": trainer.stopwatch.take(),
        "config": {
            name: value
            for name, value in dataclasses.asdict(config).items()
            if name
            in (
                "task",
                "algo",
                "num_envs",
                "num_steps",
                "stack_k",
                "num_minibatches",
                "update_epochs",
                "policy",
                "amp",
            )
        },
    }
