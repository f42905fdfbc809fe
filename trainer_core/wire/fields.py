"""Metadata of configuration fields, for forms, command lines and the check of their values."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

from trainer_core.wire.errors import ConfigError

MAX_SEED = 2**32 - 1
MAX_SECONDS, MAX_ENV_STEPS = 10**8, 10**15
"""Limits of a run: three years, and more steps than a cluster makes in them."""
MAX_TEXT = 4096
"""Longest path that Linux accepts."""
_DEVICE = re.compile(r"cpu|cuda(:\d{1,3})?")


def limits(minimum: float | None = None, maximum: float | None = None) -> dict[str, Any]:
    """Return the metadata of a numeric field: its least and its greatest value."""
    return {"min": minimum, "max": maximum}


def described(
    label: str,
    group: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    unit: str = "",
    choices: tuple[str, ...] = (),
    is_folder: bool = False,
    is_file: bool = False,
    is_dataset: bool = False,
) -> dict[str, Any]:
    """Return the metadata of a configuration field that the app's form shows.

    `group` is basics, env, learning or logging.

    A text with `is_folder` or `is_file` can also be chosen in a dialog; one with `is_dataset` may name a kept dataset.
    """
    shown = {
        "label": label,
        "group": group,
        "unit": unit,
        "choices": choices,
        "is_folder": is_folder,
        "is_file": is_file,
        "is_dataset": is_dataset,
    }
    return limits(minimum, maximum) | shown


def option(default: Any, label: str, group: str, **more: Any) -> Any:
    """Return a dataclass field with that default and the metadata `described(label, group, **more)`."""
    return dataclasses.field(default=default, metadata=described(label, group, **more))


def check_fields(config: Any) -> None:
    """Raise ConfigError naming the first field of the dataclass `config` outside its range.

    A range is `min`, `max` and `choices` of the field's metadata; no number may be NaN or infinite.
    """
    for spec in dataclasses.fields(config):
        check_field(spec, getattr(config, spec.name))


def check_field(spec: dataclasses.Field[Any], value: Any) -> None:
    """Raise ConfigError if `value` is outside the range in the field's metadata, as `check_value` does."""
    check_value(spec.name, value, spec.metadata)


def check_value(name: str, value: Any, allowed: Any) -> None:
    """Raise ConfigError naming `name` if `value` is outside the range that `allowed` describes, a field's metadata."""
    low, high = allowed.get("min"), allowed.get("max")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{name} must be {_words(low, high) or 'a finite number'}, got {value}")
    if (low is not None and value < low) or (high is not None and value > high):
        raise ConfigError(f"{name} must be {_words(low, high)}, got {_short(value)}")
    if isinstance(value, str) and ("\0" in value or len(value) > MAX_TEXT):
        raise ConfigError(f"{name} must be at most {MAX_TEXT} letters without NUL")
    choices = allowed.get("choices")
    if choices and value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_device(name: str) -> None:
    """Raise ConfigError unless `name` is written like a device (cpu, cuda:N); only torch knows whether it exists."""
    if not _DEVICE.fullmatch(name):
        raise ConfigError(f"device must be cpu or cuda:N, got {name[:40]!r}")


def _words(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return f"at most {high}" if high is not None else ""


def _short(value: Any) -> str:
    """Return `value` as text, cut to at most 40 characters."""
    text = str(value) if not isinstance(value, int) or abs(value) < 10**4000 else "a huge number"
    return text if len(text) <= 40 else f"{text[:37]}..."
