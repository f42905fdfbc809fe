"""The scripts' own names for what every run is asked: they differ from script to script."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from trainer_core.wire.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Flags:
    """A script's options, without their dashes, and how it counts."""

    environment: str = "env"
    seed: str = "seed"
    steps: str = "max_timesteps"
    eval_every: str = "eval_freq"
    episodes: str = "n_episodes"
    load: str = "load_model"
    """Empty where the script loads nothing."""
    trainer: str = "trainer"
    """Local name of what has a `state_dict`, in the script's `train`."""
    first_step: int = 0
    """What its log calls the first gradient step."""
    always: tuple[str, ...] = ()


NEVER = 10**9
SCRIPTS = {
    "iql": Flags(first_step=1),
    "td3_bc": Flags(first_step=1),
    "any_percent_bc": Flags(first_step=1),
    "cql": Flags(first_step=1),
    "awac": Flags(
        environment="env_name",
        steps="num_train_ops",
        eval_every="eval_frequency",
        episodes="n_test_episodes",
        load="",
        trainer="awac",
    ),
    "dt": Flags(
        environment="env_name",
        seed="train_seed",
        steps="update_steps",
        eval_every="eval_every",
        episodes="eval_episodes",
        load="",
        trainer="model",
        # Its workers would be processes of their own, each with the dataset.
        always=("--num_workers", "0"),
    ),
}


def arguments(
    algo: str,
    *,
    environment: str,
    device: str,
    seed: int,
    steps: int,
    eval_every: int,
    episodes: int,
    load: str,
    target_return: float,
    more: str,
) -> Sequence[str]:
    """The script's command line; what the user writes comes last. Raises ConfigError."""
    flags = SCRIPTS[algo]
    named: dict[str, object] = {
        flags.environment: environment,
        "device": device,
        flags.seed: seed,
        flags.eval_every: eval_every or NEVER,
        flags.episodes: episodes,
    }
    if steps:
        named[flags.steps] = steps
    if load:
        named[flags.load] = load
    if algo == "dt":
        named["target_returns"] = f"[{target_return}]"
    argv = [text for name, value in named.items() for text in (f"--{name}", str(value))]
    try:
        return [*argv, *flags.always, *shlex.split(more)]
    except ValueError as error:
        raise ConfigError(f"arguments {more!r}: {error}") from None
