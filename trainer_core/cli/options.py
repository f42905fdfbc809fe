"""Parsing for all commands: options from a dataclass or function, errors as one line."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tyro

from trainer_core.cli.command_table import COMMANDS, described
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.lab.recording import MAX_FRAMES
from trainer_core.runs.wandb_run import PROJECT
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import MAX_SEED, check_device, check_fields, limits

T = TypeVar("T")
Home = Annotated[Path | None, tyro.conf.arg(help="Data folder; default DMGLAB_HOME, or var/ of the checkout.")]
"""Type of the option --home, which almost every command has."""


@dataclass(frozen=True, kw_only=True)
class HomeOptions:
    home: Home = None


@dataclass(frozen=True, kw_only=True)
class FrameOptions:
    """Options of an export of labelled frames."""

    episodes: int = field(default=64, metadata=limits(1, 100_000))
    """Labelled frames: number of episodes of a policy or of random play."""
    frames: int = field(default=0, metadata=limits(0, MAX_FRAMES))
    """Labelled frames: frames of an episode of random play; 0 = to the task's horizon, 1,200 of a ROM."""
    every: int = field(default=0, metadata=limits(0, 1000))
    """Labelled frames: frames from one label to the next; 0 = those of the inputs, else 1."""
    watch: tuple[str, ...] = ()
    """Labelled frames: bytes of memory as NAME=ADDRESS+LENGTH, like xy=D361+2 hp=wPlayerHP+2 save=01:A000+16."""
    symbols: Path | None = None
    """Labelled frames: symbol file with the names in --watch."""
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    """Labelled frames: seed of drawn buttons."""
    device: str = "cpu"
    """Labelled frames: cpu or cuda:0."""


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


@contextlib.contextmanager
def new_folder(out: Path) -> Iterator[None]:
    """Make the folder of --out as `make_out`, and remove it at the end of the context if it was new and is empty."""
    was_there = out.is_dir()
    make_out(out)
    try:
        yield
    finally:
        if not was_there:
            with contextlib.suppress(OSError):  # unless it has files
                out.rmdir()
