; Stopping the timer while the selected bit is 1 is a falling edge too (DMG).
; expect b=01 c=00
main:
  di
  ld a, $04             ; bit 9: 1 after 128 M-cycles
  ldh ($07), a
  xor a
  ldh ($04), a
  ldh ($05), a
  ld d, 50
.wait:
  dec d
  jr nz, .wait          ; 4 * 50 - 1 M-cycles
  xor a
  ldh ($07), a          ; divider ~ 820: bit 9 set
  ldh a, ($05)
  ld b, a
  xor a
  ldh ($05), a
  ld a, $04
  ldh ($07), a
  xor a
  ldh ($04), a          ; edge: TIMA + 1 if bit 9 was still set; cleared next
  ldh ($05), a
  ldh ($07), a          ; divider small: bit 9 clear, no edge
  ldh a, ($05)
  ld c, a
  ld b, b
