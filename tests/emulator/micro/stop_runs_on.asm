; STOP clears the divider and freezes it, and the timer, until a button line falls. The PPU of an LCD that is on goes on
; for 60,852 dots, 133 lines and a half, and stands still then; what it requests meanwhile is taken at the end of STOP.
; The test holds A from frame 41 on. https://github.com/Docheinstein/docboy-test-suite: stop_read_ly, stop_trigger_interrupt
; expect b=3b c=00 d=02 e=e2
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
  ld a, $40             ; LYC = 90: comes in STOP
  ldh ($41), a
  ld a, 90
  ldh ($45), a
  xor a
  ldh ($0f), a
  ldh ($05), a
  db $10, $00
  nop
  ldh a, ($05)
  ld d, a
  ldh a, ($04)
  ld c, a
  ldh a, ($44)
  ld b, a
  ldh a, ($0f)
  and $e2               ; not VBlank's, which came too, nor the joypad's
  ld e, a
  ld b, b
