; OAM DMA's 160 bytes begin one M-cycle after the one that writes FF46: a read of OAM in the 161st
; after the write still finds FF, one in the 162nd finds what was copied.
; https://gbdev.io/pandocs/OAM_DMA_Transfer.html
; expect b=ff c=77
main:
  di
  xor a
  ldh ($40), a
  ld a, $77
  ld ($c09f), a
  ld hl, routine
  ld de, $ff80
  ld b, routine_end - routine
.copy:
  ld a, (hl+)
  ld (de), a
  inc de
  dec b
  jr nz, .copy
  ld hl, $fe9f
  jp $ff80
routine:
  ld a, $c0
  ldh ($46), a          ; writes in M-cycle 0
  ld a, 38              ; 1 and 2
.last:
  dec a                 ; 3 to 153: 38 turns of 4, the last of 3
  jr nz, .last
  nop
  nop
  nop
  nop
  nop
  nop
  ld b, (hl)            ; 160 and 161
  ld a, $c0
  ldh ($46), a
  ld a, 38
.first:
  dec a
  jr nz, .first
  nop
  nop
  nop
  nop
  nop
  nop
  nop
  ld c, (hl)            ; 161 and 162
  ld b, b
routine_end:
