"""Names that each CORL script gives to the common options."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from trainer_core.wire.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Flags:
    """Option names of one script, without dashes, and the number of its first step."""

    environment: str = "env"
    seed: str = "seed"
    steps: str = "max_timesteps"
    eval_every: str = "eval_freq"
    episodes: str = "n_episodes"
    load: str = "load_model"
    """Option for the weights file to load; empty if the script cannot load weights."""
    trainer: str = "trainer"
    """Local name, in the script's `train`, of the object with a `state_dict`."""
    first_step: int = 0
    """Number of the first gradient step in its log."""
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
        # Its data workers would be processes, each with the whole dataset.
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
    """Return the command-line arguments of a script, the user's own last. Raises ConfigError."""
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
