; An OAM DMA takes OAM from the PPU two M-cycles after FF46 is written: what mode 2 has found by then counts, and the
; pair read last counts again in each later slot. Ten objects at one X then lengthen mode 3, whatever the DMA copies.
; STAT reads 0 in mode 2 while the DMA runs, and 2 one M-cycle after its last byte.
; https://github.com/Docheinstein/docboy-test-suite: oam_scan_blocked_by_dma, dma_during_hblank_finish_at_oam_scan
; expect b=83 c=80 d=80 e=82
main:
  di
.vblank:
  ldh a, ($44)
  cp 144
  jr nz, .vblank
  xor a
  ldh ($40), a
  ld hl, $c000          ; the DMA's source: zeros
.zeros:
  xor a
  ld (hl+), a
  ld a, l
  cp $a0
  jr nz, .zeros
  ld hl, $fe00          ; ten objects that begin on line 4, eight pixels apart; the others nowhere
  ld b, $08
.objects:
  ld a, 20
  ld (hl+), a
  ld a, b
  ld (hl+), a
  add a, 8
  ld b, a
  xor a
  ld (hl+), a
  ld (hl+), a
  ld a, l
  cp 40
  jr nz, .objects
.nowhere:
  xor a
  ld (hl+), a
  ld a, l
  cp $a0
  jr nz, .nowhere
  ld hl, routine
  ld de, $ff80
  ld c, routine_end - routine
.copy:
  ld a, (hl+)
  ld (de), a
  inc de
  dec c
  jr nz, .copy
  ld hl, $ff41
  jp $ff80
routine:
  ld a, $93
  ldh ($40), a          ; line 0 begins
  ld a, 112
.to_line_4:
  dec a
  jr nz, .to_line_4
  nop
  nop
  ld a, $c0
  ldh ($46), a          ; in mode 2 of line 4, when one object has been found
  ld a, 20
.in_mode_3:
  dec a
  jr nz, .in_mode_3
  ld b, (hl)
  ld c, (hl)
  ld a, 53
.over:
  dec a
  jr nz, .over
  ld a, $c0
  ldh ($46), a          ; ends in mode 2
  ld a, 39
.almost:
  dec a
  jr nz, .almost
  nop
  ld d, (hl)
  ld e, (hl)
  ld b, b
routine_end:
