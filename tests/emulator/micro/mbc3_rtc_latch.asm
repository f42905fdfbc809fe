; MBC3 clock: every write to 6000-7FFF latches, whatever it writes (cpp latch-rtc-test; Pan Docs
; asks for 0 and then 1, which all versions of the chip take; an MBC3A takes any value).
; https://gbdev.io/pandocs/MBC3.html, https://github.com/gbdev/pandocs/pull/637
; cartridge type=10 rom=01 ram=03
; expect b=05 c=06 d=07 e=08
main:
  ld a, $0a
  ld ($0000), a
  ld a, $0c             ; days high: halt the clock
  ld ($4000), a
  ld a, $40
  ld ($a000), a
  ld a, $08             ; seconds from now on
  ld ($4000), a
  ld a, 5
  ld ($a000), a
  ld a, $01             ; 1 without a 0 before it
  ld ($6000), a
  ld a, ($a000)
  ld b, a
  ld a, 6
  ld ($a000), a
  ld a, $01             ; 1 after 1
  ld ($6000), a
  ld a, ($a000)
  ld c, a
  ld a, 7
  ld ($a000), a
  xor a                 ; 0
  ld ($7fff), a
  ld a, ($a000)
  ld d, a
  ld a, 8
  ld ($a000), a
  ld a, $fe             ; any other value
  ld ($6000), a
  ld a, ($a000)
  ld e, a
  ld b, b
