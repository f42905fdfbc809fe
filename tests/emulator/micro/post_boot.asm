; What the boot ROM leaves: https://gbdev.io/pandocs/Power_Up_Sequence.html (DMG)
; expect b=00 c=13 d=00 e=d8 h=01 l=4d a=01
main:
  ldh a, ($40)
  cp $91
  jr nz, .bad
  ldh a, ($47)
  cp $fc
  jr nz, .bad
  ldh a, ($0f)
  cp $e1
  jr nz, .bad
  ldh a, ($07)
  cp $f8
  jr nz, .bad
  ldh a, ($26)
  cp $f1
  jr nz, .bad
  ld a, 1
  ld b, b
.bad:
  ld a, $ee
  ld b, b
