; STOP waits for a selected joypad line; DIV starts from zero. The test holds A from frame 41 on.
; https://gbdev.io/pandocs/Reducing_Power_Consumption.html
; expect b=5a c=0e
main:
  di
  ld a, $10             ; select the action buttons
  ldh ($00), a
  ld b, $00
  db $10, $00
  nop
  ld b, $5a
  ldh a, ($00)
  and $0f
  ld c, a
  ld b, b
