"""config.json of a run: its runner, options, name and tags."""

from __future__ import annotations

from typing import Any

import msgspec

from trainer_core.lab.paths import RunPaths
from trainer_core.runs.log_writer import write_json
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import BAD_JSON, ConfigError, LabError
from trainer_core.wire.regular_files import read_regular
from trainer_core.wire.spec import NATIVE_ID, RunSpec


def write_config(paths: RunPaths, spec: RunSpec, name: str = "", tags: dict[str, str] | None = None) -> None:
    """Write config.json. Raises OSError."""
    said = {"runner": spec.runner, "run": spec.to_dict(), "name": name}
    write_json(paths.config, {**said, "tags": tags} if tags else said)


def read_config(paths: RunPaths) -> dict[str, Any]:
    """Return the object in config.json. Raises LabError naming the file."""
    try:
        raw = msgspec.json.decode(read_regular(paths.config))
    except OSError as error:
        raise LabError(f"{paths.config}: {error.strerror}") from None
    except BAD_JSON as error:
        raise LabError(f"{paths.config}: {error}") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("run"), dict):
        raise LabError(f"{paths.config}: has no object `run`")
    return raw


def read_spec(paths: RunPaths) -> RunSpec:
    """Return the run's specification. Raises LabError naming the file and the field."""
    raw = read_config(paths)
    try:
        return RunSpec.from_dict(str(raw.get("runner", NATIVE_ID)), raw["run"])
    except ConfigError as error:
        raise _with_file(paths, error) from None


def tags_of(raw: dict[str, Any]) -> dict[str, str]:
    """Return the tags in `raw`, the result of `read_config`; none if they are no object of texts."""
    found = raw.get("tags")
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def read_run_config(paths: RunPaths) -> RunConfig:
    """Return the configuration of a run of our own trainer. Raises LabError naming the file and the field."""
    spec = read_spec(paths)
    if spec.runner != NATIVE_ID:
        raise ConfigError(
            f"{paths.config}: a run of {spec.runner!r}, which our own trainer cannot do; "
            f"`dmglab resume {paths.run_id}` or the app goes on with it"
        )
    try:
        return spec.configure(RunConfig)
    except ConfigError as error:
        raise _with_file(paths, error) from None


def _with_file(paths: RunPaths, error: ConfigError) -> ConfigError:
    return ConfigError(f"{paths.config}: {error}; restore the file or train anew")
