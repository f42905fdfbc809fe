"""Cartridge mappers: bank registers to the address map of the fast path.

ROM only, MBC1 (and its multicart wiring), MBC2, MBC3 with clock, MBC5, HuC3, and a flat 64 KiB RAM bus
for CPU test vectors. https://gbdev.io/pandocs/MBCs.html
"""

import warp as wp

from emulator.constants import RAM_BANK_SIZE, ROW_CART_RAM, ROW_CART_RAM_BANK_1
from emulator.kernels.intrinsics import Q, U, ld8, st8
from emulator.kernels.memory.huc3 import huc3_read, huc3_select, huc3_write
from emulator.kernels.memory.mbc3_clock import rtc_latch, rtc_read, rtc_write
from emulator.rom.cartridge import MapperKind
from emulator.state.batch import Console

MBC1 = int(MapperKind.MBC1)
MBC1_MULTICART = int(MapperKind.MBC1_MULTICART)
MBC2 = int(MapperKind.MBC2)
MBC3 = int(MapperKind.MBC3)
MBC5 = int(MapperKind.MBC5)
HUC3 = int(MapperKind.HUC3)
FLAT = int(MapperKind.FLAT)

# Bits of Console.fast. Page 8 is HRAM; bit 31 sends every opcode fetch through the bus.
FAST_ROM = 0x0000000F
FAST_WRAM = 0x00400040
FAST_HRAM = 0x01000100
FAST_CART_RAM = 0x00200020
FAST_FLAT = 0x03FF03FF
BANK_1_OFFSET = ROW_CART_RAM_BANK_1 - ROW_CART_RAM
SLOW_FETCHES = wp.constant(wp.uint32(0x80000000))


@wp.struct
class MapLocals:
    low: wp.uint32
    high: wp.uint32
    ram: wp.uint32
    fast: wp.uint32


@wp.func(inline=False)
def update_map(c: wp.ref[Console]):
    """Compute `fast`, `rom_low`, `rom_high` and `ram_offset`, the mapped banks, from mapper registers and OAM DMA."""
    o = MapLocals()
    kind = c.mapper
    o.low = U(0)
    o.high = c.rom_bank
    o.ram = c.ram_bank
    if kind == U(MBC1) or kind == U(MBC1_MULTICART):
        # In mode 1 the two upper bits also bank the lower ROM window and the RAM.
        shift = wp.where(kind == U(MBC1), U(5), U(4))
        upper = c.ram_bank << shift
        o.high = upper | (c.rom_bank & ((U(1) << shift) - U(1)))
        o.low = wp.where(c.bank_mode != U(0), upper, U(0))
        o.ram = wp.where(c.bank_mode != U(0), c.ram_bank, U(0))
    banks = c.rom_banks - U(1)
    c.rom_low = c.rom_base + ((o.low & banks) << U(14))
    c.rom_high = c.rom_base + ((o.high & banks) << U(14)) - U(0x4000)
    o.ram = o.ram & (wp.max(c.ram_size >> U(13), U(1)) - U(1))
    further = U(BANK_1_OFFSET) + (o.ram - U(1)) * U(RAM_BANK_SIZE)
    c.ram_offset = wp.where(o.ram == U(0), U(0), further)
    plain = c.ram_enabled != U(0) and c.ram_size >= U(0x2000)
    clock = c.has_rtc != U(0) and c.ram_bank > U(3)
    o.fast = U(FAST_ROM | FAST_WRAM | FAST_HRAM) | c.ppu_vram_fast
    if plain and not clock and kind != U(MBC2):
        o.fast = o.fast | U(FAST_CART_RAM)
    if c.dma_state != U(0):
        # Everything but HRAM may meet the transfer on the bus: all of it takes the exact path.
        o.fast = U(FAST_HRAM) | SLOW_FETCHES
    if c.halt_bug != U(0):
        o.fast = o.fast | SLOW_FETCHES
    if kind == U(FLAT):
        o.fast = U(FAST_FLAT) | SLOW_FETCHES
        c.rom_low = c.rom_base
        c.rom_high = c.rom_base
    c.fast = o.fast


@wp.func
def mbc1_write(c: wp.ref[Console], address: U, value: U):
    """Write the registers of MBC1 at 4000 (upper bank bits) and 6000 (banking mode)."""
    group = address >> U(13)
    if group == U(2):
        c.ram_bank = value & U(3)
    elif group == U(3):
        c.bank_mode = value & U(1)


@wp.func
def mbc3_write(c: wp.ref[Console], address: U, value: U, t: U):
    """Write the registers of MBC3 at 4000 (RAM bank or clock register) and 6000 (clock latch)."""
    group = address >> U(13)
    if group == U(2):
        c.ram_bank = value & U(15)
    elif group == U(3):
        rtc_latch(c, value, t)


@wp.func(inline=True)
def chosen_bank(c: wp.ref[Console], a: U, value: U, five_bits: wp.bool) -> U:
    """Return the ROM bank number that a write of `value` to 2000-3FFF selects on MBC1 (`five_bits`), MBC3 or MBC5."""
    old = c.rom_bank
    mask = wp.where(five_bits, U(31), wp.where(c.rom_banks > U(128), U(255), U(127)))
    low = wp.where(a < U(0x3000), (old & U(0x100)) | value, old & U(0xFF))
    high = wp.where(a < U(0x3000), U(0), (value & U(1)) << U(8))
    return wp.where(c.mapper == U(MBC5), low | high, wp.max(value & mask, U(1)))


@wp.func(inline=True)
def switches_bank(c: wp.ref[Console]) -> wp.bool:
    """Return whether on this mapper a write to 2000-3FFF only selects the ROM bank at 4000."""
    return c.mapper == U(MBC1) or c.mapper == U(MBC3) or c.mapper == U(MBC5)


@wp.func(inline=True)
def switch_bank(c: wp.ref[Console], a: U, value: U):
    """Select the ROM bank at 4000 by a write to 2000-3FFF.

    The result is that of `update_map`, in code short enough to be inlined.
    """
    kind = c.mapper
    bank = chosen_bank(c, a, value, kind == U(MBC1))
    c.rom_bank = bank
    upper = wp.where(kind == U(MBC1), c.ram_bank << U(5), U(0))
    place = ((upper | bank) & (c.rom_banks - U(1))) << U(14)
    c.rom_high = c.rom_base + place - U(0x4000)


@wp.func(inline=False)
def mapper_write(c: wp.ref[Console], address: U, value: U, t: U):
    """Write a mapper register: a CPU write to 0000-7FFF at time `t`."""
    kind = c.mapper
    if kind == U(MBC2):
        # Address bit 8 tells the two registers apart.
        if address < U(0x4000):
            if (address & U(0x100)) != U(0):
                c.rom_bank = wp.max(value & U(15), U(1))
            else:
                c.ram_enabled = wp.where((value & U(15)) == U(10), U(1), U(0))
    elif kind == U(HUC3):
        huc3_select(c, address, value)
    elif kind != U(0):
        if address < U(0x2000):
            # MBC5 compares the whole byte, the others its low nibble.
            enable = wp.where(kind == U(MBC5), value, value & U(15)) == U(10)
            c.ram_enabled = wp.where(enable, U(1), U(0))
        elif address < U(0x4000):
            c.rom_bank = chosen_bank(c, address, value, kind != U(MBC3))
        elif kind == U(MBC5):
            if address < U(0x6000):
                c.ram_bank = value & U(15)
        elif kind == U(MBC3):
            mbc3_write(c, address, value, t)
        else:
            mbc1_write(c, address, value)
    update_map(c)


@wp.func
def cart_ram_place(c: wp.ref[Console], address: U) -> U:
    """Return the offset in the memory row of the cartridge RAM byte at A000-BFFF `address`.

    RAM smaller than 8 KiB repeats within that range.
    """
    small = address & (wp.max(c.ram_size, U(1)) - U(1))
    large = (address & U(0x1FFF)) + c.ram_offset
    return U(ROW_CART_RAM) + wp.where(c.ram_size < U(0x2000), small, large)


@wp.struct
class CartLocals:
    value: wp.uint32


@wp.func(inline=False)
def cart_ram_read(c: wp.ref[Console], mem: Q, address: U, t: U) -> U:
    """Return the byte at A000-BFFF; with RAM disabled or absent, the last value on the data bus."""
    o = CartLocals()
    o.value = c.open_bus
    if c.mapper == U(HUC3):
        o.value = huc3_read(c, ld8(mem + Q(cart_ram_place(c, address))))
    elif c.ram_enabled != U(0):
        if c.has_rtc != U(0) and c.ram_bank >= U(8):
            if c.ram_bank <= U(12):
                o.value = rtc_read(c)
        elif c.has_rtc != U(0) and c.ram_bank > U(3) and c.ram_size <= U(0x8000):
            o.value = U(0xFF)
        elif c.ram_size != U(0):
            o.value = ld8(mem + Q(cart_ram_place(c, address)))
            if c.mapper == U(MBC2):
                o.value = o.value | U(0xF0)  # an MBC2 has 512 half bytes
    return o.value


@wp.func(inline=False)
def cart_ram_write(c: wp.ref[Console], mem: Q, address: U, value: U, t: U):
    """Write `value` to A000-BFFF; ignored if cartridge RAM is disabled or absent."""
    if c.mapper == U(HUC3) and c.ram_enabled == U(0):
        huc3_write(c, mem, value, t)
    elif c.ram_enabled != U(0):
        no_bank = c.has_rtc != U(0) and c.ram_bank > U(3) and c.ram_size <= U(0x8000)
        if c.has_rtc != U(0) and c.ram_bank >= U(8):
            rtc_write(c, value, t)
        elif c.ram_size != U(0) and not no_bank:
            stored = wp.where(c.mapper == U(MBC2), value & U(15), value)
            st8(mem + Q(cart_ram_place(c, address)), stored)
