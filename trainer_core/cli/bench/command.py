"""`dmglab bench KIND ...`: which file measures what. Without a kind, train."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trainer_core.cli.bench import curve, cycles, env_bench, load, peers, train_bench
from trainer_core.wire.errors import ConfigError

KINDS: dict[str, Callable[[list[str]], dict[str, Any]]] = {
    "train": train_bench.run,
    "env": env_bench.run,
    "load": load.run,
    "curve": curve.run,
    "cycles": cycles.run,
    "peers": peers.run,
}
"""Each reads options of its own and returns one record."""


def run(argv: list[str]) -> dict[str, Any]:
    """Raises ConfigError naming the kinds when the first word is none of them."""
    if not argv or argv[0].startswith("-"):
        return KINDS["train"](argv)
    if argv[0] not in KINDS:
        raise ConfigError(f"no bench {argv[0]!r}; there is {', '.join(KINDS)}")
    return KINDS[argv[0]](argv[1:])
