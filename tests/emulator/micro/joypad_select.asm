; P1 with nothing held: the low nibble reads 1s, bits 6 and 7 always 1, bits 4 and 5 as written.
; https://gbdev.io/pandocs/Joypad_Input.html
; expect b=df c=ef d=ff e=cf
main:
  ld a, $10
  ldh ($00), a
  ldh a, ($00)
  ld b, a
  ld a, $20
  ldh ($00), a
  ldh a, ($00)
  ld c, a
  ld a, $30
  ldh ($00), a
  ldh a, ($00)
  ld d, a
  xor a
  ldh ($00), a
  ldh a, ($00)
  ld e, a
  ld a, b
  ld b, $df
  cp b
  jr z, .ok
  ld b, a
.ok:
  ld b, b
