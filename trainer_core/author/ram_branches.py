"""Memory after different buttons from the same states: the experiment behind `dmglab ram find`.

From each of many states eight consoles go on, one without a button and one with each of seven: the difference of two
such consoles is caused by the button alone. A second step with the opposite direction shows what can be undone. States
at new places (mean shades of the picture) are kept, and the next states are those that were used least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from emulator import Cartridge, Snapshot
from emulator import constants as k
from trainer_core.envs.exploring import cells_of
from trainer_core.envs.preparing import Preparing
from trainer_core.envs.sharded_emulator import ShardedEmulator, shards_for
from trainer_core.lab.tasks import Codec
from trainer_core.wire.buttons import MASK_BITS

PRESSED = ("", "right", "left", "up", "down", "a", "b", "start")
OPPOSITE = ("", "left", "right", "down", "up", "", "", "")
"""Buttons of the first and of the second step of the consoles of a group."""
GROUP = len(PRESSED)
BANK_BYTES = 0x2000
BELOW_SP, ABOVE_SP = 64, 16
"""Bytes around the stack pointer that calls use between two frames."""
MOST_BYTES = 512 << 20
"""Memory for the observations; exploration ends when it is full. 64 rounds of our games take 60 MiB."""


def _masks(names: tuple[str, ...]) -> list[int]:
    return [1 << MASK_BITS.index(name) if name else 0 for name in names]


@dataclass(frozen=True, slots=True)
class Branches:
    """Observations of S states, of the C bytes of memory that were ever seen to change."""

    place: np.ndarray
    """i64[C], bank * 0x10000 + address of each byte; the bank is 0 outside cartridge RAM."""
    before: np.ndarray
    """u8[S, C], at the state."""
    after: np.ndarray
    """u8[S, 8, C], one step later, with each of PRESSED."""
    later: np.ndarray
    """u8[S, 8, C], another step later, with each of OPPOSITE."""
    moved: np.ndarray
    """f32[2, S, 8], mean change of the picture's shades after one step, and after both: some changes come by fading."""
    scratch: np.ndarray
    """bool[C], in the copy of OAM or on the stack: such bytes repeat others, or hold them for a moment."""
    steps: int
    """Number of steps of all consoles together."""
    places: int
    """Number of different pictures met."""


class _Memory:
    """Reader of RAM, HRAM and cartridge RAM of all consoles."""

    def __init__(self, emulator: ShardedEmulator, cartridge: Cartridge) -> None:
        self._emulator = emulator
        parts = [(0, k.WRAM, k.ROW_WRAM, BANK_BYTES), (0, k.HRAM, k.ROW_HRAM, k.IE - k.HRAM)]
        for bank in range(cartridge.ram_banks):
            row = k.ROW_CART_RAM if bank == 0 else k.ROW_CART_RAM_BANK_1 + (bank - 1) * BANK_BYTES
            parts.append((bank, k.CART_RAM, row, BANK_BYTES))
        self._parts = [slice(row, row + count) for _, _, row, count in parts]
        self.place = np.concatenate([bank * 0x10000 + address + np.arange(n) for bank, address, _, n in parts])

    def read(self) -> np.ndarray:
        """Return u8[N, bytes], copied."""
        rows = [emulator.batch.ram.numpy() for emulator in self._emulator.emulators]
        return np.concatenate([np.concatenate([row[:, part] for part in self._parts], 1) for row in rows])

    def scratch(self) -> np.ndarray:
        """Return bool[bytes]: a page of work RAM that equals OAM on most consoles now, and what lies near SP."""
        row = np.concatenate([emulator.batch.ram.numpy() for emulator in self._emulator.emulators])
        pointers = np.concatenate([emulator.batch.console.numpy()["sp"] for emulator in self._emulator.emulators])
        oam = row[:, k.ROW_OAM : k.ROW_OAM + 160]
        found = (self.place >= pointers.min() - BELOW_SP) & (self.place <= pointers.max() + ABOVE_SP)
        for page in range(k.WRAM, k.ECHO, 0x100):
            at = k.ROW_WRAM + page - k.WRAM
            if oam.any() and (row[:, at : at + 160] == oam).all(1).mean() > 0.5:
                found |= (self.place >= page) & (self.place < page + 160)
        return found


def branch(
    cartridge: Cartridge, start: Snapshot, codec: Codec, *, consoles: int, rounds: int, seed: int, tell: Preparing
) -> Branches:
    """Run `rounds` rounds of `consoles` consoles (a multiple of 8) from `start` on; return what memory did."""
    device = torch.device("cpu")
    emulator = ShardedEmulator(cartridge, consoles, device, shards_for(consoles, device))
    try:
        return _branch(emulator, _Memory(emulator, cartridge), start, codec, rounds, np.random.default_rng(seed), tell)
    finally:
        emulator.close()


def _branch(
    emulator: ShardedEmulator,
    memory: _Memory,
    start: Snapshot,
    codec: Codec,
    rounds: int,
    rng: np.random.Generator,
    tell: Preparing,
) -> Branches:
    groups = len(emulator.buttons) // GROUP
    first, second = (torch.tensor(_masks(names), dtype=torch.uint8).repeat(groups) for names in (PRESSED, OPPOSITE))
    emulator.set_starts([start])
    emulator.put_at(torch.zeros(len(first), dtype=torch.int64))
    like = memory.read()[0]
    pool, used, seen = [start], np.zeros(1, int), set(cells_of(emulator.observe()[:1].numpy()))
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    moved, changed = [], np.zeros(len(like), bool)
    for done in range(rounds):
        tell("branches", done, rounds)
        # The least used states, the newest among equals.
        chosen = np.lexsort((-np.arange(len(pool)), used))[np.arange(groups) % len(pool)]
        np.add.at(used, chosen, 1)
        unique, inverse = np.unique(chosen, return_inverse=True)
        emulator.set_starts([pool[one] for one in unique])
        emulator.put_at(torch.from_numpy(inverse).repeat_interleave(GROUP))
        shown, reads = emulator.observe().numpy().astype(np.int8), [memory.read()[::GROUP]]
        emulator.buttons.copy_(first)
        emulator.run(codec.frames_per_step, codec.release_after_frames)
        pictures = emulator.observe().numpy()
        moved.append(_change(pictures, shown))
        reads.append(memory.read())
        cells = cells_of(pictures)
        new = sorted({cell: n for n, cell in reversed(list(enumerate(cells))) if cell not in seen}.values())
        seen.update(cells)
        pool += emulator.snapshots(np.array(new)) if new else []
        used = np.concatenate((used, np.zeros(len(new), int)))
        emulator.buttons.copy_(second)
        emulator.run(codec.frames_per_step, codec.release_after_frames)
        moved[-1] = np.stack((moved[-1], _change(emulator.observe().numpy(), shown)))
        reads.append(memory.read())
        found = np.concatenate(reads)
        changed |= (found != like).any(0)
        columns = np.flatnonzero(changed)
        kept.append((columns, found[:, columns]))
        if sum(part.nbytes for _, part in kept) > MOST_BYTES:
            break
    columns = np.flatnonzero(changed)
    whole = np.stack([_spread(at, part, columns, like) for at, part in kept])
    size = groups * GROUP
    before, after, later = (whole[:, at : at + n] for at, n in ((0, groups), (groups, size), (groups + size, size)))
    return Branches(
        place=memory.place[columns],
        before=before.reshape(-1, len(columns)),
        after=after.reshape(-1, GROUP, len(columns)),
        later=later.reshape(-1, GROUP, len(columns)),
        moved=np.concatenate(moved, 1),
        scratch=memory.scratch()[columns],
        steps=2 * size * len(kept),
        places=len(seen),
    )


def _change(pictures: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Return f32[n, 8], the mean change of `pictures` from those `shown` before."""
    return np.abs(pictures.astype(np.int8) - shown).mean((1, 2), dtype=np.float32).reshape(-1, GROUP)


def _spread(at: np.ndarray, part: np.ndarray, columns: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return `part` u8[n, len(at)] with all `columns`; those not in `at` had not changed from `like` yet."""
    whole = np.repeat(like[columns][None], len(part), 0)
    whole[:, np.searchsorted(columns, at)] = part
    return whole
