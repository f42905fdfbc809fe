"""Emulator: a batch of consoles, with the launches of its kernels and the reading of its state."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import warp as wp
from numpy.typing import NDArray

from emulator import constants as k
from emulator.device_access import DeviceAccess, Mask
from emulator.frame_launcher import Executor, FrameLauncher, chosen_executor, kernels_of
from emulator.kernels.ppu.picture_arrays import Pictures
from emulator.launch.launch_shapes import Shape
from emulator.launch.memory_kernels import hold
from emulator.launch.slots import Slots
from emulator.launch.warp_start import explained, start_warp
from emulator.rom import control_rows
from emulator.rom.cartridge import Cartridge, EmulatorError, Rom
from emulator.rom.idle_loops import marked_words
from emulator.rom.regular_file import replacing
from emulator.state.arguments import OnDevice, button_masks, checked_bytes, checked_roms, whole_number
from emulator.state.batch import CONSOLE_DTYPE, HALTED, LOCKED, TRAP_STEP, Layout, allocate, row_bytes
from emulator.state.battery import battery_bytes, put_battery
from emulator.state.bess import bess_bytes
from emulator.state.power_on import power_on_console, power_on_row
from emulator.state.snapshot import Snapshot, SnapshotError, state_hashes
from emulator.state.state_cache import StateCache, check_batch, gathered, joined, rom_numbers, roms_of
from emulator.state.state_files import read_state

MOST_ENVS = 1 << 22
MOST_SERIAL_BYTES = 1 << 24
LEAST_WRITES = 64
NO_BYTES = 0xFFFFFFFF
DLPACK_CUDA = 2
"""Device type of GPU memory in the tuple that `__dlpack_device__` returns."""
STATES_AT_ONCE = 1024
"""Most states that `put_batch` holds on the device in addition to the batch at a time: some 50 MiB."""
MAX_FRAMES = 10_000
"""Most frames of one launch, because times are 32-bit M-cycles relative to its start."""
Buttons: TypeAlias = wp.array[Any] | NDArray[Any] | OnDevice | str | Sequence[int | str | Sequence[str] | None]
"""Types of the argument `buttons` of `Emulator.run`."""
if TYPE_CHECKING:

    class DeviceArray(wp.array[Any]):
        """Warp array of bytes on a CPU or GPU; `torch.from_dlpack` and, on a CPU, `numpy()` share its memory."""

        shape: tuple[int, ...]

        def numpy(self) -> NDArray[np.uint8]: ...  # pyright: ignore[reportIncompatibleMethodOverride]
        def __dlpack__(self, stream: int | None = None) -> Any: ...
        def __dlpack_device__(self) -> tuple[int, int]: ...

else:
    DeviceArray = wp.array


class Emulator(DeviceAccess):
    """Batch of N Game Boys that run in lockstep launches, each with one of the given cartridges.

    `cartridges`: one, or several for a mixed batch, each a `Cartridge`, the path or the bytes of a ROM; `rom_of_env`
    (int[N]) is the number of each env's cartridge (default: round robin). All arrays that are handed out lie on
    `device` and keep their memory alive, even once the emulator is closed; work is launched on Warp's current stream of
    that device, and `run` allocates nothing.

    `shape`: the spread of launches over a GPU (default: the measured one, and how many consoles are left to threaded
    code is chosen by the times of the launches); it may be changed between launches. `hot_code`: where threaded code
    runs and on a CPU, another process finds and compiles the most executed code of the ROMs, which is used as soon as
    it is ready (ADR 30, 31); a number delays its start by so many seconds, but not what earlier runs have left in the
    caches. `executor` is for tests: `uniform` (one data path for all lanes of a warp, a GPU's default) or `native`
    (generated C++, the default on a CPU and for it only); results are the same.
    """

    def __init__(
        self,
        cartridges: Rom | Sequence[Rom],
        num_envs: int = 1,
        device: object = "cpu",
        *,
        rom_of_env: NDArray[Any] | Sequence[int] | None = None,
        idle_skip: bool = True,
        trap_ld_b_b: bool | np.ndarray = False,
        serial_capacity: int = 0,
        shape: Shape | None = None,
        executor: Executor | None = None,
        hot_code: bool | float = False,
    ) -> None:
        start_warp()
        if not isinstance(cartridges, Sequence) or isinstance(cartridges, (str, bytes, bytearray)):
            cartridges = [cartridges]
        self.cartridges = [Cartridge.of(given) for given in cartridges]
        num_envs = whole_number("num_envs", num_envs, 1, MOST_ENVS)
        serial_capacity = whole_number("serial_capacity", serial_capacity, 0, MOST_SERIAL_BYTES)
        if not self.cartridges:
            raise EmulatorError("no cartridge; give at least one")
        self.num_envs = num_envs
        self.device = device = _checked_device(device)
        self.executor = chosen_executor(device, executor)
        self._kernels = kernels_of(self.executor, wp.get_device(device).is_cuda)
        self.rom_of_env = checked_roms(rom_of_env, num_envs, len(self.cartridges))
        self.bouncing_buttons = False
        """True for worn switches: a button that is let go requests the joypad interrupt too."""
        self._token = object()  # identifies the state caches made by this emulator
        numbers = rom_numbers(self.cartridges)
        self._same_roms = np.array([numbers[c.sha256] for c in self.cartridges], np.int32)
        self._known_rom = self._same_roms[self.rom_of_env]
        with explained(device, num_envs):
            self._allocate(serial_capacity, bool(np.any(trap_ld_b_b)))
            self._frames = FrameLauncher(
                self.batch, num_envs, self.cartridges, device, self.executor, shape=shape, idle_skip=idle_skip
            )
            if hot_code is not False:
                self._frames.search_hot_code(0.0 if hot_code is True else float(hot_code))
            self._buttons = wp.zeros(num_envs, dtype=wp.uint8, device=device)
            self._buttons_on_host = self._buttons.numpy() if wp.get_device(device).is_cpu else None
            self._no_buttons = wp.zeros(num_envs, dtype=wp.uint8, device=device)
            self._mask = wp.zeros(num_envs, dtype=wp.uint8, device=device)
            self._all = wp.full(num_envs, 1, dtype=wp.uint8, device=device)
            self._rom_index = wp.array(self.rom_of_env, dtype=wp.int32, device=device)
            self._known_rom_index = wp.array(self._known_rom, dtype=wp.int32, device=device)
            self._refused = wp.zeros(1, dtype=wp.int32, device=device)
            self._pictures = Pictures(self.batch, self._frames.launch)
            self._begin_access(idle_skip)
            self._prepare(trap_ld_b_b, serial_capacity)

    def __repr__(self) -> str:
        titles = [cartridge.header.title or cartridge.name for cartridge in self.cartridges]
        named = ", ".join(titles[:3]) + (f" and {len(titles) - 3} more" if len(titles) > 3 else "")
        return f"<Emulator: {self.num_envs} x {named} on {self.device}, {self.executor}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the consoles' memory and end the search for hot code; every later use raises EmulatorError.

        Arrays that were handed out stay valid as long as they are referenced. A second call does nothing.
        """
        vars(self).clear()
        object.__setattr__(self, "__class__", _ClosedEmulator)

    # ---- running ---------------------------------------------------------------------------

    def run(
        self, buttons: Buttons | None = None, frames: int = 1, release_after: int = 0, *, mask: Mask = None
    ) -> None:
        """Run every console, or those whose `mask` (uint8 or bool [N]) is set, for `frames` frames of 70224 T-cycles.

        `buttons`: a name for every env, `"start"` or `"a+up"`; or one entry for each env, a name, a
        list of names, None or a joypad mask (bits 0-7 right left up down a b select start); or
        uint8[N] joypad masks: a NumPy array, or a Warp array or torch tensor, which is not copied if
        it lies on the device. None holds nothing. They are let go after `release_after` frames (0:
        held to the end).
        """
        frames = whole_number("frames", frames, 1, MAX_FRAMES)
        release_after = whole_number("release_after", release_after, 0, MAX_FRAMES)
        held = self._device_bytes(buttons, self._buttons, self._no_buttons)
        release_after |= k.BOUNCING * self.bouncing_buttons
        self._hooks.clear_hits()
        chosen = self._device_bytes(mask, self._mask, self._all)
        if mask is not None:
            self._launch(hold, self.num_envs, [self.batch.console, chosen, 1], self.device)
        self._frames.run(held, frames, release_after)
        if mask is not None:
            self._launch(hold, self.num_envs, [self.batch.console, chosen, 0], self.device)
        for watch in self._watches:
            watch.update()

    def step(self) -> None:
        """Run every console for one instruction, and for the interrupt dispatch or HALT that precedes it."""
        kept = self._set_trap(TRAP_STEP)
        self.run(None, 1)
        self._set_trap(kept)

    def trace(self, instructions: int, buttons: Buttons | None = None) -> np.ndarray:
        """Run every console for `instructions` instructions; return where in its ROM PC points after each.

        int64[instructions, N]: an index into the ROM's bytes, -1 while PC is outside ROM.
        """
        kept = self._set_trap(TRAP_STEP)
        places = np.empty((instructions, self.num_envs), np.int64)
        for place in places:
            self.run(buttons, 1)
            consoles = self._consoles()
            pc, high = consoles["pc"].astype(np.int64), consoles["rom_high"].astype(np.int32)
            low = consoles["rom_low"].astype(np.int64)
            place[:] = pc + np.where(pc < 0x4000, low, high) - consoles["rom_base"]
            place[pc >= k.VRAM] = -1
        self._set_trap(kept)
        return places

    def count_places(self) -> wp.array[Any]:
        """Count the executed instructions of the first ROM from the next launch on; return the array of counts.

        uint32[2, bytes of the ROM]. Row 0: how often each byte was executed as an opcode. Row 1: how often the CPU came
        to it by a jump, call, return or interrupt instead of from the instruction before. Skipped turns of waiting
        loops do not count.
        Raises EmulatorError except with `executor="uniform"` on a CPU.
        """
        if self.executor != "uniform" or wp.get_device(self.device).is_cuda:
            raise EmulatorError(f"{self.executor} on {self.device} counts nothing: give uniform")
        counts = wp.zeros((2, len(self.cartridges[0].rom)), wp.uint32, device=self.device)
        self._frames.counts = counts
        return counts

    def _set_trap(self, value: int | np.ndarray) -> np.ndarray:
        """Set `Console.trap`, the breakpoint at LD B,B, to one value or uint32[N]; return the old values."""
        consoles = self._consoles()
        kept = consoles["trap"].copy()
        consoles["trap"] = value
        self.batch.console.assign(consoles)
        return kept

    def adopt(self, pieces: Sequence[Sequence[tuple[int, ...]]]) -> None:
        """Compile straight pieces of each ROM's code into one native block each, used from the next launch on.

        `pieces`: for each ROM, its pieces, each the ROM offsets of consecutive instructions (hot_code/piece_finder.py).
        Nothing is compiled if Warp's cache has the blocks.
        """
        self._frames.adopt(pieces)

    def freeze(self, env: int) -> None:
        """Exclude one console from all launches until it is reset."""
        record = self._console_record(self._checked(env))
        record["stopped"] = 1
        self.batch.console[env : env + 1].assign(record)

    @property
    def shape(self) -> Shape:
        """Spread of the last launch over the device's warps, or of the next one; a CPU has no use for it."""
        return self._frames.shape

    @shape.setter
    def shape(self, shape: Shape) -> None:
        self._frames.use(shape)

    def wait_for_kernels(self) -> None:
        """Block until every kernel that launches of this shape use is compiled (for measurements)."""
        self._frames.wait_for_kernels()

    def _device_bytes(self, given: Any, buffer: wp.array[Any], default: wp.array[Any]) -> wp.array[Any]:
        if given is None:
            return default
        if isinstance(given, wp.array):
            if given.dtype not in (wp.uint8, wp.bool) or given.shape != buffer.shape:
                what = "buttons" if buffer is self._buttons else "mask"
                kind = f"{given.dtype.__name__}{list(given.shape)} on the device"
                raise EmulatorError(f"{what}: {kind}: give uint8[{self.num_envs}]")
            return given
        if not isinstance(given, np.ndarray):
            if hasattr(given, "__dlpack_device__"):
                return self._device_bytes(self._arrived(given), buffer, default)
            if buffer is self._buttons:
                given = button_masks(given, self.num_envs)
        values = checked_bytes("buttons" if buffer is self._buttons else "mask", given, self.num_envs)
        if buffer is self._buttons and self._buttons_on_host is not None:
            self._buttons_on_host[:] = values  # Warp's own copy takes 25 us
        else:
            buffer.assign(values)
        return buffer

    def _arrived(self, given: Any) -> Any:
        """Return another library's array as a Warp array if it lies on this GPU, as a NumPy array if on the host."""
        if isinstance(given, (wp.array, np.ndarray)) or not hasattr(given, "__dlpack_device__"):
            return given
        kind, number = given.__dlpack_device__()
        if kind != DLPACK_CUDA:
            return np.asarray(given)
        device = wp.get_device(self.device)
        if not device.is_cuda or device.ordinal != number:
            raise EmulatorError(f"an array on cuda:{number}, the consoles are on {self.device}: move it there")
        return wp.from_dlpack(given)

    # ---- reset, snapshots ------------------------------------------------------------------

    def reset(
        self,
        mask: wp.array[Any] | np.ndarray | OnDevice | None = None,
        states: StateCache | None = None,
        index: wp.array[Any] | np.ndarray | None = None,
    ) -> None:
        """Put the envs whose `mask` (uint8 or bool [N]; None = all) is set into a cached state.

        Default: power-on. With `states`, env i takes `states[index[i]]` (int32[N], default 0). An index outside the
        cache, or of a state of another ROM, raises an error if mask and index are on the host; otherwise the device
        leaves that env unchanged and counts it in `refused_resets`.
        """
        chosen = self._device_bytes(mask, self._mask, self._all)
        if states is None:
            if index is not None:
                raise EmulatorError("index without states: give the state cache it points into")
            states, source = self._power_on, self._rom_index
        elif states.owner is not self._token:
            raise EmulatorError("states of another emulator; make them with this state_cache()")
        else:
            known = None if isinstance(mask, wp.array) else np.ones(self.num_envs, bool)
            if mask is not None and known is not None:
                known = np.asarray(mask) != 0
            source = states.choose(index, known, self._known_rom)
        self._load(chosen, source, states)

    def _load(self, chosen: wp.array[Any], source: wp.array[Any], states: StateCache | Slots) -> None:
        """Put each env of the mask `chosen` into `states[source[env]]`; all arguments lie on the device."""
        # A warp for each console: most of them are not reset and end at once.
        on_gpu = wp.get_device(self.device).is_cuda
        threads = 32 if on_gpu else 1
        # The block size of the frames, so that Warp compiles the module once.
        how = {"block_dim": self._frames.shape.block} if on_gpu else {}
        inputs = [self.batch, self.batch.console, chosen, source, states.console, states.rows.ptr]
        inputs += [states.rows.shape[1], self._row_bytes, threads, states.rom_index, self._known_rom_index]
        inputs.append(self._refused)
        self._launch(self._kernels.reset_envs, (self.num_envs, threads), inputs, self.device, **how)

    def _launch(self, kernel: Any, dim: Any, inputs: list[Any], device: Any, **how: Any) -> None:
        """Launch a small kernel, on a CPU from its recording."""
        self._frames.launch(kernel, dim=dim, inputs=inputs, device=device, **how)

    def state_cache(self, snapshots: Sequence[Snapshot]) -> StateCache:
        """Upload snapshots to the device for `reset`; raise SnapshotError for one that fits none of the ROMs."""
        return self._cache(snapshots, roms_of(snapshots, self.cartridges))

    def joined_cache(self, caches: Sequence[StateCache], roms: Sequence[Cartridge]) -> StateCache:
        """Return one cache with the states of several other emulators' caches, in order.

        All states of `caches[i]` are of the ROM `roms[i]`. Raises SnapshotError if this emulator does not run that ROM.
        """
        return self._cached(*joined(caches, roms, self.cartridges, self._row_bytes))

    def _cache(self, snapshots: Sequence[Snapshot], roms: np.ndarray) -> StateCache:
        return self._cached(*gathered(snapshots, self._row_bytes), roms)

    def _cached(self, records: np.ndarray, rows: np.ndarray, roms: np.ndarray) -> StateCache:
        return StateCache(records, rows, roms, self.num_envs, self.device, self._token)

    def put_batch(self, records: np.ndarray, rows: np.ndarray) -> None:
        """Load a state into every env, env i from `records[i]` and `rows[i]`.

        `records` [N] of `batch.CONSOLE_DTYPE`, `rows` uint8[N, bytes]: copies of the arrays of a `batch`. Raises
        SnapshotError, before anything is changed, for a state that the env's console cannot be in.
        """
        check_batch(records, rows, self._row_bytes, self.rom_of_env, self.cartridges)
        for first in range(0, self.num_envs, STATES_AT_ONCE):
            part = slice(first, min(first + STATES_AT_ONCE, self.num_envs))
            cache = self._cached(
                np.ascontiguousarray(records[part]),
                np.ascontiguousarray(rows[part, : self._row_bytes]),
                self._known_rom[part],
            )
            mask = np.zeros(self.num_envs, np.uint8)
            mask[part] = 1
            index = np.zeros(self.num_envs, np.int32)
            index[part] = np.arange(part.stop - part.start)
            self.reset(mask, cache, index)

    @property
    def refused_resets(self) -> int:
        """Number of envs that `reset` left unchanged, because `index` named no state or one of another ROM.

        Only arrays on the device are counted here; reading the number waits for the device.
        """
        return int(self._refused.numpy()[0])

    def snapshot(self, env: int = 0) -> Snapshot:
        """Copy the whole state of one console to the host."""
        return self.snapshots([env])[0]

    def snapshots(self, envs: Sequence[int]) -> list[Snapshot]:
        """Copy the whole state of each of `envs` to the host, in two transfers for all of them."""
        chosen = [self._checked(env) for env in envs]
        index: Any = wp.array(chosen, dtype=wp.int32, device=self.device)
        rows = wp.indexedarray(self.batch.ram, [index, None]).numpy()  # type: ignore[arg-type]
        found = []
        for env, record, row in zip(chosen, self._consoles()[chosen], rows, strict=True):
            cartridge = self._cartridge(env)
            kept = row[: row_bytes(cartridge.ram_banks)].copy()
            found.append(Snapshot(np.array([record]), kept, cartridge.sha256))
        return found

    def restore(self, snapshot: Snapshot, env: int | None = None) -> None:
        """Load `snapshot` into one console (None: all of them)."""
        if not isinstance(snapshot, Snapshot):
            raise SnapshotError(f"{type(snapshot).__name__} is no state: give one of snapshot(), or load_state(path)")
        targets = range(self.num_envs) if env is None else (self._checked(env),)
        for target in targets:
            sha256 = self._cartridge(target).sha256
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
        """Load a state file into one console (None: all): ours, BESS (`save_bess`, SameBoy, BGB), or PyBoy's `.state`.

        Raises SnapshotError if it does not fit.
        """
        try:
            self.restore(read_state(path, self._cartridge(env or 0)), env)
        except SnapshotError as error:
            message = str(error)
            raise SnapshotError(message if message.startswith(str(path)) else f"{path}: {message}") from None

    def save_bess(self, path: str | os.PathLike[str], env: int = 0) -> None:
        """Write the state of one console as BESS, which SameBoy, BGB and other emulators read."""
        state, io = self.snapshot(env), self.peek(env, k.IO, k.HRAM - k.IO).tolist()
        with replacing(path) as file:
            file.write(bess_bytes(state, self._cartridge(env), io))

    def save_battery(self, path: str | os.PathLike[str], env: int = 0) -> None:
        """Write what the cartridge's battery keeps, its RAM and clock, as a `.sav` file."""
        data = battery_bytes(self.snapshot(env), self._cartridge(env))
        with replacing(path) as file:
            file.write(data)

    def load_battery(self, path: str | os.PathLike[str], env: int | None = None) -> None:
        """Load a `.sav` file into the cartridge RAM and clock of one console (None: all), which else stays as it is.

        Raises EmulatorError for a file of another size than the cartridge's.
        """
        for each in range(self.num_envs) if env is None else (env,):
            state = self.snapshot(each)
            put_battery(state, self._cartridge(each), path)
            self.restore(state, each)

    # ---- pictures ----------------------------------------------------------------------------

    @property
    def screens(self) -> DeviceArray:
        """Last completed picture of each env: shades 0 (lightest) to 3, uint8[N, 144, 160].

        The array is the same one every time; it is drawn anew when this property is read.
        """
        return self._pictures.screens()  # type: ignore[return-value]

    def first_screens(self, count: int) -> DeviceArray:
        """Return `screens` of the first `count` envs only, uint8[count, 144, 160].

        Takes 22.5 KiB of memory for each of these envs only. Calls with the same `count` return the same array.
        """
        count = whole_number("count", count, 1, self.num_envs)
        return self._pictures.first_screens(count)  # type: ignore[return-value]

    def observations(self, out: wp.array[Any] | None = None) -> DeviceArray:
        """Return downsampled pictures, uint8[N, 72, 80]: (a + b + c + d + 2) >> 2 of each 2x2 block.

        `out`: array to write them to, without allocation or copy; None uses an array that the emulator keeps.
        """
        found = self._pictures.room_for_observations() if out is None else out
        self._pictures.observe(found)
        return found  # type: ignore[return-value]

    def packed_screens(self, out: wp.array[Any] | None = None) -> DeviceArray:
        """Return the last completed pictures in bit planes, uint8[N, 144, 2, 20]: a quarter of the bytes of `screens`.

        The 20 bytes of a line's low shade bits come before those of its high ones, the leftmost pixel in the top bit:
        `bits = numpy.unpackbits(planes, axis=-1)`, `shades = bits[..., 0, :] | bits[..., 1, :] << 1`. `out`: array to
        write them to; None uses one that the emulator keeps.
        """
        shape = (self.num_envs, k.SCREEN_HEIGHT, 2, k.SCREEN_WIDTH // 8)
        if out is not None and (out.shape != shape or out.dtype is not wp.uint8 or not out.is_contiguous):
            raise EmulatorError(f"out: {out.dtype.__name__}{list(out.shape)}: give uint8{list(shape)}, contiguous")
        return self._pictures.packed(out)  # type: ignore[return-value]

    def draw(self) -> None:
        """Draw every picture that was completed since the last call, unless a later one has replaced it."""
        self._pictures.draw()

    # ---- looking in ------------------------------------------------------------------------

    def registers(self, env: int = 0) -> dict[str, int]:
        """Return the CPU registers a f b c d e h l sp pc, and ime."""
        record = self._console_record(self._checked(env))
        lo, hi = int(record["lo"][0]), int(record["hi"][0])
        packed = {
            "c": lo,
            "b": lo >> 8,
            "e": lo >> 16,
            "d": lo >> 24,
            "l": hi,
            "h": hi >> 8,
            "f": hi >> 16,
            "a": hi >> 24,
        }
        values = {name: packed[name] & 0xFF for name in "afbcdehl"}
        values |= {name: int(record[name][0]) & 0xFFFF for name in ("sp", "pc")}
        return values | {"ime": int(record["ime"][0] == 1)}

    def hung(self, env: int = 0) -> str:
        """Return the reason, as text, why the CPU will never run again; empty if it can."""
        record = self._console_record(self._checked(env))
        state, pc = int(record["run_state"][0]), int(record["pc"][0]) & 0xFFFF
        if state == LOCKED:
            return f"undefined opcode at ${pc - 1 & 0xFFFF:04X}"
        if state == HALTED and not self.peek(env, k.IE)[0] & 0x1F:
            return f"HALT without an enabled interrupt at ${pc - 1 & 0xFFFF:04X}"
        return ""

    def peek(self, env: int, address: int, n: int = 1) -> NDArray[np.uint8]:
        """Return bytes as the CPU would see them, uint8[n], without side effects or access blocking."""
        n = whole_number("bytes", n, 1, 0x10000)
        address = whole_number("address", address, 0, 0xFFFF)
        out = wp.zeros(n, dtype=wp.uint8, device=self.device)
        wp.launch(
            self._kernels.peek,
            dim=1,
            inputs=[self.batch, self.batch.console, self._checked(env), address, n, out],
            device=self.device,
            block_dim=self._frames.shape.block,  # the frames' block size: one compile
        )
        return out.numpy()  # type: ignore[return-value]

    def store(self, env: int, address: int, value: int) -> None:
        """Write a byte as the CPU would now: to I/O registers and the mapper too, and blocked as the CPU would be."""
        place = (whole_number("address", address, 0, 0xFFFF), whole_number("value", value, 0, 0xFF))
        wp.launch(
            self._kernels.store,
            dim=1,
            inputs=[self.batch, self.batch.console, self._checked(env), *place],
            device=self.device,
            block_dim=self._frames.shape.block,
        )

    @property
    def work_ram(self) -> DeviceArray:
        """WRAM (C000-DFFF) of every env, uint8[N, 8192]: the consoles' own memory, read and written without a copy."""
        return self.batch.ram[:, k.WRAM - k.VRAM : k.ECHO - k.VRAM]  # type: ignore[return-value]

    def serial_output(self, env: int = 0) -> bytes:
        """Return the bytes that the program sent by the serial port's internal clock, at most `serial_capacity`."""
        record = self._console_record(self._checked(env))
        begin = int(record["serial_log"][0])
        capacity = int(record["serial_capacity"][0])
        count = min(int(record["serial_count"][0]), capacity * (capacity != NO_BYTES))
        return self.batch.ram[env, begin : begin + count].numpy().tobytes() if count else b""

    def log_sound(self) -> None:
        """Log writes to sound registers from now on, in the place of bytes sent (sound/channels.py)."""
        consoles = self._consoles()
        room = (int(consoles["serial_capacity"][0]) - 8) // 8
        if room < LEAST_WRITES:
            raise EmulatorError(f"serial_capacity: give at least {8 + 8 * LEAST_WRITES}, 8 bytes for each sound write")
        first = self._row_bytes + 4
        self.batch.ram[:, first : first + 4].assign(np.tile(np.array([room], "<u4").view(np.uint8), (self.num_envs, 1)))
        consoles["serial_capacity"] = NO_BYTES
        self.batch.console.assign(consoles)

    def arrays_per_env(self) -> list[wp.array[Any]]:
        """Return the allocated device arrays whose size grows with the number of envs."""
        owned = [*vars(self).values(), *vars(self._pictures).values()]
        owned += [self._power_on.first, self._power_on.index]
        shared = (self.batch.console, self.batch.ram, self.batch.order)
        return [*shared, *(array for array in owned if isinstance(array, wp.array))]

    def stopped(self) -> np.ndarray:
        """Return whether each env has stopped at the breakpoint LD B,B or is frozen, bool[N]."""
        return self._consoles()["stopped"] != 0

    def work(self) -> np.ndarray:
        """Return the number of instructions that each env executed in the last launch, uint32[N].

        Skipped turns of waiting loops do not count. How many are skipped depends on which executor comes to the loop,
        so with `idle_skip` only an estimate is independent of executor and shape.
        """
        return self._consoles()["work"].copy()

    def state_hash(self) -> list[str]:
        """Return a digest of each console's state, without screens and bookkeeping fields: equal state, equal hash.

        It does not depend on N, on how runs were cut into launches, on idle skipping, on the device or on whether
        pictures were drawn.
        """
        banks = [self.cartridges[rom].ram_banks for rom in self.rom_of_env]
        return state_hashes(self._consoles(), self.batch.ram.numpy(), banks)

    # ---- inside ----------------------------------------------------------------------------

    def _allocate(self, serial_capacity: int, traps: bool) -> None:
        """Allocate the batch's arrays: the ROMs one after another, and memory rows for the largest cartridge RAM."""
        roms = [cartridge.rom for cartridge in self.cartridges]
        self._rom_bases = np.cumsum([0, *(len(rom) for rom in roms[:-1])]).tolist()
        layout = Layout(
            self.num_envs,
            ram_banks=max(cartridge.ram_banks for cartridge in self.cartridges),
            serial_capacity=serial_capacity,
        )
        self._row_bytes = row_bytes(layout.ram_banks)
        self.batch = allocate(
            layout,
            np.concatenate(roms),
            np.concatenate([self._predecoded(rom) for rom in roms]),
            control_rows.control_words(traps),
            self.device,
        )

    def _predecoded(self, rom: np.ndarray) -> np.ndarray:
        if self.executor != "native":
            return marked_words(rom)
        words = marked_words(rom, ends=True)
        # Alone, as behind SLOW_FETCH the table of functions has the superblocks (hot_code/cpp_superblocks.py).
        return np.where(words & control_rows.SLOW_FETCH, np.uint32(control_rows.SLOW_FETCH), words)

    def _prepare(self, trap_ld_b_b: bool | np.ndarray, serial_capacity: int) -> None:
        """Build the power-on state of each ROM and reset every env to the one of its ROM."""
        snapshots = [
            Snapshot(
                power_on_console(cartridge, base),
                power_on_row(cartridge, row_bytes(cartridge.ram_banks)),
                cartridge.sha256,
            )
            for cartridge, base in zip(self.cartridges, self._rom_bases, strict=True)
        ]
        self._power_on = self._cache(snapshots, self._same_roms)
        wp.launch(
            self._kernels.power_on,
            dim=len(snapshots),
            inputs=[self._power_on.console, self._power_on.rows.ptr, self._power_on.rows.shape[1]],
            device=self.device,
            block_dim=self._frames.shape.block,  # the frames' block size: one compile
        )
        consoles = np.zeros(self.num_envs, dtype=CONSOLE_DTYPE)
        consoles["rom_base"] = np.array(self._rom_bases, dtype=np.uint32)[self.rom_of_env]
        consoles["trap"] = np.asarray(trap_ld_b_b, dtype=np.uint32)
        consoles["serial_capacity"] = serial_capacity
        consoles["serial_log"] = self._row_bytes
        self.batch.console.assign(consoles)
        self.reset()

    def _cartridge(self, env: int) -> Cartridge:
        return self.cartridges[self.rom_of_env[self._checked(env)]]

    def _checked(self, env: int) -> int:
        return whole_number("env", env, 0, self.num_envs - 1)

    def _consoles(self) -> np.ndarray:
        return self._records(0, self.num_envs)

    def _console_record(self, env: int) -> np.ndarray:
        return self._records(env, 1)

    def _records(self, first: int, count: int) -> np.ndarray:
        """Return `count` console records from env `first` on, copied to the host.

        They are copied as bytes: Warp needs 3 ms to find a struct's NumPy type.
        """
        size = CONSOLE_DTYPE.itemsize
        at = self.batch.console.ptr + first * size
        data = wp.array(ptr=at, dtype=wp.uint8, shape=(count * size,), device=self.device)
        return data.numpy().view(CONSOLE_DTYPE)


def _checked_device(name: object) -> str:
    """Return `cpu` or `cuda:N` for a device name or torch device; raise EmulatorError, with the devices there are."""
    try:
        return str(wp.get_device(str(name)))
    except (ValueError, RuntimeError):
        there = ", ".join(map(str, wp.get_devices()))
        raise EmulatorError(f"device={str(name)!r:.60}: no such device here; give one of {there}") from None


class _ClosedEmulator(Emulator):
    """Class of a closed emulator: every use of it raises EmulatorError."""

    def __getattribute__(self, name: str) -> Any:
        if name == "close" or name.startswith("__"):
            return object.__getattribute__(self, name)
        raise EmulatorError(f"{name}: this Emulator is closed; make a new one")

    def __repr__(self) -> str:
        return "<Emulator, closed>"
