; STAT interrupt on LY = LYC: line 66 raises IF bit 1 and STAT bit 2.
; expect b=42 c=04 d=01
org $48
  ldh a, ($44)
  ld b, a
  ldh a, ($41)
  and 4
  ld c, a
  inc d
  reti
org $150
main:
  di
  ld sp, $dff0
  ld bc, 0
  ld d, b
.wait:
  ldh a, ($44)
  cp 10
  jr nz, .wait
  ld a, 66
  ldh ($45), a
  ld a, $40
  ldh ($41), a
  ld a, $02
  ldh ($ff), a
  xor a
  ldh ($0f), a
  ei
.loop:
  ldh a, ($44)
  cp 70
  jr nz, .loop
  di
  ld b, b
