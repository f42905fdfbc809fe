; MBC3 clock: registers are written and read back through the latch; bits beyond the counter are 0.
; https://gbdev.io/pandocs/MBC3.html
; cartridge type=10 rom=01 ram=03
; expect b=2a c=17 d=01 e=3b
main:
  ld a, $0a
  ld ($0000), a
  ld a, $0c             ; days high: halt the clock first
  ld ($4000), a
  ld a, $41
  ld ($a000), a
  ld a, $08
  ld ($4000), a
  ld a, 42
  ld ($a000), a
  ld a, $0a
  ld ($4000), a
  ld a, $17
  ld ($a000), a
  ld a, $09
  ld ($4000), a
  ld a, $fb             ; six bits: 3b
  ld ($a000), a
  xor a
  ld ($6000), a
  inc a
  ld ($6000), a
  ld a, ($a000)
  ld e, a
  ld a, $08
  ld ($4000), a
  ld a, ($a000)
  ld b, a
  ld a, $0a
  ld ($4000), a
  ld a, ($a000)
  ld c, a
  ld a, $0c
  ld ($4000), a
  ld a, ($a000)
  and 1
  ld d, a
  ld b, b
