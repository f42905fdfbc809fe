; While OAM DMA reads WRAM, a read of WRAM finds the byte in transfer; afterwards what lies there.
; https://gbdev.io/pandocs/OAM_DMA_Transfer.html
; expect b=5a c=11
main:
  di
  xor a
  ldh ($40), a
  ld hl, $c000
.fill:
  ld a, $5a
  ld (hl+), a
  ld a, l
  cp 160
  jr nz, .fill
  ld a, $11
  ld ($c100), a
  ld hl, routine
  ld de, $ff80
  ld b, routine_end - routine
.copy:
  ld a, (hl+)
  ld (de), a
  inc de
  dec b
  jr nz, .copy
  ld hl, $c100
  jp $ff80
routine:
  ld a, $c0
  ldh ($46), a
  ld a, 10
.soon:
  dec a
  jr nz, .soon
  ld b, (hl)
  ld a, 40
.wait:
  dec a
  jr nz, .wait
  ld c, (hl)
  ld b, b
routine_end:
