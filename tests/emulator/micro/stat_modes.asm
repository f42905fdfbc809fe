; Within a visible line STAT goes 2, 3, 0; in VBlank it is 1. Bits 7 reads 1.
; expect b=02 c=03 d=00 e=01 a=80
main:
  di
.line:
  ldh a, ($44)
  cp 20
  jr nz, .line
.hblank:
  ldh a, ($41)
  and 3
  jr nz, .hblank
.mode2:
  ldh a, ($41)
  and 3
  jr z, .mode2
  ld b, a
.mode3:
  ldh a, ($41)
  and 3
  cp b
  jr z, .mode3
  ld c, a
.mode0:
  ldh a, ($41)
  and 3
  cp c
  jr z, .mode0
  ld d, a
.vblank:
  ldh a, ($44)
  cp 150
  jr nz, .vblank
  ldh a, ($41)
  and 3
  ld e, a
  ldh a, ($41)
  and $80
  ld b, b
