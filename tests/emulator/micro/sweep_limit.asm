; The first check of channel 1's sweep behind a trigger allows a sum of 2047; every later one turns the channel off,
; also the one that a write to NR10 makes. Without a step a trigger checks nothing.
; https://gbdev.io/pandocs/Audio_details.html
; expect b=f1 c=f0 d=f1 e=f0
main:
  ld a, $80
  ldh ($26), a
  ldh ($12), a
  ld a, $f0             ; 7f0 + (7f0 >> 7) = 7ff
  ldh ($13), a
  ld a, 7
  ldh ($10), a
  ld a, $87
  ldh ($14), a
  ds 20, 0
  ldh a, ($26)
  ld b, a
  ld a, 7
  ldh ($10), a
  ldh a, ($26)
  ld c, a
  xor a
  ldh ($10), a
  ld a, $ff
  ldh ($13), a
  ld a, $87
  ldh ($14), a
  ds 20, 0
  ldh a, ($26)
  ld d, a
  ld a, $10             ; pace 1, no step: 7ff + 7ff is checked at once
  ldh ($10), a
  ldh a, ($26)
  ld e, a
  ld b, b
