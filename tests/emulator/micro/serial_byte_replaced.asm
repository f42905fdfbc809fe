; SB written during a transfer replaces the byte; only the bits still to come shift it.
; https://gbdev.io/pandocs/Serial_Data_Transfer_(Link_Cable).html
; expect b=07 c=00 d=1f e=e8
main:
  di
  xor a
  ldh ($0f), a
  ldh ($01), a
  ldh ($04), a
  ld a, $81
  ldh ($02), a
  ld d, 104             ; three bits of 128 M-cycles are out
.wait:
  dec d
  jr nz, .wait
  ldh a, ($01)
  ld b, a
  xor a
  ldh ($01), a
  ldh a, ($01)
  ld c, a
  ld d, 200
.rest:
  dec d
  jr nz, .rest
  ldh a, ($01)
  ld d, a               ; five ones came in
  ldh a, ($0f)
  ld e, a
  ld b, b
