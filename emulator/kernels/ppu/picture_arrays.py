"""Arrays that a batch's pictures are drawn into, each allocated on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import warp as wp

from emulator import constants as k
from emulator.kernels.ppu import packed_pictures, render_parallel, render_serial
from emulator.kernels.ppu.scanline_plan import Plans, allocate_plans
from emulator.state.batch import Batch


class Pictures:
    """Pictures of all consoles of `batch`, drawn on request; `launch` launches kernels, as `wp.launch`."""

    def __init__(self, batch: Batch, launch: Callable[..., Any]) -> None:
        self._batch = batch
        self._launch = launch
        self._on_cpu = batch.console.device.is_cpu
        self._plans: Plans | None = None
        self._shades: wp.array | None = None
        self._first_shades: wp.array | None = None
        self._packed: wp.array | None = None
        self._observations: wp.array | None = None

    def draw(self) -> None:
        """Draw every picture that was completed since the last call, unless a later one has replaced it."""
        if self._on_cpu:
            render_serial.render_pictures(self._batch, self._launch)
        else:
            render_parallel.render_pictures(self._batch, self._room_for_plans(), self._launch)

    def screens(self) -> wp.array:
        """Draw and return the shades of each env, uint8[N, 144, 160], always in the same array."""
        if self._shades is None:
            self._shades = self._zeros(len(self), k.SCREEN_HEIGHT, k.SCREEN_WIDTH)
        return self._drawn_into(self._shades)

    def first_screens(self, count: int) -> wp.array:
        """Return `screens` of the first `count` envs, uint8[count, 144, 160]."""
        if self._first_shades is None or len(self._first_shades) != count:
            self._first_shades = self._zeros(count, k.SCREEN_HEIGHT, k.SCREEN_WIDTH)
        return self._drawn_into(self._first_shades)

    def packed(self, out: wp.array | None) -> wp.array:
        """Draw the pictures and copy their bit planes to `out`, or to one array that is kept, uint8[N, 144, 2, 20]."""
        if out is None and self._packed is None:
            self._packed = self._zeros(len(self), k.SCREEN_HEIGHT, 2, k.SCREEN_WIDTH // 8)
        found = self._packed if out is None else out
        self.draw()
        packed_pictures.copy(self._batch, found, self._launch)
        return found

    def room_for_observations(self) -> wp.array:
        """Return an array for `observe`, uint8[N, 72, 80], allocated at the first call."""
        if self._observations is None:
            self._observations = self._zeros(len(self), k.OBSERVATION_HEIGHT, k.OBSERVATION_WIDTH)
        return self._observations

    def observe(self, out: wp.array) -> None:
        """Draw the pictures and write them downsampled to `out`, uint8[N, 72, 80]."""
        whole = out.strides[1:] == (k.OBSERVATION_WIDTH, 1)
        if self._on_cpu and whole:
            render_serial.observe(self._batch, out, self._launch)
        else:
            self.draw()
            render_parallel.observe(self._batch, out, self._launch)

    def __len__(self) -> int:
        return int(self._batch.num_envs)

    def _drawn_into(self, shades: wp.array) -> wp.array:
        self.draw()
        (render_serial if self._on_cpu else render_parallel).unpack(self._batch, shades)
        return shades

    def _room_for_plans(self) -> Plans:
        if self._plans is None:
            self._plans = allocate_plans(len(self), self._batch.console.device)
        return self._plans

    def _zeros(self, *shape: int) -> wp.array:
        return wp.zeros(shape, dtype=wp.uint8, device=self._batch.console.device)
