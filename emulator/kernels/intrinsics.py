"""Intrinsics that Python lacks: memory access through raw addresses, the byte permute, warp votes.

Warp arrays carry shape and strides into every function they are passed to; a raw address is one register pair. Each
intrinsic is a line or two per device. Other native code is the board that warps share (launch/service_board.py)
and the instructions of the native path (sm83/cpp_instructions.py). `U`, `I`, `Q` are the three machine types of every
kernel here: literals must be wrapped, since Warp does not mix int32 and uint32.

A function that is called, because it is large, has an inlined variant where a call would take longer: the variant's
name ends in `_here`, and the called function only calls it.
"""

import warp as wp

U = wp.uint32
I = wp.int32  # noqa: E741 - reads as the type it is
Q = wp.uint64

FAR = wp.constant(wp.uint32(0x3FFFFFFF))
"""Time span longer than any launch, and short enough for signed comparison."""

ALL_ONES = wp.constant(wp.uint32(0xFFFFFFFF))
WORD = wp.constant(wp.uint32(0xFFFF))


@wp.func_native("return *(const unsigned char*)p;")
def ld8(p: Q) -> U: ...


@wp.func_native("*(unsigned char*)p = (unsigned char)v;")
def st8(p: Q, v: U): ...


@wp.func_native("return *(const unsigned short*)p;")
def ld16(p: Q) -> U: ...


@wp.func_native("*(unsigned short*)p = (unsigned short)v;")
def st16(p: Q, v: U): ...


@wp.func_native("return *(const unsigned int*)p;")
def ld32(p: Q) -> U: ...


@wp.func_native("*(unsigned int*)p = v;")
def st32(p: Q, v: U): ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
uint4 q = *(const uint4*)p; a = q.x; b = q.y; c = q.z; d = q.w;
#else
const unsigned int* q = (const unsigned int*)p; a = q[0]; b = q[1]; c = q[2]; d = q[3];
#endif
""")
def ld128(p: Q, a: wp.ref[U], b: wp.ref[U], c: wp.ref[U], d: wp.ref[U]): ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
*(uint2*)p = make_uint2(a, b);
#else
unsigned int* q = (unsigned int*)p; q[0] = a; q[1] = b;
#endif
""")
def st64(p: Q, a: U, b: U): ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
*(uint4*)p = make_uint4(a, b, c, d);
#else
unsigned int* q = (unsigned int*)p; q[0] = a; q[1] = b; q[2] = c; q[3] = d;
#endif
""")
def st128(p: Q, a: U, b: U, c: U, d: U): ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
unsigned int v; asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p)); return v;
#else
return *(const unsigned int*)p;
#endif
""")
def ld32_constant(p: Q) -> U: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
unsigned int v = old; asm volatile("{ .reg .pred a; setp.ne.u32 a, %2, 0;"
" @a ld.global.nc.u32 %0, [%1]; }" : "+r"(v) : "l"(p), "r"(wanted)); return v;
#else
return wanted ? *(const unsigned int*)p : old;
#endif
""")
def ld32_constant_if(p: Q, old: U, wanted: U) -> U: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
unsigned long long p; asm("mad.wide.u32 %0, %1, 64, %2;" : "=l"(p) : "r"(row), "l"(table));
return p;
#else
return table + (unsigned long long)row * 64;
#endif
""")
def row_address(table: Q, row: U) -> Q: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
asm("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(p));
#else
const unsigned int* q = (const unsigned int*)p; a = q[0]; b = q[1]; c = q[2]; d = q[3];
#endif
""")
def ld128_constant(p: Q, a: wp.ref[U], b: wp.ref[U], c: wp.ref[U], d: wp.ref[U]): ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return true;
#else
return false;
#endif
""")
def on_gpu() -> wp.bool: ...


# Predicated accesses, of one byte or of two if the sign of `wide` is set: without a branch, the lanes of a warp need
# not reconverge.
@wp.func_native("""
#if defined(__CUDA_ARCH__)
unsigned int m = old; asm volatile("{ .reg .pred a, b; .reg .u32 t; setp.ne.u32 a, %2, 0;"
" setp.lt.and.s32 b, %3, 0, a; setp.eq.and.u32 b, %4, 0, b; @a ld.global.u8 %0, [%1];"
" @b ld.global.u8 t, [%1+1]; @b prmt.b32 %0, %0, t, 0x1140; }"
 : "+r"(m) : "l"(p), "r"(wanted), "r"(wide), "r"(crosses) : "memory");
return m;
#else
unsigned int m = old;
if (wanted) m = *(const unsigned char*)p;
if (wanted && (int)wide < 0 && !crosses) m |= (unsigned int)((const unsigned char*)p)[1] << 8;
return m;
#endif
""")
def ld_operand_if(p: Q, old: U, wanted: U, wide: U, crosses: U) -> U:
    """Return the operand bytes at address `p` if `wanted` is not 0, else `old`.

    `wide`: the operand has two bytes; if `crosses` is set the second one lies in another page, perhaps behind the end
    of the ROM, and is not read.
    """
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
asm volatile("{ .reg .pred a, b; .reg .u32 t; setp.ne.u32 a, %2, 0; setp.lt.and.s32 b, %3, 0, a;"
" @a st.global.u8 [%0], %1; shr.u32 t, %1, 8; @b st.global.u8 [%0+1], t; }"
:: "l"(p), "r"(v), "r"(wanted), "r"(wide) : "memory");
#else
if (wanted) *(unsigned char*)p = (unsigned char)v;
if (wanted && (int)wide < 0) ((unsigned char*)p)[1] = (unsigned char)(v >> 8);
#endif
""")
def st_operand_if(p: Q, v: U, wanted: U, wide: U): ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
unsigned int r; asm("lop3.b32 %0, %1, %2, %3, 0x78;" : "=r"(r) : "r"(v), "r"(a), "r"(b)); return r;
#else
return v ^ (a & b);
#endif
""")
def xor_both(v: U, a: U, b: U) -> U:
    """Return `v` ^ (`a` & `b`), in a form that the compiler does not rewrite."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
unsigned int r; asm("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(n)); return r;
#else
return n > 31 ? 0 : v >> n;
#endif
""")
def shift_out(v: U, n: U) -> U:
    """Return `v` >> `n`, also for `n` above 31, where it is 0."""
    ...


# Without short-circuit evaluation, which would turn a single machine instruction into a branch or a number.
@wp.func_native("return a & b;")
def both(a: wp.bool, b: wp.bool) -> wp.bool: ...


@wp.func_native("return a | b;")
def either(a: wp.bool, b: wp.bool) -> wp.bool: ...


# prmt: each nibble of `s` picks one of the eight bytes of b:a; bit 3 replicates its sign.
# On x86 a byte shuffle of the eight bytes and their eight signs; elsewhere variable shifts.
@wp.func_native("""
#if defined(__CUDA_ARCH__)
unsigned int d; asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(s)); return d;
#elif defined(__SSSE3__) && defined(__BMI2__)
typedef char v16 __attribute__((vector_size(16)));
typedef unsigned long long v2 __attribute__((vector_size(16)));
unsigned long long w = (unsigned long long)b << 32 | a;
v2 both = {w, w};
v16 bytes = (v16)both;
v16 signs = (v16)(bytes < (v16){});
v2 source = {((v2)bytes)[0], ((v2)signs)[0]};
v2 pick = {__builtin_ia32_pdep_si(s, 0x0F0F0F0Fu), 0ull};
return (unsigned int)((v2)__builtin_ia32_pshufb128((v16)source, (v16)pick))[0];
#else
unsigned long long w = (unsigned long long)b << 32 | a;
unsigned int d = (unsigned int)(w >> ((s & 7) * 8)) & 255u;
d |= ((unsigned int)(w >> ((s >> 4 & 7) * 8)) & 255u) << 8;
d |= ((unsigned int)(w >> ((s >> 8 & 7) * 8)) & 255u) << 16;
d |= ((unsigned int)(w >> ((s >> 12 & 7) * 8)) & 255u) << 24;
unsigned int m = (s & 8) >> 3 | (s & 128) << 1 | (s & 2048) << 5 | (s & 32768) << 9;
if (m) { unsigned int n = m * 255u; d = (d & ~n) | (((d >> 7 & m) * 255u) & n); }
return d;
#endif
""")
def prmt(a: U, b: U, s: U) -> U:
    """Return four bytes selected from the eight bytes of b:a by the nibbles of s (CUDA `prmt.b32`)."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return __popc(v);
#else
return __builtin_popcount(v);
#endif
""")
def popcount(v: U) -> U:
    """Return the number of set bits."""
    ...


# OAM DMA in one go: both addresses are multiples of 16.
@wp.func_native("""
#if defined(__CUDA_ARCH__)
const uint4* s = (const uint4*)src; uint4* d = (uint4*)dst;
uint4 a = s[0], b = s[1], c = s[2], e = s[3], f = s[4];
d[0] = a; d[1] = b; d[2] = c; d[3] = e; d[4] = f;
a = s[5]; b = s[6]; c = s[7]; e = s[8]; f = s[9];
d[5] = a; d[6] = b; d[7] = c; d[8] = e; d[9] = f;
#else
for (int i = 0; i < 160; i++) ((unsigned char*)dst)[i] = ((const unsigned char*)src)[i];
#endif
""")
def copy160(dst: Q, src: Q): ...


# Asynchronous copies of a word each to an unused place: unlike a load they need no register and no wait, and unlike a
# prefetch they certainly fill the cache. Thirteen of them cover a record (tests/emulator/test_batch.py); the last one
# may end exactly at the record's end.
@wp.func_native("""
#if defined(__CUDA_ARCH__)
__shared__ unsigned int nowhere[4];
unsigned int to = (unsigned int)__cvta_generic_to_shared(nowhere);
auto fetch = [to](const char* p) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(p) : "memory");
};
const char* record = (const char*)&first;
const char* io = (const char*)(mem + 0x7F00);
const char* own = (const char*)scratch;
#pragma unroll
for (int i = 0; i < 13; i++) fetch(record + 32 * i);
fetch(own); fetch(own + 32);
fetch(io); fetch(io + 0x20); fetch(io + 0x40); fetch(io + 0x80); fetch(io + 0xE0);
#endif
""")
def gather(first: wp.ref[U], mem: Q, scratch: Q):
    """Prefetch a console's record, the I/O page of its memory row and its scratch bytes, all at once.

    Otherwise the accesses that follow would miss the cache one after another. `first`: the record's first field.
    """
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
asm volatile("cp.async.wait_all;" ::: "memory");
#endif
""")
def gathered():
    """Wait for the copies that `gather` started; needed before the thread ends."""
    ...


# All 32 lanes must arrive: they then continue together, which the end of a branch alone does not ensure.
@wp.func_native("""
#if defined(__CUDA_ARCH__)
return __any_sync(0xffffffffu, here) ? 1u : 0u;
#else
return here ? 1u : 0u;
#endif
""")
def meet(here: U) -> U:
    """Return 1 if `here` is not 0 in any lane of the warp (on a CPU: in this thread)."""
    ...


# The compiler removes a warp barrier that it considers redundant, and after calls that branch it is wrong: lanes come
# back one by one. Behind an unknown condition the barrier stays.
@wp.func_native("""
#if defined(__CUDA_ARCH__)
if (threadIdx.x < unknown) asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
#endif
""")
def converge(unknown: U):
    """Wait until all lanes of the warp are here. `unknown`: ALL_ONES, passed as a kernel parameter."""
    ...


@wp.func
def earlier(a: U, b: U) -> U:
    """Return the earlier of two times (wrap-around safe)."""
    return wp.where(I(b - a) < I(0), b, a)
