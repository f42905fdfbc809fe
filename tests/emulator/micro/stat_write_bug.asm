; DMG: writing STAT acts for one cycle as if all sources were on; in VBlank mode 1 requests IF bit 1.
; https://gbdev.io/pandocs/STAT.html#spurious-stat-interrupts
; expect b=02
main:
  di
.vblank:
  ldh a, ($44)
  cp 150
  jr nz, .vblank
  xor a
  ldh ($41), a
  ldh ($0f), a
  ldh ($41), a
  ldh a, ($0f)
  and 2
  ld b, a
  ld b, b
