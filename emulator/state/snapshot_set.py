"""Many save states of one ROM in one file: the start states of a task."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from emulator.rom.regular_file import replacing
from emulator.state.batch import CONSOLE_DTYPE, LAYOUT_VERSION
from emulator.state.snapshot import Snapshot, SnapshotError, read_states


def save_snapshots(
    path: str | os.PathLike[str], snapshots: Sequence[Snapshot], **more: np.ndarray
) -> None:
    """Write `snapshots` (all of one ROM) and further arrays as one .npz, whole or not at all.
    Raises OSError, and SnapshotError for states of several ROMs.

    console int64[S, fields], row uint8[S, row_bytes]; rows are stored column by column, because
    states of one game agree in most bytes, which then compress to almost nothing.
    """
    hashes = {snapshot.rom_sha256 for snapshot in snapshots}
    if len(hashes) != 1:
        raise SnapshotError(f"{path}: states of {len(hashes)} ROMs, one file holds those of one")
    names = CONSOLE_DTYPE.names or ()
    with replacing(path) as file:
        np.savez_compressed(
            file,
            layout_version=np.int64(LAYOUT_VERSION),
            rom_sha256=np.array(hashes.pop()),
            names=np.array(names),
            console=np.array([[int(s.console[name][0]) for name in names] for s in snapshots]),
            row=np.asfortranarray(np.stack([snapshot.row for snapshot in snapshots])),
            **more,  # type: ignore[arg-type] - the stub knows no named arrays
        )


def load_snapshots(path: str | os.PathLike[str]) -> list[Snapshot]:
    """Read what `save_snapshots` wrote; raise SnapshotError if it is none of this layout."""
    return read_states(path)
