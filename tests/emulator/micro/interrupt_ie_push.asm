; The high byte of PC pushed onto IE during dispatch can cancel the interrupt: PC becomes 0000.
; https://gbdev.io/pandocs/Interrupts.html and mooneye acceptance/interrupts/ie_push
; expect b=01 c=00
org $00
  jp cancelled
org $50
  ld c, 1
  ld b, b
org $150
main:
  di
  ld bc, 0
  ld sp, $0000          ; the first push goes to FFFF = IE
  xor a
  ldh ($40), a
  ld a, $04
  ldh ($0f), a
  ldh ($ff), a
  ei
  jp pushed
cancelled:
  ld b, 1
  ld b, b
org $0200
pushed:                 ; high byte 02: bit 2 is not in it, so nothing is enabled any more
  nop
  nop
  ld b, b
