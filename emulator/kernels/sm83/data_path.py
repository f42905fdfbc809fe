"""SM83 as one uniform data path steered by control rows (rom/control_rows.py).

`execute` runs any instruction through the same sequence: address, read, operand select by byte permute, one
adder/logic unit, branch and look-up of the next instruction, write-back, store. Lanes of a warp at different opcodes
therefore run together, waiting ones with a row that does nothing. It has no branch: rare work is for `finish`, and an
operand that was not plain memory is noticed after it, too. HALT and the like, and accesses that need the bus, leave a
request for `attend` (sm83/service.py). Nothing here is a call: values that live across a call would live in memory.

Most of it is for one pipe of an SM, which takes an instruction every other cycle; multiplications go through another.
Hence operands masked and inverted by products, and choices made by the table.
"""

import warp as wp

from emulator.constants import FLAG_C, FLAG_H, FLAG_N, FLAG_Z, HRAM, LCDC, OAM, P1, VRAM
from emulator.kernels.intrinsics import (
    ALL_ONES,
    FAR,
    WORD,
    I,
    Q,
    U,
    both,
    earlier,
    either,
    ld8,
    ld32,
    ld_operand_if,
    popcount,
    prmt,
    row_address,
    shift_out,
    st8,
    st_operand_if,
    xor_both,
)
from emulator.kernels.memory.address_map import fast_bits, plain_address
from emulator.kernels.sm83.cpu_registers import P1_PAGE, UNREADY, Bases, Registers, load_word, wait_if_asked
from emulator.kernels.sm83.service_inline import (
    LONGEST,
    reads_plainly,
    select_buttons,
    set_bank,
    set_ime,
    stores_plainly,
)
from emulator.kernels.sm83.service_requests import (
    ASK_CONTROL,
    ASK_FETCH,
    ASK_OAM_BUG,
    ASK_READ,
    ASK_WRITE,
    fetched,
    is_wide,
    leave_request,
    slow_kind,
    with_kind,
)
from emulator.rom import control_rows
from emulator.state.batch import Console

READ = control_rows.READ
READ16 = control_rows.READ16
WRITE = control_rows.WRITE
WRITE16 = control_rows.WRITE16
TAKEN_ONLY = control_rows.TAKEN_ONLY
SP_FROM_ADDRESS = control_rows.SP_FROM_ADDRESS
SP_FROM_RESULT = control_rows.SP_FROM_RESULT
HL_FROM_ADDRESS = control_rows.HL_FROM_ADDRESS
ADJUST_FIRST = control_rows.ADJUST_FIRST
BRANCH = control_rows.BRANCH
SLOW = control_rows.SLOW
CONTROL = control_rows.CONTROL
INC_DEC_PAIR = control_rows.INC_DEC_PAIR
WATCH = control_rows.WATCH
FETCH = control_rows.FETCH
NEAR_OAM = wp.constant(wp.uint32(0xFDFF0000))
# A second bit, never set: the compiler tests two bits in one machine instruction, one in three.
NEVER_SET = control_rows.NEVER_SET
Z_BIT = FLAG_Z << 16
N_BIT = FLAG_N << 16
H_BIT = FLAG_H << 16
C_BIT = FLAG_C << 16
NOT_F = 0xFF00FFFF
NOT_H = 0xFFDFFFFF


@wp.struct
class Operands:
    """Intermediate values of an instruction that `finish` needs."""

    rest: wp.uint32  # control bits of the work that the uniform path has not done
    unfinished: wp.bool
    a: wp.uint32
    p: wp.uint64
    v: wp.uint32
    ctl: wp.uint32
    # State before the instruction
    word: wp.uint32
    lo: wp.uint32
    hi: wp.uint32
    sp: wp.uint32
    pc: wp.uint32
    start: wp.uint32
    before: wp.uint32


@wp.struct
class Turns:
    """Turns of a waiting loop to skip, and the registers after them."""

    count: wp.uint32
    lo: wp.uint32
    hi: wp.uint32


@wp.func(inline=True)
def count_down(r: wp.ref[Registers], t: wp.ref[Turns], word: U, turns: U):
    """Compute up to `turns` turns at once of a loop that only counts a register or pair down.

    The loop must have done nothing else since the last branch. `t.count` becomes the number of turns, `t.lo` and `t.hi`
    the registers after them. The last turn is always executed. F is the result of the last DEC: Z 0, N 1, H by the
    count; a pair is counted with A for a test that leaves no flag.
    """
    lower = r.seen_lo - r.lo
    upper = (r.seen_hi & U(NOT_F)) - (r.hi & U(NOT_F))
    if (word & U(control_rows.COUNTS_16)) != U(0):
        upper = (r.seen_hi - r.hi) & WORD
    step = lower | upper
    shift = popcount(step - U(1))
    counted = wp.where(lower != U(0), r.lo, r.hi) >> shift
    mask = wp.where((word & U(control_rows.COUNTS_16)) != U(0), WORD, U(255))
    value = counted & mask
    one = popcount(step) == U(1) and (shift & wp.where(mask == WORD, U(15), U(7))) == U(0)
    alone = one and (lower == U(0)) != (upper == U(0))
    t.count = wp.where(alone, wp.min(turns, value - U(1)), U(0))
    value = value - t.count
    t.lo = r.lo - wp.where(lower != U(0), t.count << shift, U(0))
    t.hi = r.hi - wp.where(lower != U(0), U(0), t.count << shift)
    if (word & U(control_rows.COUNTS_16)) != U(0):
        t.hi = (t.hi & U(0x00FFFFFF)) | ((value | (value >> U(8))) << U(24))
    else:
        half = wp.where((value & U(15)) == U(15), U(H_BIT), U(0))
        t.hi = (t.hi & U(NOT_H)) | half


@wp.func(inline=True)
def watch_for_loop(r: wp.ref[Registers], word: U):
    """Skip turns of a waiting loop at its backward branch `word`, with the same result as executing them.

    The loop repeats itself if this branch is the last one taken with the same registers, nothing was written and no
    VRAM read in between, and every I/O read stays the same until `stable`. Whole periods are then skipped up to the
    next deadline; so are those of a loop that counts down, if all but its count is the same. The branch is stored for
    comparison with the next one.
    """
    place = prmt(r.pc, r.sp, U(0x5410))
    period = r.now - r.seen_time
    span = earlier(r.stable, r.deadline) - r.now
    if place == r.seen_place and I(span) > I(period):
        t = Turns()
        t.count = U(0)
        turns = (span - U(1)) / period
        if (word & U(control_rows.COUNTS_8 | control_rows.COUNTS_16)) != U(0):
            count_down(r, t, word, turns)
            if t.count != U(0):
                r.lo = t.lo
                r.hi = t.hi
        elif r.lo == r.seen_lo and r.hi == r.seen_hi:
            t.count = turns
        r.now = r.now + t.count * period
    r.seen_place = place
    r.seen_lo = r.lo
    r.seen_hi = r.hi
    r.seen_time = r.now
    r.stable = r.now + FAR


@wp.func(inline=True)
def execute(r: wp.ref[Registers], b: wp.ref[Bases], o: wp.ref[Operands]):
    """Execute the instruction `r.word` as if its operand were plain memory, without the rare work of `finish`.

    If the operand is not plain memory, `finish` undoes everything.
    """
    word = r.word
    w0 = r.w0
    w1 = r.w1
    w2 = r.w2
    w3 = r.w3
    w4 = r.w4
    w5 = r.w5
    w6 = r.w6
    w7 = r.w7
    w8 = r.w8
    w9 = r.w9
    w10 = r.w10
    w11 = r.w11
    lo = r.lo
    hi = r.hi
    sp = r.sp
    start = r.now
    changes = wp.where((hi & w5 & U(Z_BIT | C_BIT)) != U(0), U(TAKEN_ONLY), U(0))
    ctl = xor_both(w6, w5, changes)

    # Address. Each 16-bit operand is a byte permute of the register file, SP and the immediate.
    operands = prmt(lo, hi, w0)
    base = (prmt(operands, prmt(sp, word, U(0x7610)), w7) | (w0 >> U(16))) & WORD
    adjusted = (base + U(I(w1) >> I(24))) & WORD
    a = wp.where((ctl & U(ADJUST_FIRST)) != U(0), adjusted, base)
    p = plain_address(a, b.rom, r.mem, r.rom_low, r.rom_high, r.ram_offset)
    # Two bytes may lie on two pages; FFFE is the last plain byte of its page.
    second = U(I(w5) >> I(31))  # -1 if there is a second byte
    crosses = ((a - second) ^ a) & U(0x2000)
    page = wp.where(a - U(HRAM) < U(0x7F) + second, U(8), a >> U(13))
    register = a + second * U(0x10000)  # none if there is a second byte
    page = wp.where(register == U(P1), U(P1_PAGE), page)
    allowed = shift_out(r.fast, page + crosses) | shift_out(r.io, register - U(LCDC))
    plain = allowed & U(READ | WRITE)

    # Read, allowed or not. Another value in `memory` is never used.
    wanted = ctl & (r.given ^ ALL_ONES)
    r.given = U(0)
    r.memory = ld_operand_if(p, r.memory, wanted & U(READ), w5, crosses)

    # Operands and the adder/logic unit: v = (x ^ y or 0) + (x & y) * (0, 1 or 2) + carry
    # Multiplications replace masks and toggles: they run beside the logic, which is busier.
    next_pc = r.pc + (w2 >> U(30))
    # A rotate is a product as well, shifted back.
    y = prmt(operands, prmt(r.memory, word, U(0x7610)), w3 >> U(8)) * w8 + w9
    x = prmt(hi, prmt(sp, next_pc, U(0x5410)), w3) * w10 + w11
    carry = ((hi & w7) ^ w4) & U(C_BIT)
    differ = x ^ y
    total = (differ & prmt(w5, w5, U(0x8888))) + (x & y) * (w4 >> U(30)) + (carry >> U(20))
    v = total + shift_out(y, w4)

    # Values that `finish` may need
    o.word = word
    o.lo = lo
    o.hi = hi
    o.sp = sp
    o.pc = r.pc
    o.start = start
    o.a = a
    o.p = p
    o.v = v
    o.ctl = ctl

    # The next place. The next instruction's word is looked up before all that can wait for it.
    branch = (ctl & U(BRANCH)) != U(0)
    r.pc = wp.where(branch, prmt(word, v, w4), next_pc) & WORD
    load_word(r, b)
    r.now = start + (ctl >> U(control_rows.CYCLES_SHIFT))
    r.work = r.work + (w7 >> U(31))

    # Write back. Bit 20: the carry into bit 4, bit 24: carry out; wanted in bits 21 and 20.
    carries = prmt(differ ^ total, U(0), w5) & U(0x01100000)
    zero = wp.where((v & U(255)) == U(0), U(Z_BIT), U(0))
    computed = zero | (carries * U(2) + (carries >> U(4)))
    r.lo = prmt(lo, v, w1)
    new_hi = prmt(hi, v, w2)
    flags = ((new_hi & w3) ^ (computed & w1)) ^ w2
    new_hi = prmt(new_hi, flags, U(0x3610))
    r.hi = wp.where((ctl & U(HL_FROM_ADDRESS)) != U(0), prmt(new_hi, adjusted, U(0x3254)), new_hi)
    sp_or_result = wp.where((ctl & U(SP_FROM_RESULT)) != U(0), v & WORD, sp)
    r.sp = wp.where((ctl & U(SP_FROM_ADDRESS)) != U(0), adjusted, sp_or_result)

    # Store. Memory that may be written may be read as well.
    if (ctl & U(WRITE)) != U(0):
        r.stable = r.now
    st_operand_if(p, v, ctl & plain & U(WRITE), w5)

    # Rare work. An INC or DEC may only have begun in OAM if it ends near.
    pair = both((ctl & U(INC_DEC_PAIR | NEVER_SET)) != U(0), (v << U(16)) >= NEAR_OAM)
    o.rest = wanted & (plain ^ ALL_ONES)
    o.unfinished = either((o.rest & U(READ | WRITE | SLOW | CONTROL | WATCH | FETCH)) != U(0), pair)


@wp.func(inline=True)
def finish_read(r: wp.ref[Registers], b: wp.ref[Bases], o: wp.ref[Operands]):
    """Correct the result of an instruction whose operand may not be plain memory.

    If the service must read it, the instruction is undone, to be executed again with the answer.
    """
    if is_wide(o.ctl) or not reads_plainly(r, o.a, o.start):
        r.lo = o.lo
        r.hi = o.hi
        r.sp = o.sp
        r.pc = o.pc
        r.now = o.start
        r.work = r.work - U(1)
        r.held = o.word
        leave_request(r.mem + Q(b.scratch), o.a, U(0), o.ctl, o.start)
        r.asked = with_kind(U(ASK_READ), o.a)
        wait_if_asked(r)


@wp.func(inline=True)
def finish_daa(r: wp.ref[Registers], o: wp.ref[Operands]):
    """Execute DAA. https://gbdev.io/gb-opcodes/optables/"""
    hi = o.hi
    a = hi >> U(24)
    after_sub = (hi & U(N_BIT)) != U(0)
    low = (hi & U(H_BIT)) != U(0) or (not after_sub and (a & U(15)) > U(9))
    high = (hi & U(C_BIT)) != U(0) or (not after_sub and a > U(0x99))
    adjust = wp.where(low, U(6), U(0)) | wp.where(high, U(0x60), U(0))
    result = wp.where(after_sub, a - adjust, a + adjust) & U(255)
    flags = wp.where(result == U(0), U(Z_BIT), U(0)) | wp.where(high, U(C_BIT), U(0))
    r.hi = (hi & U(0xFFFF | N_BIT)) | flags | (result << U(24))


@wp.func(inline=True)
def finish_instruction(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases], o: wp.ref[Operands]):
    """Complete an instruction whose effects are more than a plain store, or leave a request for the service."""
    a = o.a
    v = o.v
    ctl = o.ctl
    start = o.start
    stores = o.rest & U(WRITE)
    wide = is_wide(ctl)
    control = ctl & U(CONTROL)
    o.before = U(0)
    if (ctl & U(INC_DEC_PAIR)) != U(0):
        w7 = ld32(row_address(b.control, o.word & U(control_rows.ROWS - 1)) + Q(28))
        o.before = wp.where((w7 & U(0x10000)) != U(0), v - U(1), v + U(1))
    pair = wp.where((o.before & U(0xFF00)) == U(OAM), ctl & U(INC_DEC_PAIR), U(0))
    if control != U(0):
        r.stable = r.now
    if control != U(0) and set_ime(r, c, slow_kind(ctl)):
        r.given = U(0)  # done
    elif (a & U(0xE000)) == U(0x2000) and stores != U(0) and not wide and set_bank(r, c, a, v):
        load_word(r, b)
    elif (pair | control | stores) != U(0):
        if stores != U(0) and stores_plainly(r, a, o.p, v, wide, start):
            st8(o.p, v)
        elif stores != U(0) and a == U(P1) and not wide and I(r.due - start) >= I(LONGEST):
            select_buttons(r, c, v & U(255), ctl, start)
        else:
            operand = wp.where(control != U(0), r.pc - o.pc, v)
            leave_request(r.mem + Q(b.scratch), wp.where(pair != U(0), o.before, a), operand, ctl, start)
            asked = wp.where(stores != U(0), U(ASK_WRITE), U(0))
            asked = asked | wp.where(pair != U(0), U(ASK_OAM_BUG), U(0))
            asked = asked | wp.where(control != U(0), U(ASK_CONTROL), U(0))
            r.asked = with_kind(asked, a)
        wait_if_asked(r)


@wp.func(inline=True)
def fetch(r: wp.ref[Registers], b: wp.ref[Bases]):
    """Load the instruction word at PC if `load_word` could not; leave a request if it is not in predecoded ROM."""
    last = r.pc + U(2)
    page = ((r.pc ^ last) >> U(13)) == U(0) and (r.pc >= U(HRAM)) == (last >= U(HRAM))
    if (r.word & U(UNREADY)) != U(0):
        if page and r.pc >= U(VRAM) and (fast_bits(r.fast, r.pc) & U(1)) != U(0):
            p = plain_address(r.pc, b.rom, r.mem, r.rom_low, r.rom_high, r.ram_offset)
            r.word = fetched(ld8(p), ld8(p + Q(1)), ld8(p + Q(2)))
            back = (r.word & U(0xE7)) == U(0x20) or (r.word & U(0xFF)) == U(0x18)
            if back and (r.word & U(0x800000)) != U(0):
                r.word = r.word | U(control_rows.WAITS)
        else:
            r.asked = with_kind(U(ASK_FETCH), U(0))
            wait_if_asked(r)


@wp.func(inline=True)
def finish(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases], o: wp.ref[Operands]):
    """Do the rare work of an instruction that `execute` leaves out."""
    if (o.rest & U(READ)) != U(0):
        finish_read(r, b, o)
    if r.asked == U(0):
        if (o.ctl & U(FETCH)) != U(0):
            fetch(r, b)
        elif (o.ctl & U(WATCH)) != U(0):
            if b.idle_skip != U(0):
                watch_for_loop(r, o.word)
        else:
            if (o.ctl & U(SLOW)) != U(0):
                finish_daa(r, o)
            if (o.rest & U(WRITE | CONTROL)) != U(0) or (o.ctl & U(INC_DEC_PAIR)) != U(0):
                finish_instruction(r, c, b, o)
