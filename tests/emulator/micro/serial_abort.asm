; A write to SC ends a transfer without interrupt. SB keeps the bits that were shifted; a bit in its second half counts.
; https://gbdev.io/pandocs/Serial_Data_Transfer_(Link_Cable).html
; expect b=07 c=0f d=e0 e=7e
main:
  di
  xor a
  ldh ($0f), a
  ld d, 104             ; 4 M-cycles each: in the first half of the fourth bit
  call transfer
  ld b, a               ; 07
  ld d, 120             ; in its second half
  call transfer
  ld c, a               ; 0f
  ldh a, ($0f)
  ld d, a
  ldh a, ($02)
  ld e, a
  ld b, b
transfer:               ; stops a transfer of 00 after 4 * d M-cycles and some
  xor a
  ldh ($01), a
  ldh ($04), a
  ld a, $81
  ldh ($02), a
.wait:
  dec d
  jr nz, .wait
  xor a
  ldh ($02), a
  ldh a, ($01)
  ret
