; SCX = 7 written in mode 2: that line's mode 3 lasts 172 + SCX % 8 dots; STAT is read every 8 dots.
; https://gbdev.io/pandocs/Rendering.html
; expect b=83 c=83 d=83 e=80
org $150
main:
  di
  ld hl, $ff41
.wait:
  ldh a, ($44)
  cp 11
  jr nz, .wait
  ld a, 7
  ldh ($43), a
  ld a, 10
.turn:
  dec a
  jr nz, .turn
  nop
  ld b, (hl)
  ld c, (hl)
  ld d, (hl)
  ld e, (hl)
  ld b, b
