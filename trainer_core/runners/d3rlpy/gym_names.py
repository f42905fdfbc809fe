"""Replacement for the module `gym` that d3rlpy imports, from gymnasium: gym is abandoned and has no wheel.

d3rlpy needs the names for annotations, its own data sets and its wrappers of old environments, none of which are used
here. Import this module before d3rlpy.
"""

from __future__ import annotations

import sys
import types
from typing import Generic, TypeVar

import gymnasium
from gymnasium import spaces, wrappers

Obs = TypeVar("Obs")
Act = TypeVar("Act")


OLD_VERSION = "0.26.2"
"""Last version of gym; d3rlpy requires at least 0.26."""


class OldWrapper(Generic[Obs, Act]):
    """gym's wrapper class, with two type parameters where gymnasium's has four."""


def _module(as_name: str, **names: object) -> types.ModuleType:
    module = types.ModuleType(as_name)
    module.__dict__.update({n: v for n, v in names.items() if not n.startswith("__")})
    return module


def install() -> None:
    """Put the replacement for `gym` into sys.modules, if gym is not installed."""
    if "gym" in sys.modules:
        return
    old_wrappers = _module("gym.wrappers", **vars(wrappers))
    fakes = {
        "gym": _module("gym", **vars(gymnasium) | {"Wrapper": OldWrapper}),
        "gym.version": _module("gym.version", VERSION=OLD_VERSION),
        "gym.spaces": spaces,
        "gym.wrappers": old_wrappers,
        "gym.wrappers.transform_reward": _module("t", TransformReward=wrappers.TransformReward),
        "gym.wrappers.time_limit": _module("t", TimeLimit=wrappers.TimeLimit),
    }
    sys.modules.update(fakes)


install()
