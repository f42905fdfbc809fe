"""A digest of what a console is, for comparisons: equal state, equal hash."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from emulator import constants as k
from emulator.state.batch import BOOKKEEPING, CONSOLE_DTYPE, row_bytes


def state_hashes(consoles: np.ndarray, rows: np.ndarray, ram_banks: Sequence[int]) -> list[str]:
    """One of 16 hex digits for each of `consoles` [N] of CONSOLE_DTYPE with its memory row, of
    uint8[N, bytes], and its cartridge's RAM banks. Neither bookkeeping nor pictures count."""
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
