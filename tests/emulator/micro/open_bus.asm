; Closed cartridge RAM reads the code byte fetched one M-cycle before; a byte later that is gone.
; https://gbdev.io/pandocs/MBCs.html
; cartridge type=03 rom=01 ram=02
; expect b=a0 c=7e de=ffd1 h=ff
main:
  ld a, ($a012)
  ld b, a
  ld hl, $a000
  ld a, (hl)
  ld c, a
  ld sp, $a000
  pop de
  ld hl, $a000          ; code in HRAM does not come over that bus
  ld a, $7e
  ldh ($80), a
  ld a, $c9
  ldh ($81), a
  ld sp, $fffe
  call $ff80
  ld h, a
  ld b, b
