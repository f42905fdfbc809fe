"""Protocol between the hot path and the service: requests, answers and their places.

The hot path executes instructions: sm83/data_path.py on a GPU, generated C++ (sm83/cpp_instructions.py) on a
CPU. For other work it leaves a request and then waits: sm83/service_entry.py answers. Both meet in 48 bytes
of the console's row, the *mailbox* at `Batch.scratch`, besides the registers in `Console`:

    word    written by the hot path               written by the service
    REQUEST address, value, control bits, start   -
    SEEN    the last watched branch (`Registers`) zeros and now, if the CPU has attended
    WORD    word of the instruction that asks     the word at PC, if one was fetched
    MEMORY  0                                     the operand, if HAS_MEMORY
    WINDOW  `Registers.vram_until`                how long VRAM is open, if that was looked up
    ASKED   the request, ASK_* or 0               the answer: HAS_* or DONE

The native path keeps its last branch itself (SEEN is 0 once the service wants it forgotten), and passes
request and answer as a number. The board decides who may access the mailbox (launch/service_board.py): the
hot path until it posts, the service until it answers.
"""

import warp as wp

from emulator.constants import DMA, IO, LY, STAT, VRAM
from emulator.kernels.intrinsics import Q, U, st128
from emulator.rom import control_rows

# Requests of the hot path, one bit each; 0: something is due.
ASK_FETCH = 1  # the word at PC
ASK_READ = 2  # the memory operand; the instruction then starts over with it
ASK_WRITE = 4  # the store of the instruction just executed
ASK_OAM_BUG = 8  # INC/DEC of a pair that may have pointed into OAM
ASK_CONTROL = 16  # HALT and the like, just executed
ASK_LEAVE = 128  # nothing: to be passed on (launch/launch_tail.py)

# Answers of the service.
HAS_WORD = 1
HAS_MEMORY = 2
DONE = wp.constant(wp.uint32(0x80000000))  # the launch is over; in Registers.asked as well
NO_ANSWER = wp.constant(wp.uint32(0x40000000))  # of the short path: `attend` has to be called

# Kinds of requests, 1 to 15. Consoles that wait for the same kind are served together.
KIND_SHIFT = 8  # of a request: its kind lies above the ASK_* bits
KIND_DUE = 1
KIND_READ_STAT = 2
KIND_READ_VRAM = 3
KIND_READ = 4
KIND_CONTROL = 5
KIND_WRITE_SOUND = 6  # and the other registers above FF0F
KIND_WRITE_PICTURE = 7
KIND_WRITE_LOW = 8  # FF00-FF0F
KIND_WRITE_DMA = 9
KIND_WRITE_VRAM = 10
KIND_WRITE = 11
KIND_FETCH = 12
KIND_OAM_BUG = 13
KIND_READ_LY = 14
KIND_LEAVE = 15

# The mailbox: groups of four words, and single ones.
REQUEST = 0
ADDRESS_AT = 0
VALUE_AT = 4
CONTROL_AT = 8
START_AT = 12
SEEN = 16
REPLY = 32
WORD_AT = 32
MEMORY_AT = 36
WINDOW_AT = 40
ASKED_AT = 44


@wp.func(inline=True)
def leave_request(mailbox: Q, address: U, value: U, control: U, start: U):
    """Store a request's address, value, control bits and the instruction's start time in the mailbox."""
    st128(mailbox, address, value, control, start)


@wp.struct
class KindLocals:
    kind: wp.uint32


@wp.func(inline=True)
def with_kind(asked: U, a: U) -> U:
    """Return the request `asked` for address `a` with its kind in the bits from KIND_SHIFT on.

    Requests of one kind take the same path through the service, so a warp serves them together.
    """
    o = KindLocals()
    o.kind = U(KIND_OAM_BUG)
    place = a & U(0xF0)
    if (asked & U(ASK_READ)) != U(0):
        other = wp.where(a == U(LY), U(KIND_READ_LY), U(KIND_READ))
        o.kind = wp.where(
            a == U(STAT), U(KIND_READ_STAT), wp.where((a & U(0xE000)) == U(VRAM), U(KIND_READ_VRAM), other)
        )
    elif (asked & U(ASK_WRITE)) != U(0):
        sound = wp.where(
            place == U(0x40), U(KIND_WRITE_PICTURE), wp.where(place == U(0), U(KIND_WRITE_LOW), U(KIND_WRITE_SOUND))
        )
        other = wp.where(a == U(DMA), U(KIND_WRITE_DMA), sound)
        memory = wp.where((a & U(0xE000)) == U(VRAM), U(KIND_WRITE_VRAM), U(KIND_WRITE))
        o.kind = wp.where(a >= U(IO), other, memory)
    elif (asked & U(ASK_CONTROL)) != U(0):
        o.kind = U(KIND_CONTROL)
    elif asked == U(ASK_FETCH):
        o.kind = U(KIND_FETCH)
    return asked | (o.kind << U(KIND_SHIFT))


READ16 = control_rows.READ16
WRITE16 = control_rows.WRITE16


@wp.func
def slow_kind(ctl: U) -> U:
    """Return the kind, from control word `ctl`, of an instruction that the data path cannot execute (SLOW_KINDS)."""
    return (ctl >> U(24)) & U(15)


@wp.func(inline=True)
def is_wide(ctl: U) -> wp.bool:
    """Return whether the memory operand of an instruction with control word `ctl` has two bytes."""
    return (ctl & U(READ16 | WRITE16)) != U(0)


@wp.func
def fetched(first: U, second: U, third: U) -> U:
    """Return the predecoded word of three code bytes, in the form of `control_rows.predecode`."""
    immediate = wp.where((first & U(0xC7)) == U(0xC7), first & U(0x38), second | (third << U(8)))
    plain = first | (immediate << U(16))
    return wp.where(first == U(0xCB), U(256) + second, plain)
