; The sweep's check takes the frequency that NR13 and NR14 hold at the end of its countdown, with the increment of its
; beginning. With pace 0 gone by, a write to NR10 sweeps at once.
; https://gbdev.io/pandocs/Audio_details.html
; expect b=f0 c=f1 d=f1 e=f0
main:
  ld a, $80
  ldh ($26), a
  ldh ($12), a
  ld a, 7
  ldh ($10), a
  xor a
  ldh ($13), a
  ld a, $87             ; 700 + 0e is no overflow
  ldh ($14), a
  ld a, $ff
  ldh ($13), a          ; 7ff + 0e is
  ds 8, 0
  ldh a, ($26)
  ld b, a
  ld a, $87             ; 7ff + 0f is an overflow
  ldh ($14), a
  xor a
  ldh ($13), a          ; 700 + 0f is none
  ds 8, 0
  ldh a, ($26)
  ld c, a
  ld a, 1
  ldh ($10), a
  ld a, $85             ; 500 + 280
  ldh ($14), a
  ds 8, 0
  ldh a, ($26)
  ld d, a
  ld a, $11             ; the frequency is 780 now, and then 780 + 3c0 is checked
  ldh ($10), a
  ds 8, 0
  ldh a, ($26)
  ld e, a
  ld b, b
