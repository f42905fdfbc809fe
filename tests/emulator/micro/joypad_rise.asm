; A row of P1 that is let go shows its pressed buttons for some more M-cycles: 3 the actions, 6 the
; directions. The test holds A and right from frame 41 on.
; https://gbdev.io/pandocs/Joypad_Input.html
; expect b=fe c=ff d=fe e=ff
main:
  ld a, $10             ; actions
  ldh ($00), a
.wait:
  ldh a, ($00)
  and $01
  jr nz, .wait
  ld hl, $ff00
  ld a, $10
  ld (hl), a
  ld a, (hl)
  ld a, $30
  ld (hl), a
  ld b, (hl)            ; 2 M-cycles later: A is still seen
  ld (hl), $10
  nop
  nop
  nop
  nop
  nop
  nop
  ld (hl), a
  nop
  ld c, (hl)            ; 3 M-cycles later: no more
  ld a, $20
  ld (hl), a
  nop
  nop
  nop
  nop
  nop
  nop
  ld a, $30
  ld (hl), a
  nop
  nop
  nop
  ld d, (hl)            ; 5: right is still seen
  ld (hl), $20
  nop
  nop
  nop
  nop
  nop
  nop
  ld (hl), a
  nop
  nop
  nop
  nop
  ld e, (hl)            ; 6
  ld b, b
