; A TIMA overflow that is first looked at long after it came requests the timer interrupt, bit 2 of
; IF, and no other: the one M-cycle of TIMA = 00, the reload and the time beyond it.
; https://gbdev.io/pandocs/Timer_and_Divider_Registers.html
; cartridge type=00 rom=00 ram=00
; expect b=e4 c=e4 d=e4 e=e0
main:
  di
  xor a
  ldh ($40), a          ; no PPU, no requests of it
  ldh ($ff), a
  ldh ($07), a
  ldh ($06), a
  ldh ($05), a
  ldh ($0f), a
  ldh a, ($0f)
  ld e, a
  ld a, $f8
  ldh ($05), a
  ld a, $05             ; every 4 M-cycles: overflows after 32
  ldh ($07), a
  ds 60, 0
  ldh a, ($0f)
  ld b, a
  xor a
  ldh ($0f), a
  ld a, $80             ; twice and more between two looks
  ldh ($06), a
  ldh ($05), a
  ld hl, $0200
wait:
  dec hl
  ld a, h
  or l
  jr nz, wait
  ldh a, ($0f)
  ld c, a
  xor a
  ldh ($07), a
  ldh ($0f), a
  ldh ($06), a
  ld d, a
  ld a, $05             ; TIMA is looked at 3 M-cycles after FF was written, in all four phases of
  ldh ($07), a          ; the divider (a round takes 25): once in the very M-cycle of the overflow
  xor a
  ldh ($0f), a
  ld a, $ff
  ldh ($05), a
  ldh a, ($05)
  ds 8, 0
  ldh a, ($0f)
  or d
  ld d, a
  xor a
  ldh ($0f), a
  ld a, $ff
  ldh ($05), a
  ldh a, ($05)
  ds 8, 0
  ldh a, ($0f)
  or d
  ld d, a
  xor a
  ldh ($0f), a
  ld a, $ff
  ldh ($05), a
  ldh a, ($05)
  ds 8, 0
  ldh a, ($0f)
  or d
  ld d, a
  xor a
  ldh ($0f), a
  ld a, $ff
  ldh ($05), a
  ldh a, ($05)
  ds 8, 0
  ldh a, ($0f)
  or d
  ld d, a
  ld b, b
