"""HuC3: mapper with a clock behind a microcontroller, which programs ask nibble by nibble.

https://gbdev.io/pandocs/HuC3.html. The clock is `mbc3_clock` with days of 12 bits. Fields of `Console` that mean
something else here: `bank_mode` what lies at A000-BFFF; `rtc_latch` the command and its argument; `rtc_latched_low` the
microcontroller's address, and in bits 8 to 11 its answer. Its memory of 256 nibbles is the row's last RAM bank.
"""

import warp as wp

from emulator.constants import RAM_BANK_SIZE, ROW_CART_RAM_BANK_1
from emulator.kernels.intrinsics import Q, U, ld8, st8
from emulator.kernels.memory.mbc3_clock import rtc_sync
from emulator.state.batch import Console

RAM_READ_ONLY = 0x0  # what a write to 0000-1FFF puts at A000-BFFF
RAM = 0xA
COMMAND = 0xB
ANSWER = 0xC
SEMAPHORE = 0xD
INFRARED = 0xE
DARK = 0xC0


@wp.func
def huc3_select(c: wp.ref[Console], address: U, value: U):
    """Write a register at 0000-5FFF: what lies at A000, ROM bank, RAM bank."""
    group = address >> U(13)
    if group == U(0):
        c.bank_mode = value & U(15)
        c.ram_enabled = wp.where(c.bank_mode == U(RAM), U(1), U(0))
    elif group == U(1):
        c.rom_bank = value & U(127)
    elif group == U(2):
        c.ram_bank = value & U(3)


@wp.func
def huc3_read(c: wp.ref[Console], stored: U) -> U:
    """Return the byte at A000-BFFF, where RAM holds `stored`. The microcontroller is always ready, nothing shines."""
    mode = c.bank_mode
    value = wp.where((mode == U(RAM_READ_ONLY) or mode == U(RAM)) and c.ram_size != U(0), stored, U(0xFF))
    value = wp.where(
        mode == U(ANSWER), U(0x80) | (c.rtc_latch & U(0x70)) | ((c.rtc_latched_low >> U(8)) & U(15)), value
    )
    value = wp.where(mode == U(SEMAPHORE), U(1), value)
    return wp.where(mode == U(INFRARED), U(DARK), value)


@wp.func
def huc3_write(c: wp.ref[Console], mem: Q, value: U, t: U):
    """Write to A000-BFFF where no RAM lies: set the command, or have it executed."""
    if c.bank_mode == U(COMMAND):
        c.rtc_latch = value & U(0x7F)
    elif c.bank_mode == U(SEMAPHORE) and (value & U(1)) == U(0):
        execute(c, mem, t)


@wp.func(inline=False)
def execute(c: wp.ref[Console], mem: Q, t: U):
    """Let the microcontroller execute its command."""
    command = c.rtc_latch >> U(4)
    argument = c.rtc_latch & U(15)
    address = c.rtc_latched_low & U(0xFF)
    answer = c.rtc_latched_low & U(0xF00)
    memory = mem + Q(U(ROW_CART_RAM_BANK_1) + (wp.max(c.ram_size >> U(13), U(1)) - U(1)) * U(RAM_BANK_SIZE))
    if command < U(2):
        answer = (ld8(memory + Q(address)) & U(15)) << U(8)
    elif command < U(4):
        st8(memory + Q(address), argument)
    elif command == U(4):
        address = (address & U(0xF0)) | argument
    elif command == U(5):
        address = (address & U(0x0F)) | (argument << U(4))
    elif command == U(6):
        rtc_sync(c, t)
        if argument == U(0):
            minutes = c.rtc_hours * U(60) + c.rtc_minutes
            for i in range(3):
                st8(memory + Q(U(i)), (minutes >> U(4 * i)) & U(15))
                st8(memory + Q(U(i) + U(3)), (c.rtc_days >> U(4 * i)) & U(15))
        elif argument == U(1):
            wanted = ld8(memory) | (ld8(memory + Q(1)) << U(4)) | (ld8(memory + Q(2)) << U(8))
            wanted = (wanted & U(0xFFF)) % U(24 * 60)
            c.rtc_hours = wanted / U(60)
            c.rtc_minutes = wanted % U(60)
            days = ld8(memory + Q(3)) | (ld8(memory + Q(4)) << U(4)) | (ld8(memory + Q(5)) << U(8))
            c.rtc_days = days & U(0xFFF)
        elif argument == U(2):
            answer = U(0x100)
    if command == U(1) or command == U(3):
        address = (address + U(1)) & U(0xFF)
    c.rtc_latched_low = address | answer
