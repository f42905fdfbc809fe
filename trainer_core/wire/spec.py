"""What any runner is asked to do: neutral fields that every runner knows, options that are its own.

config.json of a run carries it as `{"runner": ..., "run": {...}, "name": ...}`, where `run` holds
neutral fields and options side by side; without `runner` it is a run of ours.
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
"""The runner that this project is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """One run as an order to a runner; a limit of 0 is none."""

    runner: str = NATIVE_ID
    task: str
    device: str = "cpu"
    """cpu or cuda:N."""
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    seconds: float = field(default=0.0, metadata=limits(0, MAX_SECONDS))
    """Stop after so many seconds of wall time."""
    total_env_steps: int = field(default=0, metadata=limits(0, MAX_ENV_STEPS))
    """Stop after so many environment steps."""
    target_success: float = field(default=0.0, metadata=limits(0, 1))
    """Stop once validation reaches this."""
    options: dict[str, Any] = field(default_factory=dict)
    """Fields of the runner's own `config_type`, checked by it."""

    def __post_init__(self) -> None:
        check_device(self.device)
        check_fields(self)

    @classmethod
    def from_dict(cls, runner: str, raw: dict[str, Any]) -> RunSpec:
        """The inverse of `to_dict`. Raises ConfigError for a neutral field of a wrong type."""
        neutral = {name: value for name, value in raw.items() if name in NEUTRAL}
        options = {name: value for name, value in raw.items() if name not in NEUTRAL}
        return from_fields(cls, {"runner": runner, **neutral, "options": options})

    @classmethod
    def of(cls, config: Any, runner: str = NATIVE_ID) -> RunSpec:
        """The order that a configuration object with a task stands for."""
        return cls.from_dict(runner, dataclasses.asdict(config))

    def to_dict(self) -> dict[str, Any]:
        """Neutral fields and options side by side."""
        return {name: getattr(self, name) for name in NEUTRAL} | self.options

    def configure(self, config_type: type[T]) -> T:
        """The options, with those neutral fields that `config_type` declares, as its instance.

        Raises ConfigError for what it does not know or cannot be.
        """
        declared = {spec.name for spec in dataclasses.fields(config_type)}  # type: ignore[arg-type]
        neutral = {name: getattr(self, name) for name in NEUTRAL if name in declared}
        return from_fields(config_type, neutral | self.options)

    def with_options(self, config: Any) -> RunSpec:
        """The same order with all options of that configuration object."""
        options = {name: value for name, value in dataclasses.asdict(config).items() if name not in NEUTRAL}
        return dataclasses.replace(self, options=options)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()


NEUTRAL = tuple(spec.name for spec in dataclasses.fields(RunSpec) if spec.name not in ("runner", "options"))


MOST_WORDS = 160
"""Letters of an error that quotes what it was given."""


def from_fields(kind: type[T], raw: dict[str, Any]) -> T:
    """A dataclass from its fields by name.

    Raises ConfigError for unknown names, wrong types and impossible values.
    """
    known = {spec.name for spec in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(raw) - known)
    if unknown:
        raise ConfigError(f"unknown configuration keys: {shown(', '.join(unknown), MOST_WORDS)}")
    try:
        return msgspec.convert(raw, kind)
    except (msgspec.ValidationError, UnicodeError) as error:  # a lone surrogate is no text
        raise ConfigError(shown(error, MOST_WORDS)) from None
