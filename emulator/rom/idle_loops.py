"""Search for backward branches of a ROM that may close a waiting loop.

A waiting loop repeats itself: no instruction between the branch and its target stores anything, calls, returns or stops
the CPU, and none makes a register depend on its value of the last turn. The bytes are read as code, front to back; data
may look alike. A mark is only a candidate: a loop is skipped once it has been seen to repeat (sm83/data_path.py).

A loop that waits for a fixed time counts down and does nothing else. Its result after any number of turns is known.
"""

import numpy as np

from emulator.rom import control_rows, isa

LONGEST_BODY = 48  # bytes
DEC_R8 = (0x05, 0x0D, 0x15, 0x1D, 0x25, 0x2D, 0x3D)
LD_R_R = (0x40, 0x49, 0x52, 0x5B, 0x64, 0x6D, 0x7F)  # without effect
# dec rr; ld a, one half; or the other, in both orders
DEC_R16 = {0x0B: ((0x78, 0xB1), (0x79, 0xB0)), 0x1B: ((0x7A, 0xB3), (0x7B, 0xB2)), 0x2B: ((0x7C, 0xB5), (0x7D, 0xB4))}
BANK = 0x4000
JP = (0xC3, 0xC2, 0xCA, 0xD2, 0xDA)
REGISTERS = "bcdehla"
REPEATABLE = ("", "and", "or", "bit", "set", "res")  # repeating them changes nothing


def _bits(operand: str) -> int:
    """Return the 8-bit registers of an operand as a bit mask; SP counts as one register."""
    if operand == "sp":
        return 0x80
    if operand not in (*isa.R8, *isa.R16):
        return 0
    return sum(1 << REGISTERS.index(name) for name in operand)


def _effects(row: isa.Instruction) -> tuple[bool, int, int]:
    """Return what an instruction does to registers, to decide whether it may be in a waiting loop.

    Three values: True if it may not; mask of the registers that it changes depending on their old value; mask of the
    registers that it sets.
    """
    access = row.access
    acts = row.operation in control_rows.SLOW_KINDS and bool(
        control_rows.slow_bits(row.operation) & control_rows.CONTROL
    )
    if acts or (access and (access.kind != "read" or access.address[-1] in "+-2")):
        return True, 0, 0
    written = _bits(row.destination)
    clears = row.operation in ("xor", "sub", "sbc") and row.y == "a"
    own = row.destination in (row.x, row.y) and row.operation not in REPEATABLE and not clears
    return False, written if own else 0, written


_EFFECTS = [_effects(row) for row in isa.INSTRUCTIONS]
_ACTS = np.array([acts for acts, _, _ in _EFFECTS])
_CHANGED = np.array([changed for _, changed, _ in _EFFECTS], np.uint8)
_SET = np.array([written for _, _, written in _EFFECTS], np.uint8)
_LENGTH = np.array([row.length for row in isa.INSTRUCTIONS], np.int64)
_JUMPS = np.isin(np.arange(256), (*control_rows.JR, *JP))


def mark_loops(rom: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return a copy of `words`, from `predecode`, with branches that may close a waiting loop marked.

    The marks are WAITS and, for a loop that counts down, COUNTS_8 or COUNTS_16.
    """
    branch, target = _backward_branches(rom)
    marked = words.copy()
    marked[branch[_repeat(words & 511, branch, target)]] |= control_rows.WAITS
    code = rom.tobytes()
    for end, begin in zip(branch.tolist(), target.tolist(), strict=True):
        if code[end] in (0x20, 0xC2):  # jr nz, jp nz
            marked[end] |= _counts_down(code, begin, end)
    return marked


def marked_words(rom: np.ndarray, ends: bool = False) -> np.ndarray:
    """Return the predecoded words of a ROM, uint32[bytes], with the ends of waiting loops marked.

    `ends`: as of `predecode`.
    """
    return mark_loops(rom, control_rows.predecode(rom, ends))


def _counts_down(code: bytes, begin: int, end: int) -> int:
    """Return the mark (COUNTS_*, WAITS) of a loop at ROM offsets `begin`..`end` that only counts down, else 0."""
    steps = []
    place = begin
    while place < end:
        opcode = code[place]
        if opcode == 0x18 and code[place + 1] == 0:  # jr to the next instruction
            place += 2
        elif opcode == 0 or opcode in LD_R_R:
            place += 1
        elif len(steps) < 3:
            steps.append(opcode)
            place += 1
        else:
            return 0
    if place != end or not steps:
        return 0
    if len(steps) == 1 and steps[0] in DEC_R8:
        return control_rows.WAITS | control_rows.COUNTS_8
    if tuple(steps[1:]) in DEC_R16.get(steps[0], ()):
        return control_rows.WAITS | control_rows.COUNTS_16
    return 0


def _repeat(rows: np.ndarray, branch: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return for each branch whether its loop may repeat itself, bool; `rows`: control row at each ROM byte."""
    place, fresh = target.copy(), np.zeros(len(target), np.uint8)
    waits = np.ones(len(target), bool)
    while True:
        on = np.flatnonzero(waits & (place < branch))
        if not len(on):
            return waits & (place == branch)
        row = rows[place[on]]
        waits[on] = ~_ACTS[row] & ((_CHANGED[row] & ~fresh[on]) == 0)
        fresh[on] |= _SET[row]
        place[on] += _LENGTH[row]


def _backward_branches(rom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ROM offsets of JR and JP to at most LONGEST_BODY bytes before, and those of their targets.

    Code of bank 0 runs at 0000, code of the others at 4000.
    """
    places = np.flatnonzero(_JUMPS[rom[:-2]])
    first, second, third = (rom[places + k].astype(np.int64) for k in range(3))
    relative = places + 2 + (second ^ 0x80) - 0x80
    address = second | third << 8
    absolute = places // BANK * BANK + address % BANK
    absolute = np.where(address // BANK == np.minimum(places // BANK, 1), absolute, len(rom))
    target = np.where(np.isin(first, control_rows.JR), relative, absolute)
    near = (target <= places) & (target >= places - LONGEST_BODY)
    near &= target // BANK == places // BANK
    return places[near], target[near]
