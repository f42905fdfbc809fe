"""Table of our trainer's learning algorithms, one row each; reading it needs no torch.

The rows give the choices of the command line and the form, the rules of the configuration, and the name of the
implementation, which `trainer_core.learn.registry` imports when a run begins. docs/reference/extending.md describes how
to add one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from trainer_core.wire.errors import ConfigError


class Sizes(Protocol):
    """Part of a RunConfig that an algorithm's `check` may read: sizes of rollout and minibatches."""

    @property
    def batch_size(self) -> int: ...
    @property
    def num_minibatches(self) -> int: ...


def _anything(config: Sizes) -> None:
    """Accept any configuration: the `check` of an algorithm without further rules."""


def _whole_minibatches(config: Sizes) -> None:
    """Raise ConfigError unless `num_minibatches` divides the samples of a rollout.

    Each minibatch's loss is a mean of equal weight, so all minibatches must have one size.
    """
    if config.batch_size % config.num_minibatches:
        raise ConfigError(
            f"num_minibatches must divide num_envs * num_steps = {config.batch_size}, got {config.num_minibatches}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """Row of the table: an algorithm's texts, its configuration rules and the module that implements it."""

    name: str
    title: str
    summary: str
    implementation: str
    """`module:NAME` of the algorithm's `trainer_core.learn.registry.Implementation`."""
    fields: tuple[str, ...] = ()
    """Fields of RunConfig that this algorithm reads and others may ignore."""
    longest_rollout: int = 0
    """Longest rollout in steps with which it is known to learn on a Game Boy; 0 = any."""
    caution: str = ""
    """The reason, in one sentence; shown before a run with longer rollouts starts."""
    check: Callable[[Sizes], None] = _anything
    """Rule that raises ConfigError, its message beginning with a field's name, for a configuration that cannot run."""


ALGORITHMS: dict[str, Algorithm] = {
    row.name: row
    for row in (
        Algorithm(
            name="ppo",
            title="PPO",
            summary="clipped policy updates, several epochs over each rollout",
            implementation="trainer_core.learn.ppo:PPO",
            fields=(
                "num_minibatches",
                "update_epochs",
                "gae_lambda",
                "clip_range",
                "clip_range_vf",
                "ent_coef",
                "vf_coef",
                "target_kl",
                "normalize_advantage",
            ),
            check=_whole_minibatches,
        ),
        Algorithm(
            name="a2c",
            title="Streaming A2C",
            summary="one optimizer step per rollout, in slices that bound its memory",
            implementation="trainer_core.learn.a2c:A2C",
            fields=("num_minibatches", "gae_lambda", "ent_coef", "vf_coef", "normalize_advantage"),
            longest_rollout=8,
            caution="A2C makes one optimizer step per rollout: in rollouts of 32 steps it does not learn "
            "Pocket Quest's first stage, in rollouts of 5 it does (docs/notebook/learning.md)",
        ),
    )
}


def ignored_fields(name: str) -> frozenset[str]:
    """Return the fields of RunConfig that other algorithms read and this one does not."""
    everybodys = {field for row in ALGORITHMS.values() for field in row.fields}
    return frozenset(everybodys.difference(find_algorithm(name).fields))


def find_algorithm(name: str) -> Algorithm:
    """Return the algorithm `name`. Raises ConfigError naming the known ones."""
    row = ALGORITHMS.get(name)
    if row is None:
        raise ConfigError(f"algo must be one of {', '.join(ALGORITHMS)}, got {name!r}")
    return row
