; Boot program of dmglab.pyboy, our own: 256 bytes at 0000 that end at 0100, as a Game Boy's do.
; It clears video memory, shows a word of six tiles for sixty pictures, and leaves the registers at the
; time (the LCD on at M-cycle 74,478, its end at 1,126,840) that PyBoy's boot program does.
; boot.py holds the bytes; a test assembles this file and compares them.
org 0
  ld sp, $fffe
  ld hl, $9fff
.clear:                 ; at 0006, executed 8,192 times
  xor a
  ld (hl-), a
  bit 7, h
  jr nz, .clear

  ld b, 48              ; one bit a pixel becomes two, from tile 1 on
  ld hl, .tiles
  ld de, $8010
.copy:
  ld a, (hl+)
  ld (de), a
  inc de
  ld (de), a
  inc de
  dec b
  jr nz, .copy

  ld h, $99             ; pairs of a place in the tile map and a tile, to the first 0
  ld de, .places
.place:
  ld a, (de)
  inc de
  or a, a
  jr z, .placed
  ld l, a
  ld a, (de)
  inc de
  ld (hl), a
  jr .place

.placed:                ; pairs of a port and its value
  ld a, (de)
  inc de
  or a, a
  jr z, .wait
  ld c, a
  ld a, (de)
  inc de
  ldh (c), a
  jr .placed

.wait:
  ld bc, 1139
.early:
  dec bc
  ld a, b
  or a, c
  jr nz, .early
  ds 2, 0               ; nop
  ld a, $91             ; LCD on
  ldh ($40), a
  ld d, 3
.pictures:
  ld bc, 50110
.picture:
  dec bc
  ld a, b
  or a, c
  jr nz, .picture
  dec d
  jr nz, .pictures
  ds 11, 0
  ld a, 1
  scf
  dec a                 ; F = D0
  ld bc, $0013
  ld de, $008f
  ld hl, $0087
  jp .end

.tiles:                 ; upper and lower half of P, of y, of B, and o
  db 0, 0, 0, $7c, $7e, $66, $66, $66
  db $7e, $7c, $60, $60, $60, $60, $60, 0
  db 0, $66, $66, $66, $66, $7e, $3c, $1c
  db $7e, $7c, $66, $66, $66, $7e, $7c, 0
  db 0, $3c, $7e, $66, $66, $7e, $3c, 0
  db $18, $f0, $e0, 0, 0, 0, 0, 0
.places:
  db $08, 1, $0a, 1, $28, 2, $29, 3, $2a, 4, $2b, 5, $2c, 3, $49, 6, $4c, 6, 0
  db $47, $fc, $26, $80, $11, $80, $12, $f3, $25, $f3, $24, $77, 0
org $fc
.end:
  ld a, 1
  ldh ($50), a          ; the program leaves the address map
org $150
main:
