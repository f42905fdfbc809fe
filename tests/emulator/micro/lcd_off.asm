; LCD off: LY reads 0, mode 0, VRAM is free. LCD on again: line 0 begins anew.
; expect b=00 c=00 d=5a e=00
main:
  di
.vblank:
  ldh a, ($44)
  cp 145
  jr nz, .vblank
  xor a
  ldh ($40), a
  ldh a, ($44)
  ld b, a
  ldh a, ($41)
  and 3
  ld c, a
  ld a, $5a
  ld ($8000), a
  ld a, ($8000)
  ld d, a
  ld a, $91
  ldh ($40), a
  ldh a, ($44)
  ld e, a
  ld b, b
