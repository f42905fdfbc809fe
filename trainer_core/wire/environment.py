"""What the environment of this process says, by what it means; and that of the processes it starts.

No other file reads `os.environ` but programs, where they begin (tests/architecture says which).
Values are looked up when they are asked for: a process that was started ahead of its order gets
part of its environment with it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

HOME, TORCH = "DMGLAB_HOME", "DMGLAB_TORCH"
MEETING = "DMGLAB_RANKS_MEETING"
"""Where the ranks of `dmglab --gpus` find each other: a file, or `tcp://HOST:PORT` where `--nodes`
spreads them over several computers."""
MEET_WITHIN, MEET_WITHIN_S = "DMGLAB_RANKS_MEET_WITHIN", 600.0
PROGRESS = "DMGLAB_PROGRESS"
"""Set by `run_job`: the tool tells its progress as lines of JSON on standard error."""
OF_RANKS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
"""What torchrun, or `dmglab --gpus`, tells each of its processes."""
OF_ONE_PYTHON = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONPLATLIBDIR",
    "PYTHONEXECUTABLE",
    "PYTHONINSPECT",
    "PYTHONOPTIMIZE",
    "PYTHONWARNINGS",
    "PYTHONBREAKPOINT",
    "__PYVENV_LAUNCHER__",
)
"""What a shell sets for one Python: modules of other versions, or other behaviour."""


class RankPlace(NamedTuple):
    """Which of several processes of one run this is; alone where nobody said."""

    rank: int
    """Among all."""
    world: int
    local_rank: int | None
    """Among those of this computer, None where nobody said."""
    local_world: int
    meeting: str
    """As MEETING; empty where torchrun's own way is meant."""

    @property
    def is_first(self) -> bool:
        return self.rank == 0


def rank_place() -> RankPlace:
    """Return the place of this process among the ranks of its run."""
    local = os.environ.get("LOCAL_RANK")
    return RankPlace(
        rank=int(os.environ.get("RANK", "0")),
        world=int(os.environ.get("WORLD_SIZE") or 1),
        local_rank=int(local) if local else None,
        local_world=int(os.environ.get("LOCAL_WORLD_SIZE") or 1),
        meeting=os.environ.get(MEETING, ""),
    )


def meet_within_s() -> float:
    """Return how long ranks of other computers are waited for."""
    return float(os.environ.get(MEET_WITHIN, MEET_WITHIN_S))


def is_rank() -> bool:
    """Return whether somebody started this process as one of several."""
    return "RANK" in os.environ


def cores_of_rank() -> int:
    """Return how many cores each process of a run has on this computer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (cores or 1) // rank_place().local_world


def chosen_home() -> str:
    """Return the folder that DMGLAB_HOME names, or ""."""
    return os.environ.get(HOME, "")


def chosen_torch() -> str:
    """Return the build of torch that DMGLAB_TORCH names, or ""."""
    return os.environ.get(TORCH, "")


class Desktop(NamedTuple):
    """What a session tells its programs about screen and sound; "" where it says nothing."""

    display: str
    audio_driver: str
    """The one that the user chose for SDL."""
    pulse_server: str
    runtime_folder: str


def desktop() -> Desktop:
    """Return what this session says."""
    return Desktop(
        display=os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY") or "",
        audio_driver=os.environ.get("SDL_AUDIODRIVER", ""),
        pulse_server=os.environ.get("PULSE_SERVER", ""),
        runtime_folder=os.environ.get("XDG_RUNTIME_DIR", ""),
    )


def server_key(name: str) -> str:
    """Return the user's key for a server, or ""; never told, logged or stored."""
    return os.environ.get(name, "")


def variables() -> Iterator[tuple[str, str]]:
    """Return every variable and its value, to find secrets among them."""
    return iter(os.environ.items())


def differs(name: str, value: str) -> bool:
    """Return whether this process has another value for `name`, or none."""
    return os.environ.get(name) != value


def child_environment(python: str = sys.executable, /, *, without: Collection[str] = (), **more: str) -> dict[str, str]:
    """Return the environment of a program whose interpreter is `python`: ours, and `more`.

    Another one than ours gets nothing of OF_ONE_PYTHON: a shell's PYTHONPATH would put other
    versions of torch or numpy before those that a library is pinned to.
    """
    hidden = {*without, *(() if python == sys.executable else OF_ONE_PYTHON)}
    return {name: value for name, value in {**os.environ, **more}.items() if name not in hidden}


def tells_progress() -> bool:
    """Return True if this process was asked to tell its progress as JSON."""
    return bool(os.environ.get(PROGRESS))


def python_path(*first: str | Path) -> str:
    """Return a PYTHONPATH with these folders before those of ours; "" for none at all."""
    return os.pathsep.join([*map(str, first), *filter(None, [os.environ.get("PYTHONPATH")])])


def tell_libraries(**variables: str) -> None:
    """Set what a library takes from the environment alone; call it before that is loaded."""
    os.environ.update(variables)


def tell_libraries_unless_told(**variables: str) -> None:
    """As `tell_libraries`; what the user has set stays."""
    for name, value in variables.items():
        os.environ.setdefault(name, value)


@contextlib.contextmanager
def for_children(**variables: str) -> Iterator[None]:
    """Let the processes that are started meanwhile inherit these, too."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
