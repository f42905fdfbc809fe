"""Emulator: owns a batch of consoles, launches kernels, reads structured state back."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np
import warp as wp

from emulator import constants as k
from emulator import isa
from emulator.cartridge import Cartridge, EmulatorError
from emulator.graphs import Recorder
from emulator.idle_loops import mark_loops
from emulator.kernels import frame, host, picture
from emulator.kernels.events import TRAP_STEP
from emulator.kernels.order import WorkOrder
from emulator.kernels.recorded import RecordedLaunches
from emulator.machine import (
    BOOKKEEPING,
    CONSOLE_DTYPE,
    Console,
    Layout,
    allocate,
    row_bytes,
)
from emulator.power_on import power_on_console, power_on_row
from emulator.shapes import Shape, find_shape, impossible
from emulator.snapshot import Snapshot, SnapshotError
from emulator.warp_start import start_warp

Executor = Literal["table", "switch"]
MAX_FRAMES = 10_000
"""Longest launch; times are 32-bit M-cycles relative to its start."""


class Emulator:
    """N Game Boys that run in lockstep launches, each with one of the given cartridges.

    `cartridges`: one, or several for a mixed batch; `rom_of_env` (int[N]) says which env gets
    which (default: round robin). All arrays handed out live on `device` and stay valid; work is
    launched on Warp's current stream of that device, and `run` allocates nothing. `shape`: how to
    spread launches over a GPU (default: the measured one); it may be changed between them.
    `cuda_graphs`: replay launches that come again, which pays for short ones; nothing on a CPU.
    `executor` is for tests: who executes instructions, `table` (kernels/cpu.py, the default on a
    GPU) or `switch` (kernels/host.py, on a cpu only); the results are the same.
    """

    def __init__(
        self,
        cartridges: Cartridge | Sequence[Cartridge],
        num_envs: int = 1,
        device: str = "cpu",
        *,
        rom_of_env: np.ndarray | Sequence[int] | None = None,
        idle_skip: bool = True,
        trap_ld_b_b: bool | np.ndarray = False,
        serial_capacity: int = 0,
        shape: Shape | None = None,
        cuda_graphs: bool = False,
        executor: Executor | None = None,
    ) -> None:
        start_warp()
        self.cartridges = [cartridges] if isinstance(cartridges, Cartridge) else list(cartridges)
        if num_envs < 1 or not self.cartridges:
            raise EmulatorError(f"num_envs={num_envs}: at least one env and one cartridge")
        if shape is not None and impossible(shape):
            raise EmulatorError(f"shape: {impossible(shape)}")
        self.num_envs = num_envs
        self.device = device
        self.idle_skip = idle_skip
        self.shape = shape
        self.executor = chosen_executor(device, executor)
        self._kernels = host if self.executor == "switch" else frame
        self.frames_run = 0
        if rom_of_env is None:
            rom_of_env = np.arange(num_envs) % len(self.cartridges)
        self.rom_of_env = np.asarray(rom_of_env, dtype=np.int32)
        roms = [cartridge.rom for cartridge in self.cartridges]
        self._rom_bases = np.cumsum([0, *(len(rom) for rom in roms[:-1])]).tolist()
        layout = Layout(
            num_envs,
            ram_banks=max(cartridge.ram_banks for cartridge in self.cartridges),
            serial_capacity=serial_capacity,
        )
        self._row_bytes = row_bytes(layout.ram_banks)
        self.machine = allocate(
            layout,
            np.concatenate(roms),
            np.concatenate([self._decoded(rom) for rom in roms]),
            isa.control_words(bool(np.any(trap_ld_b_b))),
            device,
        )
        self._buttons = wp.zeros(num_envs, dtype=wp.uint8, device=device)
        self._no_buttons = wp.zeros(num_envs, dtype=wp.uint8, device=device)
        self._mask = wp.zeros(num_envs, dtype=wp.uint8, device=device)
        self._all = wp.full(num_envs, 1, dtype=wp.uint8, device=device)
        self._rom_index = wp.array(self.rom_of_env, dtype=wp.int32, device=device)
        self._order = WorkOrder(device)
        self._last_frames = 0
        self._recorder = Recorder(device) if cuda_graphs and wp.get_device(device).is_cuda else None
        self._sorts = wp.get_device(device).is_cuda  # one CPU thread runs them one after another
        self._shades: wp.array | None = None
        self._observations: wp.array | None = None
        self._plans: wp.array | None = None
        self._launch = wp.launch if self._sorts else RecordedLaunches().launch
        self._prepare(trap_ld_b_b, serial_capacity)

    # ---- running ---------------------------------------------------------------------------

    def run(
        self,
        buttons: wp.array | np.ndarray | None = None,
        frames: int = 1,
        release_after: int = 0,
    ) -> None:
        """Run every console for `frames` frames of 70224 T-cycles.

        `buttons`: uint8[N] joypad masks (bits 0-7 right left up down a b select start), a Warp
        array on the device (no copy) or a NumPy array; None holds nothing. They are let go after
        `release_after` frames (0: held to the end).
        """
        if not 1 <= frames <= MAX_FRAMES:
            raise EmulatorError(f"frames={frames}: give 1 to {MAX_FRAMES}")
        held = self._device_bytes(buttons, self._buttons, self._no_buttons)
        if self.executor == "switch":
            host.launch(self.machine, held, frames, release_after, self.idle_skip, self._launch)
            self.frames_run += frames
            return
        shape = self._shape()
        sorts = self._sorts and shape.lanes > 1 and frames > 1
        sort_by = self._last_frames if sorts else 0

        def launch() -> None:
            if sort_by:
                self._order.sort(self.machine, sort_by)
            frame.launch(self.machine, held, frames, release_after, shape, self.idle_skip)

        self._do(("run", held.ptr, frames, release_after, shape, sort_by, self.idle_skip), launch)
        self._last_frames = frames
        self.frames_run += frames

    def _do(self, key: Hashable, launch: Callable[[], None]) -> None:
        """Launch kernels, or replay those that `key` stands for (graphs.Recorder)."""
        if self._recorder is None:
            launch()
        else:
            self._recorder.play(key, launch)

    def step(self) -> None:
        """Run every console for one instruction (and the interrupt or HALT before it)."""
        consoles = self._consoles()
        kept = consoles["trap"].copy()
        consoles["trap"] = TRAP_STEP
        self.machine.console.assign(consoles)
        self.run(None, 1)
        self.frames_run -= 1
        consoles = self._consoles()
        consoles["trap"] = kept
        self.machine.console.assign(consoles)

    def freeze(self, env: int) -> None:
        """Let one console stand still until it is reset: launches pass it by."""
        record = self._console_record(self._checked(env))
        record["stopped"] = 1
        self.machine.console[env : env + 1].assign(record)

    def _shape(self) -> Shape:
        """How a launch of this batch is spread over the device."""
        if self.shape is None:
            self.shape = find_shape(self.num_envs, self.device)
        return self.shape

    def _device_bytes(self, given: Any, buffer: wp.array, default: wp.array) -> wp.array:
        if given is None:
            return default
        if isinstance(given, wp.array):
            return given
        values = np.asarray(given)
        if values.shape != (self.num_envs,):
            raise EmulatorError(f"shape {values.shape}: give one value per env ({self.num_envs},)")
        buffer.assign(values.astype(np.uint8))
        return buffer

    # ---- reset, snapshots ------------------------------------------------------------------

    def reset(
        self,
        mask: wp.array | np.ndarray | None = None,
        states: StateCache | None = None,
        index: wp.array | np.ndarray | None = None,
    ) -> None:
        """Put the envs whose `mask` (uint8 or bool [N]; None = all) is set into a cached state.

        Default: power-on. With `states`, env i takes `states[index[i]]` (int32[N], default 0).
        """
        chosen = self._device_bytes(mask, self._mask, self._all)
        source = self._rom_index
        if states is None:
            states = self._power_on
        elif index is None:
            source = states.first
        elif isinstance(index, wp.array):
            source = index
        else:
            states.index.assign(np.asarray(index, dtype=np.int32))
            source = states.index
        # On a GPU a warp for each console, which has next to nothing to do where nothing is reset.
        threads = 32 if wp.get_device(self.device).is_cuda else 1
        wp.launch(
            self._kernels.reset_envs,
            dim=(self.num_envs, threads),
            inputs=[
                self.machine, self.machine.console, chosen, source, states.console,
                states.rows.ptr, states.rows.shape[1], self._row_bytes, threads,
            ],
            device=self.device,
            block_dim=self._shape().block,  # as the frames: one compile
        )  # fmt: skip

    def state_cache(self, snapshots: Sequence[Snapshot]) -> StateCache:
        """Upload snapshots for `reset`; raise SnapshotError if one is of another ROM."""
        known = {cartridge.sha256 for cartridge in self.cartridges}
        for number, snapshot in enumerate(snapshots):
            if snapshot.rom_sha256 not in known:
                raise SnapshotError(
                    f"state {number} belongs to another ROM (SHA-256 {snapshot.rom_sha256[:12]})"
                )
        return StateCache(snapshots, self.num_envs, self._row_bytes, self.device)

    def snapshot(self, env: int = 0) -> Snapshot:
        """Copy the whole state of one console to the host."""
        env = self._checked(env)
        cartridge = self.cartridges[self.rom_of_env[env]]
        size = row_bytes(cartridge.ram_banks)
        return Snapshot(
            console=self._console_record(env).copy(),
            row=self.machine.ram[env, :size].numpy().copy(),
            rom_sha256=cartridge.sha256,
        )

    def restore(self, snapshot: Snapshot, env: int | None = None) -> None:
        """Put one console (None: all of them) into `snapshot`."""
        targets = range(self.num_envs) if env is None else (self._checked(env),)
        for target in targets:
            sha256 = self.cartridges[self.rom_of_env[target]].sha256
            if snapshot.rom_sha256 != sha256:
                raise SnapshotError(
                    f"the state belongs to a ROM with SHA-256 {snapshot.rom_sha256[:12]}...,"
                    f" env {target} runs {sha256[:12]}...; load that ROM instead"
                )
        mask = np.zeros(self.num_envs, dtype=np.uint8)
        mask[list(targets)] = 1
        self.reset(mask, self.state_cache([snapshot]))

    def save_state(self, path: str | os.PathLike[str], env: int = 0) -> None:
        """Write the state of one console as .npz."""
        self.snapshot(env).save(path)

    def load_state(self, path: str | os.PathLike[str], env: int | None = None) -> None:
        """Read a state and put one console (None: all) into it; SnapshotError says why not."""
        try:
            self.restore(Snapshot.load(path), env)
        except SnapshotError as error:
            message = str(error)
            raise SnapshotError(
                message if message.startswith(str(path)) else f"{path}: {message}"
            ) from None

    # ---- pictures ----------------------------------------------------------------------------

    @property
    def screens(self) -> wp.array:
        """Last completed picture of each env: shades 0 (lightest) to 3, uint8[N, 144, 160].

        The array is the same one every time; it is drawn anew when this property is read.
        """
        if self._shades is None:
            shape = (self.num_envs, k.SCREEN_HEIGHT, k.SCREEN_WIDTH)
            self._shades = wp.zeros(shape, dtype=wp.uint8, device=self.device)
        self.draw()
        picture.unpack(self.machine, self._shades)
        return self._shades

    def observations(self, out: wp.array | None = None) -> wp.array:
        """Downsampled pictures, uint8[N, 72, 80]: (a + b + c + d + 2) >> 2 of each 2x2 block.

        `out`: where to put them (no allocation, no copy); None uses an array of the emulator's.
        """
        if out is None:
            if self._observations is None:
                shape = (self.num_envs, k.OBSERVATION_HEIGHT, k.OBSERVATION_WIDTH)
                self._observations = wp.zeros(shape, dtype=wp.uint8, device=self.device)
            out = self._observations
        plans, found = self._picture_plans(), out

        def launch() -> None:
            picture.render_pictures(self.machine, plans, self._launch)
            picture.observe(self.machine, found, self._launch)

        self._do(("observe", found.ptr), launch)
        return out

    def draw(self) -> None:
        """Draw the pictures that were completed since the last call and are still shown."""
        picture.render_pictures(self.machine, self._picture_plans(), self._launch)

    def _picture_plans(self) -> wp.array:
        if self._plans is None:
            self._plans = picture.allocate_plans(self.num_envs, self.device)
        return self._plans

    # ---- looking in ------------------------------------------------------------------------

    def registers(self, env: int = 0) -> dict[str, int]:
        """CPU registers a f b c d e h l sp pc, and ime."""
        record = self._console_record(self._checked(env))
        lo, hi = int(record["lo"][0]), int(record["hi"][0])
        packed = {"c": lo, "b": lo >> 8, "e": lo >> 16, "d": lo >> 24,
                  "l": hi, "h": hi >> 8, "f": hi >> 16, "a": hi >> 24}  # fmt: skip
        values = {name: packed[name] & 0xFF for name in "afbcdehl"}
        values |= {name: int(record[name][0]) & 0xFFFF for name in ("sp", "pc")}
        return values | {"ime": int(record["ime"][0] == 1)}

    def peek(self, env: int, address: int, n: int = 1) -> np.ndarray:
        """Bytes as the CPU would see them, uint8[n], without side effects or access blocking."""
        out = wp.zeros(n, dtype=wp.uint8, device=self.device)
        wp.launch(
            self._kernels.peek,
            dim=1,
            inputs=[self.machine, self.machine.console, self._checked(env), address, n, out],
            device=self.device,
            block_dim=self._shape().block,  # as the frames: one compile
        )
        return out.numpy()

    def serial_output(self, env: int = 0) -> bytes:
        """Bytes sent with the internal clock (as many as `serial_capacity` holds)."""
        record = self._console_record(self._checked(env))
        begin = int(record["serial_log"][0])
        count = min(int(record["serial_count"][0]), int(record["serial_capacity"][0]))
        return self.machine.ram[env, begin : begin + count].numpy().tobytes() if count else b""

    def arrays_per_env(self) -> list[wp.array]:
        """Every device array that grows with the number of envs and exists by now."""
        owned = [*vars(self).values(), self._power_on.first, self._power_on.index]
        machine = (self.machine.console, self.machine.ram, self.machine.order)
        return [*machine, *(array for array in owned if isinstance(array, wp.array))]

    def stopped(self) -> np.ndarray:
        """Whether each env stands at a trapped LD B,B, bool[N]."""
        return self._consoles()["stopped"] != 0

    def work(self) -> np.ndarray:
        """Instructions each env executed in the last launch, uint32[N]."""
        return self._consoles()["work"].copy()

    def state_hash(self) -> list[str]:
        """Digest of each env's machine state (no screens, no bookkeeping): equal state, equal hash.

        It does not depend on N, on how runs were cut into launches, on idle skipping, on the device
        or on whether pictures were drawn.
        """
        consoles = self._consoles()
        rows = self.machine.ram.numpy()
        names = [name for name in CONSOLE_DTYPE.names or () if name not in BOOKKEEPING]
        hashes = []
        for env in range(self.num_envs):
            digest = hashlib.sha256()
            for name in names:
                digest.update(int(consoles[name][env]).to_bytes(4, "little"))
            banks = self.cartridges[self.rom_of_env[env]].ram_banks
            digest.update(rows[env, : k.ROW_SCRATCH].tobytes())
            digest.update(rows[env, k.ROW_OAM : k.ROW_SCREENS].tobytes())
            digest.update(rows[env, k.ROW_CART_RAM_BANK_1 : row_bytes(banks)].tobytes())
            hashes.append(digest.hexdigest()[:16])
        return hashes

    # ---- inside ----------------------------------------------------------------------------

    def _decoded(self, rom: np.ndarray) -> np.ndarray:
        """The words of a ROM as this executor wants them."""
        return mark_loops(rom, isa.predecode(rom, ends=self.executor == "switch"))

    def _prepare(self, trap_ld_b_b: bool | np.ndarray, serial_capacity: int) -> None:
        """Build the power-on states and put every env into its own."""
        snapshots = [
            Snapshot(
                power_on_console(cartridge, base),
                power_on_row(cartridge, row_bytes(cartridge.ram_banks)),
                cartridge.sha256,
            )
            for cartridge, base in zip(self.cartridges, self._rom_bases, strict=True)
        ]
        self._power_on = StateCache(snapshots, self.num_envs, self._row_bytes, self.device)
        wp.launch(
            self._kernels.power_on,
            dim=len(snapshots),
            inputs=[
                self._power_on.console, self._power_on.rows.ptr, self._power_on.rows.shape[1]
            ],
            device=self.device,
            block_dim=self._shape().block,  # as the frames: one compile
        )  # fmt: skip
        consoles = np.zeros(self.num_envs, dtype=CONSOLE_DTYPE)
        consoles["rom_base"] = np.array(self._rom_bases, dtype=np.uint32)[self.rom_of_env]
        consoles["trap"] = np.asarray(trap_ld_b_b, dtype=np.uint32)
        consoles["serial_capacity"] = serial_capacity
        consoles["serial_log"] = self._row_bytes
        self.machine.console.assign(consoles)
        self.reset()

    def _checked(self, env: int) -> int:
        if not 0 <= env < self.num_envs:
            raise EmulatorError(f"env {env}: this batch has envs 0 to {self.num_envs - 1}")
        return env

    def _consoles(self) -> np.ndarray:
        return self.machine.console.numpy()

    def _console_record(self, env: int) -> np.ndarray:
        return self.machine.console[env : env + 1].numpy()


def chosen_executor(device: str, wanted: Executor | None) -> Executor:
    """`wanted`, or the faster one on this device; EmulatorError if it cannot run there."""
    is_cuda = wp.get_device(device).is_cuda
    if wanted not in (None, "table", "switch") or (is_cuda and wanted == "switch"):
        raise EmulatorError(f"executor={wanted!r} on {device}: give table, or switch on a cpu")
    return wanted or ("table" if is_cuda else "switch")


class StateCache:
    """Snapshots on the device, for masked resets. `K` states, each one record and one row."""

    def __init__(
        self, snapshots: Sequence[Snapshot], num_envs: int, row_size: int, device: str
    ) -> None:
        rows = np.zeros((len(snapshots), row_size), dtype=np.uint8)
        for row, snapshot in zip(rows, snapshots, strict=True):
            row[: len(snapshot.row)] = snapshot.row
        records = np.concatenate([snapshot.console for snapshot in snapshots])
        self.console = wp.array(records, dtype=Console, device=device)
        self.rows = wp.array(rows, dtype=wp.uint8, device=device)
        self.first = wp.zeros(num_envs, dtype=wp.int32, device=device)
        self.index = wp.zeros(num_envs, dtype=wp.int32, device=device)
