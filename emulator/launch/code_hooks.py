"""Hooks of a batch: the table on the device, marked words of the hooked places, arrays of what is counted."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np
import warp as wp

from emulator import constants as k
from emulator.kernels.sm83 import hooks as table
from emulator.launch.watched_memory import Item, Views, addresses_of, read_code
from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.rom.control_rows import SLOW_FETCH
from emulator.rom.symbols import Symbols
from emulator.state.arguments import whole_number

MOST_HOOKS = 64
MOST_KEPT = 16
"""Most hits of a hook whose bytes are kept."""
WORD = 0xFFFFFFFF
_BANK = 0x4000
_PLAIN = frozenset((k.TMA, k.LCDC, k.SCY, k.SCX, k.LYC, k.BGP, k.OBP0, k.OBP1, k.WY, k.WX))
"""I/O registers whose byte in memory is what was written to them last."""
_PAIRS = {"bc": "cb", "de": "ed", "hl": "lh", "sp": ("sp.low", "sp.high"), "pc": ("pc.low", "pc.high"), "af": "fa"}
_LISTS_AT = table.FIRST_HOOK + MOST_HOOKS * table.HOOK_WORDS
_STAT_LOOP = 6
"""Bytes of a loop that waits for STAT or LY, before its branch."""


def code_place(place: Item, symbols: Symbols, cartridge: Cartridge) -> tuple[int, int]:
    """Return ROM offset and address of an instruction: of a name, of "BANK:ADDRESS", (bank, address) or an address.

    Raises EmulatorError for what is not in this ROM.
    """
    if isinstance(place, str):
        bank, address = symbols.lookup(place)
    elif isinstance(place, (tuple, list)) and len(place) == 2:
        bank = whole_number("bank", place[0], 0, 0x1FF)
        address = whole_number("address", place[1], 0, 0xFFFF)
    else:
        address = whole_number("address", place, 0, 0xFFFF)
        bank = int(address >= _BANK)
        if bank and address < k.VRAM and cartridge.rom_banks > 2:
            raise EmulatorError(f"address 0x{address:04X}: in which ROM bank? give (bank, address)")
    if bank == 0 and _BANK <= address and cartridge.rom_banks == 2:
        bank = 1  # as symbol files of ROMs without a mapper have it
    if address >= k.VRAM:
        raise EmulatorError(f"address 0x{address:04X} is no ROM: hooks are for code below 0x8000")
    if (bank > 0) != (address >= _BANK) or bank >= cartridge.rom_banks:
        raise EmulatorError(
            f"address {bank:02X}:{address:04X}: there is no such code; {cartridge.name} has ROM bank 00 at 0x0000 and "
            f"01 to {cartridge.rom_banks - 1:02X} at 0x4000"
        )
    return bank * _BANK + address % _BANK, address


def places_of(item: Item, symbols: Symbols, cartridges: Sequence[Cartridge], is_written: bool = False) -> list[int]:
    """Return the hook table's places of a register (`a` to `l`, `bc`, `de`, `hl`, `sp`, `pc`) or of memory.

    Raises EmulatorError for what can be read, or written, by the service only at other times.
    """
    if isinstance(item, str) and item.lower() in {*table.REGISTERS, *_PAIRS} and item not in symbols.by_name:
        names = _PAIRS.get(item.lower(), (item.lower(),))
        if is_written and item.lower() == "pc":
            raise EmulatorError("pc: a hook does not change where the CPU goes on")
        return [table.REGISTER | table.REGISTERS.index(name) for name in names]
    found = []
    for bank, address in addresses_of(item, symbols):
        is_ram = k.WRAM <= address < k.OAM or k.HRAM <= address < k.IE or k.CART_RAM <= address < k.WRAM
        is_read = address < k.CART_RAM and not (address < k.VRAM and bank is None)
        is_read |= address == k.IE or address in _PLAIN
        if not is_ram and (is_written or not is_read):
            verb = "write" if is_written else "read"
            raise EmulatorError(
                f"address 0x{address:04X}: a hook cannot {verb} it; give RAM, HRAM, cartridge RAM"
                + ("" if is_written else ", video memory, ROM with its bank")
                + " or a register's name"
            )
        if address in _PLAIN:
            found.append(address - k.ROW_ORIGIN)
        elif k.CART_RAM <= address < k.WRAM and bank is None:
            found.append(table.CART | address - k.CART_RAM)
        else:
            found.append(read_code(bank, address, cartridges))
    return found


class Hook(Views):
    """Hook at an instruction: `hits` int32[N], since the last `run` began; `hook[NAME]` the recorded bytes.

    They are uint8[N, n] of the latest hit, or uint8[N, keep, n] of the first ones, as before the instruction; where
    there was no hit the bytes are old. The arrays lie on the device and are the same ones every time.
    """

    def __init__(
        self,
        place: tuple[int, int],
        record: Mapping[str, list[int]],
        pokes: list[tuple[int, int]],
        test: tuple[int, list[int], int],
        keep: int,
        num_envs: int,
        device: str,
    ) -> None:
        """Use ROM offset and address, places to read by name, places with values to write, and the test.

        The test is an index of `hooks.TESTS`, one or two places, and the number that they are compared with.
        """
        self.offset, self.address = place
        self.reads = [code for codes in record.values() for code in codes]
        self.pokes, self.test, self.keep = pokes, test, keep
        self.hits: wp.array[Any] = wp.zeros(num_envs, dtype=wp.int32, device=device)
        self.records: wp.array[Any] = wp.zeros((num_envs, keep, len(self.reads)), dtype=wp.uint8, device=device)
        begin, views = 0, dict[str, Any]()
        for name, codes in record.items():
            part: Any = self.records[:, :, begin : begin + len(codes)]
            views[name] = part if keep > 1 else part[:, 0]
            begin += len(codes)
        super().__init__(views, "recorded")


class CodeHooks:
    """Hooks of the first of a batch's ROMs, or of another one, each made by `add`."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self._hooks: list[Hook] = []
        self._words: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._hooks)

    @property
    def offsets(self) -> set[int]:
        """Places of the hooked instructions in the array of all ROMs."""
        return {hook.offset for hook in self._hooks}

    def clear_hits(self) -> None:
        """Set all counts to 0 on the device."""
        for hook in self._hooks:
            hook.hits.zero_()

    def add(self, hook: Hook) -> None:
        """Let a hook run from the next launch on. Raises EmulatorError if the table is full."""
        self._hooks.append(hook)
        try:
            written = self._table()
        except EmulatorError:
            self._hooks.remove(hook)
            raise
        self._upload(written)

    def remove(self, hook: Hook) -> None:
        """End a hook; nothing is done if it was removed before."""
        if hook in self._hooks:
            self._hooks.remove(hook)
            self._upload(self._table())

    def _table(self) -> np.ndarray:
        """Return the table of all hooks, uint32[TABLE_WORDS]. Raises EmulatorError if they have no room."""
        words = np.zeros(table.TABLE_WORDS, np.int64)
        words[0], lists = len(self._hooks), []
        for index, hook in enumerate(self._hooks[:MOST_HOOKS]):
            pokes = [number for poke in hook.pokes for number in poke]
            kind, tested, value = hook.test
            parts = (hook.reads, pokes, tested)
            reads_at, pokes_at, tested_at = (
                _LISTS_AT + len(lists) + sum(map(len, parts[:number])) for number in range(len(parts))
            )
            lists += [number for part in parts for number in part]
            hits, records = hook.hits.ptr or 0, hook.records.ptr or 0
            numbers = [hook.offset, hook.address, hits & WORD, hits >> 32, records & WORD, records >> 32, hook.keep]
            numbers += [len(hook.reads), reads_at, len(hook.pokes), pokes_at, kind, len(tested), tested_at, value]
            begin = table.FIRST_HOOK + index * table.HOOK_WORDS
            words[begin : begin + len(numbers)] = numbers
        if len(self._hooks) > MOST_HOOKS or _LISTS_AT + len(lists) > len(words):
            most = len(words) - _LISTS_AT
            raise EmulatorError(f"no room for another hook; at most {MOST_HOOKS}, which read and write {most} bytes")
        words[_LISTS_AT : _LISTS_AT + len(lists)] = lists
        return words.astype(np.uint32)

    def _upload(self, written: np.ndarray) -> None:
        """Write the table to the device, and mark the words of the hooked places, and only these."""
        self._batch.control[-len(written) :].assign(written)
        words, offsets = self._batch.words, self.offsets
        for offset in offsets - self._words.keys():
            self._words[offset] = int(words[offset : offset + 1].numpy()[0])
            words[offset : offset + 1].assign(np.array([SLOW_FETCH], np.uint32))
        for offset in self._words.keys() - offsets:
            words[offset : offset + 1].assign(np.array([self._words.pop(offset)], np.uint32))


def tested(when: Any, read: Any) -> tuple[int, list[int], int]:
    """Return the test of `when`, (item, comparison, number), for a `Hook`; `read(item)` returns an item's places.

    Raises EmulatorError for anything else.
    """
    if when is None:
        return 0, [], 0
    if not isinstance(when, (tuple, list)) or len(when) != 3 or when[1] not in table.TESTS[1:]:
        raise EmulatorError(f"when={when!r:.60}: give (register or bytes, {' '.join(table.TESTS[1:])}, number)")
    item, comparison, number = when
    places = read(item)
    if len(places) > 2:
        raise EmulatorError(f"when={when!r:.60}: {len(places)} bytes are compared; give one or two")
    return table.TESTS.index(comparison), places, whole_number("number", number, 0, (1 << 8 * len(places)) - 1)


def written_bytes(poke: Mapping[Any, Any] | None, places: Any) -> list[tuple[int, int]]:
    """Return (place, value) for each byte that a hook writes; a number for several bytes begins with the lowest.

    `places(item)` returns an item's places. Raises EmulatorError for other values.
    """
    found = []
    if not isinstance(poke, (Mapping, NoneType)):
        raise EmulatorError(f"poke={poke!r:.60}: give a number for each register or place, as {{'a': 0}}")
    for item, value in (poke or {}).items():
        codes = places(item)
        number = whole_number(f"value for {item!r:.40}", value, 0, (1 << 8 * len(codes)) - 1)
        found += [(code, number >> 8 * index & 0xFF) for index, code in enumerate(codes)]
    return found


def is_in_status_loop(rom: np.ndarray, offset: int) -> bool:
    """Return whether an instruction may lie in a loop that waits for STAT or LY, whose turns the service skips.

    Such a loop begins with `ldh a, (41)` or (44), or with `bit n, (hl)`; the skip is exact, but passes by a hook.
    """
    near = rom[max(0, offset - _STAT_LOOP) : offset + 2].tolist()
    pairs = set(itertools.pairwise(near))
    return any(
        (first == 0xF0 and second in (0x41, 0x44)) or (first == 0xCB and second & 0xC7 == 0x46)
        for first, second in pairs
    )
