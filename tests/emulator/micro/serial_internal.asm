; No partner: an internal-clock transfer shifts in FF, clears SC bit 7, requests IF bit 3.
; https://gbdev.io/pandocs/Serial_Data_Transfer_(Link_Cable).html
; expect b=ff c=7f d=e8 e=ff
main:
  di
  xor a
  ldh ($40), a
  ldh ($0f), a
  ld a, $42
  ldh ($01), a
  ld a, $81
  ldh ($02), a
  ldh a, ($02)
  ld e, a               ; ff: bit 7 set while it runs
  ld bc, 200
.wait:                  ; 8 bits of 128 M-cycles
  dec bc
  ld a, b
  or c
  jr nz, .wait
  ldh a, ($01)
  ld b, a
  ldh a, ($02)
  ld c, a
  ldh a, ($0f)
  ld d, a
  ld b, b
