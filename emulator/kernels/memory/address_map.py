"""Address map without I/O: from a Game Boy address to the machine address of ROM, VRAM, WRAM or cartridge RAM."""

import warp as wp

from emulator.constants import CART_RAM, ECHO, HRAM, ROW_ORIGIN, VRAM
from emulator.kernels.intrinsics import Q, U, ld8
from emulator.kernels.memory.mapper import FLAT, cart_ram_read
from emulator.state.batch import Console


@wp.func(inline=True)
def plain_address(a: U, rom: Q, mem: Q, rom_low: U, rom_high: U, ram_offset: U) -> Q:
    """Return the machine address of the byte at Game Boy address `a`, for memory that is accessed directly.

    That is ROM, VRAM, cartridge RAM, WRAM and HRAM. `rom`, `mem`: base addresses of the ROM blob and the memory row;
    `rom_low`, `rom_high`, `ram_offset`: offsets of the mapped banks in them.
    """
    in_rom = a + wp.where(a >= U(0x4000), rom_high, rom_low)
    in_row = a - U(ROW_ORIGIN) + wp.where((a & U(0xE000)) == U(CART_RAM), ram_offset, U(0))
    return wp.where(a < U(VRAM), rom, mem) + Q(wp.where(a < U(VRAM), in_rom, in_row))


@wp.func
def fast_bits(fast: U, a: U) -> U:
    """Return `fast` shifted by the page of address `a`: bit 0: direct reads are allowed, bit 16: direct writes are."""
    return fast >> wp.where(a - U(HRAM) < U(0x7F), U(8), a >> U(13))


@wp.func
def address_in(c: wp.ref[Console], mem: Q, rom: Q, a: U) -> Q:
    """Return the machine address of the byte at Game Boy address `a` with the banks of console `c`."""
    return plain_address(a, rom, mem, c.rom_low, c.rom_high, c.ram_offset)


@wp.struct
class MemoryLocals:
    value: wp.uint32


@wp.func
def peek_memory(c: wp.ref[Console], mem: Q, rom: Q, a: U, t: U) -> U:
    """Return the byte at `a` as an OAM DMA would read it at time `t`; E000-FFFF mirrors WRAM."""
    o = MemoryLocals()
    if (a & U(0xE000)) == U(CART_RAM):
        o.value = cart_ram_read(c, mem, a, t)
    else:
        o.value = ld8(address_in(c, mem, rom, wp.where(a >= U(ECHO), a - U(0x2000), a)))
    return o.value


@wp.func
def is_flat(c: wp.ref[Console]) -> wp.bool:
    """Return whether the cartridge is 64 KiB of RAM (CPU test vectors)."""
    return c.mapper == U(FLAT)
