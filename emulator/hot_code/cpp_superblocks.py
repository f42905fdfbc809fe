"""C++ superblocks: for a CPU, each piece of a ROM's most executed code as one function.

A piece is a row of consecutive instructions without a jump between them. Its superblock is a function like those of
single instructions (sm83/cpp_instructions.py), is called like them and made of the same lines, but their variables are
constants in it: the instruction's word, PC, the page of its operand, the next instruction. Time, count, PC and
`stable_t` are updated only at its exits; SP and H, C and N where they are read and at its exits. It runs only if its
last instruction begins before the deadline; otherwise the function of its first instruction runs.

An instruction whose operand is not plain memory leaves the superblock, without any effect, for its own function, and so
does a branch that may close a waiting loop, if it is taken. `native_plain` tells which instructions no superblock
contains. The words that lead here (`hot_code/compile_cpu.py`) are followed only while bank 0 lies at 0000, another one
at 4000, and WRAM and HRAM are plain memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from emulator.constants import HRAM, ROW_ORIGIN, VRAM, WRAM
from emulator.hot_code.piece_finder import always_jumps, only_waits
from emulator.hot_code.ptx_superblocks import address
from emulator.kernels.sm83.cpp_instructions import (
    ADDRESSES,
    CONDITIONS,
    OPERATIONS,
    VALUES,
    flags,
    native_body,
    set_result,
)
from emulator.kernels.sm83.cpp_runtime import HELPERS
from emulator.kernels.sm83.ptx_operand_pages import HRAM_BYTES, WRAM_BYTES
from emulator.kernels.sm83.ptx_threaded_code import always_leave
from emulator.rom import control_rows, isa
from emulator.rom.idle_loops import BANK
from emulator.rom.isa import Instruction

FIRST = 513
"""Number of the first superblock in the table of functions.

It is the second of the entries for single instructions with SLOW_FETCH, of which only one is needed.
"""
MOST = 1024 - FIRST
_TRAP = 0x40  # LD B,B may be a breakpoint
_LDH_A_N8, _LD_N16_A = 0xF0, 0xEA

_STACK = {"sp-2": "2", "sp+2": "0"}
_OWN = re.compile(r"\b[vkxym]\b")
_OTHER = np.array(
    [
        (row.operation in control_rows.SLOW_KINDS and row.operation not in (*control_rows.ROTATES, "daa", "ei", "di"))
        or row.opcode == _TRAP
        for row in isa.INSTRUCTIONS
    ]
)
_SEES_SP = [
    "sp" in (row.x, row.y, row.destination) or (row.access and row.access.address in _STACK) for row in isa.INSTRUCTIONS
]
_STORES = [
    row.access is not None and row.access.kind == "write" and row.access.address in ("bc", "de", "hl", "hl+", "hl-")
    for row in isa.INSTRUCTIONS
]
_JUMPS = np.array([row.destination == "pc" and not row.condition for row in isa.INSTRUCTIONS])

MACROS = """
#define LEAVE_TO(w) { word = (w); DISPATCH((w) & 511); }
// By a jump of its own for each way on, which the processor learns by itself.
#define ON(i) { [[clang::musttail]] return ((Handler)table[i])(PASS); }
#define WALK { if (__builtin_expect(t >= h->limit, 0)) GO_TO(look); \\
    word = *ip; ON(word & 1023); }
#define WALK_TO(w) { if (__builtin_expect(t >= h->limit, 0)) GO_TO(look); \\
    word = (w); ON((w) & 511); }
#define GO_ON(to) { if (__builtin_expect(((to) ^ h->window) >> 14 != 0, 0)) { \\
        word = (to); GO_TO(cross); } \\
    ip = (const u32*)h->base + (to); WALK; }
#define TO_BANK_0(to) { h->base = h->bases.c[0]; h->window = 0; h->limit = h->soon; \\
    ip = (const u32*)h->base + (to); }
"""


def native_plain(words: np.ndarray) -> np.ndarray:
    """Return for each ROM byte whether its instruction may be in a superblock, bool.

    `words`: as `marked_words(rom, ends=True)` returns them.
    """
    row, immediate = words & 511, words >> 16
    # From bank 0, where execution goes on
    bank = (row == _LD_N16_A) & (immediate >> 13 == 1) & (np.arange(len(words)) < BANK)
    register = (row == _LDH_A_N8) & (immediate & 0x80 == 0)
    waits = (words & control_rows.WAITS != 0) & _JUMPS[row]
    return ~(always_leave(words) & ~bank | register | waits | _OTHER[row]) & (words & control_rows.SLOW_FETCH == 0)


def cut(places: Sequence[int], words: np.ndarray, plain: np.ndarray) -> list[tuple[int, ...]]:
    """Split a piece at the instructions that may not be in a superblock; return the parts.

    `places`: ROM offsets of the piece's instructions; `plain`: from `native_plain`. Another part begins after the first
    store through a pointer after a waiting loop: mostly the loop waited for VRAM, and that store leaves the superblock.
    """
    parts: list[list[int]] = [[]]
    waited = False
    for at in places:
        if plain[at]:
            parts[-1].append(at)
        ends = waited and _STORES[words[at] & 511]
        if parts[-1] and (ends or not plain[at]):
            parts.append([])
        waited = not ends and (waited or bool(words[at] & control_rows.WAITS))
    return [tuple(part) for part in parts if part]


class NativeSuperblocks:
    """Superblocks of one ROM, or of several in a batch, as C++ text."""

    def __init__(self) -> None:
        self._functions: list[str] = []

    def add_rom(self, words: np.ndarray, pieces: Sequence[tuple[int, ...]]) -> dict[int, int]:
        """Add a superblock for each piece of a ROM until the numbers are used up.

        Returns the number of each superblock by the ROM offset of its first instruction. `words`: as `marked_words(rom,
        ends=True)` returns them.
        """
        plain = native_plain(words)
        parts = {part[0]: part for places in pieces for part in cut(places, words, plain)}
        first = len(self._functions)
        chosen = list(parts.values())[: MOST - first]
        numbers = {places[0]: FIRST + first + i for i, places in enumerate(chosen)}
        for i, places in enumerate(chosen):
            self._functions.append(_Writer(f"sb{first + i}", words, numbers).write(places))
        return numbers

    def source(self, constants: Mapping[str, int]) -> str:
        """Return the C++ body of a native function that writes the superblocks' addresses, by number, to `out`.

        `constants`: as of `cpp_instructions.source`.
        """
        names = ", ".join(f"(const void*)Hot::sb{i}" for i in range(len(self._functions)))
        text = "".join(self._functions)
        return native_body(
            constants,
            f"{MACROS}struct Hot {{ typedef LIGHT void (*Handler)(REGISTERS);\n"
            f"{HELPERS}{text}}};\n"
            f"static const void* const ALL[] = {{ {names} }};\n"
            "for (u32 i = 0; i < sizeof ALL / sizeof *ALL; i++) ((const void**)out)[i] = ALL[i];\n"
            "return sizeof ALL / sizeof *ALL;\n",
        )


class _Writer:
    """Writer of the C++ text of one superblock; the attributes describe the instruction that is written next."""

    def __init__(self, name: str, words: np.ndarray, numbers: Mapping[int, int]) -> None:
        self.name = name
        self.words = words
        self.numbers = numbers
        self.start = 0
        self.at = 0
        """ROM offset of the instruction."""
        self.k = 0
        """Instructions, and M-cycles, from the beginning of the superblock up to this instruction."""
        self.spent = 0
        self.stored: int | None = None
        """M-cycles from the beginning of the superblock to the end of its last store; None: no store yet."""
        self.flags = ""
        """Pending statements that compute `fl`, which has not been read since."""
        self.sp_changed = False
        self.pages: dict[str, tuple[str, str]] = {}
        """For a register pair known to point to plain memory: the C++ variable with its page, and `reads` or
        `writes`.
        """
        self.below_e000: set[str] = set()
        """Register pairs that have pointed to plain memory, and changed by at most one for each instruction since.

        INC and DEC of any other pair must check whether it points into OAM.
        """

    def write(self, places: Sequence[int]) -> str:
        rows = [isa.INSTRUCTIONS[self.words[at] & 511] for at in places]
        self.start = places[0]
        first = int(self.words[places[0]])
        before_last = sum(row.m_cycles for row in rows[:-1])
        limit = f"t + {_passed(before_last, len(rows) - 1)} >= h->limit"
        lines = [f"PART({self.name})", f"top: if (__builtin_expect({limit}, 0)) goto late; {{"]
        if any(_SEES_SP[row.opcode] for row in rows):
            lines.append("u32 sp = h->sp;")
        for self.k, (self.at, row) in enumerate(zip(places, rows, strict=True)):
            word = int(self.words[self.at])
            if not only_waits(word):
                lines.append(self._instruction(row, word))
            self.spent += row.m_cycles
        self.k += 1
        if not always_jumps(int(self.words[places[-1]])):
            self.at = places[-1] + rows[-1].length
            lines.append(self._go(self.at))
        late = "" if len(rows) == 1 else f"if (t < h->limit) LEAVE_TO({first}u) "
        return "\n".join([*lines, f"}} late: {late}GO_TO(look)", "END\n"])

    def _books(self, at: int, cycles: int, instructions: int) -> str:
        """Return the C++ that stores `fl`, SP, `stable_t`, time, count and `ip` before an exit to ROM offset `at`."""
        text = self.flags
        if self.sp_changed:
            text += " h->sp = sp;"
        if self.stored is not None:
            text += f" h->stable_t = t + {_passed(self.stored, 0)};"
        if instructions:
            text += f" t += {_passed(cycles, instructions)};"
        if at != self.start:
            text += f" ip += {at - self.start};"
        return text

    def _leave(self) -> str:
        """Return the C++ that leaves the superblock for the present instruction's own function."""
        word = int(self.words[self.at])
        return f"{{ {self._books(self.at, self.spent, self.k)} LEAVE_TO({word}u) }}"

    def _go(self, place: int) -> str:
        """Return the C++ that leaves the superblock, after k instructions, for ROM offset `place` in the same bank."""
        return f"{{ {self._books(place, self.spent, self.k)} {self._walk(place)} }}"

    def _walk(self, place: int) -> str:
        number = self.numbers.get(place)
        if place == self.start:
            return "goto top;"
        if number is not None:
            return f"ON({number})"
        word = int(self.words[place])
        return "WALK" if word & control_rows.SLOW_FETCH else f"WALK_TO({word}u)"

    def _instruction(self, row: Instruction, word: int) -> str:
        if not row.condition:
            return self._effects(row, word)
        test = CONDITIONS[row.condition]
        made = ""
        if "fl" in test:
            made, self.flags = self.flags, ""
        if word & control_rows.WAITS:
            taken = self._leave()
        else:
            kept = self.stored, self.flags, self.sp_changed
            pages, below = dict(self.pages), set(self.below_e000)
            taken = self._effects(row, word)
            self.stored, self.flags, self.sp_changed = kept
            self.pages, self.below_e000 = pages, below
        return f"{made} if ({test}) {{ {taken} }}"

    def _effects(self, row: Instruction, word: int) -> str:
        """Return the C++ of all effects of an instruction; a conditional branch is taken."""
        if row.operation in ("ei", "di"):
            now = f"(u32)((t + {_passed(self.spent + row.m_cycles, 0)}) >> 24)"
            return self._unless(f"switch_interrupts(h, {row.operation.upper()}, {now})", row)
        if row.opcode == _LD_N16_A and word >> 16 < VRAM:
            self.pages.clear()
            return self._unless(f"switch_bank(h, {word >> 16}, A)", row)
        n = str(self.k)
        lines = [self._operand(row, word)]
        operation = OPERATIONS.get(row.operation, "v = x + y;")
        made = ""
        if row.destination not in ("pc", "vector"):
            if row.operation in ("adc", "sbc", "rl", "rr", "daa") or "af" in (row.x, row.y):
                made, self.flags = self.flags, ""
            made += self._operate(row, word, operation)
        lines.append(made)
        access = row.access
        if access and access.kind in ("write", "modify"):
            self.stored = self.spent + row.m_cycles + row.taken_extra
            value = "v"
            if row.destination == "vector":
                value = f"{address(self.at) + row.length}u"
                lines.append(f"sp = (sp - 2) & 0xFFFF; *(loose16*)at = {value};")
                self.sp_changed = True
            elif access.address == "sp-2":
                lines.append("sp = (sp - 2) & 0xFFFF; *(loose16*)at = v;")
                self.sp_changed = True
            else:
                lines.append("*(loose16*)at = v;" if access.size == 2 else "*(u8*)at = v;")
        if access and access.address == "sp+2":
            lines.append("sp = (sp + 2) & 0xFFFF;")
            self.sp_changed = True
        if access and access.address in ("hl+", "hl-"):
            lines.append(f"HL = (HL {access.address[2]} 1) & 0xFFFF;")
            self.pages.pop("hl", None)
        if row.destination in ("pc", "vector"):
            lines.append(self._branch(row, word))
        return _OWN.sub(lambda found: found[0] + n, " ".join(lines)).replace("*)at ", f"*)at{n} ")

    def _unless(self, done: str, row: Instruction) -> str:
        """Return C++ that leaves the superblock unless the condition `done` holds.

        `done` executes the instruction and is true if it succeeded; the instruction counts as a store.
        """
        text = f"if (__builtin_expect(!{done}, 0)) {self._leave()}"
        self.stored = self.spent + row.m_cycles
        return text

    def _operate(self, row: Instruction, word: int, operation: str) -> str:
        """Return the C++ of an instruction's result, destination and flags.

        The statements that compute `fl` are delayed until `fl` is read.
        """
        x, y = (_constants(VALUES[name], word) for name in (row.x, row.y))
        text = f"u32 v; const u32 x = {x}, y = {y}; "
        fl = flags(row.flags)
        head, _, tail = fl.partition("fl = ")
        if row.operation == "daa":
            text += f"u32 k; {{ {operation} }} {fl} "
            self.flags = ""
        else:
            first, *others = [part.strip() for part in operation.split(";") if part.strip()]
            text += f"{_constants(first, word)}; {head}"
            if tail:
                n = str(self.k)
                carries = f"const u32 {others[0]}; " if others and "k" in tail else ""
                later = _OWN.sub(lambda found: found[0] + n, f"{carries}fl = {tail} ")
                self.flags = (self.flags + later) if "fl &" in tail else later
        if row.destination == "af":
            self.flags = ""
        changed = {pair for pair in ("bc", "de", "hl") if row.destination in {*pair, pair}}
        self.pages = {pair: page for pair, page in self.pages.items() if pair not in changed}
        if not (row.operation in ("inc", "dec") and row.y in isa.R16):
            self.below_e000 -= changed
        result = set_result(row)
        if row.destination == "sp":
            self.sp_changed = True
        return text + result.replace("h->sp", "sp")

    def _operand(self, row: Instruction, word: int) -> str:
        """Return C++ that leaves the superblock unless the memory operand is plain memory.

        It defines the operand's machine address `at` and, for a read, its value `m`.
        """
        access = row.access
        n = str(self.k)
        if access is None:
            if row.operation in ("inc", "dec") and row.y in ("bc", "de", "hl"):
                if row.y not in self.below_e000:
                    test = f"{VALUES[row.y]} >> 8 == 0xFE"
                    return f"if (__builtin_expect({test}, 0)) {self._leave()}"
            elif row.operation in ("inc", "dec") and row.y == "sp":
                return f"if (__builtin_expect(sp >> 8 == 0xFE, 0)) {self._leave()}"
            return ""
        if access.address in _STACK:
            test = f"sp - h->stack - {_STACK[access.address]} >= h->stacks"
            at = f"h->mem + sp - {ROW_ORIGIN + int(_STACK[access.address])}"
            text = f"if (__builtin_expect({test}, 0)) {self._leave()} const u64 at{n} = {at};"
        elif access.address in ("n16", "ff00+n8"):
            at = word >> 16 if access.address == "n16" else 0xFF00 | word >> 16 & 0xFF
            text = self._known(at, access)
        else:
            text = self._pointed(access)
        if access.kind in ("read", "modify"):
            load = "loose16" if access.size == 2 else "u8"
            text += f" const u32 m = *({load}*)at{n};"
        return text

    def _known(self, at: int, access: isa.Access) -> str:
        """Return the C++ of an operand whose address `at` is a constant in the instruction."""
        n, last = str(self.k), at + access.size - 1
        table = "reads" if access.kind == "read" else "writes"
        page = f"h->{table}.c[{at >> 13}]"
        if at >> 13 != last >> 13 or last == 0x10000:
            return f"{self._leave()} const u64 at{n} = 0;"
        high = at >= HRAM and last < HRAM + HRAM_BYTES
        if high or WRAM <= at < WRAM + WRAM_BYTES:
            return f"const u64 at{n} = h->mem + {at - ROW_ORIGIN};"
        if at < VRAM and access.kind == "read":
            return f"const u64 at{n} = {page} + {at};"
        if VRAM <= at < WRAM:
            test = f"if (__builtin_expect(page{n} == 0, 0)) {self._leave()}"
            return f"const u64 page{n} = {page}; {test} const u64 at{n} = page{n} + {at};"
        return f"{self._leave()} const u64 at{n} = 0;"

    def _pointed(self, access: isa.Access) -> str:
        """Return the C++ of an operand whose address is in registers."""
        n = str(self.k)
        a = ADDRESSES[access.address]
        pair = access.address[:2]
        kind = "reads" if access.kind == "read" else "writes"
        if access.address == "ff00+c":
            page = f"h->{kind}.c[(BC & 255) - 0x80 < 0x7F ? 8 : 7]"
        else:
            known, of = self.pages.get(pair, ("", ""))
            if known and of in (kind, "writes"):  # writable memory is readable there
                return f"const u64 at{n} = {known} + {a};"
            page = f"h->{kind}.c[{a} >> 13]"
            self.pages[pair] = (f"page{n}", kind)
        test = f"if (__builtin_expect(page{n} == 0, 0)) {self._leave()}"
        if access.address != "ff00+c":
            self.below_e000.add(pair)
        return f"const u64 page{n} = {page}; {test} const u64 at{n} = page{n} + {a};"

    def _branch(self, row: Instruction, word: int) -> str:
        """Return the C++ that continues at the target of a branch, which is taken."""
        immediate = word >> 16
        behind = address(self.at) + row.length
        cycles, count = self.spent + row.m_cycles + row.taken_extra, self.k + 1
        if row.y == "mem":
            return f"{{ {self._books(self.start, cycles, count)} GO_ON(m) }}"
        if row.destination != "vector" and row.y == "hl":
            return f"{{ const u32 to = HL; {self._books(self.start, cycles, count)} GO_ON(to) }}"
        to = immediate
        if row.mnemonic.startswith("rst"):
            to = row.number
        elif row.y == "e8":
            to = behind + ((immediate & 255) ^ 128) - 128 & 0xFFFF
        here = address(self.at) >> 14
        if to >> 14 == here:
            place = self.at + to - address(self.at)
            return f"{{ {self._books(place, cycles, count)} {self._walk(place)} }}"
        books = self._books(self.start, cycles, count)
        if to >> 14 == 0:
            number = self.numbers.get(to)
            word = int(self.words[to])
            on = f"ON({number})" if number is not None else "WALK"
            return f"{{ {books} TO_BANK_0({to}u) {on} }}"
        return f"{{ {books} const u32 to = {to}u; GO_ON(to) }}"


def _passed(cycles: int, instructions: int) -> str:
    """Return a C++ number that adds M-cycles and instructions to `t`, which counts both."""
    return f"{(cycles << 24) + instructions}ll"


def _constants(text: str, word: int) -> str:
    """Return the C++ of a single instruction with the fields of `word` replaced by numbers."""
    return re.sub(r"\bword\b", f"{word}u", text).replace("h->sp", "sp")
