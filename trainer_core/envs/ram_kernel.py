"""Warp kernel that runs the stack program of a task's RAM terms (lab/ram_expressions.py) on every console's bytes.

A thread scores a console. All threads are at the same instruction, so the interpreter's branches cost a warp nothing
twice; a program of a hundred instructions takes some microseconds beside the milliseconds of a step.
"""

import warp as wp

from trainer_core.envs.novelty import SPREAD
from trainer_core.lab.ram_expressions import MOST_STACK, Op
from trainer_core.wire.shades import MAX_SHADE

# Products and sums are rounded one by one, as Python does: fused, they would differ in the last bit.
wp.set_module_options({"enable_backward": False, "fuse_fp": False})
SPREAD_WORD = wp.constant(wp.uint32(SPREAD & 0xFFFFFFFF))
SHADE = wp.constant(wp.uint8(MAX_SHADE))
LAST_EPOCH = wp.constant(255)
"""Number of episodes after which a console's sets are cleared: the upper byte of an entry is its episode's number."""
LARGEST_KEY = wp.constant(2.0**53)
Stack = wp.types.vector(length=MOST_STACK, dtype=wp.float64)
CONST, LITTLE, BIG, BCD, DIGITS, SUM, POPCOUNT, BIT = (wp.constant(int(op)) for op in list(Op)[:8])
ADD, SUB, MUL, DIV, MIN, MAX, LESS, LESS_EQUAL, EQUAL, AND, OR = (wp.constant(int(op)) for op in list(Op)[8:19])
NOT, NEG, ABS, FLOOR, GAIN, NEW, NOVELTY, TERM, DONE, SCORE = (wp.constant(int(op)) for op in list(Op)[19:])


@wp.func
def read_bytes(op: int, rows: wp.array2d[wp.uint8], env: int, first: int, count: int) -> wp.float64:
    """Return the value of `count` bytes as the instruction `op` reads them; of a BIT, `count` is its number."""
    if op == BIT:
        return wp.float64((int(rows[env, first + (count >> 3)]) >> (count & 7)) & 1)
    value = wp.float64(0.0)
    scale = wp.float64(1.0)
    for n in range(count):
        byte = int(rows[env, first + n])
        if op == BIG:
            value = value * wp.float64(256.0) + wp.float64(byte)
        elif op == LITTLE:
            value = value + scale * wp.float64(byte)
            scale = scale * wp.float64(256.0)
        elif op == BCD:
            value = value * wp.float64(100.0) + wp.float64(10 * (byte >> 4) + (byte & 15))
        elif op == DIGITS:
            value = value * wp.float64(10.0) + wp.float64(byte)
        elif op == SUM:
            value = value + wp.float64(byte)
        else:
            pairs = byte - ((byte >> 1) & 0x55)
            fours = (pairs & 0x33) + ((pairs >> 2) & 0x33)
            value = value + wp.float64((fours + (fours >> 4)) & 0x0F)
    return value


@wp.func
def compute(op: int, a: wp.float64, b: wp.float64) -> wp.float64:
    """Return the value of an instruction of two numbers; those of one number ignore `a`."""
    zero = wp.float64(0.0)
    one = wp.float64(1.0)
    if op == ADD:
        return a + b
    if op == SUB:
        return a - b
    if op == MUL:
        return a * b
    if op == DIV:
        return wp.where(b == zero, zero, a / wp.where(b == zero, one, b))
    if op == MIN:
        return wp.where(b < a, b, a)
    if op == MAX:
        return wp.where(b > a, b, a)
    if op == LESS:
        return wp.where(a < b, one, zero)
    if op == LESS_EQUAL:
        return wp.where(a <= b, one, zero)
    if op == EQUAL:
        return wp.where(a == b, one, zero)
    if op == AND:
        return wp.where(a != zero and b != zero, one, zero)
    if op == OR:
        return wp.where(a != zero or b != zero, one, zero)
    if op == NOT:
        return wp.where(b == zero, one, zero)
    if op == NEG:
        return -b
    if op == ABS:
        return wp.abs(b)
    return wp.floor(b)


@wp.func
def key_of(value: wp.float64) -> wp.int64:
    """Return the lowest 24 bits of a number, 0 for one that is not exact."""
    if wp.abs(value) < wp.float64(LARGEST_KEY):
        return wp.int64(value) & wp.int64(0xFFFFFF)
    return wp.int64(0)


@wp.func
def meet(met: wp.array3d[wp.uint32], env: int, number: int, entry: wp.uint32, epoch: wp.uint32) -> bool:
    """Add an entry to a set; return whether the set lacked it. Entries of other episodes are free places."""
    size = wp.uint32(met.shape[2])
    at = (entry * SPREAD_WORD) >> wp.uint32(8)
    for tried in range(met.shape[2]):
        place = int((at + wp.uint32(tried)) % size)
        found = met[env, number, place]
        if found == entry:
            return False
        if (found >> wp.uint32(24)) != epoch:
            met[env, number, place] = entry
            return True
    return False


@wp.kernel
def show_bits(watched: wp.array2d[wp.uint8], first: int, shown: wp.array2d[wp.uint8]):
    """Draw each byte as eight pixels from column `first` on, the lowest bit first."""
    env, byte = wp.tid()
    for bit in range(8):
        shown[env, first + 8 * byte + bit] = ((watched[env, byte] >> wp.uint8(bit)) & wp.uint8(1)) * SHADE


@wp.kernel
def score_bytes(
    words: wp.array2d[wp.int32],
    constants: wp.array[wp.float64],
    weights: wp.array[wp.float64],
    before: wp.array2d[wp.uint8],
    after: wp.array2d[wp.uint8],
    steps: wp.array[wp.int32],
    epochs: wp.array[wp.int32],
    records: wp.array2d[wp.float64],
    met: wp.array3d[wp.uint32],
    parts: wp.array2d[wp.float32],
    reward: wp.array[wp.float32],
    done: wp.array[wp.bool],
    score: wp.array[wp.float64],
    keys: wp.array2d[wp.int64],
):
    """Run the program for each console; `steps` is 0 in the first step of an episode."""
    env = wp.tid()
    stack = Stack()
    top = wp.int32(0)
    total = wp.float64(0.0)
    if steps[env] == 0 and epochs[env] > LAST_EPOCH:
        for place in range(met.shape[1] * met.shape[2]):
            met[env, place // met.shape[2], place % met.shape[2]] = wp.uint32(0)
        epochs[env] = 1
    epoch = wp.uint32(epochs[env]) << wp.uint32(24)
    for number in range(words.shape[0]):
        op = words[number, 0]
        a = words[number, 1]
        if op == CONST:
            stack[top] = constants[a]
            top = top + 1
        elif op <= BIT:
            if a == 0:
                stack[top] = read_bytes(op, before, env, words[number, 2], words[number, 3])
            else:
                stack[top] = read_bytes(op, after, env, words[number, 2], words[number, 3])
            top = top + 1
        elif op <= OR:
            top = top - 1
            stack[top - 1] = compute(op, stack[top - 1], stack[top])
        elif op <= FLOOR:
            stack[top - 1] = compute(op, stack[top - 1], stack[top - 1])
        elif op == GAIN:
            top = top - 1
            value = stack[top]
            record = records[env, a]
            if steps[env] == 0:
                record = stack[top - 1]
            records[env, a] = wp.max(record, value)
            stack[top - 1] = wp.max(wp.float64(0.0), value - record)
        elif op == NEW:
            top = top - 1
            zero = wp.float64(0.0)
            if steps[env] == 0 and stack[top - 1] >= zero:
                begun = wp.uint32(key_of(stack[top - 1])) | epoch
                meet(met, env, a, begun, epoch >> wp.uint32(24))
            stack[top - 1] = zero
            if stack[top] >= zero:
                key = wp.uint32(key_of(stack[top])) | epoch
                if meet(met, env, a, key, epoch >> wp.uint32(24)):
                    stack[top - 1] = wp.float64(1.0)
        elif op == NOVELTY:
            keys[env, a] = key_of(wp.max(stack[top - 1], wp.float64(0.0)))
            stack[top - 1] = wp.float64(0.0)
        elif op == TERM:
            top = top - 1
            term = weights[a] * stack[top]
            parts[env, a] = wp.float32(term)
            total = total + term
        elif op == DONE:
            top = top - 1
            done[env] = stack[top] != wp.float64(0.0)
        else:
            top = top - 1
            score[env] = stack[top]
    reward[env] = wp.float32(total)
