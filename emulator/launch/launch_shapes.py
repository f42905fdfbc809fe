"""Launch shapes: the spread of a batch over a GPU's warps. The built-in table, and a tuned one.

`python -m emulator tune` measures this machine's device and writes the tuned table into the user's cache
folder. Its entries hold for one device and one version of the kernels; an unreadable table is ignored with a
warning, and the built-in table is used.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import warp as wp

from emulator.constants import MAX_BLOCK, MOST_ALONE
from emulator.rom.regular_file import replacing

try:
    from platformdirs import user_cache_path
except ImportError:  # an emulator on its own
    user_cache_path = None

FORMAT = 1
"""Version number of the tuned table's file."""
DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Exceptions raised by reading a file that is no valid table."""
MOST_ENTRIES = 32
FILE_NAME = "launch_shapes.json"
SOURCES = ("kernels/**/*.py", "hot_code/*.py", "state/batch.py", "rom/isa.py", "rom/control_rows.py", "constants.py")
"""Glob patterns of the kernels' source files, which `kernel_version` hashes: a change may change the best shape."""


class Shape(NamedTuple):
    """Layout of one launch on a GPU; it changes the time only, never the result."""

    lanes: int
    """Consoles per running warp of 32 threads."""
    running: int
    """Warps per block that run consoles."""
    serving: int
    """Warps per block that serve the running warps' rare requests.

    0: threaded code (launch/threaded.py), where each console is served in its own lane.
    """
    tail: int = 0
    """Number of running consoles at which a launch changes from the data path to threaded code; 0: never.

    Each is then alone in its warp (launch/launch_tail.py).
    """

    @property
    def block(self) -> int:
        """Threads per block. Kernels are compiled anew for each number."""
        return 32 * (self.running + self.serving)


# Most warps that a block's board has room for (service_board.py)
MOST_RUNNING = 16
MOST_SERVING = 8


def impossible(shape: Shape) -> str:
    """Return the reason, as text, why a launch of this shape would never end; empty for a valid shape."""
    if not 1 <= shape.lanes <= 32:
        return f"lanes={shape.lanes}: a warp has 1 to 32"
    if shape.serving == 0 and shape.lanes != 1:
        return f"lanes={shape.lanes}, serving=0: give 1 lane, or warps that serve"
    if shape.tail < 0 or (shape.serving == 0 and shape.tail):
        return f"tail={shape.tail}, serving={shape.serving}: give 0, or consoles and warps that serve"
    if shape.serving == 0 and 1 <= shape.running <= MOST_ALONE:
        return ""
    if not (1 <= shape.running <= MOST_RUNNING and 1 <= shape.serving <= MOST_SERVING):
        return f"running={shape.running}, serving={shape.serving}: give 1 to 16 and 1 to 8 warps"
    if shape.block > MAX_BLOCK:
        return f"{shape.block} threads a block: {MAX_BLOCK} at most"
    return ""


CANDIDATES: dict[str, tuple[int, ...]] = {
    "lanes": (1, 2, 4, 8, 16, 32),
    "running": (2, 4, 8, 12, 16),
    "serving": (0, 1, 2, 4),
    "tail": (0, 64, 128, 256, 512, 1024),
}
"""Values that `tune` tries for each field of a Shape, in order of size.

More than 20 warps a block (MAX_BLOCK) would leave each thread fewer machine registers.
"""

ALONE = Shape(1, 2, 0)
"""Shape of threaded code for all consoles."""
SERVED = Shape(1, 8, 4)
"""Shape of the data path for few consoles."""
MIXED = SERVED._replace(tail=512)
"""Shape with the data path while many consoles are running and threaded code for the last 512: faster for some
games.
"""
BUILT_IN: tuple[tuple[int, Shape], ...] = (
    (1024, ALONE),
    (4096, Shape(8, 4, 2, 512)),
    (8192, Shape(8, 8, 4, 512)),
    (16384, Shape(32, 4, 4, 1024)),
    (32768, Shape(16, 16, 4, 1024)),
)
"""(most consoles, shape) for an H200: all blocks of a batch run at once, one or two on each SM."""
BUILT_IN_LARGEST = Shape(32, 16, 4, 1024)
TWO_PHASES = Shape(2, 4, 2, 512)
"""Shape for a thousand consoles whose hot code overflows the instruction caches (`HotCode.fetches_much`)."""
MANY_ALONE = 768
"""Most consoles for which ALONE is faster than TWO_PHASES (measured: 256 and 1,024)."""
HOT_TAIL = 1024
ON_CPU = SERVED  # a CPU runs one console after another, whatever the shape

Table = dict[int, Shape]
"""Tuned shapes by the number of consoles with which they were measured."""


def find_shape(num_envs: int, device: str) -> Shape:
    """Return the tuned shape of the measured batch size nearest to `num_envs`, else the built-in one."""
    name = gpu_name(device)
    if not name:
        return ON_CPU
    table = tuned_table(name)
    if not table:
        return built_in(num_envs)
    return table[min(table, key=lambda measured: abs(math.log(num_envs / measured)))]


def gpu_name(device: str) -> str:
    """Return the model name of a CUDA device; empty for a CPU."""
    found = wp.get_device(device)
    return found.name if found.is_cuda else ""


def built_in(num_envs: int) -> Shape:
    """Return the shape for a GPU without a tuned table."""
    for most, shape in BUILT_IN:
        if num_envs <= most:
            return shape
    return BUILT_IN_LARGEST


def with_hot_code(shape: Shape, num_envs: int, fetches_much: bool = False) -> Shape:
    """Return the shape to use once a batch's hot code has been compiled.

    More consoles then run in threaded code at the end of a launch; if the code `fetches_much`, only the last ones.
    """
    if shape.tail:
        return shape._replace(tail=max(shape.tail, HOT_TAIL))
    return TWO_PHASES if shape == ALONE and fetches_much and num_envs > MANY_ALONE else shape


def tuned_table(device_name: str, path: Path | None = None) -> Table:
    """Read the shapes measured on this device with these kernels; empty if there are none.

    A table that cannot be used causes one warning in this process, never an error.
    """
    return _tuned(device_name, path or table_path())


@functools.cache
def _tuned(device_name: str, path: Path) -> Table:
    stale = False
    try:
        for entry in _entries(path):
            if entry["device"] == device_name and entry["kernels"] == kernel_version():
                return dict(map(_row, entry["shapes"]))
            stale |= entry["device"] == device_name
    except DAMAGED as error:
        _ignore(path, str(error) if isinstance(error, (OSError, ValueError)) else "no such table")
        return {}
    if stale:
        _ignore(path, f"measured with other kernels than {kernel_version()}")
    return {}


def store(device_name: str, table: Table, path: Path | None = None) -> Path:
    """Store a device's table in the file, in place of its older one; return the file's path."""
    path = path or table_path()
    key = {"device": device_name, "kernels": kernel_version()}
    rows = [{"num_envs": n} | shape._asdict() for n, shape in sorted(table.items())]
    try:
        kept = [entry for entry in _entries(path) if not key.items() <= entry.items()]
    except DAMAGED:
        kept = []
    entries = [*kept[1 - MOST_ENTRIES :], key | {"shapes": rows}]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT, "entries": entries}, indent=1)
    with replacing(path) as file:
        file.write((text + "\n").encode())
    _tuned.cache_clear()
    return path


def table_path() -> Path:
    """Return the path of the tuned table, whether the file exists or not."""
    if user_cache_path is None:
        return Path(os.path.expanduser("~/.cache/dmglab"), FILE_NAME)  # raises nothing
    return user_cache_path("dmglab", appauthor=False) / FILE_NAME


@functools.cache
def kernel_version() -> str:
    """Return 12 hex digits that change with the kernels' source and with Warp."""
    digest = hashlib.sha256(wp.__version__.encode())
    package = Path(__file__).parents[1]
    for pattern in SOURCES:
        for source in sorted(package.glob(pattern)):
            digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:12]


def _entries(path: Path) -> list[dict[str, Any]]:
    """Read all entries of the file, of any device and version; none if there is no file."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    if raw["format"] != FORMAT:
        raise ValueError(f"format {raw['format']!r}, this version reads {FORMAT}")
    entries = [dict(entry) for entry in raw["entries"]]
    if not all({"device", "kernels", "shapes"} <= set(entry) for entry in entries):
        raise ValueError("an entry without device, kernels or shapes")
    return entries


def _row(raw: Mapping[str, Any]) -> tuple[int, Shape]:
    """Return the batch size and shape of one row; raise ValueError for a shape that `tune` would not have written."""
    values = dict(raw)
    num_envs = values.pop("num_envs")
    if type(num_envs) is not int or num_envs < 1:
        raise ValueError(f"num_envs {num_envs!r}")
    if set(values) != set(Shape._fields):
        raise ValueError(f"a shape of {', '.join(values)}, not of {', '.join(Shape._fields)}")
    for name, value in values.items():
        if type(value) is not int or value not in CANDIDATES[name]:
            raise ValueError(f"{name} {value!r}, not one of {CANDIDATES[name]}")
    return num_envs, Shape(**values)


def _ignore(path: Path, reason: str) -> None:
    warnings.warn(
        f"{path}: launch shapes ignored ({reason}); `python -m emulator tune` makes them anew",
        RuntimeWarning,
        stacklevel=2,
    )
