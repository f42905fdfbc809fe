; Keeps everything moving: VBlank, timer and joypad interrupts, OAM DMA from HRAM, HALT, waiting
; loops on LY and on memory, VRAM writes in VBlank, sound. Never ends.
; expect locked=1
org $40
  jp vblank
org $50
  jp timer
org $58
  reti
org $60
  jp joypad
org $150
dma_routine:
  ld a, $c1
  ldh ($46), a
  ld a, $28
.wait:
  dec a
  jr nz, .wait
  ret
vblank:
  push af
  push bc
  push hl
  call $ff80
  ld hl, $c000
  inc (hl)
  ld a, (hl)
  ld b, a
  ld h, $98
  ld l, a
  ldh a, ($04)
  ld (hl), a            ; a map cell from the divider
  ld a, b
  ldh ($43), a
  ldh a, ($00)
  ld hl, $c010
  add a, (hl)
  ld (hl), a
  ld a, 1
  ld ($c001), a
  pop hl
  pop bc
  pop af
  reti
timer:
  push af
  push hl
  ld hl, $c002
  inc (hl)
  jr nz, .low
  inc l
  inc (hl)
.low:
  pop hl
  pop af
  reti
joypad:
  push af
  ld a, ($c004)
  inc a
  ld ($c004), a
  pop af
  reti
main:
  di
  ld sp, $dffe
  ld hl, dma_routine
  ld de, $ff80
  ld b, 12
.copy:
  ld a, (hl+)
  ld (de), a
  inc de
  dec b
  jr nz, .copy
  ld a, $10
  ldh ($00), a
  ld a, $c7
  ldh ($06), a
  ld a, $05
  ldh ($07), a
  ld a, $80
  ldh ($26), a
  ld a, $f0
  ldh ($12), a
  ld a, $c7
  ldh ($14), a
  ld a, $15
  ldh ($ff), a
  xor a
  ldh ($0f), a
  ei
loop:
  ld a, ($c001)         ; wait for VBlank on memory
  or a
  jr z, loop
  xor a
  ld ($c001), a
  ld b, 3
.halts:
  halt
  nop
  dec b
  jr nz, .halts
  ldh a, ($04)
  and 63
  add a, 20
  ld c, a
.line:
  ldh a, ($44)          ; wait for a line that depends on the divider
  cp c
  jr nz, .line
  ldh a, ($47)
  cpl
  ldh ($47), a
  ldh a, ($26)
  ld hl, $c100
  ld a, ($c000)
  ld l, a
  ld (hl), c
  jr loop
