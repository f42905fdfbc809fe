; Sound registers read back through masks; NR52 off clears them; wave RAM survives.
; https://gbdev.io/pandocs/Audio_Registers.html
; expect b=80 c=bf d=70 e=12
main:
  ld a, $12
  ldh ($30), a
  ld a, $80
  ldh ($26), a
  xor a
  ldh ($10), a
  ldh a, ($10)
  ld b, a               ; 80: bit 7 reads 1
  ldh ($1e), a
  ldh a, ($1e)
  ld c, a               ; bf
  xor a
  ldh ($26), a
  ldh a, ($26)
  ld d, a               ; 70
  ldh a, ($30)
  ld e, a
  ld b, b
