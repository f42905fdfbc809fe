"""Slots: states of single consoles on the device, saved and loaded by masks without the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from emulator.kernels.intrinsics import Q, U
from emulator.launch.reset_kernels import copy_row
from emulator.rom.cartridge import EmulatorError
from emulator.state.arguments import whole_number
from emulator.state.batch import CONSOLE_DTYPE, Batch, Console

EMPTY = -1
MOST_SLOTS = 1 << 24


@wp.kernel(enable_backward=False)
def claim_slots(
    mask: wp.array[wp.uint8], slot: wp.array[wp.int32], claims: wp.array[wp.int32], refused: wp.array[wp.int32]
):
    """Enter the lowest env of those that save to a slot into `claims`; count what is no slot in `refused`."""
    env = wp.tid()
    if mask[env] != wp.uint8(0):
        if slot[env] >= 0 and slot[env] < claims.shape[0]:
            wp.atomic_min(claims, slot[env], env)
        else:
            wp.atomic_add(refused, 0, 1)


@wp.kernel(enable_backward=False)
def save_slots(
    batch: Batch,
    console: wp.array[Console],
    mask: wp.array[wp.uint8],
    slot: wp.array[wp.int32],
    claims: wp.array[wp.int32],
    saved: wp.array[Console],
    rows: wp.uint64,
    row_bytes: wp.uint32,
    threads: wp.uint32,
    rom_of_env: wp.array[wp.int32],
    rom_of_slot: wp.array[wp.int32],
):
    """Copy the console of each env that has a claim to its slot; `threads` threads copy a row together."""
    env, thread = wp.tid()
    at = wp.clamp(slot[env], 0, claims.shape[0] - 1)
    if mask[env] != wp.uint8(0) and at == slot[env] and claims[at] == env:
        from_row = batch.ram_base + Q(env) * Q(batch.row_stride)
        copy_row(rows + Q(at) * Q(row_bytes), from_row, row_bytes, U(thread), threads)
        if thread == 0:
            saved[at] = console[env]
            rom_of_slot[at] = rom_of_env[env]


@wp.kernel(enable_backward=False)
def free_claims(mask: wp.array[wp.uint8], slot: wp.array[wp.int32], claims: wp.array[wp.int32]):
    """Remove the claims again."""
    env = wp.tid()
    if mask[env] != wp.uint8(0) and slot[env] >= 0 and slot[env] < claims.shape[0]:
        claims[slot[env]] = mask.shape[0]


class Slots:
    """Room for `count` states on the device, each of one console; all are empty at first.

    With `shared`, slots of another emulator with the same cartridges, both have the same states. `masked(mask)`
    returns a mask as uint8[N] on the device, `arrived(array)` another library's array as one of Warp or
    NumPy, `load(mask, index, slots)` resets consoles to states.
    """

    def __init__(
        self,
        count: int,
        batch: Batch,
        row_bytes: int,
        rom_of_env: wp.array[Any],
        refused: wp.array[Any],
        masked: Callable[[Any], wp.array[Any]],
        arrived: Callable[[Any], Any],
        load: Callable[[wp.array[Any], wp.array[Any], Any], None],
        shared: Slots | None = None,
    ) -> None:
        count = whole_number("slots", count, 1, MOST_SLOTS)
        device, n = batch.ram.device, int(batch.num_envs)
        if shared is not None:
            self.console, self.rows, self.rom_index = shared.console, shared.rows, shared.rom_index
        else:
            self.console: wp.array[Any] = wp.zeros(count, dtype=Console, device=device)
            self.rows: wp.array[Any] = wp.zeros((count, row_bytes), dtype=wp.uint8, device=device)
            self.rom_index: wp.array[Any] = wp.full(count, EMPTY, dtype=wp.int32, device=device)
        self._claims: wp.array[Any] = wp.full(count, n, dtype=wp.int32, device=device)
        self._index: wp.array[Any] = wp.zeros(n, dtype=wp.int32, device=device)
        self._batch, self._rom_of_env, self._refused = batch, rom_of_env, refused
        self._masked, self._arrived, self._load = masked, arrived, load

    def __len__(self) -> int:
        return self.rows.shape[0]

    def save(self, mask: Any, slot: Any) -> None:
        """Copy the consoles of `mask` (uint8 or bool [N]; None: all) into slots.

        `slot`: int32[N], or one number for all. Of several consoles with the same slot the one of the lowest env is
        saved. A number outside raises EmulatorError, if it is on the device it is counted in `refused_resets`.
        """
        chosen, index = self._masked(mask), self._chosen(slot)
        n, threads = int(self._batch.num_envs), 32 if self.rows.device.is_cuda else 1
        how: dict[str, Any] = {"device": self.rows.device}
        wp.launch(claim_slots, n, [chosen, index, self._claims, self._refused], **how)
        inputs = [self._batch, self._batch.console, chosen, index, self._claims, self.console, self.rows.ptr]
        inputs += [self.rows.shape[1], threads, self._rom_of_env, self.rom_index]
        wp.launch(save_slots, (n, threads), inputs, **how)
        wp.launch(free_claims, n, [chosen, index, self._claims], **how)

    def load(self, mask: Any, slot: Any) -> None:
        """Put the consoles of `mask` (uint8 or bool [N]; None: all) into the states of slots.

        `slot`: int32[N], or one number for all. A console keeps its state, and `refused_resets` counts it, if its slot
        is empty or has a state of another ROM.
        """
        self._load(self._masked(mask), self._chosen(slot), self)

    def _chosen(self, given: Any) -> wp.array[Any]:
        n = self._index.shape[0]
        given = self._arrived(given)
        if isinstance(given, wp.array):
            if given.dtype is not wp.int32 or given.shape != (n,):
                raise EmulatorError(f"slot: {given.dtype.__name__}{list(given.shape)} on the device; give int32[{n}]")
            return given
        index = np.asarray(given)
        if index.dtype.kind not in "iu" or index.shape not in ((), (n,)):
            raise EmulatorError(f"slot: {index.dtype}{list(index.shape)}; give a whole number, or one per env [{n}]")
        if index.min() < 0 or index.max() >= len(self):
            wrong = index.min() if index.min() < 0 else index.max()
            raise EmulatorError(f"slot {wrong}: there are slots 0 to {len(self) - 1}")
        self._index.assign(np.broadcast_to(index, (n,)).astype(np.int32))
        return self._index


def slot_bytes(row_bytes: int) -> int:
    """Return the bytes of device memory that a slot takes."""
    return row_bytes + CONSOLE_DTYPE.itemsize + 8
