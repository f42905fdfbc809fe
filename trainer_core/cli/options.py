"""Parsing for all commands: options from a dataclass or function, errors as one line."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tyro

from trainer_core.cli.command_table import COMMANDS, described
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.runs.wandb_run import PROJECT
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_device, check_fields

T = TypeVar("T")
Home = Annotated[Path | None, tyro.conf.arg(help="Data folder; default DMGLAB_HOME, or var/ of the checkout.")]
"""Type of the option --home, which almost every command has."""


@dataclass(frozen=True, kw_only=True)
class HomeOptions:
    home: Home = None


def named(argv: list[str], option: str, default: str = "") -> str:
    """Return the last value of an option in `argv`, or `default`.

    This serves options that determine the defaults of others.
    """
    found = default
    for position, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name == option:
            found = value if equals else "".join(argv[position + 1 : position + 2])
    return found


def parse(kind: type[T], command: str, argv: list[str], default: Any = None) -> T:
    """Return an instance of the dataclass `kind` from `argv`; --help prints the help and ends the process.

    Raises ConfigError with tyro's message on one line, or naming a field outside the range in its metadata.
    """
    options: dict[str, Any] = {"prog": f"dmglab {command}", "args": list(_valued(argv))}
    if row := COMMANDS.get(command):
        options["description"] = described(row)
    if default is not None:
        options["default"] = default
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            found = tyro.cli(kind, config=(tyro.conf.OmitArgPrefixes,), **options)
    except SystemExit as end:
        if not end.code:
            raise
        raise ConfigError(_one_line(complaint.getvalue())) from None
    check_fields(found)
    if device := getattr(found, "device", ""):
        check_device(device)
    return found


def _valued(argv: list[str]) -> Iterator[str]:
    """Yield the words with the value that `--wandb` alone stands for, which tyro cannot leave out."""
    for word, following in itertools.zip_longest(argv, argv[1:], fillvalue="-"):
        yield f"--wandb={PROJECT}" if word == "--wandb" and following.startswith("-") else word


def _one_line(box: str) -> str:
    """Return tyro's printed message without its frame, title, colours and the option's help text.

    No public function of tyro returns its message: `tyro.extras.get_parser` is deprecated and makes another parser.
    pyproject.toml therefore holds tyro to one minor version, and test_option_ranges.py checks its wording.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    _title, _, body = plain.partition("\n")
    words = " ".join(re.sub(r"[\u2500-\u257f]|-{3,}", " ", body).split())  # hyphens where the locale is not UTF-8
    return re.sub(r"\.?( Argument helptext: .*)? For full helptext, (see|run):?", "; see", words)


def home_paths(home: Path | None) -> HomePaths:
    """Return the paths of a data folder. Raises ConfigError for an invalid path."""
    try:
        found = (home or default_home()).expanduser().resolve()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            found.stat()  # from Python 3.13 on `resolve` leaves a loop of links as it is
        return HomePaths(found)
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, an unknown `~user`, a NUL
        raise ConfigError(f"{home or 'the data folder'}: {error}; name another --home") from None


def make_out(out: Path) -> None:
    """Make the folder of --out and check, before any work, that it can be written.

    Raises ConfigError for a path that is no folder or is not writable.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        reason = "is no folder" if isinstance(error, FileExistsError) else error.strerror
        raise ConfigError(f"{out}: {reason}; name a folder that can be written (--out)") from None
