"""Env order by work: a counting sort on the device, longest first.

A launch ends with its slowest console and a warp with its slowest lane. A console's work in the last launch
predicts the next: consoles of like work share a warp, and the longest start first. The assignment of envs to
slots affects the time only.
"""

import warp as wp

from emulator.kernels.intrinsics import I, U
from emulator.state.batch import Batch, Console

BINS = 256
WORK_PER_BIN = wp.constant(24)  # instructions a frame; the last bin takes all beyond


@wp.func
def work_bin(work: wp.uint32, frames: wp.uint32) -> int:
    """Return the bin (0: most work) of a console that executed `work` instructions in `frames` frames."""
    return I(U(BINS - 1) - wp.min(work / (frames * U(WORK_PER_BIN)), U(BINS - 1)))


@wp.kernel(enable_backward=False)
def clear_bins(counts: wp.array[wp.int32]):
    """Set the count of bin i to 0 in thread i."""
    counts[wp.tid()] = 0


@wp.kernel(enable_backward=False)
def count_bins(console: wp.array[Console], frames: wp.uint32, counts: wp.array[wp.int32]):
    """Add the console of thread env to the count of its bin."""
    wp.atomic_add(counts, work_bin(console[wp.tid()].work, frames), 1)


@wp.kernel(enable_backward=False)
def sum_bins(counts: wp.array[wp.int32], places: wp.array[wp.int32]):
    """Compute in thread i the position in the order of the first console of bin i, from the counts."""
    bin_index = wp.tid()
    total = int(0)
    for k in range(BINS):
        total = total + wp.where(k < bin_index, counts[k], 0)
    places[bin_index] = total


@wp.kernel(enable_backward=False)
def fill_order(batch: Batch, console: wp.array[Console], frames: wp.uint32, places: wp.array[wp.int32]):
    """Put the console of thread env at the next free position of its bin."""
    env = wp.tid()
    place = wp.atomic_add(places, work_bin(console[env].work, frames), 1)
    batch.order[place] = env


class WorkOrder:
    """Sorter of the consoles by work, with its two small arrays; `sort` neither allocates nor waits for the device."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.counts = wp.zeros(BINS, dtype=wp.int32, device=device)
        self.places = wp.zeros(BINS, dtype=wp.int32, device=device)

    def sort(self, batch: Batch, frames: int) -> None:
        """Write the envs to `batch.order`, most work first, by the last launch, which ran `frames` frames."""
        n = int(batch.num_envs)
        console = batch.console
        wp.launch(clear_bins, dim=BINS, inputs=[self.counts], device=self.device)
        wp.launch(count_bins, dim=n, inputs=[console, frames, self.counts], device=self.device)
        wp.launch(sum_bins, dim=BINS, inputs=[self.counts, self.places], device=self.device)
        wp.launch(fill_order, dim=n, inputs=[batch, console, frames, self.places], device=self.device)
