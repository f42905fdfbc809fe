; E000-FDFF mirrors C000; FEA0-FEFF reads 00 while OAM is free; unused I/O reads FF.
; https://gbdev.io/pandocs/Memory_Map.html
; expect b=5a c=a5 d=00 e=ff
main:
  di
  xor a
  ldh ($40), a
  ld a, $5a
  ld ($c123), a
  ld a, ($e123)
  ld b, a
  ld a, $a5
  ld ($fdff), a
  ld a, ($ddff)
  ld c, a
  ld a, ($fea5)
  ld d, a
  ldh a, ($7f)
  ld e, a
  ld b, b
