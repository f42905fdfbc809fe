"""Specification of a run for any runner: neutral fields that all runners share, and the runner's own options.

config.json of a run holds it as `{"runner": ..., "run": {...}, "name": ...}`, where `run` has neutral fields and
options side by side; without `runner` it is a run of our own trainer.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from trainer_core.wire.errors import ConfigError, shown
from trainer_core.wire.fields import MAX_ENV_STEPS, MAX_SECONDS, MAX_SEED, check_device, check_fields, limits

T = TypeVar("T")
NATIVE_ID = "native"
"""Id of our own trainer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Request to run a runner's training: task, seed, device, limits (0 = no limit) and the runner's options."""

    runner: str = NATIVE_ID
    task: str
    device: str = "cpu"
    """cpu or cuda:N."""
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    seconds: float = field(default=0.0, metadata=limits(0, MAX_SECONDS))
    """Wall time in seconds after which to stop."""
    total_env_steps: int = field(default=0, metadata=limits(0, MAX_ENV_STEPS))
    """Environment steps after which to stop."""
    target_success: float = field(default=0.0, metadata=limits(0, 1))
    """Success rate of a validation at which to stop."""
    options: dict[str, Any] = field(default_factory=dict)
    """Fields of the runner's own `config_type`, which validates them."""

    def __post_init__(self) -> None:
        check_device(self.device)
        check_fields(self)

    @classmethod
    def from_dict(cls, runner: str, raw: dict[str, Any]) -> RunSpec:
        """Return the spec made from `raw`, the result of `to_dict`. Raises ConfigError for a neutral field of a wrong
        type."""
        neutral = {name: value for name, value in raw.items() if name in NEUTRAL}
        options = {name: value for name, value in raw.items() if name not in NEUTRAL}
        return from_fields(cls, {"runner": runner, **neutral, "options": options})

    @classmethod
    def of(cls, config: Any, runner: str = NATIVE_ID) -> RunSpec:
        """Return the spec with the values of the dataclass `config`, for that runner."""
        return cls.from_dict(runner, dataclasses.asdict(config))

    def to_dict(self) -> dict[str, Any]:
        """Return neutral fields and options in one dict, as in config.json."""
        return {name: getattr(self, name) for name in NEUTRAL} | self.options

    def configure(self, config_type: type[T]) -> T:
        """Return a `config_type` made of the options and of the neutral fields that `config_type` declares.

        Raises ConfigError for unknown fields and impossible values.
        """
        declared = {spec.name for spec in dataclasses.fields(config_type)}  # type: ignore[arg-type]
        neutral = {name: getattr(self, name) for name in NEUTRAL if name in declared}
        return from_fields(config_type, neutral | self.options)

    def with_options(self, config: Any) -> RunSpec:
        """Return this spec with its options replaced by the fields of the dataclass `config`."""
        options = {name: value for name, value in dataclasses.asdict(config).items() if name not in NEUTRAL}
        return dataclasses.replace(self, options=options)

    @property
    def is_remote(self) -> bool:
        """True for a run that trains on another host, and so needs no device of this one."""
        return bool(self.options.get("on"))

    @property
    def sha256(self) -> str:
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()


NEUTRAL = tuple(spec.name for spec in dataclasses.fields(RunSpec) if spec.name not in ("runner", "options"))


MOST_WORDS = 160
"""Characters of an error that quotes its input."""


def from_fields(kind: type[T], raw: dict[str, Any]) -> T:
    """Return the dataclass `kind` made of `raw`, its fields by name.

    Raises ConfigError for unknown names, wrong types and impossible values.
    """
    known = {spec.name for spec in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(raw) - known)
    if unknown:
        raise ConfigError(f"unknown configuration keys: {shown(', '.join(unknown), MOST_WORDS)}")
    try:
        return msgspec.convert(raw, kind)
    except (msgspec.ValidationError, UnicodeError) as error:  # a lone surrogate is not valid text
        raise ConfigError(shown(error, MOST_WORDS)) from None
