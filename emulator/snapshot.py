"""Save states: one console record, one memory row, and what they belong to."""

from __future__ import annotations

import dataclasses
import os
import zipfile
from pathlib import Path

import numpy as np

from emulator.cartridge import EmulatorError
from emulator.machine import CONSOLE_DTYPE, LAYOUT_VERSION


class SnapshotError(EmulatorError):
    """A save state that does not fit this ROM or this version."""


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole state of one console, picture included."""

    console: np.ndarray
    """Record of `machine.CONSOLE_DTYPE`, shape (1,)."""
    row: np.ndarray
    """Memory row without the serial log, uint8[row_bytes(ram_banks)]."""
    rom_sha256: str
    layout_version: int = LAYOUT_VERSION

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .npz; the file appears whole or not at all."""
        path = Path(path)
        names = CONSOLE_DTYPE.names or ()
        partial = path.with_name(path.name + ".partial")
        with partial.open("wb") as file:
            np.savez_compressed(
                file,
                layout_version=np.int64(self.layout_version),
                rom_sha256=np.array(self.rom_sha256),
                names=np.array(names),
                console=np.array([int(self.console[name][0]) for name in names]),
                row=self.row,
            )
        partial.replace(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Snapshot:
        """Read a state written by `save`; raise SnapshotError if it is none of this layout."""
        try:
            with np.load(path, allow_pickle=False) as data:
                version = int(data["layout_version"])
                if version != LAYOUT_VERSION:
                    raise SnapshotError(
                        f"{path}: state of layout {version}, this version reads {LAYOUT_VERSION};"
                        " make the state again"
                    )
                fields = dict(zip(data["names"].tolist(), data["console"].tolist(), strict=True))
                row = data["row"].astype(np.uint8)
                rom_sha256 = str(data["rom_sha256"])
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise SnapshotError(f"{path}: cannot read the state ({reason})") from error
        except (KeyError, ValueError, zipfile.BadZipFile) as error:
            raise SnapshotError(f"{path}: no save state of this emulator") from error
        console = np.zeros(1, dtype=CONSOLE_DTYPE)
        if set(fields) != set(CONSOLE_DTYPE.names or ()):
            raise SnapshotError(f"{path}: state with other fields than this version; make it again")
        for name, value in fields.items():
            console[name] = value
        return cls(console, row, rom_sha256, version)
