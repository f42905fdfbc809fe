"""PTX lines that find the operands of superblocks in memory (hot_code/ptx_superblocks.py).

An instruction's own block computes from `fast` and the banks which memory is plain: 17 machine instructions,
of 10 for each of a superblock's. Cold code costs by its length, so here WRAM and HRAM are always plain
(`MUST_BE_PLAIN`, else no block runs at all), an address in the word is resolved when the text is made, the
stack stays where it is, and a pointer looks up its page:

    pages[0..7]    for reads of 0000-1FFF, 2000-3FFF, ... : the machine address less the
                   console's, or -1 if such a read is not plain, or HRAM
    pages[8..15]   for writes

`stack`: the beginning of WRAM or HRAM, where SP was; `stackp`: two bytes above, where a push may begin;
`stacks`: how many values SP has there with both bytes below the end. Other operands are left to the
instruction's own block, which handles every case.
"""

from __future__ import annotations

from emulator.constants import CART_RAM, HRAM, TAIL_WARPS, VRAM, WRAM
from emulator.kernels.sm83.ptx_instructions import ALWAYS_SLOW
from emulator.rom.isa import Instruction

MUST_BE_PLAIN = 0x0140014F  # of `fast`: ROM, WRAM and HRAM
PAGES = 16
STRIDE = 8 * PAGES + 16
"""Bytes of a console's page table, followed by the values that it was made from."""
WRAM_BYTES, HRAM_BYTES = 0x2000, 0x7F
_CODE_END = VRAM
_MAY_CHANGE = 0x00300030  # of `fast`: VRAM and cartridge RAM


def found(row: Instruction, word: int, leave: str) -> list[str]:
    """Return PTX that puts the operand's machine address into `pr`, or jumps to `leave` with nothing changed.

    For an operand on the stack `pr` is the address at SP before the instruction.
    """
    access = row.access
    assert access is not None
    if access.address == "n16":
        return _known(word >> 16, access.kind, access.size == 2, leave)
    if access.address == "ff00+n8":
        return _known(0xFF00 | word >> 16 & 0xFF, access.kind, False, leave)
    if access.address in ("sp-2", "sp+2"):
        first = "stackp" if access.address == "sp-2" else "stack"
        return [
            f"sub.u32 t0, sp, {first}; setp.ge.u32 p, t0, stacks; @p bra.uni {leave};",
            "mad.wide.u32 pr, sp, 1, rowb;",
        ]
    assert access.address != "ff00+c"
    pointer = {"hl+": "hl", "hl-": "hl"}.get(access.address, access.address)
    table = 0 if access.kind == "read" else 64
    return [
        f"shr.u32 t0, {pointer}, 13; mad.lo.u32 t0, t0, 8, tab;",
        f"ld.shared.v2.u32 {{t1, t2}}, [t0+{table}];",
        f"setp.lt.s32 p, t2, 0; @p bra.uni {leave};",
        f"mov.b64 pr, {{t1, t2}}; mad.wide.u32 pr, {pointer}, 1, pr;",
    ]


def _known(address: int, kind: str, wide: bool, leave: str) -> list[str]:
    """Return PTX for an operand at a constant address."""
    last = address + wide
    if address >> 13 != last >> 13 or last == 0x10000:
        return [f"bra.uni {leave};"]
    if address < _CODE_END and kind == "read":
        return [
            f"ld.shared.v2.u32 {{t1, t2}}, [tab+{8 * (address >> 13)}];",
            f"mov.b64 pr, {{t1, t2}}; add.u64 pr, pr, {address};",
        ]
    if CART_RAM <= address < WRAM:
        table = 0 if kind == "read" else 64
        return [
            f"ld.shared.v2.u32 {{t1, t2}}, [tab+{table + 8 * (address >> 13)}];",
            f"setp.lt.s32 p, t2, 0; @p bra.uni {leave};",
            f"mov.b64 pr, {{t1, t2}}; add.u64 pr, pr, {address};",
        ]
    here = f"add.u64 pr, rowb, {address};"
    if VRAM <= address < CART_RAM:
        bit = 1 << (address >> 13) + (0 if kind == "read" else 16)
        return [f"and.b32 t0, fast, {bit}; setp.eq.u32 p, t0, 0; @p bra.uni {leave};", here]
    always = WRAM <= address < WRAM + WRAM_BYTES or HRAM <= address <= last < HRAM + HRAM_BYTES
    return [here] if always else [f"bra.uni {leave};"]


PAGES_SOURCE = f"""
if ((fast & {MUST_BE_PLAIN | ALWAYS_SLOW:#x}u) != {MUST_BE_PLAIN:#x}u) return;
#if defined(__CUDA_ARCH__)
__shared__ __align__(16) u64 all_pages[{TAIL_WARPS * STRIDE // 8}];
u64* pages = all_pages + (threadIdx.x >> 5) * {STRIDE // 8};
const u32 tab = (u32)__cvta_generic_to_shared(pages);
u32 one;  // 1: a launch is one layer of blocks, which the assembler does not know
asm("mov.u32 %0, %%nctaid.z;" : "=r"(one));
#else
u64 pages[{STRIDE // 8}];
const u32 tab = 0, one = 1;
r.paged = 0;
#endif
const bool in_hram = sp >= {HRAM};
const u32 stack = in_hram ? {HRAM} : {WRAM}, stackp = stack + 2;
const u32 stacks = in_hram ? {HRAM_BYTES - 1} : {WRAM_BYTES - 1};
const u64 made_of = (u64)romh << 32 | (fast & {_MAY_CHANGE:#x}u), and_of = (u64)roml << 32 | ramo;
if (r.paged == 0 || pages[{PAGES}] != made_of || pages[{PAGES + 1}] != and_of) {{
    const u64 no = ~0ull, low = rom + (long long)(int)roml, high = rom + (long long)(int)romh;
    pages[0] = low; pages[1] = low; pages[2] = high; pages[3] = high;
    pages[4] = fast & 0x10 ? rowb : no; pages[5] = fast & 0x20 ? rowb + ramo : no;
    pages[6] = rowb; pages[7] = no;
    pages[8] = no; pages[9] = no; pages[10] = no; pages[11] = no;
    pages[12] = fast & 0x100000 ? rowb : no; pages[13] = fast & 0x200000 ? rowb + ramo : no;
    pages[14] = rowb; pages[15] = no;
    pages[{PAGES}] = made_of; pages[{PAGES + 1}] = and_of;
    r.paged = 1;
}}
"""
"""C++ executed before the blocks: it returns if they cannot run, and fills the console's page table, `tab` on a GPU,
if it is missing or out of date.
"""
