; For test_micro_roms.py: what a button requests when it is let go. IF is in B then; the ROM ends.
; https://gbdev.io/pandocs/Joypad_Input.html
; expect locked=1
main:
  di
  xor a
  ldh ($00), a
.up:
  ldh a, ($00)
  cpl
  and $0f
  jr z, .up
  xor a
  ldh ($0f), a
.down:
  ldh a, ($00)
  cpl
  and $0f
  jr nz, .down
  ldh a, ($0f)
  and $10
  ld b, a
  ld b, b
