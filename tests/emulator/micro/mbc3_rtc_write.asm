; MBC3 clock: a write to the seconds of a running clock starts a new second.
; https://gbdev.io/pandocs/MBC3.html
; cartridge type=10 rom=01 ram=03
; expect b=0a c=0b
main:
  ld a, $0a
  ld ($0000), a
  ld a, $08
  ld ($4000), a
  call most             ; 0.6 s into a second
  ld a, 10
  ld ($a000), a
  call most             ; 1.2 s into the old one, 0.6 s into the new one
  call seconds
  ld b, a
  call most             ; 1.2 s into the new one
  call seconds
  ld c, a
  ld b, b
seconds:
  xor a
  ld ($6000), a
  inc a
  ld ($6000), a
  ld a, ($a000)
  ret
most:                   ; 90,110 turns of 7 M-cycles: 0.6 s
  ld hl, $ffff
  call wait
  ld hl, $6000
wait:
  dec hl
  ld a, h
  or l
  jr nz, wait
  ret
