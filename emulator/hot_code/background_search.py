"""Background process that finds and compiles hot code (search.py), and its results in the user's cache folder.

A file holds for one ROM and one version of the kernels. An unusable file is ignored and made anew. Its pieces
are checked against the ROM, so a wrong one can only cost time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from emulator.hot_code.piece_finder import HotCode, is_piece
from emulator.launch.launch_shapes import kernel_version, table_path
from emulator.rom.cartridge import Cartridge

FORMAT = 1
NICE = 10
"""Nice value of the search process: all other work has priority."""
OWNER_S = 1.0
"""Seconds between two checks that the process that started the search still runs."""


def pieces_path(cartridge: Cartridge, on_gpu: bool) -> Path:
    """Return the path of the file with a ROM's pieces, whether it exists or not."""
    kind = "" if on_gpu else ".cpu"
    return table_path().parent / "hot_code" / f"{cartridge.sha256[:24]}{kind}.json"


def store_hot_code(cartridge: Cartridge, hot: HotCode, on_gpu: bool) -> Path:
    """Write a ROM's hot code to its file in the user's cache, replacing an older one; return the path."""
    path = pieces_path(cartridge, on_gpu)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"format": FORMAT, "rom": cartridge.sha256, "kernels": kernel_version()}
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".partial")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({**content, **hot._asdict()}, file)
        os.replace(name, path)
    except OSError:  # a full disk
        os.unlink(name)
        raise
    return path


def load_hot_code(cartridge: Cartridge, words: np.ndarray, plain: np.ndarray, on_gpu: bool) -> HotCode | None:
    """Read a ROM's hot code from the user's cache; None if there is no usable file.

    `words`, `plain`: as for `piece_finder.pieces`.
    """
    try:
        raw = json.loads(pieces_path(cartridge, on_gpu).read_text(encoding="utf-8"))
        if (raw["format"], raw["rom"], raw["kernels"]) != (FORMAT, cartridge.sha256, kernel_version()):
            return None
        pieces = [tuple(places) for places in raw["pieces"]]
        asks = float(raw["asks"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    if not all(is_piece(places, words, plain) for places in pieces):
        return None
    return HotCode(pieces, asks) if len({at for at, *_ in pieces}) == len(pieces) else None


def search_arguments(roms: Sequence[Path], device: str, running: int, many: bool = False) -> list[str]:
    """Return the arguments of `python -m emulator` that start a search for hot code.

    `many`: the batch has more than MANY_ALONE consoles.
    """
    files = [part for rom in roms for part in ("--rom", str(rom))]
    return ["hot-code", "--device", device, "--running", str(running), *["--many"] * many, *files]


def child_environment(**more: str) -> dict[str, str]:
    """Return the environment, with `more` added, of a child process that imports this package from any folder."""
    package = str(Path(__file__).parents[2])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


class Search:
    """Background process that finds and compiles the pieces of some ROMs for a device.

    Raises OSError if no process can be started, or the disk has no room for the ROMs. The process ends when this object
    is released, and within OWNER_S after its parent process has ended.
    """

    def __init__(self, cartridges: Sequence[Cartridge], device: str, running: int, many: bool) -> None:
        with contextlib.ExitStack() as stack:
            # Files without a name: a process that is killed leaves no copy of a ROM behind.
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in cartridges]
            for file, cartridge in zip(files, cartridges, strict=True):
                file.write(cartridge.rom.tobytes())
                file.seek(0)
            roms = [Path(f"/dev/fd/{file.fileno()}") for file in files]
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "emulator",
                    *search_arguments(roms, device, running, many),
                    "--owner",
                    str(os.getpid()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=child_environment(),
                pass_fds=[file.fileno() for file in files],
            )
        os.setpriority(os.PRIO_PROCESS, self._process.pid, NICE)
        self._end = weakref.finalize(self, _end, self._process)

    def ended(self) -> bool:
        """Return whether the process has ended, successfully or not."""
        return self._process.poll() is not None

    def went_well(self) -> bool:
        """Return whether the process has ended successfully, with its results in the caches."""
        return self._process.poll() == 0


_searches: weakref.WeakValueDictionary[tuple[object, ...], Search] = weakref.WeakValueDictionary()
_starting = threading.Lock()


def shared_search(cartridges: Sequence[Cartridge], device: str, running: int, many: bool) -> Search:
    """Return the search with these arguments that this process already holds, running or ended; else start one.

    The parts of a batch run the same ROMs, each in its own thread, and all call this.
    """
    key = (*(cartridge.sha256 for cartridge in cartridges), device, running, many)
    with _starting:
        search = _searches.get(key)
        if search is None:
            search = _searches[key] = Search(cartridges, device, running, many)
        return search


@contextlib.contextmanager
def one_at_a_time(cartridges: Sequence[Cartridge]) -> Iterator[None]:
    """Hold a lock on these ROMs, so that only one process searches them at a time.

    The trials of a sweep start together; the second one then finds the first one's results in the caches.
    """
    names = "".join(cartridge.sha256 for cartridge in cartridges)
    name = hashlib.sha256(names.encode()).hexdigest()[:24]
    path = pieces_path(cartridges[0], False).with_name(f"{name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "w", encoding="utf-8")  # noqa: SIM115
    except OSError:  # a read-only folder may be used, but nothing is written to it
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def end_with(owner: int) -> None:
    """Start a thread that ends this process once its parent is no longer the process `owner`."""

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(OWNER_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
