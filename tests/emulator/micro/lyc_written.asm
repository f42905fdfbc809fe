; LYC is compared when it is written: IF bit 1 and STAT bit 2 at once, and bit 2 goes at once.
; expect b=02 c=04 d=00 e=02
org $150
main:
  di
  xor a
  ldh ($ff), a
  ld a, 200
  ldh ($45), a
  ld a, $40
  ldh ($41), a
.wait:
  ldh a, ($44)
  cp 20
  jr nz, .wait
  xor a
  ldh ($0f), a
  ld a, 20
  ldh ($45), a
  ldh a, ($0f)
  and 2
  ld b, a
  ldh a, ($41)
  and 4
  ld c, a
  ld a, 200
  ldh ($45), a
  ldh a, ($41)
  and 4
  ld d, a
  xor a
  ldh ($0f), a
  ld a, 20
  ldh ($45), a
  ldh a, ($0f)
  and 2
  ld e, a
  ld b, b
