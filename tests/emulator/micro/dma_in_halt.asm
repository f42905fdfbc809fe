; OAM DMA stands still while the CPU halts: after a frame in HALT it still holds OAM (reads FF),
; and 160 M-cycles of running later it is through.
; https://gbdev.io/pandocs/OAM_DMA_Transfer.html
; expect b=ff c=11 d=22
main:
  di
  ld hl, $c000
  ld a, $11
  ld (hl), a
  ld a, $22
  ld hl, $c09f
  ld (hl), a
  ld hl, code
  ld de, $ff80
.copy:
  ld a, (hl+)
  ld (de), a
  inc e
  ld a, e
  cp $c0
  jr nz, .copy
  xor a
  ldh ($0f), a
  inc a
  ldh ($ff), a
  jp $ff80
code:
  ld a, $c0
  ldh ($46), a
  halt                  ; until VBlank
  nop
  ld hl, $fe9f
  ld b, (hl)
  ld a, $2c
.turn:
  dec a
  jr nz, .turn
  ld d, (hl)
  ld l, $00
  ld c, (hl)
  ld b, b
