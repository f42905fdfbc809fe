"""C++ superblocks: those of a CPU, functions like those of single instructions (sm83/cpp_instructions.py).

They are called like them and made of the same lines. SP is written back only where the superblock is left, H, C and N
where they are read and there. `native_plain` tells which instructions no superblock contains. The words that lead here
(`hot_code/compile_cpu.py`) are followed only while bank 0 lies at 0000, another one at 4000, and WRAM and HRAM are
plain memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from emulator.constants import ROW_ORIGIN, VRAM
from emulator.hot_code.superblocks import BANK, Superblock, SuperblockSet, address, on_stack
from emulator.kernels.sm83 import plan
from emulator.kernels.sm83.cpp_instructions import cpp, native_body, test
from emulator.kernels.sm83.cpp_runtime import HELPERS
from emulator.kernels.sm83.ptx_threaded_code import always_leave
from emulator.rom import control_rows, isa
from emulator.rom.isa import Instruction

FIRST = 513
"""Number of the first superblock in the table of functions.

It is the second of the entries for single instructions with SLOW_FETCH, of which only one is needed.
"""
MOST = 1024 - FIRST
_TRAP = 0x40  # LD B,B may be a breakpoint
_LDH_A_N8, _LD_N16_A = 0xF0, 0xEA

_OWN = re.compile(r"\b(?:[vkxym]|at)\b")
_OTHER = np.array(
    [
        (row.operation in control_rows.SLOW_KINDS and row.operation not in (*control_rows.ROTATES, "daa", "ei", "di"))
        or row.opcode == _TRAP
        for row in isa.INSTRUCTIONS
    ]
)
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


class CppSuperblock(Superblock):
    """Printer of a superblock as a C++ function; each instruction's own variables have its number in their names."""

    def begin(self, rows: Sequence[Instruction]) -> None:
        limit = f"t + {_passed(sum(row.m_cycles for row in rows[:-1]), len(rows) - 1)} >= h->limit"
        self.lines = [f"PART({self.label})", f"top: if (__builtin_expect({limit}, 0)) goto late; {{"]
        self._late = "" if len(rows) == 1 else f"if (t < h->limit) LEAVE_TO({self.words[self.start]}u) "
        if any("sp" in (row.x, row.y, row.destination) or on_stack(row) for row in rows):
            self.lines.append("u32 sp = h->sp;")

    def end(self) -> None:
        self.lines += [f"}} late: {self._late}GO_TO(look)", "END\n"]

    def own(self, row: Instruction, word: int) -> list[str] | None:
        """Execute EI, DI and a switch of the ROM bank unless more is to be done than that; they count as stores."""
        if row.operation in ("ei", "di"):
            now = f"(u32)((t + {_passed(self.spent + row.m_cycles, 0)}) >> 24)"
            done = f"switch_interrupts(h, {row.operation.upper()}, {now})"
        elif row.opcode == _LD_N16_A and word >> 16 < VRAM:
            self.books.pages = {}
            done = f"switch_bank(h, {word >> 16}, A)"
        else:
            return None
        text = self._unless(done)
        self.books.stored = self.spent + row.m_cycles
        return [text]

    def test(self, row: Instruction) -> None:
        if "fl" in plan.CONDITIONS[row.condition][0]:
            self.lines.append(self._flags())

    def taken(self, row: Instruction, lines: list[str]) -> None:
        self.lines.append(f" if ({test(row)}) {{ {' '.join(lines)} }}")

    def leave(self) -> list[str]:
        return [f"{{ {self._books(self.at, self.spent, self.k)} LEAVE_TO({self.words[self.at]}u) }}"]

    def go(self, cycles: int, instructions: int, place: int, to: int) -> list[str]:
        number = self.numbers.get(place)
        on = f"ON({number})" if number is not None else ""
        if place >= 0 and place // BANK == self.start // BANK:
            word = int(self.words[place])
            on = on or ("WALK" if word & control_rows.SLOW_FETCH else f"WALK_TO({word}u)")
            on = "goto top;" if place == self.start else on
            return [f"{{ {self._books(place, cycles, instructions)} {on} }}"]
        books = self._books(self.start, cycles, instructions)
        if to < BANK:
            return [f"{{ {books} TO_BANK_0({to}u) {on or 'WALK'} }}"]
        return [f"{{ {books} const u32 to = {to}u; GO_ON(to) }}"]

    def go_to_result(self, cycles: int, instructions: int, row: Instruction) -> list[str]:
        value = f"m{self.k}" if row.y == "mem" else "HL"
        return [f"{{ const u32 to = {value}; {self._books(self.start, cycles, instructions)} GO_ON(to) }}"]

    def effects(self, row: Instruction, word: int, find: list[str]) -> list[str]:
        lines = ["u32 x, y, v, k;", *find]
        access = row.access
        size = "loose16" if access and access.size == 2 else "u8"
        if access and access.kind != "write":
            lines.append(f"const u32 m = *({size}*)at;")
        if plan.reads_flags(row):
            lines.append(self._flags())
        carries = ""
        for step in [] if row.destination == "pc" else plan.steps(row):
            text = self._constants(f"{cpp(step)};", word)
            if step.startswith("k = ") and row.operation != "daa":
                carries = text
            elif step.startswith("fl = "):
                text = self._of_this(f"{carries} {text}")
                self.books.flags = self.books.flags + text if "fl" in step[4:] else text
            else:
                lines.append(text)
        if access and access.kind != "read":
            lines.append(f"*({size}*)at = v;")
        lines += [self._constants(f"{cpp(step)};") for step in plan.move(row, plain=True)]
        return [self._of_this(" ".join(lines))]

    def outside_oam(self, pair: str) -> list[str]:
        return [self._unless(self._constants(f"({cpp(pair)} >> 8 != 0xFE)"))]

    def find(self, kind: str, row: Instruction, at: int = 0) -> list[str]:
        """Define the operand's machine address as `at`."""
        access = row.access
        assert access is not None
        if kind == "nowhere":
            return [*self.leave(), "const u64 at = 0;"]
        if kind == "row":
            return [f"const u64 at = h->mem + {at - ROW_ORIGIN};"]
        if kind == "stack":
            below = 2 if access.address == "sp-2" else 0
            test = self._unless(f"(sp - h->stack - {below} < h->stacks)")
            return [test, f"const u64 at = h->mem + sp - {ROW_ORIGIN + below};"]
        table = "reads" if access.kind == "read" else "writes"
        registers = kind in ("pointer", "high")
        place, pair = (f"({cpp(plan.ADDRESSES[access.address])})", access.address[:2]) if registers else (str(at), "")
        page = f"h->{table}.c[{place} >> 13]"
        if kind == "high":
            page = f"h->{table}.c[{place} - 0xFF80 < 0x7F ? 8 : 7]"
        known, of = self.books.pages.get(pair, ("", ""))
        if known and of in (table, "writes"):  # writable memory is readable there
            return [f"const u64 at = {known} + {place};"]
        if kind == "rom":
            return [f"const u64 at = {page} + {place};"]
        if kind == "pointer":
            self.books.pages = {**self.books.pages, pair: (f"page{self.k}", table)}
        test = self._unless(f"page{self.k}")
        return [f"const u64 page{self.k} = {page};", test, f"const u64 at = page{self.k} + {place};"]

    def _books(self, at: int, cycles: int, instructions: int) -> str:
        """Return the C++ that stores `fl`, SP, `stable_t`, time, count and `ip` before an exit to ROM offset `at`."""
        text = self.books.flags
        if self.books.moved_sp:
            text += " h->sp = sp;"
        if self.books.stored is not None:
            text += f" h->stable_t = t + {_passed(self.books.stored, 0)};"
        if instructions:
            text += f" t += {_passed(cycles, instructions)};"
        if at != self.start:
            text += f" ip += {at - self.start};"
        return text

    def _unless(self, done: str) -> str:
        return f"if (__builtin_expect(!{done}, 0)) {self.leave()[0]}"

    def _flags(self) -> str:
        """Return the pending statements that compute `fl`, which is read now."""
        text, self.books.flags = self.books.flags, ""
        return text

    def _of_this(self, text: str) -> str:
        """Return C++ with the names of this instruction's own variables."""
        return _OWN.sub(lambda found: f"{found[0]}{self.k}", text)

    def _constants(self, text: str, word: int = 0) -> str:
        """Return the C++ of a single instruction with SP's own variable, and numbers for `word` and `next`."""
        text = re.sub(r"\bnext\b", str(address(self.at) + isa.INSTRUCTIONS[word & 511].length), text)
        return re.sub(r"\bword\b", f"{word}u", text).replace("h->sp", "sp")


class NativeSuperblocks(SuperblockSet):
    """Superblocks of a batch's ROMs as C++ text."""

    writer = CppSuperblock
    first = FIRST
    most = MOST

    def add_rom(self, words: np.ndarray, pieces: Sequence[tuple[int, ...]]) -> dict[int, int]:
        plain = native_plain(words)
        parts = {part[0]: part for places in pieces for part in cut(places, words, plain)}
        return super().add_rom(words, list(parts.values()))

    def source(self, constants: Mapping[str, int | str]) -> str:
        """Return the C++ body of a native function that writes the superblocks' addresses, by number, to `out`.

        `constants`: as of `cpp_instructions.source`.
        """
        names = ", ".join(f"(const void*)Hot::{block.label}" for block in self.written)
        text = "\n".join(line for block in self.written for line in block.lines)
        return native_body(
            constants,
            f"{MACROS}struct Hot {{ typedef LIGHT void (*Handler)(REGISTERS);\n"
            f"{HELPERS}{text}}};\n"
            f"static const void* const ALL[] = {{ {names} }};\n"
            "for (u32 i = 0; i < sizeof ALL / sizeof *ALL; i++) ((const void**)out)[i] = ALL[i];\n"
            "return sizeof ALL / sizeof *ALL;\n",
        )


def _passed(cycles: int, instructions: int) -> str:
    """Return a C++ number that adds M-cycles and instructions to `t`, which counts both."""
    return f"{(cycles << 24) + instructions}ll"
