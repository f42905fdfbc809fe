"""Line without writes during mode 3 on a CPU core: `scanline.draw_plain` as C++ text.

The bytes of a row of tiles lie beside each other, as in a packed line, so a line is copied byte by byte,
shifted 64 pixels at a time, and coloured by the algebraic normal form of its palette: six operations for a bit
plane.
"""

import warp as wp

from emulator.constants import (
    LCDC_BG_ENABLE,
    LCDC_BG_MAP,
    LCDC_OBJ_ENABLE,
    LCDC_OBJ_SIZE,
    LCDC_TILE_DATA,
    LCDC_WINDOW_MAP,
)
from emulator.kernels.intrinsics import Q, U
from emulator.kernels.ppu.mode_timing import ON_LINE

TEXT = """
typedef unsigned char u8; typedef unsigned int u32; typedef unsigned long long u64;
typedef u64 __attribute__((aligned(1), may_alias)) loose64;
typedef u32 __attribute__((aligned(1), may_alias)) loose32;
typedef unsigned short u16;
typedef u16 __attribute__((aligned(1), may_alias)) loose16;
typedef u8 v32 __attribute__((vector_size(32)));
typedef v32 __attribute__((aligned(1), may_alias)) loose_v32;
typedef u16 loose_words __attribute__((vector_size(64), aligned(2), may_alias));
typedef u64 w4 __attribute__((vector_size(32)));
struct Line {
    // 64 pixels of a layer or a picture, leftmost pixel in the top bit; the last of four is of no use
    w4 low, high;

    // 24 tiles of a row of a tile map, from `column` on: a byte of each plane for each tile, and 8 zeros.
    static void tiles(const u8* vram, u32 map_row, u32 column, u32 unsigned_, u32 y, u8* low, u8* high) {
        const v32 row = *(const loose_v32*)(vram + map_row) ^ (u8)(unsigned_ ? 0 : 0x80); // from 9000 on, or before it
        u8 map[64];
        *(loose_v32*)map = row;
        *(loose_v32*)(map + 32) = row;
        const u8* data = vram + (unsigned_ ? 0 : 0x800) + (y & 7) * 2;
        u16 pairs[32] = {};
        for (int i = 0; i < 24; i++) pairs[i] = *(const loose16*)(data + (map[column + i] << 4));
        const loose_words both = *(const loose_words*)pairs;
        *(loose_v32*)low = __builtin_convertvector(both, v32);
        *(loose_v32*)high = __builtin_convertvector(both >> 8, v32);
    }
    static u64 pixels(const u8* bytes) { return __builtin_bswap64(*(const loose64*)bytes); }

    // The colours of a line whose bytes begin `fine` pixels before the screen.
    void take(const u8* l, const u8* h, u32 fine) {
        for (int k = 0; k < 3; k++, l += 8, h += 8) {
            low[k] = pixels(l) << fine | l[8] >> (8 - fine);
            high[k] = pixels(h) << fine | h[8] >> (8 - fine);
        }
    }
    // Those of a window that begins at pixel `left`, over what is there.
    void cover(const u8* l, const u8* h, int left) {
        const u32 by = left & 7;
        for (int k = 0; k < 3; k++) {
            const int before = left - 64 * k;
            const u64 mask = before <= 0 ? ~0ull : before < 64 ? ~0ull >> before : 0;
            u64 a = pixels(l + 8 * k + 1), b = pixels(h + 8 * k + 1);
            if (by) {
                a = a >> by | (u64)l[8 * k] << (64 - by);
                b = b >> by | (u64)h[8 * k] << (64 - by);
            }
            low[k] = (low[k] & ~mask) | (a & mask);
            high[k] = (high[k] & ~mask) | (b & mask);
        }
    }
};
struct Objects : Line {
    w4 behind, palette; // pixels that colours 1 to 3 of the background cover; of OBP1

    void add(int k, u64 l, u64 h, u32 flags) {
        const u64 free = ~(low[k] | high[k]);
        l &= free; h &= free;
        low[k] |= l; high[k] |= h;
        if (flags & 0x80) behind[k] |= l | h;
        if (flags & 0x10) palette[k] |= l | h;
    }
    void draw(const u8* vram, const u8* entry, u32 line, u32 last) {
        const u32 flags = entry[3];
        const u32 row = ((line + 16 - entry[0]) & last) ^ (flags & 0x40 ? last : 0);
        const u8* tile = vram + (entry[2] & (last == 15 ? 0xFE : 0xFF)) * 16 + row * 2;
        u32 l = tile[0], h = tile[1];
        if (flags & 0x20) { l = __builtin_bitreverse8(l); h = __builtin_bitreverse8(h); }
        int x = entry[1] - 8;
        if (x < 0) { l = l << -x & 255; h = h << -x & 255; x = 0; }
        const int k = x >> 6, by = x & 63;
        add(k, (u64)l << 56 >> by, (u64)h << 56 >> by, flags);
        if (by > 56 && k < 2) add(k + 1, (u64)l << (120 - by), (u64)h << (120 - by), flags);
    }
    static u64 on_line(u64 oam, u32 line, u32 height) {
ON_LINE
    }
    // The line's objects, at most ten, in drawing order: `x << 8 | index`. How many there are.
    static int find(const u8* oam, u32 line, u32 height, u32* found) {
        u64 bits = on_line((u64)oam, line, height);
        int count = 0;
        for (; bits && count < 10; bits &= bits - 1) {
            const u32 i = __builtin_ctzll(bits);
            const u32 key = oam[4 * i + 1] << 8 | i;
            int j = count++;
            for (; j > 0 && found[j - 1] > key; j--) found[j] = found[j - 1];
            found[j] = key;
        }
        return count;
    }
};

const u8* const tiles = (const u8*)vram;
const u8* const objects = (const u8*)oam;
const u32 lcdc = lower & 255, scx = lower >> 16 & 255, bgp = lower >> 24;
Line b = {};
if (lcdc & BG_ENABLE) {
    u8 l[56], h[56];
    if (window_left > 0) {
        const u32 y = (line + (lower >> 8)) & 255;
        const u32 row = (lcdc & BG_MAP ? 0x1C00 : 0x1800) + (y >> 3) * 32;
        Line::tiles(tiles, row, scx >> 3, lcdc & TILE_DATA, y, l, h);
        b.take(l, h, scx & 7);
    }
    if (window_left < 160) {
        const u32 y = window_y & 255;
        const u32 row = (lcdc & WINDOW_MAP ? 0x1C00 : 0x1800) + (y >> 3) * 32;
        const int first = (window_left + 8) >> 3; // a byte before the screen
        Line::tiles(tiles, row, 0, lcdc & TILE_DATA, y, l + first, h + first);
        b.cover(l, h, window_left);
    }
}
Objects o = {};
u32 found[10];
int count = 0;
if (lcdc & OBJ_ENABLE)
    count = Objects::find(objects, line, lcdc & OBJ_SIZE ? 16 : 8, found);
for (int i = 0; i < count; i++)
    if (found[i] >> 8 && found[i] >> 8 < 168)
        o.draw(tiles, objects + 4 * (found[i] & 255), line, lcdc & OBJ_SIZE ? 15 : 7);
u8* const to = (u8*)dest;
// Bit `bit` of the shades that a palette gives to the colours of a line.
#define ONES(bits, of) (-(u64)((bits) >> (of) & 1))
#define SHADE(line, p, bit) (ONES(p, bit) ^ (line.low & (ONES(p, bit) ^ ONES(p, bit + 2))) \\
    ^ (line.high & (ONES(p, bit) ^ ONES(p, bit + 4))) \\
    ^ (line.low & line.high & (ONES(p, bit) ^ ONES(p, bit + 2) ^ ONES(p, bit + 4) ^ ONES(p, bit + 6))))
w4 low = SHADE(b, bgp, 0), high = SHADE(b, bgp, 1);
if (count) {
    const w4 shown = (o.low | o.high) & ~(o.behind & (b.low | b.high));
    const w4 first = shown & ~o.palette, second = shown & o.palette;
    const u32 obp0 = upper & 255, obp1 = upper >> 8 & 255;
    low = (low & ~shown) | (SHADE(o, obp0, 0) & first) | (SHADE(o, obp1, 0) & second);
    high = (high & ~shown) | (SHADE(o, obp0, 1) & first) | (SHADE(o, obp1, 1) & second);
}
for (int k = 0; k < 2; k++) {
    *(loose64*)(to + 8 * k) = __builtin_bswap64(low[k]);
    *(loose64*)(to + 20 + 8 * k) = __builtin_bswap64(high[k]);
}
*(loose32*)(to + 16) = (u32)__builtin_bswap64(low[2]);
*(loose32*)(to + 36) = (u32)__builtin_bswap64(high[2]);
#undef ONES
#undef SHADE
"""

BITS = {
    "BG_ENABLE": LCDC_BG_ENABLE,
    "BG_MAP": LCDC_BG_MAP,
    "OBJ_ENABLE": LCDC_OBJ_ENABLE,
    "OBJ_SIZE": LCDC_OBJ_SIZE,
    "TILE_DATA": LCDC_TILE_DATA,
    "WINDOW_MAP": LCDC_WINDOW_MAP,
}
DEFINED = "".join(f"#define {name} {bit}\n" for name, bit in BITS.items())
FORGOTTEN = "".join(f"#undef {name}\n" for name in BITS)


@wp.func_native(f"#if !defined(__CUDA_ARCH__)\n{DEFINED}{TEXT.replace('ON_LINE', ON_LINE)}{FORGOTTEN}#endif\n")
def draw_natively(vram: Q, oam: Q, line: int, lower: U, upper: U, window_left: int, window_y: int, dest: Q):
    """Draw one line to the 40 bytes at `dest` by C++; do nothing on a GPU.

    The window's first pixel is column `window_left`, 160 or more if the line has none.
    """
    ...
