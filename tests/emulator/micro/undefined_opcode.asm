; D3 and its like stop the CPU for good; interrupts do not wake it, the clock runs on.
; expect locked=1 b=01
org $40
  ld b, $99
  ld b, b
org $150
main:
  ld a, $01
  ldh ($ff), a
  xor a
  ldh ($0f), a          ; the boot ROM leaves VBlank requested
  ld b, 1
  ei
  nop
  db $d3
  ld b, 2
  ld b, b
