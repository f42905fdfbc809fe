"""Background process that finds and compiles hot code (search.py), and its results in the user's cache folder.

A file holds for one ROM. An unusable file is ignored and made anew. Its pieces are checked against the ROM and against
what the present kernels can execute, so a wrong one can only cost time.
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

from emulator.hot_code.cpp_superblocks import native_plain
from emulator.hot_code.piece_finder import Pieces, is_piece
from emulator.kernels.sm83.ptx_threaded_code import own_numbers
from emulator.launch.compile_beside import NICE
from emulator.rom.cartridge import Cartridge
from emulator.rom.idle_loops import marked_words
from emulator.rom.regular_file import replacing

try:
    from platformdirs import user_cache_path
except ImportError:  # an emulator on its own
    user_cache_path = None

FORMAT = 2
"""Version number of the file, which changes with the rule by which pieces are found."""
OWNER_S = 1.0
"""Seconds between two checks that the process that started the search still runs."""


def cache_path() -> Path:
    """Return the folder of all pieces, whether it exists or not."""
    if user_cache_path is None:
        return Path(os.path.expanduser("~/.cache/dmglab/hot_code"))  # raises nothing
    return user_cache_path("dmglab", appauthor=False) / "hot_code"


def pieces_path(cartridge: Cartridge, on_gpu: bool) -> Path:
    """Return the path of the file with a ROM's pieces, whether it exists or not."""
    kind = "" if on_gpu else ".cpu"
    return cache_path() / f"{cartridge.sha256[:24]}{kind}.json"


def store_pieces(cartridge: Cartridge, pieces: Pieces, on_gpu: bool) -> Path:
    """Write a ROM's pieces to their file in the user's cache, replacing an older one; return the path."""
    path = pieces_path(cartridge, on_gpu)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps({"format": FORMAT, "rom": cartridge.sha256, "pieces": pieces}).encode())
    return path


def load_pieces(cartridge: Cartridge, on_gpu: bool) -> list[tuple[int, ...]] | None:
    """Read a ROM's pieces from the user's cache, most often executed first; None if there is no usable file."""
    try:
        raw = json.loads(pieces_path(cartridge, on_gpu).read_text(encoding="utf-8"))
        if (raw["format"], raw["rom"]) != (FORMAT, cartridge.sha256):
            return None
        pieces = [tuple(places) for places in raw["pieces"]]
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    words = marked_words(cartridge.rom, ends=True)
    plain = plain_instructions(words, on_gpu)
    if not all(is_piece(places, words, plain) for places in pieces):
        return None
    return pieces if len({at for at, *_ in pieces}) == len(pieces) else None


def plain_instructions(words: np.ndarray, on_gpu: bool) -> np.ndarray:
    """Return for each ROM byte whether its instruction may be in a superblock, bool.

    `words`: as `marked_words(rom, ends=True)` returns them.
    """
    return own_numbers(words) != 0 if on_gpu else native_plain(words)


def search_arguments(roms: Sequence[Path], device: str) -> list[str]:
    """Return the arguments of `python -m emulator` that start a search for hot code."""
    return ["hot-code", "--device", device, *(part for rom in roms for part in ("--rom", str(rom)))]


def child_environment(**more: str) -> dict[str, str]:
    """Return the environment, with `more` added, of a child process that imports this package from any folder."""
    package = str(Path(__file__).parents[2])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


class Search:
    """Background process that finds and compiles the pieces of some ROMs for a device, in stages.

    Raises OSError if no process can be started, or the disk has no room for the ROMs. The process ends when this object
    is released, and within OWNER_S after its parent process has ended.
    """

    def __init__(self, cartridges: Sequence[Cartridge], device: str) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        with contextlib.ExitStack() as stack:
            # Files without a name: a process that is killed leaves no copy of a ROM behind.
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in cartridges]
            for file, cartridge in zip(files, cartridges, strict=True):
                file.write(cartridge.rom.tobytes())
                file.seek(0)
            roms = [Path(f"/dev/fd/{file.fileno()}") for file in files]
            command = [sys.executable, "-m", "emulator", *search_arguments(roms, device), "--owner", str(os.getpid())]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=subprocess.STDOUT,
                env=child_environment(),
                pass_fds=[file.fileno() for file in files],
            )
        os.setpriority(os.PRIO_PROCESS, self._process.pid, NICE)
        self._end = weakref.finalize(self, _end, self._process)

    def ended(self) -> bool:
        """Return whether the process has ended, successfully or not."""
        return self._process.poll() is not None

    def stages(self) -> list[list[int]]:
        """Return for each stage whose code is in Warp's cache the number of pieces of each ROM."""
        lines = [line for line in self._lines() if line.startswith('{"pieces"')]
        return [json.loads(line)["pieces"] for line in lines]

    def failure(self) -> str:
        """Return why the process has failed, in its own last words; empty if it has not."""
        status = self._process.poll()
        return f"the search ended with {status}: {(self._lines() or ['no word'])[-1][:200]}" if status else ""

    def _lines(self) -> list[str]:
        """Return the complete lines that the process has written."""
        text = os.pread(self._said.fileno(), 1 << 20, 0).decode(errors="replace")
        return text[: text.rfind("\n") + 1].splitlines()


_searches: weakref.WeakValueDictionary[tuple[object, ...], Search] = weakref.WeakValueDictionary()
_starting = threading.Lock()


def shared_search(cartridges: Sequence[Cartridge], device: str) -> Search:
    """Return the search with these arguments that this process already holds, running or ended; else start one.

    The parts of a batch run the same ROMs, each in its own thread, and all call this.
    """
    key = (*(cartridge.sha256 for cartridge in cartridges), device)
    with _starting:
        search = _searches.get(key)
        if search is None:
            search = _searches[key] = Search(cartridges, device)
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
