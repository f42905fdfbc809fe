; LCDC and SCY written while lines are drawn. Each block writes one register in ten lines, an M-cycle later in each, and
; back 19 M-cycles later. LCDC's bits 2, 3, 4 and 6, the clearing of bit 5 and SCY act in the dot in which SCX and bit 0
; do. A window tile in whose midst bit 5 is cleared keeps its number; its row becomes that of LY + SCY. In the dot in which
; bit 5 is cleared the window can still begin: six dots are lost, and it is background that follows.
; https://github.com/mattcurrie/mealybug-tearoom-tests: photographs of m3_lcdc_*_change and m3_scy_change
; expect c=47
; lines scy=10-19:0c4f76a1 tiles=22-31:e93dc8a5 map=34-43:18d8684a window=46-55:757c2967
; lines window_map=70-79:66d86f14 size=82-91:8f78abe3
main:
  di
.vblank:
  ldh a, ($44)
  cp 144
  jr nz, .vblank
  xor a
  ldh ($40), a
  ld hl, $8000
.clear:
  xor a
  ld (hl+), a
  ld a, h
  cp $98
  jr nz, .clear
.map:
  ld a, 1               ; 9800: tile 1
  ld (hl+), a
  ld a, h
  cp $9c
  jr nz, .map
.window:
  ld a, l               ; 9C00: tiles 2 and 1 by turns
  and 1
  xor 1
  inc a
  ld (hl+), a
  ld a, h
  cp $a0
  jr nz, .window
  ld hl, $8010          ; tile 1: rows of shade 1, 0, 1, 0 ...
  ld b, 4
.stripes:
  ld (hl), $ff
  inc l
  inc l
  inc l
  inc l
  dec b
  jr nz, .stripes
  ld b, 16              ; tile 2: shade 3
.solid:
  ld a, $ff
  ld (hl+), a
  dec b
  jr nz, .solid
  ld b, 16              ; tile 3: shades 3 and 0
.halves:
  ld a, $f0
  ld (hl+), a
  dec b
  jr nz, .halves
  ld hl, $9011          ; signed tile 1: shade 2
  ld b, 8
.other:
  ld (hl), $ff
  inc l
  inc l
  dec b
  jr nz, .other
  ld hl, $fe00          ; objects on lines 82 to 89, ten pixels apart
  ld d, 20
.object:
  ld a, 98
  ld (hl+), a
  ld a, d
  ld (hl+), a
  ld a, 3
  ld (hl+), a
  xor a
  ld (hl+), a
  ld a, d
  add a, 10
  ld d, a
  cp 120
  jr nz, .object
  ld d, 26
.unseen:                ; objects at the left on lines 10 to 49: the fetcher is late by an odd number of dots
  ld a, d
  ld (hl+), a
  cp 50
  ld a, 4
  jr c, .near
  ld a, 2
.near:
  ld (hl+), a
  xor a
  ld (hl+), a
  ld (hl+), a
  ld a, d
  add a, 8
  ld d, a
  cp 66
  jr nz, .unseen
.no_object:
  xor a
  ld (hl+), a
  ld a, l
  cp $a0
  jr nz, .no_object
  ld a, $e4
  ldh ($47), a
  ldh ($48), a
  xor a
  ldh ($42), a
  ldh ($43), a
  ld a, 46
  ldh ($4a), a
  ld a, 35
  ldh ($4b), a
  ld hl, blocks
  ld a, $93
  ldh ($40), a
  ld bc, 2673           ; the second frame, line 10, some dots into mode 3
.wait:
  dec bc
  ld a, b
  or c
  jr nz, .wait
.block:
  ld a, (hl+)
  ld c, a
  ld a, (hl+)
  ld d, a
  ld a, (hl+)
  ld e, a
  ld b, 10
.line:                  ; 115 M-cycles
  ld a, d
  ldh (c), a
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
  nop
  nop
  nop
  nop
  ld a, e
  ldh (c), a
  ld a, 22
.rest:
  dec a
  jr nz, .rest
  dec b
  jr nz, .line
  ld a, 50              ; twelve lines for each block
.align:
  dec a
  jr nz, .align
  nop
  ld a, l
  cp blocks_end & $ff
  jr nz, .block
.end:
  ldh a, ($44)
  cp 144
  jr nz, .end
  ld c, $47
  ld b, b
blocks:                 ; register, value, value before and after
  db $42, $01, $00
  db $40, $83, $93
  db $40, $9b, $93
  db $40, $d3, $f3
  db $4b, $26, $26
  db $40, $b3, $f3
  db $40, $97, $93
blocks_end:
