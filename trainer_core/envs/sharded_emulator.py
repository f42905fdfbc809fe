"""Batch of consoles whose memory torch and Warp share.

Torch owns every tensor; Warp gets views of the same memory and launches on torch's stream, so that a step copies
nothing between the two.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
import warp as wp
from torch import Tensor

from emulator import Cartridge, Emulator, EmulatorError, Snapshot, StateCache
from emulator.launch.warp_start import start_warp
from emulator.launch.watched_memory import Watch, addresses_of
from emulator.state.batch import CONSOLE_DTYPE, LAYOUT_VERSION
from trainer_core.envs.compile_progress import tell_on_stderr
from trainer_core.envs.state_checks import check_like, meta_bytes
from trainer_core.wire.errors import CheckpointError, LabError

MIN_SHARD = 8
"""Least number of consoles per thread; with fewer another thread costs more than it saves."""


class ShardedEmulator:
    """Batch of consoles: one emulator on a GPU, one per core on a CPU.

    Warp runs a CPU launch on the calling thread, so each shard steps on its own thread; a shard is a slice of the same
    torch tensors, and consoles are independent, so that the split changes no result.
    """

    def __init__(
        self,
        cartridge: Cartridge | Sequence[Cartridge],
        num_envs: int,
        device: torch.device,
        shards: int,
        *,
        hot_code: bool | float = False,
        rom_of_env: np.ndarray | None = None,
    ) -> None:
        """Make N consoles, divided into `shards` emulators.

        `rom_of_env` int[N] tells which of several cartridges each console has; None with one. `hot_code`:
        see Emulator.
        """
        start_warp()
        roms = np.zeros(num_envs, np.int32) if rom_of_env is None else rom_of_env
        self.on_gpu = device.type == "cuda"
        name = str(device) if device.type == "cpu" else f"cuda:{device.index or 0}"
        if device.type == "cuda":
            wp.set_stream(wp.stream_from_torch(torch.cuda.current_stream(device)), name)
        bounds = np.linspace(0, num_envs, shards + 1).astype(int).tolist()
        self.slices = [slice(*pair) for pair in itertools.pairwise(bounds)]
        tell_on_stderr()
        self.emulators = [
            Emulator(cartridge, part.stop - part.start, name, hot_code=hot_code, rom_of_env=roms[part])
            for part in self.slices
        ]
        self.buttons = torch.zeros(num_envs, dtype=torch.uint8, device=device)
        self.pictures = torch.zeros((num_envs, 72, 80), dtype=torch.uint8, device=device)
        self.mask = torch.zeros(num_envs, dtype=torch.uint8, device=device)
        self.index = torch.zeros(num_envs, dtype=torch.int32, device=device)
        self._views = [
            tuple(wp.from_torch(tensor[part]) for tensor in (self.buttons, self.pictures, self.mask, self.index))
            for part in self.slices
        ]
        self._pool = ThreadPoolExecutor(max(1, shards - 1))  # threads start when needed
        self._caches: list[StateCache] = []
        self._watches: list[Watch] = []

    def wait_for_kernels(self) -> None:
        """Block until every kernel that launches use is compiled (for measurements)."""
        for emulator in self.emulators:
            emulator.wait_for_kernels()

    @property
    def bytes_per_env(self) -> float:
        """Bytes of device memory of one console: its state, its share of the scratch, its picture."""
        arrays = [array for emulator in self.emulators for array in emulator.arrays_per_env()]
        tensors = (self.buttons, self.pictures, self.mask, self.index)
        total = sum(array.capacity for array in arrays) + sum(t.nbytes for t in tensors)
        return total / len(self.buttons)

    def watch(self, groups: dict[str, Any]) -> Tensor:
        """Watch bytes of all consoles, as `Emulator.watch` does; return u8[N, B], which every `run` overwrites."""
        counts = [len(addresses_of(item, self.emulators[0].symbols)) for item in groups.values()]
        out = torch.zeros((len(self.buttons), sum(counts)), dtype=torch.uint8, device=self.buttons.device)
        for emulator, part in zip(self.emulators, self.slices, strict=True):
            self._watches.append(emulator.watch(out=wp.from_torch(out[part]), **groups))
        return out

    def read_watched(self) -> None:
        """Read the watched bytes now: after a reset they are still those of the last run."""
        for watch in self._watches:
            watch.update()

    def set_starts(self, snapshots: list[Any]) -> None:
        self._caches = [emulator.state_cache(snapshots) for emulator in self.emulators]

    def take_starts(self, others: Sequence[ShardedEmulator]) -> None:
        """Take over the start states of `others`, batches of one cartridge each; they are numbered one batch after
        another."""
        caches = [other._caches[0] for other in others]
        roms = [other.emulators[0].cartridges[0] for other in others]
        self._caches = [emulator.joined_cache(caches, roms) for emulator in self.emulators]

    def make_slots(self, count: int) -> None:
        """Allocate `count` empty slots on the device for states, which `save` fills and from which `reset` then takes
        its states."""
        first, *others = self.emulators
        first.make_slots(count)
        for other in others:
            other.share_slots(first)
        self._caches = []

    def save(self, slots: Tensor) -> None:
        """Copy the state of each console n into slot `slots[n]`, i64[N], of `make_slots`; -1 copies none."""
        self.mask.copy_(slots >= 0)
        self.index.copy_(slots)
        self._each(lambda shard: self.emulators[shard].slots.save(*self._views[shard][2:]))

    def snapshots(self, envs: np.ndarray) -> list[Snapshot]:
        """Return the full state of each of the consoles `envs`, int[E] in ascending order."""
        found = []
        for emulator, part in zip(self.emulators, self.slices, strict=True):
            mine = envs[(envs >= part.start) & (envs < part.stop)] - part.start
            found += emulator.snapshots(mine.tolist()) if len(mine) else []
        return found

    def run(self, frames: int, release_after: int) -> None:
        """Run all consoles for `frames` frames; each holds its mask in `buttons` for the first `release_after` of
        them."""
        self._each(lambda shard: self._run(shard, frames, release_after))

    def observe(self) -> Tensor:
        """Downsample the screens of all consoles into `pictures` u8[N, 72, 80], and return it."""
        self._each(lambda shard: self.emulators[shard].observations(self._views[shard][1]))
        return self.pictures

    def reset(self) -> None:
        """Reset each console n with `mask[n]` set to the start state `index[n]`."""
        self._each(self._reset)

    def put_at(self, starts: Tensor) -> None:
        """Reset the first consoles to the start states `starts`, i64[<= N], one each, the others to start 0."""
        self.mask.fill_(1)
        self.index.zero_()
        self.index[: len(starts)] = starts
        self.reset()

    def screens(self, count: int) -> Tensor:
        """Return u8[count, 144, 160], the screens of the first envs."""
        found = []
        for emulator, part in zip(self.emulators, self.slices, strict=True):
            if part.start < count:
                shown = min(count, part.stop) - part.start
                found.append(wp.to_torch(emulator.first_screens(shown)))
        return torch.cat(found)

    def state_dict(self) -> dict[str, Any]:
        """Return console records u8[N, bytes] and memory rows u8[N, bytes], on the CPU.

        Raises LabError when a reset was refused: the consoles then have wrong states.
        """
        for emulator in self.emulators:
            if refused := emulator.refused_resets:
                raise LabError(
                    f"{refused} resets named a start state that is none of the console's ROM; "
                    "what was learnt since is of no use. Report this with the run's folder"
                )
        consoles = [emulator.batch.console.numpy() for emulator in self.emulators]
        records = np.concatenate(consoles)
        rows = np.concatenate([emulator.batch.ram.numpy() for emulator in self.emulators])
        as_bytes = records.view(np.uint8).reshape(len(records), -1)
        return {
            "consoles": torch.from_numpy(as_bytes.copy()),
            "rows": torch.from_numpy(rows.copy()),
            "layout": LAYOUT_VERSION,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError for a state of another version or an impossible
        one."""
        count, stride = len(self.buttons), self.emulators[0].batch.ram.shape[1]
        like = {
            "consoles": meta_bytes(count, CONSOLE_DTYPE.itemsize),
            "rows": meta_bytes(count, stride),
            "layout": LAYOUT_VERSION,
        }
        what = "the consoles' state"
        check_like(state, like, what, optional=["layout"])  # none until November 2026
        if state.get("layout", LAYOUT_VERSION) != LAYOUT_VERSION:
            raise CheckpointError(f"{what} was made by another version of the emulator")
        consoles, rows = (state[name].contiguous().numpy() for name in ("consoles", "rows"))
        records = consoles.view(CONSOLE_DTYPE).reshape(-1)
        for emulator, part in zip(self.emulators, self.slices, strict=True):
            try:
                emulator.put_batch(records[part], rows[part])
            except EmulatorError as error:
                raise CheckpointError(f"envs {part.start} to {part.stop - 1}: {error}") from None

    def close(self) -> None:
        self._pool.shutdown()

    def _run(self, shard: int, frames: int, release_after: int) -> None:
        self.emulators[shard].run(self._views[shard][0], frames, release_after)

    def _reset(self, shard: int) -> None:
        _, _, mask, index = self._views[shard]
        if self._caches:
            self.emulators[shard].reset(mask, self._caches[shard], index)
        else:
            self.emulators[shard].slots.load(mask, index)

    def _each(self, work: Any) -> None:
        others = [self._pool.submit(work, shard) for shard in range(1, len(self.emulators))]
        work(0)
        for other in others:
            other.result()


def shards_for(num_envs: int, device: torch.device) -> int:
    """Return the number of threads, and shards, for a batch of `num_envs` consoles: one on a GPU."""
    return max(1, min(os.cpu_count() or 1, num_envs // MIN_SHARD)) if device.type == "cpu" else 1
