"""C++ text of the CPU that runs on a CPU core, without the instructions: names, exits, entry.

The machine's registers, as every function here has them:

    t      time << 24 | instructions executed since `run`: one addition counts both
    ip     the predecoded word of the instruction; PC = ip - h->base
    BC DE HL A zr fl   those of sm83/plan.py
    word   the word at `ip`: row 0-8, slow fetch 9, immediate 16-31

`h->limit` is the time at which the next instruction must be checked first: the deadline, or the past while
code runs that has no predecoded words (`ip` then only holds the PC).
"""

RARE = (
    "leave",
    "look",
    "fetch",
    "cross",
    "back",
    "cold_read",
    "cold_write",
    "cold_pair",
    "cold_control",
    "read_io",
    "write_io",
    "read_register",
    "write_buttons",
    "write_register",
)

PRELUDE = """
#pragma clang diagnostic ignored "-Wparentheses" // operators bind as in sm83/plan.py
typedef unsigned char u8; typedef unsigned int u32;
typedef unsigned long long u64; typedef long long i64;
typedef __remove_reference_t(decltype(h)) Host; typedef __remove_reference_t(decltype(c)) Console;
typedef u32 __attribute__((aligned(1), may_alias)) loose32;
typedef unsigned short __attribute__((aligned(1), may_alias)) loose16;
#if defined(__x86_64__) && __has_attribute(preserve_none) // on AArch64 Warp keeps x28 for itself
#define LIGHT __attribute__((preserve_none))
#else
#define LIGHT
#endif
#if defined(__x86_64__) // else the loads of all ways out become one, with an address made for each
#define KEEP_HERE(v) asm("" : "+r"(v))
#else
#define KEEP_HERE(v)
#endif
#define REGISTERS Host* h, const void* const* table, i64 t, const u32* ip, u32 BC, u32 DE, \\
    u32 HL, u32 A, u32 zr, u32 fl, u32 word
#define PASS h, table, t, ip, BC, DE, HL, A, zr, fl, word
// One way out of each function: every further tail call would be slow to compile.
#define PART(name) static LIGHT void name(REGISTERS) { Handler go; {
#define END } out: [[clang::musttail]] return go(PASS); }
#define DISPATCH(i) { go = (Handler)table[i]; KEEP_HERE(go); goto out; }
// By the table: the address of a function is three instructions away.
#define GO_TO(part) DISPATCH(AT_##part)
#define NEXT { if (__builtin_expect(t >= h->limit, 0)) GO_TO(look); \\
    word = *ip; DISPATCH(word & 1023); }
#define MAP 0x01FF01FF // bits of `fast` that are pages
#define PAST (-(1ll << 62))
#define TIME(cycles) t += ((i64)(cycles) << 24) + 1;
#define NEVER (1ll << 62)
#define NOW ((u32)(t >> 24))
#define PC ((u32)(ip - (const u32*)h->base))
#define CONSOLE ((Console*)h->console)
#define F_BITS ((zr == 0) << 7 | (fl >> 10 & 0x40) | (fl << 1 & 0x20) | (fl >> 4 & 0x10))
#define SET_F(f) { zr = ~(f) & 0x80; \\
    fl = ((f) & 0x10) << 4 | ((f) & 0x20) >> 1 | ((f) & 0x40) << 10; }
#define FIND(pages, else_) const u64 page = h->pages.c[at >> 13]; \\
    if (__builtin_expect(page == 0, 0)) { h->address = at; else_; }
#define FIND2(pages, else_) const u64 page = h->pages.c[at >> 13]; \\
    if (__builtin_expect(page == 0 || (at & 0x1FFF) == 0x1FFF, 0)) { h->address = at; else_; }
// HRAM has a page of its own behind the others.
#define FIND_HIGH(pages, else_) const u64 page = h->pages.c[at - 0xFF80 < 0x7F ? 8 : 7]; \\
    if (__builtin_expect(page == 0, 0)) { h->address = at; else_; }
#define BYTE (*(u8*)(page + at))
#define PAIR (*(loose16*)(page + at))
#define low(pair, v) (((pair) & 0xFF00) | (v))
#define high(pair, v) (((pair) & 0xFF) | (v) << 8)
#define extended(word) (u32)(signed char)((word) >> 16)
// Code without predecoded words: `ip` says the PC, `look` fetches.
#define OFF_WORDS(pc) { h->base = 0; h->window = ~0u; h->limit = PAST; \\
    ip = (const u32*)((u64)((pc) & 0xFFFF) << 2); }
#define GO(to) { if (__builtin_expect(((to) ^ h->window) >> 14 != 0, 0)) { \\
        word = (to); GO_TO(cross); } \\
    ip = (const u32*)h->base + (to); NEXT; }
// A branch that may close a loop that waits is looked at, if it leads back.
#define JUMP(target, next) { const u32 to = (target); \\
    if ((word & WAITS) && to < (next)) { word = to | (word & COUNTS) << 16; GO_TO(back); } \\
    GO(to); }
// JR, which mostly stays in its bank.
#define HOP(offset, next) { \\
    if (__builtin_expect((word & (WAITS | LEAVES_BANK)) != 0, 0)) \\
        JUMP(((next) + (offset)) & 0xFFFF, next); \\
    ip += (int)(offset); NEXT; }
#define REQUESTED (*(u8*)(h->mem + 0x7F0F) & *(u8*)(h->mem + 0x7FFF) & 0x1F)
#define REQUEST(a, value, start) { loose32* asked = (loose32*)h->scratch; \\
    asked[0] = (a); asked[1] = (value); asked[2] = CTL; asked[3] = (start); }
#define ASK(what, a, value, start) { REQUEST(a, value, start) h->asked = (what); GO_TO(leave); }
#define ROW (((const u32*)h->control) + (word & 511) * ROW_WORDS)
// Control bits of an instruction that comes to its access: its condition holds.
#define CTL (ROW[6] | (ROW[5] & TAKEN_ONLY))
"""

HELPERS = """
static inline u64 place(Host* h, u32 a) {
    Console* c = CONSOLE;
    if (a < 0x8000) return h->rom + (u32)(a + (a >= 0x4000 ? c->rom_high : c->rom_low));
    return h->mem + (u32)(a - 0x8000 + ((a & 0xE000) == 0xA000 ? c->ram_offset : 0));
}

// The ROM bank at 4000 is another one.
static inline void turn_bank(Host* h) {
    Console* c = CONSOLE;
    const u64 at = place(h, 0x4000) - 0x4000;
    const u32 bank = 0x4000 + c->rom_high; // where it begins in the ROM
    h->rom_high = c->rom_high;
    h->bases.c[1] = (bank == c->rom_base ? h->words : h->walked) + 4ull * bank - 4ull * 0x4000;
    for (u32 i = 2; i < 4; i++) h->reads.c[i] = h->fast >> i & 1 ? at : 0;
}

// `mapper.switch_bank` once more, for a write to 2000-3FFF that does nothing else: leaving for it takes 3 to 17 %
// of a launch (six games).
static inline bool switch_bank(Host* h, u32 a, u32 value) {
    Console* c = CONSOLE;
    const u32 kind = c->mapper;
    if (c->dma_state || (kind != MBC1 && kind != MBC3 && kind != MBC5)) return false;
    const u32 old = c->rom_bank, mask = kind == MBC1 ? 31 : c->rom_banks > 128 ? 255 : 127;
    u32 bank = value & mask ? value & mask : 1;
    if (kind == MBC5) bank = a < 0x3000 ? (old & 0x100) | value : (old & 0xFF) | (value & 1) << 8;
    c->rom_bank = bank;
    if (kind == MBC1) bank |= c->ram_bank << 5;
    c->rom_high = c->rom_base + ((bank & (c->rom_banks - 1)) << 14) - 0x4000;
    turn_bank(h);
    return true;
}

// Nothing is requested: EI and RETI need not look up, and DI never. `interrupts.switch_interrupts` once more: leaving
// for it takes 1 to 6 % of a launch (six games).
static inline bool switch_interrupts(Host* h, u32 kind, u32 now) {
    Console* c = CONSOLE;
    if (kind != DI && (REQUESTED || (kind == EI && (int)(c->launch_end - now) < 8))) return false;
    if (kind != EI) c->ime = kind == RETI;
    else if (c->ime == 0) { c->ime = 2; c->ei_time = now; }
    return true;
}
"""
"""C++ helper functions, used by single instructions and superblocks."""

PARTS = """
struct Cpu {
typedef LIGHT void (*Handler)(REGISTERS);
HELPERS
// Everything back into the console; the caller of `run` goes on.
static LIGHT void leave(REGISTERS) {
    Console* c = CONSOLE;
    c->lo = BC | DE << 16;
    c->hi = HL | F_BITS << 16 | A << 24;
    c->sp = h->sp;
    c->pc = PC & 0xFFFF;
    c->now = NOW;
    c->work += (u32)t & 0xFFFFFF;
    h->stable = (u32)(h->stable_t >> 24);
    ((loose32*)h->scratch)[WORD_AT / 4] = word;
}

// Pages of VRAM as they are while nobody has found it open.
static inline void close_vram(Host* h) {
    h->reads.c[4] = h->writes.c[4] = 0;
    h->close_t = NEVER;
    h->soon = h->due;
}

// The limit has come: the deadline, the end of open VRAM, or code to be fetched byte by byte.
PART(look)
    if (t >= h->due || CONSOLE->fast >> 31) GO_TO(leave);
    if (t >= h->close_t) close_vram(h);
    GO_TO(fetch);
END

// On at the address in `word`, which lies in another 16 KiB than the code before.
PART(cross)
    if (word >= 0x8000 || CONSOLE->fast >> 31) { OFF_WORDS(word); GO_TO(look); }
    h->base = h->bases.c[word >> 14];
    h->window = word & 0x4000;
    h->limit = h->soon;
    ip = (const u32*)h->base + word;
    NEXT;
END

PART(fetch)
    Console* c = CONSOLE;
    const u32 pc = PC & 0xFFFF;
    if (pc < 0x8000) {
        h->base = h->bases.c[pc >> 14];
        h->window = pc & 0x4000;
        h->limit = h->soon;
        ip = (const u32*)h->base + pc;
        word = *ip;
        DISPATCH(word & 1023);
    }
    OFF_WORDS(pc);
    const u32 last = pc + 2;
    const bool page = (pc ^ last) >> 13 == 0 && (pc >= 0xFF80) == (last >= 0xFF80);
    const u8* p = (const u8*)place(h, pc);
    if (!page || !(fast_bits(c->fast, pc) & 1)) {
        if (!in_echo(c->fast, pc, 2)) { h->asked = ASK_FETCH; GO_TO(leave); }
        p -= 0x2000;
    }
    word = p[0] | ((p[0] & 0xC7) == 0xC7 ? (u32)(p[0] & 0x38) : p[1] | (u32)p[2] << 8) << 16;
    if (p[0] == 0xCB) word = 256 + p[1];
    word |= WAITS; // as far as anybody knows
    DISPATCH(word & 1023);
END

PART(slow_fetch) h->asked = ASK_FETCH; GO_TO(leave); END
PART(none) GO_TO(leave); END

// Up to `turns` turns at once of a loop that only counts down: uniform.count_down.
static inline i64 count_down(u32 counts, i64 turns, u64 step, u32 step_a, u32& BC, u32& DE, u32& HL,
                             u32& A, u32& zr, u32& fl) {
    const bool pair = counts == COUNTS_16, by_a = !pair && step == 0;
    const int shift = by_a ? 0 : __builtin_ctzll(step | 1ull << 48);
    const bool one = step == 1ull << shift && shift < 48 && !(shift & (pair ? 15 : 7));
    if (by_a ? step_a != 1 : !one || (!pair && step_a)) return 0;
    u32& counter = by_a ? A : shift < 16 ? BC : shift < 32 ? DE : HL;
    const u32 value = counter >> (shift & 8) & (pair ? 0xFFFF : 0xFF);
    if (turns > (i64)value - 1) turns = value - 1;
    const u32 left = value - (u32)turns;
    counter -= (u32)turns << (shift & 8);
    if (pair) zr = A = (left | left >> 8) & 255;
    else { zr = left; fl = (fl & ~16u) | ((left & 15) == 15 ? 16 : 0); }
    return turns;
}

// A branch back to `word`: exact skipping of loops that wait, as in sm83/data_path.py.
PART(back)
    const u32 now = NOW, to = word & 0xFFFF, counts = word >> 16;
    const u64 first = BC | DE << 16 | (u64)HL << 32 | (u64)h->sp << 48;
    const u64 second = F_BITS << 8 | A;
    i64 end = h->stable_t < h->deadline_t ? h->stable_t : h->deadline_t;
    if (h->close_t < end) end = h->close_t; // then VRAM reads otherwise
    const int span = (int)((u32)(end >> 24) - now), period = (int)(now - h->seen_time);
    if (span > period && to == h->seen_pc && h->idle_skip) {
        if (counts)
            t += count_down(counts, (span - 1) / period, h->seen_first - first,
                            (u32)h->seen_second - A & 255, BC, DE, HL, A, zr, fl) * period << 24;
        else if (first == h->seen_first && second == h->seen_second)
            t += (i64)((span - 1) / period) * period << 24;
    }
    h->seen_first = BC | DE << 16 | (u64)HL << 32 | (u64)h->sp << 48;
    h->seen_second = F_BITS << 8 | A;
    h->seen_pc = to;
    h->seen_time = NOW;
    h->stable_t = t + ((i64)FAR << 24);
    GO(to);
END

static inline u32 fast_bits(u32 fast, u32 a) { return fast >> (a - 0xFF80 < 0x7F ? 8 : a >> 13); }

// Whether `a` to `a + more` is the echo of WRAM, plain memory 2000 below. Looked at where a request would follow: in
// `place` it took 4 % of a launch. The data path of a GPU asks: looked at there, it took 2 to 5 %.
static inline bool in_echo(u32 fast, u32 a, u32 more) {
    return a - 0xE000 < 0x1E00 - more && (fast & 0xC0) == 0x40;
}

// What `execute` of sm83/data_path.py calls bits: 0 a read, 16 a write of h->address needs no call.
static inline u32 plain_bits(Host* h, u32 a, u32 ctl, u32 start, bool calm) {
    const bool wide = ctl & WIDE;
    const bool splits = wide && (a & 0x1FFF) >= (a < 0xE000 ? 0x1FFFu : 0x1FFEu);
    const u32 vram = calm && (int)(h->vram_until - start) >= LONGEST ? 0x00100010 : 0;
    return splits ? 0 : fast_bits(CONSOLE->fast | vram, a);
}

// VRAM has been found open: until it may close, its page needs no question.
static inline void open_vram(Host* h) {
    Console* c = CONSOLE;
    const u32 until = (int)(h->vram_until - c->deadline) < 0 ? h->vram_until : c->deadline;
    h->close_t = (i64)(int)(until - LONGEST + 1) << 24;
    if (h->close_t < h->soon) h->soon = h->close_t;
    if (h->limit != PAST) h->limit = h->soon;
    h->reads.c[4] = h->writes.c[4] = place(h, 0x8000) - 0x8000;
}

PART(cold_read)
    const u32 at = h->address, ctl = CTL, start = NOW;
    if (at - 0xFF80 < (ctl & WIDE ? 0x7Eu : 0x7Fu) && h->reads.c[8]) {
        const u64 page = h->reads.c[8];
        h->memory = ctl & WIDE_READ ? PAIR : BYTE;
        DISPATCH(WITH_MEMORY + (word & 511));
    }
    if (at - 0xFF00 < 0x80 && !(ctl & WIDE)) GO_TO(read_io);
    const bool calm = (int)(CONSOLE->deadline - start) >= LONGEST;
    const u8* p = (const u8*)place(h, at);
    if (!(plain_bits(h, at, ctl, start, calm) & 1)) {
        if (!in_echo(CONSOLE->fast, at, ctl & WIDE ? 2 : 0)) ASK(ASK_READ, at, 0, start);
        p -= 0x2000;
    }
    if ((at & 0xE000) == 0x8000) open_vram(h);
    h->memory = ctl & WIDE_READ ? p[0] | (u32)p[1] << 8 : *p;
    DISPATCH(WITH_MEMORY + (word & 511));
END

// The instruction is over but for its store of h->value.
PART(cold_write)
    const u32 at = h->address, ctl = CTL, start = NOW - ((ROW[7] >> 24 & 127));
    if (at - 0xFF80 < (ctl & WIDE ? 0x7Eu : 0x7Fu) && h->writes.c[8]) {
        const u64 page = h->writes.c[8];
        if (ctl & WIDE) PAIR = h->value; else BYTE = h->value;
        NEXT;
    }
    if ((at & 0xE000) == 0x2000 && !(ctl & WIDE) && switch_bank(h, at, h->value & 255)) {
        if (h->window == 0x4000) { word = PC & 0xFFFF; h->window = ~0u; GO_TO(cross); }
        NEXT;
    }
    if (at - 0xFF00 < 0x80 && !(ctl & WIDE)) GO_TO(write_io);
    const bool calm = (int)(CONSOLE->deadline - start) >= LONGEST;
    u64 p = place(h, at);
    if (!(plain_bits(h, at, ctl, start, calm) >> 16 & 1)) {
        if (!in_echo(CONSOLE->fast, at, ctl & WIDE ? 2 : 0)) ASK(ASK_WRITE, at, h->value, start);
        p -= 0x2000;
    }
    if (ctl & WIDE) *(loose16*)p = h->value;
    else *(u8*)p = h->value;
    if ((at & 0xE000) == 0x8000) open_vram(h);
    NEXT;
END

// A byte of FF00-FF7F is read. For many registers that is the byte in memory while no event is due.
PART(read_io)
    const u32 at = h->address, start = NOW;
    const u8 byte = *(const u8*)(h->mem + at - 0x8000);
    if (!(CONSOLE->fast & 0x80)) { // not flat
        if ((int)(CONSOLE->deadline - start) < LONGEST || at > 0xFF7F) ASK(ASK_READ, at, 0, start);
        bool plain = at & 0xF0 ? (at & 0xF0) == 0x40 && PLAIN_IO >> (at & 15) & 1 : at == 0xFF00 && byte & SETTLED;
        if (at == 0xFF41) {
            plain = CONSOLE->fast & STATUS_PLAIN && (int)(h->vram_until - start) >= LONGEST + STATUS_MARGIN;
            if (plain) h->stable_t = t; // that changes
        }
        if (!plain) GO_TO(read_register);
    }
    h->memory = byte;
    DISPATCH(WITH_MEMORY + (word & 511));
END

// A byte is written to FF00-FF7F, as in `cold_write`.
PART(write_io)
    const u32 at = h->address, start = NOW - (ROW[7] >> 24 & 127);
    const bool flat = CONSOLE->fast & 0x80;
    if (at == 0xFF00 && !flat) GO_TO(write_buttons);
    const bool calm = (int)(CONSOLE->deadline - start) >= LONGEST;
    const bool picture = calm && (at & 0xF0) == 0x40 && (PLAIN_PICTURE >> (at & 15) & 1)
        && CONSOLE->fast & PICTURE_PLAIN && (int)(h->vram_until - start) >= LONGEST;
    if (!picture && !flat) GO_TO(write_register);
    *(u8*)(h->mem + at - 0x8000) = h->value;
    NEXT;
END

// Parts with calls are functions of their own: each saves its registers as it begins.

// A register is read, and turns of a loop that waits for its value are skipped.
PART(read_register)
    Console* c = CONSOLE;
    loose32* mailbox = (loose32*)h->scratch;
    const u32 at = h->address;
    REQUEST(at, 0, NOW)
    mailbox[WORD_AT / 4] = word;
    c->pc = PC & 0xFFFF;
    c->now = NOW;
    c->hi = HL | F_BITS << 16 | A << 24;
    const u32 stable = c->stable = (u32)(h->stable_t >> 24);
    if (at != 0xFF41 || ANSWER_QUICKLY(c, h->mem, h->scratch, h->words, ASK_READ, h->idle_skip) == NO_ANSWER) {
        const bool looks = ANSWER_READ(c, h->mem, h->rom, h->scratch, stable, h->idle_skip);
        if (c->ppu_drafting | c->ppu_finished | c->dma_state) mailbox[WINDOW_AT / 4] = c->now; // as `attend`
        else if (looks) {
            const u32 value = at == 0xFF41 ? mailbox[MEMORY_AT / 4] : 0;
            mailbox[WINDOW_AT / 4] = VRAM_WINDOW(c, h->mem, c->now + 3, value);
        }
    }
    t = ((i64)(int)c->now << 24) | (t & 0xFFFFFF);
    A = c->hi >> 24;
    SET_F(c->hi >> 16);
    h->stable_t = (i64)(int)c->stable << 24;
    h->vram_until = mailbox[WINDOW_AT / 4];
    h->memory = mailbox[MEMORY_AT / 4];
    close_vram(h);
    if (h->limit != PAST) h->limit = h->soon;
    DISPATCH(WITH_MEMORY + (word & 511));
END

// A write to P1.
PART(write_buttons)
    const u32 ctl = CTL, written = NOW - (ROW[7] >> 24 & 127) + (ctl >> WRITE_CYCLE_SHIFT & 7) - 1;
    if ((int)(written - CONSOLE->deadline) >= 0) ASK(ASK_WRITE, h->address, h->value, NOW - (ROW[7] >> 24 & 127));
    if (!SELECT_BUTTONS(CONSOLE, h->mem, h->value & 255, written)) NEXT;
    CONSOLE->deadline = NOW; // an interrupt is requested
    GO_TO(leave);
END

// A register is written, and what follows from that is done.
PART(write_register)
    Console* c = CONSOLE;
    const u32 at = h->address, ctl = CTL, start = NOW - (ROW[7] >> 24 & 127);
    const bool here = (at < 0xFF80 || at == 0xFFFF) && at != 0xFF46; // an OAM DMA may be waited for
    if (!here || (int)(start + (ctl >> WRITE_CYCLE_SHIFT & 7) - 1 - c->deadline) >= 0)
        ASK(ASK_WRITE, at, h->value, start);
    c->now = NOW;
    ANSWER_WRITE(c, h->mem, h->rom, at, h->value, ctl, start, h->idle_skip);
    const bool looks = at - 0xFF3F < 7, busy = c->ppu_drafting | c->ppu_finished | c->dma_state; // as `attend`
    if (busy || looks) {
        h->vram_until = busy ? NOW : VRAM_WINDOW(c, h->mem, NOW, 0);
        ((loose32*)h->scratch)[WINDOW_AT / 4] = h->vram_until;
    }
    if (c->fast >> 31 || (c->fast & MAP) != h->fast) GO_TO(leave);
    h->deadline_t = (i64)(int)c->deadline << 24;
    if (h->deadline_t < h->due) h->due = h->deadline_t;
    close_vram(h);
    if (h->limit != PAST) h->limit = h->soon;
    NEXT;
END

PART(cold_pair) ASK(ASK_OAM_BUG, h->address, 0, NOW); END
PART(cold_control) h->stable_t = t; ASK(ASK_CONTROL, 0, ROW[7] >> 8 & 255, NOW); END
""".replace("HELPERS", HELPERS)

ENTRY = """
};
const u32 lo = c.lo, hi = c.hi, start = c.now;
if (given & COPY_TABLE) {
    for (u32 i = 0; i < sizeof TABLE / sizeof *TABLE; i++) ((const void**)h.table)[i] = TABLE[i];
    return 0;
}
h.asked = 0;
h.console = (u64)&c;
h.sp = c.sp;
const bool in_hram = h.sp >= 0xFF80;
h.stack = in_hram ? 0xFF80 : 0xC000;
h.stacks = in_hram ? 0x7E : 0x1FFF;
h.stable_t = (i64)(int)h.stable << 24;
h.deadline_t = (i64)(int)c.deadline << 24;
// At most 2^23 M-cycles, that the instruction count cannot spill into the time.
const i64 last = ((i64)(int)start + (1 << 23)) << 24;
h.due = h.deadline_t < last ? h.deadline_t : last;
Cpu::close_vram(&h);
if ((c.fast & MAP) != h.fast || c.rom_low != h.rom_low || c.rom_high != h.rom_high
        || c.ram_offset != h.ram_offset) {
    h.fast = c.fast & MAP; h.ram_offset = c.ram_offset;
    h.rom_low = c.rom_low;
    // Superblocks are for bank 0 at 0000 and others at 4000.
    const bool plain = (c.fast & (ALWAYS_SLOW | MUST_BE_PLAIN)) == MUST_BE_PLAIN;
    h.walked = plain && c.rom_low == c.rom_base ? h.hot_words : h.words;
    h.bases.c[0] = h.walked + 4ull * c.rom_low;
    for (u32 i = 0; i < 7; i++) {
        const u64 at = Cpu::place(&h, i << 13) - (i << 13);
        h.reads.c[i] = h.fast >> i & 1 ? at : 0;
        h.writes.c[i] = h.fast >> (16 + i) & 1 ? at : 0;
    }
    h.reads.c[7] = h.writes.c[7] = 0;
    const u64 high = Cpu::place(&h, 0xFF80) - 0xFF80;
    h.reads.c[8] = h.fast >> 8 & 1 ? high : 0;
    h.writes.c[8] = h.fast >> 24 & 1 ? high : 0;
    Cpu::turn_bank(&h);
}
const u32 f = hi >> 16 & 0xF0;
u32 zr, fl;
SET_F(f);
h.base = 0; h.window = ~0u; h.limit = PAST;
u32 word = 0;
const void* const* table = h.table ? (const void* const*)h.table : TABLE;
Cpu::Handler handler = Cpu::fetch;
if (given) {
    word = ((const loose32*)h.scratch)[WORD_AT / 4] | WAITS;
    h.memory = ((const loose32*)h.scratch)[MEMORY_AT / 4];
    handler = (Cpu::Handler)TABLE[(given & HAS_MEMORY ? WITH_MEMORY : 0) + (word & 511)];
}
handler(&h, table, (i64)(int)start << 24, (const u32*)((u64)c.pc << 2), lo & 0xFFFF, lo >> 16,
    hi & 0xFFFF, hi >> 24, zr, fl, word);
return h.asked;
"""
