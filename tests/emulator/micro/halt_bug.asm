; HALT with IME off and an interrupt pending: the byte after it is read twice.
; https://gbdev.io/pandocs/halt.html#halt-bug
; expect b=02 c=01
main:
  di
  ld bc, 0
  ld a, $04
  ldh ($ff), a
  ldh ($0f), a
  halt
  inc b                 ; executed twice
  xor a
  ldh ($0f), a
  inc c
  ld b, b
