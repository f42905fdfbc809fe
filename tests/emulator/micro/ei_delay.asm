; EI takes effect after the next instruction; EI DI in a row never lets an interrupt in.
; https://gbdev.io/pandocs/Interrupts.html#ime-interrupt-master-enable-flag-write-only
; expect b=01 c=00 d=01
org $50                 ; timer vector
  ld c, 1
  reti
org $150
main:
  di
  ld bc, 0
  ld d, 0
  ld a, $04
  ldh ($ff), a          ; IE: timer
  ldh ($0f), a          ; IF: timer requested
  ei
  di                    ; cancels before the interrupt is taken
  nop
  ld d, 1
  ld e, c
  ei
  inc b                 ; still runs: b = 1
  di                    ; the interrupt was taken before this
  ld a, c               ; c = 1 here
  dec a
  ld c, a               ; c = 0 when the order was right
  ld b, b
