; STOP freezes the PPU, the timer and the divider (which it clears) until a button line falls.
; The test holds A from frame 41 on: 40 frames pass within one line.
; https://gbdev.io/pandocs/Reducing_Power_Consumption.html
; expect b=00 c=00 d=02
main:
  di
  ld a, $10
  ldh ($00), a
  xor a
  ldh ($ff), a
  ldh ($06), a
  ld a, $05
  ldh ($07), a
.line:
  ldh a, ($44)
  cp $50
  jr nz, .line
  xor a
  ldh ($05), a
  db $10, $00
  nop
  ldh a, ($05)
  ld d, a
  ldh a, ($04)
  ld c, a
  ldh a, ($44)
  sub $50
  ld b, a
  ld b, b
