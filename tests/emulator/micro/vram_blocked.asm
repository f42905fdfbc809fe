; During mode 3 VRAM reads FF and swallows writes.
; https://gbdev.io/pandocs/Accessing_VRAM_and_OAM.html
; expect b=ff c=11
main:
  di
.off:
  ldh a, ($44)
  cp 145
  jr nz, .off
  xor a
  ldh ($40), a
  ld a, $11
  ld ($8000), a
  ld a, $91
  ldh ($40), a
.line:
  ldh a, ($44)
  cp 20
  jr nz, .line
  ld hl, $8000
.hblank:
  ldh a, ($41)
  and 3
  jr nz, .hblank
.mode3:
  ldh a, ($41)
  and 3
  cp 3
  jr nz, .mode3
  ld b, (hl)
  ld (hl), $22
.free:
  ldh a, ($41)
  and 3
  jr nz, .free
  ld c, (hl)
  ld b, b
