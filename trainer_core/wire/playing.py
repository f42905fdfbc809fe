"""config.json of a player: the game or task, the mode and the speed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from trainer_core.wire.commands import check_path
from trainer_core.wire.errors import BAD_JSON, ConfigError, LabError
from trainer_core.wire.fields import MAX_SEED, check_device, check_value, limits
from trainer_core.wire.regular_files import read_regular

MAX_SPEED = 64.0
PolicyMode = Literal["greedy", "sample", "leave_loops"]
"""Choice of the action. greedy: the likeliest; sample: drawn by the probabilities; leave_loops: the likeliest, but the
next likeliest where a picture recurs in an episode, since greedy play would repeat a loop for ever."""
MODES = ("human", "greedy", "sample", "leave_loops", "edit")


CLICK_FLAG = 1 << 8
"""Bit of a frame's buttons above the joypad mask, set if there was a click; see `with_click`."""


def with_click(mask: int, x: int, y: int) -> int:
    """Return the joypad mask `mask` combined with a click on pixel `x`, `y` (0 to 4095) of the picture."""
    return mask | CLICK_FLAG | x << 9 | y << 21


def click_of(buttons: int) -> tuple[int, int]:
    """Return (x, y) of a click that `with_click` encoded."""
    return buttons >> 9 & 0xFFF, buttons >> 21 & 0xFFF


class PlayerConfig(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Options of a player. Raises ConfigError for options that cannot be played."""

    task: str
    """Task id, task folder, ROM file, or arc/ID."""
    checkpoint: str = ""
    """Checkpoint folder, or a run, meaning its best checkpoint; not needed in mode human."""
    rival: str = ""
    """Second checkpoint of the same runner that plays beside the first, in lockstep; empty = none."""
    mode: Literal["human", "greedy", "sample", "leave_loops", "edit"] = "human"
    """Source of the buttons: the user, or the policy in one of its modes; edit: the buttons of `recording` are
    changed."""
    device: str = "cpu"
    """Device that computes the policy."""
    speed: float = 1.0
    """1.0 is Game Boy speed, 0 as fast as possible."""
    seed: int = 1
    recording: str = ""
    """Folder of the recording of which mode edit changes a copy."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        if (self.mode == "edit") != bool(self.recording):
            raise ConfigError("mode edit needs a recording; no other mode has one")
        if self.mode not in ("human", "edit") and not self.checkpoint:
            raise ConfigError(f"mode {self.mode} needs a checkpoint; mode human needs none")
        if self.rival and self.mode in ("human", "edit"):
            raise ConfigError("a rival needs a policy to play against: mode greedy, for example")
        check_device(self.device)
        check_value("seed", self.seed, limits(0, MAX_SEED))
        for name in ("task", "checkpoint", "rival", "recording"):
            check_path(name, getattr(self, name))
        check_speed(self.speed)

    @property
    def policy_mode(self) -> PolicyMode:
        """Mode in which a policy plays; in mode human, the mode of a policy that is loaded later."""
        return "leave_loops" if self.mode in ("human", "edit") else self.mode


def check_speed(speed: float) -> None:
    """Raise ConfigError unless the player can run at `speed`."""
    if not 0 <= speed <= MAX_SPEED:
        raise ConfigError(f"speed {speed:g}: give 0 (as fast as possible) to {MAX_SPEED:g}")


def write_player_config(folder: Path, config: PlayerConfig) -> None:
    """Make `folder` and write the options into its config.json. Raises ConfigError when it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_bytes(msgspec.json.format(msgspec.json.encode(config)) + b"\n")
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from None
    except UnicodeEncodeError:  # a path that is not UTF-8 cannot be written as JSON
        raise ConfigError(f"{folder}: this path is no UTF-8: rename its folders, or use another --home") from None


def read_player_config(folder: Path) -> PlayerConfig:
    """Return the options in `folder`. Raises ConfigError naming the file and the fault."""
    path = folder / "config.json"
    try:
        return msgspec.json.decode(read_regular(path), type=PlayerConfig)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (LabError, *BAD_JSON) as error:
        raise ConfigError(f"{path}: {error}") from None
