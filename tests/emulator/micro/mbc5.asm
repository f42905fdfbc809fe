; MBC5: nine bits of ROM bank, bank 0 is bank 0.
; https://gbdev.io/pandocs/MBC5.html
; cartridge type=1b rom=02 ram=03
; expect b=c3 c=07 d=07 e=99
main:
  xor a
  ld ($2000), a
  ld a, ($4101)         ; 0101 of bank 0: the jp opcode
  ld b, a
  ld a, 7
  ld ($2000), a
  ld a, ($4000)
  ld c, a
  ld a, 1
  ld ($3000), a         ; bank 107 of 8: wraps to 7
  ld a, ($4000)
  ld d, a
  ld a, $0a
  ld ($0000), a
  ld a, 2
  ld ($4000), a
  ld a, $99
  ld ($a000), a
  ld a, 1
  ld ($4000), a
  ld a, $11
  ld ($a000), a
  ld a, 2
  ld ($4000), a
  ld a, ($a000)
  ld e, a
  ld b, b
org $1c000
  db 7
