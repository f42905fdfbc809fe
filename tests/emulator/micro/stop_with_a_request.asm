; STOP with a button held and an interrupt waiting is one byte long and does nothing: the byte
; behind it (inc b) is executed. With nothing waiting it is two bytes long and halts.
; The test holds A from frame 41 on. https://gbdev.io/pandocs/Reducing_Power_Consumption.html
; expect b=01 c=00 d=01
main:
  di
  ld a, $10
  ldh ($00), a
.wait:
  ldh a, ($00)
  and $01
  jr nz, .wait
  ld bc, $0000
  ld d, b
  ld a, $01
  ldh ($ff), a
  ldh ($0f), a
  db $10, $04           ; stop; inc b
  xor a
  ldh ($0f), a
  db $10, $0c           ; stop $0c halts until VBlank
  ldh a, ($0f)
  and $01
  ld d, a
  ld b, b
