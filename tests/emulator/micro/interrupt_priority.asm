; Two interrupts pending: the lower bit goes first, its IF bit alone is cleared, IME is off inside.
; expect b=12 c=02
org $48                 ; STAT
  jp second
org $50                 ; timer
  jp third
org $150
main:
  di
  ld bc, 0
  ld sp, $dff0
  xor a
  ldh ($40), a          ; LCD off: nothing else raises IF
  ld a, $06
  ldh ($ff), a
  ldh ($0f), a
  ei
  nop
  nop
  ld b, b
second:
  ld a, b
  add a, $10
  ld b, a
  ldh a, ($0f)
  and $1f
  cp $04                ; the timer's bit is still set
  jr nz, .wrong
  inc c
.wrong:
  reti
third:
  inc b
  inc b
  inc c
  reti
