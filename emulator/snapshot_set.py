"""Many save states of one ROM in one file: the start states of a task."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from emulator.machine import CONSOLE_DTYPE, LAYOUT_VERSION
from emulator.snapshot import Snapshot, SnapshotError


def save_snapshots(
    path: str | os.PathLike[str], snapshots: Sequence[Snapshot], **more: np.ndarray
) -> None:
    """Write `snapshots` (all of one ROM) and further arrays as one .npz, whole or not at all.

    console int64[S, fields], row uint8[S, row_bytes]; rows are stored column by column, because
    states of one game agree in most bytes, which then compress to almost nothing.
    """
    hashes = {snapshot.rom_sha256 for snapshot in snapshots}
    if len(hashes) != 1:
        raise SnapshotError(f"{path}: states of {len(hashes)} ROMs, one file holds those of one")
    names = CONSOLE_DTYPE.names or ()
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        np.savez_compressed(
            file,
            layout_version=np.int64(LAYOUT_VERSION),
            rom_sha256=np.array(hashes.pop()),
            names=np.array(names),
            console=np.array([[int(s.console[name][0]) for name in names] for s in snapshots]),
            row=np.asfortranarray(np.stack([snapshot.row for snapshot in snapshots])),
            **more,  # type: ignore[arg-type] - the stub knows no named arrays
        )
    partial.replace(path)


def load_snapshots(path: str | os.PathLike[str]) -> list[Snapshot]:
    """Read what `save_snapshots` wrote; raise SnapshotError if it is none of this layout."""
    try:
        with np.load(path, allow_pickle=False) as data:
            version = int(data["layout_version"])
            names = data["names"].tolist()
            values, rows = data["console"], data["row"]
            rom_sha256 = str(data["rom_sha256"])
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SnapshotError(f"{path}: cannot read the states ({reason})") from error
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise SnapshotError(f"{path}: no save states of this emulator") from error
    if version != LAYOUT_VERSION:
        raise SnapshotError(
            f"{path}: states of layout {version}, this version reads {LAYOUT_VERSION};"
            " make the states again"
        )
    if set(names) != set(CONSOLE_DTYPE.names or ()):
        raise SnapshotError(f"{path}: states with other fields than this version; make them again")
    snapshots = []
    for fields, row in zip(values.tolist(), rows, strict=True):
        console = np.zeros(1, dtype=CONSOLE_DTYPE)
        for name, value in zip(names, fields, strict=True):
            console[name] = value
        snapshots.append(Snapshot(console, np.ascontiguousarray(row), rom_sha256, version))
    return snapshots
