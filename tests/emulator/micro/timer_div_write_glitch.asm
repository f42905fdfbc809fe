; Writing DIV while the selected bit is 1 is a falling edge: TIMA counts.
; https://gbdev.io/pandocs/Timer_Obscure_Behaviour.html
; expect b=01 c=00
main:
  di
  ld a, $05             ; bit 3 of the divider
  ldh ($07), a
  xor a
  ldh ($04), a
  ldh ($05), a          ; divider 12; at 16 bit 3 falls: TIMA + 1
  ldh ($04), a          ; divider 24, bit 3 set: TIMA + 1, reset
  ldh ($04), a          ; divider 12, bit 3 set: TIMA + 1
  ldh a, ($05)
  sub 3
  ld c, a
  ld a, $05
  ldh ($07), a
  xor a
  ldh ($04), a
  nop
  ldh ($05), a          ; divider 16: bit 3 clear
  nop
  ldh ($04), a          ; divider 32: TIMA counted as bit 3 fell, the write adds nothing
  ldh a, ($05)
  ld b, a
  ld b, b
