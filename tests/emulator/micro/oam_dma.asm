; OAM DMA takes 160 M-cycles after one of delay; meanwhile the CPU reads what the DMA reads.
; https://gbdev.io/pandocs/OAM_DMA_Transfer.html
; expect b=77 c=10 d=af e=ff
main:
  di
  xor a
  ldh ($40), a
  ld hl, $c000
.fill:
  ld a, l
  ld (hl+), a
  ld a, l
  cp 160
  jr nz, .fill
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
  call $ff80
  ld a, ($fe9f)
  ld b, a
  ld a, ($fe10)
  ld c, a
  ld b, b
routine:
  ld a, $c0
  ldh ($46), a
  ld hl, $fe00
  ld e, (hl)            ; OAM reads FF while it is being written
  ld a, 40
.wait:
  dec a
  jr nz, .wait
  ld d, $af
  ret
routine_end:
