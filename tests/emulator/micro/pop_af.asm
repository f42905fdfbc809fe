; The low nibble of F does not exist.
; expect b=12 c=f0
main:
  ld sp, $dff0
  ld bc, $12ff
  push bc
  pop af
  push af
  pop bc
  ld b, b
