"""Save states: one console record, one memory row, and the ROM's hash."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections.abc import Sequence

import numpy as np

from emulator import constants as k
from emulator.rom.cartridge import EmulatorError
from emulator.rom.regular_file import reason, replacing
from emulator.state.batch import BOOKKEEPING, CONSOLE_DTYPE, LAYOUT_VERSION, row_bytes
from emulator.state.console_check import ConsoleError, check_consoles
from emulator.state.npz import ArchiveError, Wanted, read_arrays

MOST_ROW_BYTES = 96 << 20
"""Most bytes of memory rows in one file: some 2,000 states."""
MOST_STATES = 1 << 12
ARRAYS = {
    "layout_version": Wanted("iu", (0,), 8),
    "rom_sha256": Wanted("U", (0,), 4 * 64),
    "names": Wanted("U", (1,), 4 * 64 * 256),
    "console": Wanted("iu", (1, 2), 8 * 256 * MOST_STATES),
    "row": Wanted("u", (1, 2), MOST_ROW_BYTES),
}
SHA256 = re.compile("[0-9a-f]{64}")


class SnapshotError(EmulatorError):
    """Save state that does not fit the ROM or this version of the emulator."""


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """Complete state of one console, picture included."""

    console: np.ndarray
    """Record of `batch.CONSOLE_DTYPE`, shape (1,)."""
    row: np.ndarray
    """Memory row without the serial log, uint8[row_bytes(ram_banks)]."""
    rom_sha256: str
    layout_version: int = LAYOUT_VERSION

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .npz atomically. Raises OSError."""
        names = CONSOLE_DTYPE.names or ()
        with replacing(path) as file:
            np.savez_compressed(
                file,
                layout_version=np.int64(self.layout_version),
                rom_sha256=np.array(self.rom_sha256),
                names=np.array(names),
                console=np.array([int(self.console[name][0]) for name in names]),
                row=self.row,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Snapshot:
        """Read a state written by `save`; raise SnapshotError if it has another layout."""
        snapshots = read_states(path)
        if len(snapshots) != 1:
            raise SnapshotError(f"{path}: holds {len(snapshots)} states; give a file of one")
        return snapshots[0]


def read_states(path: str | os.PathLike[str]) -> list[Snapshot]:
    """Read a file of one or more states, all of one ROM.

    Raises SnapshotError, one line, if the file has another layout or holds a state that no console can be in.
    """
    try:
        data = read_arrays(path, ARRAYS)
    except OSError as error:
        raise SnapshotError(
            f"{path}: cannot read the states ({reason(error)}); give an .npz of this emulator"
        ) from error
    except ArchiveError as error:
        raise SnapshotError(f"{path}: no save state of this emulator ({error})") from error
    version, names = int(data["layout_version"]), data["names"].tolist()
    if version != LAYOUT_VERSION or sorted(names) != sorted(CONSOLE_DTYPE.names or ()):
        raise SnapshotError(
            f"{path}: states of layout {version}, this version reads {LAYOUT_VERSION}; make the states again"
        )
    rom_sha256 = str(data["rom_sha256"])
    values, rows = np.atleast_2d(data["console"]), np.atleast_2d(data["row"])
    shaped = values.shape == (len(rows), len(names)) and rows.dtype == np.uint8
    if not shaped or not SHA256.fullmatch(rom_sha256):
        raise SnapshotError(
            f"{path}: no save state of this emulator ({values.shape} fields, {rows.dtype}{rows.shape} rows)"
        )
    consoles = _records(path, names, values)
    try:
        check_consoles(consoles, rows)
    except ConsoleError as error:
        raise SnapshotError(f"{path}: state {error.index} is damaged ({error}); make it again") from None
    return [
        Snapshot(consoles[i : i + 1].copy(), np.ascontiguousarray(rows[i]), rom_sha256, version)
        for i in range(len(rows))
    ]


def _records(path: str | os.PathLike[str], names: list[str], values: np.ndarray) -> np.ndarray:
    """Return console records [S] from whole numbers [S, fields], whose field names are `names`."""
    out = (values < 0) | (values > 0xFFFFFFFF)
    if out.any():
        state, field = np.argwhere(out)[0]
        raise SnapshotError(
            f"{path}: state {state} is damaged ({names[field]} is {values[state, field]}); make it again"
        )
    consoles = np.zeros(len(values), dtype=CONSOLE_DTYPE)
    for name, column in zip(names, values.T, strict=True):
        consoles[name] = column
    return consoles


def save_snapshots(path: str | os.PathLike[str], snapshots: Sequence[Snapshot], **more: np.ndarray) -> None:
    """Write snapshots of one ROM, and the arrays `more`, as one .npz, atomically.

    Raises OSError, and SnapshotError for states of several ROMs.

    console int64[S, fields], row uint8[S, row_bytes]; rows are stored column by column, because states of one game
    agree in most bytes, which then compress to almost nothing.
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
    """Read the snapshots of a file written by `save_snapshots`; raise SnapshotError if it has another layout."""
    return read_states(path)


def state_hashes(consoles: np.ndarray, rows: np.ndarray, ram_banks: Sequence[int]) -> list[str]:
    """Return a hash of 16 hex digits of each console's state, without bookkeeping fields and pictures.

    `consoles` [N] of CONSOLE_DTYPE, `rows` uint8[N, bytes]; `ram_banks`: each cartridge's number of RAM banks.
    """
    names = [name for name in CONSOLE_DTYPE.names or () if name not in BOOKKEEPING]
    hashes = []
    for console, row, banks in zip(consoles, rows, ram_banks, strict=True):
        digest = hashlib.sha256()
        for name in names:
            digest.update(int(console[name]).to_bytes(4, "little"))
        digest.update(row[: k.ROW_SCRATCH].tobytes())
        digest.update(row[k.ROW_OAM : k.ROW_SCREENS].tobytes())
        digest.update(row[k.ROW_CART_RAM_BANK_1 : row_bytes(banks)].tobytes())
        hashes.append(digest.hexdigest()[:16])
    return hashes
