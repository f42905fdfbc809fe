; TAC 05 counts once every 16 T-cycles = 4 M-cycles; DIV reset aligns it.
; expect b=00 c=04
main:
  di
  xor a
  ldh ($07), a
  ldh ($05), a
  ldh ($06), a
  ld a, $05
  ldh ($07), a
  xor a
  ldh ($04), a          ; DIV = 0 in this write's M-cycle
  ldh ($05), a
  ldh a, ($05)          ; read 3 M-cycles after the TIMA write, 6 after the DIV write
  dec a
  ld b, a
  xor a
  ldh ($04), a
  ldh ($05), a
  nop
  nop
  nop
  nop
  nop
  nop
  nop
  nop
  nop
  nop
  nop
  nop
  ldh a, ($05)          ; 18 M-cycles after the DIV write
  ld c, a
  ld b, b
