; HALT with IME off wakes on a pending interrupt without calling its vector; IF stays set.
; expect b=00 c=01 a=e4
org $50
  ld b, 1
  reti
org $150
main:
  di
  ld bc, 0
  ld a, $04
  ldh ($ff), a
  xor a
  ldh ($0f), a
  ldh ($05), a
  ldh ($06), a
  ld a, $05             ; timer on, every 16 T-cycles
  ldh ($07), a
  halt
  nop
  inc c
  xor a
  ldh ($07), a
  ldh a, ($0f)
  and $e4               ; VBlank may have come meanwhile
  ld b, b
