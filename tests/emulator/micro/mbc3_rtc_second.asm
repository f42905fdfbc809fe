; MBC3 clock: a write to the seconds starts a new second, a halted clock keeps its part of one, and
; it ticks 1,048,576 M-cycles of running later; the CPU's time counts, not the host's.
; https://gbdev.io/pandocs/MBC3.html
; cartridge type=10 rom=01 ram=03
; expect b=0a c=0a d=0b
main:
  ld a, $0a
  ld ($0000), a
  ld a, $0c
  ld ($4000), a
  ld a, $40             ; halt, as a program that sets the time does
  ld ($a000), a
  ld a, $08
  ld ($4000), a
  ld a, 10
  ld ($a000), a         ; 10 s, at the beginning of the second
  ld hl, $8000          ; 0.22 s of halt, which do not count
  call wait
  ld a, $0c
  ld ($4000), a
  xor a
  ld ($a000), a         ; run
  ld hl, $ffff          ; 0.44 s
  call wait
  call seconds
  ld b, a
  ld hl, $ffff          ; 0.87 s
  call wait
  call seconds
  ld c, a
  ld hl, $8000          ; 1.09 s
  call wait
  call seconds
  ld d, a
  ld b, b
seconds:
  xor a
  ld ($6000), a
  inc a
  ld ($6000), a
  ld a, $08
  ld ($4000), a
  ld a, ($a000)
  ret
wait:                   ; 7 M-cycles a turn
  dec hl
  ld a, h
  or l
  jr nz, wait
  ret
