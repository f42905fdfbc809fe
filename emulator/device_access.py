"""Watched bytes, pokes, hooks and slots of a batch, all on the device: the base class of `Emulator`."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import warp as wp
from numpy.typing import NDArray

from emulator.launch.code_hooks import (
    MOST_KEPT,
    CodeHooks,
    Hook,
    code_place,
    is_in_status_loop,
    places_of,
    tested,
    written_bytes,
)
from emulator.launch.memory_kernels import write_places
from emulator.launch.slots import Slots, slot_bytes
from emulator.launch.warp_start import explained
from emulator.launch.watched_memory import MOST_BYTES, Item, Poke, Watch, addresses_of, read_code, row_place
from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.rom.symbols import Symbols
from emulator.state.arguments import OnDevice, whole_number
from emulator.state.state_cache import StateCache

if TYPE_CHECKING:
    from emulator.frame_launcher import FrameLauncher

MOST_POKES = 256
"""Most places whose arrays `poke` keeps."""
Mask: TypeAlias = wp.array[Any] | NDArray[Any] | OnDevice | Sequence[int | bool] | None
"""Types of a mask of consoles, uint8 or bool [N]; None: all."""


class DeviceAccess:
    """Methods of `Emulator` that set up what is read and written in all consoles on the device."""

    if TYPE_CHECKING:  # of Emulator
        batch: Any
        device: str
        num_envs: int
        cartridges: list[Cartridge]
        _all: wp.array[Any]
        _frames: FrameLauncher
        _known_rom_index: wp.array[Any]
        _mask: wp.array[Any]
        _refused: wp.array[Any]
        _rom_bases: list[int]
        _row_bytes: int

        def _arrived(self, given: Any) -> Any: ...
        def _device_bytes(self, given: Any, buffer: wp.array[Any], default: wp.array[Any]) -> wp.array[Any]: ...
        def _launch(self, kernel: Any, dim: Any, inputs: list[Any], device: Any) -> None: ...
        def _load(self, chosen: wp.array[Any], source: wp.array[Any], states: StateCache | Slots) -> None: ...
        def draw(self) -> None: ...

    def _begin_access(self, idle_skip: bool) -> None:
        self._symbols = Symbols()
        self._watches: list[Watch] = []
        self._pokes: dict[str, Poke] = {}
        self._slots: Slots | None = None
        self._hooks = CodeHooks(self.batch)
        self._idle_skip = idle_skip

    @property
    def symbols(self) -> Symbols:
        """Names of addresses for `watch`, `poke` and `on`; a file of another ROM is refused when it is set."""
        return self._symbols

    @symbols.setter
    def symbols(self, symbols: Symbols) -> None:
        if not isinstance(symbols, Symbols):
            raise EmulatorError(f"symbols={symbols!r:.60}: give dmglab.Symbols(FILE)")
        symbols.check(max(self.cartridges, key=lambda cartridge: cartridge.rom_banks))
        self._symbols = symbols
        self._pokes.clear()

    def watch(self, symbols: Symbols | None = None, /, *, out: wp.array[Any] | None = None, **groups: Item) -> Watch:
        """Read the same bytes of every console at the end of each `run`, into one array uint8[N, B] on the device.

        `groups`: by name, which bytes: an address, a name of `symbols`, a string such as "01:A000", (start, length),
        (bank, address), or a tuple of these. In all at most 4096. A bank's ROM or cartridge RAM is read whether it is
        switched in or not; without a bank it is what the CPU sees. `out`: the array, if not a new one. Raises
        EmulatorError for what cannot be read.
        """
        if symbols is not None:
            self.symbols = symbols
        codes = {
            name: [read_code(*place, self.cartridges) for place in addresses_of(item, self._symbols)]
            for name, item in groups.items()
        }
        count = sum(map(len, codes.values()))
        if not 1 <= count <= MOST_BYTES:
            raise EmulatorError(f"{count} watched bytes: give 1 to {MOST_BYTES}, as xy=(0xD361, 0xD362)")
        shape = (self.num_envs, count)
        found = wp.zeros(shape, dtype=wp.uint8, device=self.device) if out is None else out
        if not isinstance(found, wp.array):
            raise EmulatorError(f"out={found!r:.60}: give a Warp array, uint8{list(shape)}")
        fits = found.dtype is wp.uint8 and found.shape == shape and found.strides[1] == 1
        if not fits or str(found.device) != self.device:
            what = f"{found.dtype.__name__}{list(found.shape)} on {found.device}"
            raise EmulatorError(f"out: {what}: give uint8{list(shape)} on {self.device}")
        watch = Watch(codes, found, self.batch, self._launch)
        self._watches.append(watch)
        watch.update()
        return watch

    def poke(self, place: Item, values: Any, mask: Mask = None) -> None:
        """Write bytes to RAM of the consoles whose `mask` (uint8 or bool [N]; None: all) is set, even where the PPU or
        a DMA blocks the CPU's access.

        `place`: as for `watch`. RAM is 8000-FE9F and FF80-FFFE; at A000-BFFF without a bank, the one that is switched
        in. `values`: a byte or a list of bytes for all, or uint8[N, n]. After the first call for a place nothing is
        allocated. Raises EmulatorError for ROM, I/O registers and cartridge RAM that does not exist.
        """
        key = repr(place)
        if key not in self._pokes:
            places = [row_place(*at, self.cartridges) for at in addresses_of(place, self._symbols)]
            if len(self._pokes) >= MOST_POKES:
                self._pokes.clear()
            self._pokes[key] = Poke(place, places, self.num_envs, self.device)
        poke = self._pokes[key]
        written, chosen = poke.values(self._arrived(values)), self._device_bytes(mask, self._mask, self._all)
        if poke.is_drawn:
            self.draw()  # a finished picture that waits reads video memory and objects
        inputs = [self.batch, self.batch.console, chosen, poke.places, written]
        self._launch(write_places, self.num_envs, inputs, self.device)

    def on(
        self,
        place: Item,
        record: Sequence[Item] | Mapping[str, Item] | str | int = (),
        *,
        poke: Mapping[Item, int] | None = None,
        when: tuple[Item, str, int] | None = None,
        keep: int = 1,
        rom: int = 0,
    ) -> Hook:
        """Hook an instruction: count, as each console comes to it, and record and write bytes before it is executed.

        `place`: a name of `symbols`, "BANK:ADDRESS", (bank, address), or the address where no bank is needed; in ROM
        number `rom`. `record`: registers (a f b c d e h l, bc de hl af sp pc) and bytes as for `watch`, or by name.
        `poke`: numbers for registers but pc, and for RAM, the lowest byte first. `when`: (register or bytes, one of
        == != < <= > >= &, number), else a hit does not count. `keep`: record the latest hit (1), or the first `keep`.
        Where hot code is wanted, launches run without it until it is compiled for these hooks. Raises EmulatorError for
        a place that is not in the ROM.
        """
        rom = whole_number("rom", rom, 0, len(self.cartridges) - 1)
        offset, address = code_place(place, self._symbols, self.cartridges[rom])
        read = functools.partial(places_of, symbols=self._symbols, cartridges=self.cartridges)
        write = functools.partial(read, is_written=True)
        items = [record] if isinstance(record, (str, int)) else record
        names = items if isinstance(items, Mapping) else {str(item): item for item in items}
        hook = Hook(
            (offset + self._rom_bases[rom], address),
            {name: read(item) for name, item in names.items()},
            written_bytes(poke, write),
            tested(when, read),
            whole_number("keep", keep, 1, MOST_KEPT),
            self.num_envs,
            self.device,
        )
        self._hooks.add(hook)
        self._mark_hooks()
        return hook

    def off(self, ended: Hook | Watch) -> None:
        """End a hook of `on`, or the updates of a watch. Nothing is done if it has ended."""
        if isinstance(ended, Watch):
            self._watches = [watch for watch in self._watches if watch is not ended]
            return
        self._hooks.remove(ended)
        self._mark_hooks()

    def _mark_hooks(self) -> None:
        """Let fast code leave at the hooks of now."""
        bounds = [*self._rom_bases, len(self.batch.words)]
        hooked = [
            {offset - first for offset in self._hooks.offsets if first <= offset < end}
            for first, end in itertools.pairwise(bounds)
        ]
        self._frames.code.hook(hooked)
        loops = any(
            is_in_status_loop(c.rom, at) for c, some in zip(self.cartridges, hooked, strict=True) for at in some
        )
        self._frames.idle_skip = self._idle_skip and not loops

    def make_slots(self, count: int) -> Slots:
        """Allocate `count` slots (`slot_bytes` each) in place of any that there were; return them, as `slots` does."""
        self._slots = None
        with explained(self.device, count, "slots"):
            self._slots = self._new_slots(count)
        return self._slots

    def share_slots(self, other: DeviceAccess) -> None:
        """Use the slots of another emulator in place of any own ones; raise EmulatorError unless both have the same
        cartridges and device."""
        roms, others = ([cartridge.sha256 for cartridge in each.cartridges] for each in (self, other))
        if roms != others or self.device != other.device:
            raise EmulatorError("slots are shared by emulators with the same cartridges on the same device")
        self._slots = self._new_slots(len(other.slots), other.slots)

    def _new_slots(self, count: int, shared: Slots | None = None) -> Slots:
        masked = functools.partial(self._device_bytes, buffer=self._mask, default=self._all)
        known = self._known_rom_index, self._refused
        return Slots(count, self.batch, self._row_bytes, *known, masked, self._arrived, self._load, shared)

    @property
    def slots(self) -> Slots:
        """States of consoles on the device, saved and loaded by masks; `make_slots` must have made them."""
        if self._slots is None:
            raise EmulatorError("no slots; make_slots(COUNT) makes them")
        return self._slots

    @property
    def slot_bytes(self) -> int:
        """Bytes of device memory that each slot takes."""
        return slot_bytes(self._row_bytes)
