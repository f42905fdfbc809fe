"""BESS, the save states that SameBoy, BGB and other emulators read of each other: in and out.

https://github.com/LIJI32/SameBoy/blob/master/BESS.md. A state holds registers and memory, but neither the dot of the
picture nor the cycle of a timer: a console goes on within a line of where it was.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np

from emulator import constants as k
from emulator.rom.cartridge import Cartridge, MapperKind
from emulator.state.battery import clock_bytes, put_clock, ram_bytes
from emulator.state.pyboy_state import PyBoyState, to_snapshot
from emulator.state.snapshot import Snapshot, SnapshotError

MAGIC = b"BESS"
HEAD = b"DMG Lab\n"
"""First bytes of a file of ours, which keep it from being taken for another emulator's own state."""
SIZES = (0x2000, 0x2000, 0x20000, k.OAM_SIZE, 0x7F)
"""Most bytes that are read of WRAM, VRAM, cartridge RAM, OAM and HRAM."""
CORE_BYTES = 0xD0
RTC_BYTES = 0x30
MODE_BEGINS = (252, 0, 0, 80)
"""Dot of its line at which each PPU mode begins, about."""
LY_RETURNS = 8
"""Dot of the last line from which on LY is 0."""
COMPUTED = (k.P1, k.DIV, k.TIMA, k.IF, k.NR52, k.STAT, k.LY)
"""Registers whose bytes in the memory row are not what the CPU reads."""
BANK, KEY0 = 0xFF50, 0xFF4C


def is_bess(data: bytes) -> bool:
    """Return whether a file ends as a BESS state does."""
    return data[-4:] == MAGIC


# ---- in -------------------------------------------------------------------------------------


def parse_bess(data: bytes, cartridge: Cartridge) -> Snapshot:
    """Return the state of a game on `cartridge` that a BESS file holds; raise SnapshotError if it cannot be.

    Lost are the position within a line, within a transfer of OAM or the serial port, and within a sound's wave.
    """
    blocks = dict(_blocks(data))
    core = blocks.get(b"CORE", b"")
    if len(core) < CORE_BYTES or b"END " not in blocks:
        raise _damaged("it has no CORE block" if len(core) < CORE_BYTES else "it has no END block")
    major, minor = struct.unpack_from("<HH", core)
    if major != 1:
        raise SnapshotError(f"BESS version {major}.{minor} is not read, only 1.x; save with another version")
    io, family = core[0x18:0x98], core[4:5]
    if family not in (b"G", b"S") and not (family == b"C" and io[KEY0 - k.IO] & 4):
        what = f"a Game Boy {'Color' if family == b'C' else 'of another kind'} ({_text(core[4:8])})"
        raise SnapshotError(f"the state is of {what}; let the other emulator be a Game Boy (DMG) and save again")
    if not io[BANK - k.IO] & 1:
        raise SnapshotError("taken inside the boot program; run until the game has started")
    rom, info = bytes(cartridge.rom[:0x150]), blocks.get(b"INFO", b"")
    if info and info[:0x12] != rom[0x134:0x144] + rom[0x14E:0x150]:
        raise SnapshotError(f"it was made with another ROM ({_text(info[:16])}), not with {cartridge.name}")
    buffers = [_buffer(data, core, 0x98 + 8 * n, size) for n, size in enumerate(SIZES)]
    snapshot = to_snapshot(_state(core, io, buffers, blocks, cartridge), cartridge)
    _fill_sound(snapshot, io)
    if cartridge.header.has_rtc and b"RTC " in blocks:
        put_clock(snapshot.console, blocks[b"RTC "])
    return snapshot


def _text(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "?" for byte in data.split(b"\0")[0]).strip()


def _damaged(what: str) -> SnapshotError:
    return SnapshotError(f"the BESS state is damaged ({what}); save it again")


def _blocks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the identifier and the bytes of each block up to END."""
    if len(data) < 8:
        raise _damaged(f"{len(data)} bytes")
    place, core = int.from_bytes(data[-8:-4], "little"), 0
    while True:
        name, size = data[place : place + 4], int.from_bytes(data[place + 4 : place + 8], "little")
        if place + 8 + size > len(data) - 8:
            raise _damaged(f"a block of it lies outside its {len(data)} bytes")
        core += name == b"CORE"
        wrong = (name == b"RTC " and size != RTC_BYTES) or (name == b"MBC " and size % 3) or (name == b"END " and size)
        if core > 1 or wrong:
            raise _damaged("two CORE blocks" if core > 1 else f"block {name.decode()}has {size} bytes")
        yield name, data[place + 8 : place + 8 + size]
        if name == b"END ":
            return
        place += 8 + size


def _buffer(data: bytes, core: bytes, at: int, most: int) -> bytes:
    """Return the bytes of a buffer that `core` names at `at`, at most `most`. Raises SnapshotError."""
    size, offset = struct.unpack_from("<II", core, at)
    if offset + size > len(data):
        raise _damaged(f"memory of it lies outside its {len(data)} bytes")
    return data[offset : offset + min(size, most)]


def _state(
    core: bytes, io: bytes, buffers: list[bytes], blocks: dict[bytes, bytes], cartridge: Cartridge
) -> PyBoyState:
    """Return the values of a state under the names of a PyBoy state."""
    wram, vram, cart_ram, oam, hram = buffers
    pc, af, bc, de, hl, sp, ime, ie, execution = struct.unpack_from("<6H3B", core, 8)
    halted = execution == 1
    # PyBoy's PC stays on a HALT until it is over.
    cpu = {"pc": pc - halted & 0xFFFF, "hl": hl, "sp": sp, "ime": ime & 1, "ie": ie, "halted": halted}
    cpu |= {"a": af >> 8, "f": af & 0xFF, "b": bc >> 8, "c": bc & 0xFF, "d": de >> 8, "e": de & 0xFF}
    cpu |= {"stopped": execution == 2, "if": io[k.IF - k.IO]}
    registers = {name: io[getattr(k, name.upper()) - k.IO] for name in _LCD}
    lcd = registers | {"clock": _clock(registers["ly"], registers["stat"] & 3), "first": 0}
    lcd["window"] = int(registers["ly"] >= registers["wy"])
    timer = {name: io[getattr(k, name.upper()) - k.IO] for name in ("div", "tima", "tma", "tac")} | {"counter": 0}
    return PyBoyState(
        version=14,
        cpu=cpu,
        dma={},
        vram=vram,
        oam=oam,
        lcd=lcd,
        sound={},
        shades=np.zeros((k.SCREEN_HEIGHT, k.SCREEN_WIDTH), np.uint8),
        wram=wram,
        io_ports=io[:0x4C],
        hram=hram,
        timer=timer,
        mapper=_mapper(cartridge, blocks.get(b"MBC ", b"")),
        cart_ram=cart_ram,
        rtc={},
        joypad={"directions": 15, "actions": 15},
        serial={"sb": io[1], "sc": io[2], "active": 0, "internal": 0},
    )


_LCD = ("lcdc", "bgp", "obp0", "obp1", "stat", "ly", "lyc", "scy", "scx", "wy", "wx")


def _clock(line: int, mode: int) -> int:
    """Return the T-cycles since line 0 began at which the PPU comes into this mode of this line."""
    if mode == 1 and line == 0:  # LY is 0 in most of the last line
        return k.T_CYCLES_PER_FRAME - k.DOTS_PER_LINE + LY_RETURNS
    return k.DOTS_PER_LINE * min(line, k.LINES_PER_FRAME - 1) + MODE_BEGINS[mode]


def _mapper(cartridge: Cartridge, writes: bytes) -> dict[str, int]:
    """Return the mapper's registers after the writes of an MBC block, 3 bytes each."""
    kind = cartridge.header.mapper
    found = {"rom_bank": 1, "ram_bank": 0, "ram_enabled": 0, "mode": 0}
    for address, value in struct.iter_unpack("<HB", writes):
        part = address >> 13
        if kind is MapperKind.MBC2 and part < 2:
            part = address >> 8 & 1
        if part == 0:
            found["ram_enabled"] = int(value & 15 == 10)
        elif part == 1 and kind is MapperKind.MBC5:
            low, high = (0xFF, value << 8) if address & 0x1000 else (0x100, value)
            found["rom_bank"] = (found["rom_bank"] & low | high) & 0x1FF
        elif part == 1:
            found["rom_bank"] = max(1, value & (0x1F if kind in _MBC1 else 0x0F if kind is MapperKind.MBC2 else 0xFF))
        elif part == 2:
            found["ram_bank"] = value & (3 if kind in _MBC1 else 15)
        elif part == 3:
            found["mode"] = value & int(kind in _MBC1)
    return found


_MBC1 = (MapperKind.MBC1, MapperKind.MBC1_MULTICART)


def _fill_sound(snapshot: Snapshot, io: bytes) -> None:
    """Set the sound registers; which channels are on is in NR52."""
    first, last = k.NR10 - k.IO, k.WAVE_RAM + 16 - k.IO
    snapshot.row[k.ROW_IO + first : k.ROW_IO + last] = np.frombuffer(io[first:last], np.uint8)
    channels = enumerate((k.NR14, k.NR24, k.NR34, k.NR44))
    lengths = sum((io[at - k.IO] >> 6 & 1) << 4 + n for n, at in channels)
    status = io[k.NR52 - k.IO]
    snapshot.console["apu_status"] = status & 15 | lengths if status & 0x80 else 0


# ---- out ------------------------------------------------------------------------------------


def bess_bytes(snapshot: Snapshot, cartridge: Cartridge, io: Sequence[int]) -> bytes:
    """Return a console's state as a BESS file. `io`: the bytes FF00-FF7F as the CPU reads them."""
    c = {name: int(snapshot.console[name][0]) for name in snapshot.console.dtype.names or ()}
    row, rom = snapshot.row, bytes(cartridge.rom[:0x150])
    registers = row[k.ROW_IO : k.ROW_HRAM].copy()
    for address in COMPUTED:
        registers[address - k.IO] = io[address - k.IO]
    registers[BANK - k.IO] = 1
    cart_ram = ram_bytes(row, cartridge)
    spans = (k.ROW_WRAM, 0x2000), (k.ROW_VRAM, 0x2000), (k.ROW_OAM, k.OAM_SIZE), (k.ROW_HRAM, 0x7F)
    wram, vram, oam, hram = (row[place : place + size].tobytes() for place, size in spans)
    memory, places = HEAD, b""
    for part in (wram, vram, cart_ram, oam, hram, b"", b""):
        places += struct.pack("<II", len(part), len(memory))
        memory += part
    core = struct.pack("<HH4s", 1, 1, b"GDB ")
    core += struct.pack("<6H", c["pc"], c["hi"] >> 16, c["lo"] & 0xFFFF, c["lo"] >> 16, c["hi"] & 0xFFFF, c["sp"])
    core += bytes([c["ime"] > 0, row[k.IE - k.ROW_ORIGIN], min(c["run_state"], 2), 0])
    blocks = {b"NAME": HEAD.strip(), b"INFO": rom[0x134:0x144] + rom[0x14E:0x150]}
    blocks[b"CORE"] = core + registers.tobytes() + places
    if cartridge.header.mapper is not MapperKind.NONE:
        blocks[b"MBC "] = _mapper_writes(cartridge.header.mapper, c)
    if cartridge.header.has_rtc:
        blocks[b"RTC "] = clock_bytes(snapshot)
    blocks[b"END "] = b""
    found = memory + b"".join(name + struct.pack("<I", len(part)) + part for name, part in blocks.items())
    return found + struct.pack("<I", len(memory)) + MAGIC


def _mapper_writes(kind: MapperKind, c: dict[str, int]) -> bytes:
    """Return the writes that bring a mapper's registers to the values of a record, as an MBC block."""
    bank = c["rom_bank"]
    writes = [(0x0000, 10 * c["ram_enabled"]), (0x0100 if kind is MapperKind.MBC2 else 0x2000, bank & 0xFF)]
    if kind is MapperKind.MBC5:
        writes.append((0x3000, bank >> 8))
    if kind is not MapperKind.MBC2:
        writes.append((0x4000, c["ram_bank"]))
    if kind in _MBC1:
        writes.append((0x6000, c["bank_mode"]))
    return b"".join(struct.pack("<HB", *write) for write in writes)
