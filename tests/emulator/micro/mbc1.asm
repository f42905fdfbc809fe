; MBC1: bank 0 becomes 1, RAM needs 0A to open; a write to closed RAM is lost.
; https://gbdev.io/pandocs/MBC1.html
; cartridge type=03 rom=02 ram=02
; expect b=01 c=05 d=00 e=3c
main:
  xor a
  ld ($2000), a
  ld a, ($4000)
  ld b, a
  ld a, 5
  ld ($2000), a
  ld a, ($4000)
  ld c, a
  ld a, $0a
  ld ($0000), a
  ld a, $55
  ld ($a000), a
  xor a
  ld ($0000), a
  ld a, $3c
  ld ($a000), a         ; closed: lost
  ld a, $0a
  ld ($0000), a
  ld a, ($a000)
  sub $55
  ld d, a
  ld a, $3c
  ld ($a000), a
  ld a, ($a000)
  ld e, a
  ld b, b
org $4000
  db 1
org $14000
  db 5
