"""Cache of states on the device for resets, and checks that a state fits an env's ROM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.state.batch import CONSOLE_DTYPE, Console
from emulator.state.console_check import ConsoleError, check_cartridge, check_consoles, check_fit
from emulator.state.snapshot import Snapshot, SnapshotError


class StateCache:
    """Collection of `K` states on the device, each one record and one memory row, for the resets of one emulator.

    `records` [K] of CONSOLE_DTYPE and `rows` uint8[K, bytes] are checked by the caller; `roms` int32[K] is the number
    of the emulator's cartridge to which each belongs.
    """

    def __init__(
        self, records: np.ndarray, rows: np.ndarray, roms: np.ndarray, num_envs: int, device: str, owner: object
    ) -> None:
        self.console = wp.array(records, dtype=Console, device=device)
        self.rows = wp.array(rows, dtype=wp.uint8, device=device)
        self.roms = roms
        self.rom_index = wp.array(roms, dtype=wp.int32, device=device)
        self.first = wp.zeros(num_envs, dtype=wp.int32, device=device)
        self.index = wp.zeros(num_envs, dtype=wp.int32, device=device)
        self.owner = owner

    def __len__(self) -> int:
        return len(self.roms)

    def choose(self, given: Any, mask: np.ndarray | None, rom_of_env: np.ndarray) -> wp.array:
        """Return the state's index for each env, int32[N] on the device, from the caller's `given` (None: state 0).

        NumPy values are checked for the envs of `mask` bool[N]; None: for all, without their ROMs. A Warp array is
        checked on the device when it is used.
        """
        if isinstance(given, wp.array):
            if given.dtype is not wp.int32 or given.shape != rom_of_env.shape:
                raise EmulatorError(
                    f"index: {given.dtype.__name__}{list(given.shape)} on the device; give int32[{len(rom_of_env)}]"
                )
            return given
        index = np.zeros(len(rom_of_env), np.int32) if given is None else np.asarray(given)
        if index.shape != rom_of_env.shape or index.dtype.kind not in "iu":
            raise EmulatorError(
                f"index: {index.dtype}{list(index.shape)}; give whole numbers, one per env [{len(rom_of_env)}]"
            )
        envs = np.arange(len(index)) if mask is None else np.flatnonzero(mask)
        chosen = index[envs]
        out = (chosen < 0) | (chosen >= len(self))
        if out.any():
            at = int(np.argmax(out))
            raise EmulatorError(f"index {chosen[at]} for env {envs[at]}: there are states 0 to {len(self) - 1}")
        wrong = self.roms[chosen] != rom_of_env[envs]
        if mask is not None and wrong.any():
            at = int(np.argmax(wrong))
            raise SnapshotError(
                f"state {chosen[at]} belongs to another ROM than env {envs[at]} runs;"
                " give each env an index of its own ROM's states"
            )
        if given is None:
            return self.first
        self.index.assign(index.astype(np.int32))
        return self.index


def gathered(snapshots: Sequence[Snapshot], row_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of K snapshots as (records [K], rows uint8[K, row_size])."""
    rows = np.zeros((len(snapshots), row_size), dtype=np.uint8)
    for row, snapshot in zip(rows, snapshots, strict=True):
        row[: len(snapshot.row)] = snapshot.row
    return _records(snapshots), rows


def _records(snapshots: Sequence[Snapshot]) -> np.ndarray:
    """Return the snapshots' records as one array [K].

    `np.concatenate` is avoided: it promotes a hundred fields for each.
    """
    joined = b"".join(snapshot.console.tobytes() for snapshot in snapshots)
    return np.frombuffer(joined, CONSOLE_DTYPE).copy()


def check_batch(
    records: np.ndarray, rows: np.ndarray, row_size: int, rom_of_env: np.ndarray, cartridges: Sequence[Cartridge]
) -> None:
    """Raise SnapshotError unless records and rows are valid states of a whole batch.

    `records` [N] of CONSOLE_DTYPE, `rows` uint8[N, row_size or more]; env i runs `cartridges[rom_of_env[i]]`.
    """
    shape = (len(rom_of_env),)
    if records.shape != shape or records.dtype != CONSOLE_DTYPE:
        raise SnapshotError(f"{records.shape} records; the batch has {shape} of this version")
    fits = rows.ndim == 2 and rows.shape[0] == shape[0] and rows.shape[1] >= row_size
    if not fits or rows.dtype != np.uint8:
        raise SnapshotError(f"memory rows {rows.dtype}{list(rows.shape)}, the batch has uint8[{shape[0]}, {row_size}]")
    envs = np.arange(len(records))
    try:
        check_consoles(records, rows)
        for rom in np.unique(rom_of_env):
            envs = np.flatnonzero(rom_of_env == rom)
            check_cartridge(records[envs], cartridges[rom])
    except ConsoleError as error:
        raise SnapshotError(f"console {envs[error.index]} is damaged: {error}") from None


def joined(
    caches: Sequence[StateCache], roms: Sequence[Cartridge], cartridges: Sequence[Cartridge], row_size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return several emulators' cached states as records [K], rows uint8[K, row_size], ROM numbers int32[K].

    All states of `caches[i]` are of the ROM `roms[i]`; a ROM number is an index of `cartridges`. Raises SnapshotError
    for a ROM that is not among them.
    """
    numbers = rom_numbers(cartridges)
    records, rows, which = [], [], []
    for cache, cartridge in zip(caches, roms, strict=True):
        if cartridge.sha256 not in numbers:
            raise SnapshotError(f"states of another ROM (SHA-256 {cartridge.sha256[:12]})")
        found = cache.rows.numpy()
        room = row_size - cache.rows.shape[1]  # cartridges with more RAM have longer rows
        records.append(cache.console.numpy())
        rows.append(np.pad(found, ((0, 0), (0, room))))
        which.append(np.full(len(found), numbers[cartridge.sha256], np.int32))
    return np.concatenate(records), np.concatenate(rows), np.concatenate(which)


def roms_of(snapshots: Sequence[Snapshot], cartridges: Sequence[Cartridge]) -> np.ndarray:
    """Return the index in `cartridges` of each snapshot's ROM, int32[K]; raise SnapshotError for one that fits none."""
    if not snapshots:
        raise SnapshotError("no states; give at least one")
    known = rom_numbers(cartridges)
    roms = np.zeros(len(snapshots), np.int32)
    for number, snapshot in enumerate(snapshots):
        rom = known.get(snapshot.rom_sha256)
        if rom is None:
            raise SnapshotError(f"state {number} belongs to another ROM (SHA-256 {snapshot.rom_sha256[:12]})")
        roms[number] = rom
    if all(_fit_together(snapshots, roms == rom, cartridges[rom]) for rom in np.unique(roms)):
        return roms
    for number, snapshot in enumerate(snapshots):
        try:
            check_fit(snapshot.console, snapshot.row, cartridges[roms[number]])
            check_consoles(snapshot.console, snapshot.row[np.newaxis])
        except ConsoleError as error:
            raise SnapshotError(f"state {number} does not fit its ROM: {error}") from None
    return roms


def _fit_together(snapshots: Sequence[Snapshot], chosen: np.ndarray, cartridge: Cartridge) -> bool:
    """Return whether all chosen snapshots fit the cartridge, checked together, one field at a time.

    Checks one by one cost two milliseconds each, which is half of a small run's start.
    """
    mine = [snapshots[int(number)] for number in np.flatnonzero(chosen)]
    first = mine[0]
    if any(one.console.shape != (1,) or one.console.dtype != CONSOLE_DTYPE for one in mine):
        return False
    if any(one.row.shape != first.row.shape or one.row.dtype != np.uint8 for one in mine):
        return False
    try:
        check_fit(first.console, first.row, cartridge)
        records = _records(mine)
        check_cartridge(records, cartridge)
        check_consoles(records, np.stack([one.row for one in mine]))
    except ConsoleError:
        return False
    return True


def rom_numbers(cartridges: Sequence[Cartridge]) -> dict[str, int]:
    """Return cartridge indices by SHA-256; of equal cartridges the first."""
    numbers: dict[str, int] = {}
    for number, cartridge in enumerate(cartridges):
        numbers.setdefault(cartridge.sha256, number)
    return numbers
