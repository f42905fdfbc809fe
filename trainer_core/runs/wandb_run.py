"""The user's agreement that one run is sent to Weights & Biases (W&B), and what became of it: `wandb.json` of a run.

Without this file in the run's folder nothing of the run is sent. It holds no key. It is not archived: whoever restores
the run has not agreed.
"""

from __future__ import annotations

import msgspec

from trainer_core.lab.paths import RunPaths
from trainer_core.runs.log_writer import disk_error, write_json
from trainer_core.wire.errors import BAD_JSON, ConfigError, shown
from trainer_core.wire.regular_files import read_regular
from trainer_core.wire.run_names import run_name

FILE, PROJECT = "wandb.json", "dmglab"
FORBIDDEN, LONGEST = "/\\#?%:", 128
"""Characters that W&B refuses in a project's name, and how many it may have."""
NOWHERE = "http://127.0.0.1:9"
"""Address at which nothing listens, for calls that ask for the online mode whatever the environment says."""


class WandbRun(msgspec.Struct, kw_only=True, frozen=True):
    project: str
    name: str
    url: str = ""
    state: str = "waiting"
    """waiting (for the server), connected, sent, failed"""
    reason: str = ""
    """One line on why it waits or failed."""
    rows: int = 0
    """Log records that the server had at the last start, and those handed to W&B's client since."""
    files: dict[str, bool] = {}
    """Clips and tables by name: True once W&B has them."""

    @property
    def words(self) -> str:
        """State in one line, such as "connected, 120 records, 2 of 3 clips and tables uploaded"."""
        files = f", {self.uploaded} of {len(self.files)} clips and tables uploaded" if self.files else ""
        return f"{self.state}, {self.rows:,} records{files}" + (f": {self.reason}" if self.reason else "")

    @property
    def uploaded(self) -> int:
        """Number of clips and tables that W&B has."""
        return sum(self.files.values())


def wandb_target(text: str, name: str) -> tuple[str, str]:
    """Return project and run name of `PROJECT`, `PROJECT/NAME` or "", where `name` is the run's own name.

    Raises ConfigError for what W&B refuses.
    """
    project, _, chosen = (part.strip() for part in text.partition("/"))
    project, chosen = project or PROJECT, chosen or name
    if set(project) & set(FORBIDDEN) or project in (".", "..") or not text.isprintable():
        raise ConfigError(f"{shown(repr(project))} is no W&B project: its name has none of {' '.join(FORBIDDEN)}")
    if len(project) > LONGEST or len(chosen) > LONGEST:
        raise ConfigError(f"W&B allows {LONGEST} characters in the name of a project or run: {shown(text)} has more")
    return project, chosen


def agree(paths: RunPaths, text: str, name: str = "") -> None:
    """Note that the user agreed to send this run to the project and under the name in `text`; "" changes nothing.

    Raises ConfigError, DiskError.
    """
    if not text:
        return
    project, name = wandb_target(text, name or run_name(paths.run_id))
    try:
        paths.root.mkdir(parents=True, exist_ok=True)
        write_json(paths.root / FILE, msgspec.to_builtins(WandbRun(project=project, name=name)))
    except OSError as error:
        raise disk_error(paths.root, error) from None


def read_wandb(paths: RunPaths) -> WandbRun | None:
    """Return what `agree` wrote and the sending process added; None without agreement or for a file of another kind."""
    try:
        return msgspec.json.decode(read_regular(paths.root / FILE), type=WandbRun)
    except (OSError, *BAD_JSON):
        return None


def guest_variables(paths: RunPaths) -> dict[str, str]:
    """Return the variables by which a library's own W&B calls go to the user's project if he agreed, else nowhere."""
    agreed = read_wandb(paths)
    if agreed is None:
        return {"WANDB_MODE": "disabled", "WANDB_BASE_URL": NOWHERE, "WANDB_API_KEY": ""}
    return {"WANDB_PROJECT": agreed.project, "WANDB_RUN_GROUP": agreed.name}
