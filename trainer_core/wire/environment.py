"""Access to the environment variables of this process, and the environment of child processes.

No other file reads `os.environ`, except programs where they start (tests/architecture lists them). Variables are read
at each call: a player that is started in advance gets some of them only later, with its options.
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
"""Address where the ranks of `dmglab --gpus` meet: a file, or `tcp://HOST:PORT` where `--nodes` spreads them over
several computers."""
MEET_WITHIN, MEET_WITHIN_S = "DMGLAB_RANKS_MEET_WITHIN", 600.0
PROGRESS = "DMGLAB_PROGRESS"
"""Variable that `run_job` sets, so that the started tool reports its progress as lines of JSON on standard error."""
OF_RANKS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
"""Variables that torchrun, or `dmglab --gpus`, sets for each of its processes."""
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
"""Variables that configure one Python interpreter (paths of modules, behaviour) and must not reach another one."""


class RankPlace(NamedTuple):
    """Position of this process among the ranks (processes) of one distributed run; rank 0 of 1 if no variable is
    set."""

    rank: int
    """Rank among all processes."""
    world: int
    local_rank: int | None
    """Rank among those of this computer; None if LOCAL_RANK is not set."""
    local_world: int
    meeting: str
    """Value of MEETING; empty if torchrun's own rendezvous is used."""

    @property
    def is_first(self) -> bool:
        return self.rank == 0


def rank_place() -> RankPlace:
    """Return the position of this process among the ranks of its run."""
    local = os.environ.get("LOCAL_RANK")
    return RankPlace(
        rank=int(os.environ.get("RANK", "0")),
        world=int(os.environ.get("WORLD_SIZE") or 1),
        local_rank=int(local) if local else None,
        local_world=int(os.environ.get("LOCAL_WORLD_SIZE") or 1),
        meeting=os.environ.get(MEETING, ""),
    )


def meet_within_s() -> float:
    """Return how many seconds a run that starts waits for its ranks on other computers."""
    return float(os.environ.get(MEET_WITHIN, MEET_WITHIN_S))


def is_rank() -> bool:
    """Return whether this process was started as one rank of several."""
    return "RANK" in os.environ


def cores_of_rank() -> int:
    """Return the number of CPU cores for this process: those of the computer, shared by the run's ranks on it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (cores or 1) // rank_place().local_world


def visible_gpus() -> list[str] | None:
    """Return the GPUs of CUDA_VISIBLE_DEVICES, each by number or UUID; None if it is not set, which means all."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return None if chosen is None else [word.strip() for word in chosen.split(",")]


def chosen_home() -> str:
    """Return the folder that DMGLAB_HOME names, or ""."""
    return os.environ.get(HOME, "")


def chosen_torch() -> str:
    """Return the build of torch that DMGLAB_TORCH names, or ""."""
    return os.environ.get(TORCH, "")


class Desktop(NamedTuple):
    """Values of the environment variables about screen and sound; "" where one is not set."""

    display: str
    audio_driver: str
    """SDL audio driver that the user chose."""
    pulse_server: str
    runtime_folder: str


def desktop() -> Desktop:
    """Return the variables of this desktop session."""
    return Desktop(
        display=os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY") or "",
        audio_driver=os.environ.get("SDL_AUDIODRIVER", ""),
        pulse_server=os.environ.get("PULSE_SERVER", ""),
        runtime_folder=os.environ.get("XDG_RUNTIME_DIR", ""),
    )


def server_key(name: str) -> str:
    """Return the API key in the environment variable `name`, or ""; it must never be shown, logged or stored."""
    return os.environ.get(name, "")


def variables() -> Iterator[tuple[str, str]]:
    """Return all variables and their values, to search them for secrets."""
    return iter(os.environ.items())


def differs(name: str, value: str) -> bool:
    """Return False if this process has the variable `name` with that value, else True."""
    return os.environ.get(name) != value


def child_environment(python: str = sys.executable, /, *, without: Collection[str] = (), **more: str) -> dict[str, str]:
    """Return the environment for a child process with the interpreter `python`.

    It is this process's environment, less the variables `without`, updated by `more`.

    For another interpreter than this process's the variables OF_ONE_PYTHON are left out: a shell's PYTHONPATH would put
    other versions of torch or numpy before the pinned ones.
    """
    hidden = {*without, *(() if python == sys.executable else OF_ONE_PYTHON)}
    return {name: value for name, value in {**os.environ, **more}.items() if name not in hidden}


def tells_progress() -> bool:
    """Return whether this process must report its progress as JSON (variable PROGRESS)."""
    return bool(os.environ.get(PROGRESS))


def python_path(*first: str | Path) -> str:
    """Return a value of PYTHONPATH: the folders `first`, then those of the present PYTHONPATH; "" if there are none."""
    return os.pathsep.join([*map(str, first), *filter(None, [os.environ.get("PYTHONPATH")])])


def tell_libraries(**variables: str) -> None:
    """Set variables that a library reads from the environment only; call it before the library is loaded."""
    os.environ.update(variables)


def tell_libraries_unless_told(**variables: str) -> None:
    """Set variables as `tell_libraries` does, except those that the user has set."""
    for name, value in variables.items():
        os.environ.setdefault(name, value)


@contextlib.contextmanager
def for_children(**variables: str) -> Iterator[None]:
    """Set variables for the child processes that are started inside the block."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
