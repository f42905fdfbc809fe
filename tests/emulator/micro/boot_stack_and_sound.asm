; What the boot ROM leaves beside the registers: its calls' bytes at FFFA to FFFD, and sound that has been on for an odd
; number of 512 Hz events, so that a trigger with length 1 counts at once and begins again with 63.
; https://gbdev.io/pandocs/Audio_details.html#obscure-behavior
; expect bc=0139 de=002e hl=647e
main:
  di
  ld a, ($fffa)
  ld c, a
  ld a, ($fffb)
  ld b, a
  ld a, ($fffc)
  ld e, a
  ld a, ($fffd)
  ld d, a
  ld a, $3f             ; channel 2, length 1
  ldh ($16), a
  ld a, $f0
  ldh ($17), a
  ld a, $c0
  ldh ($19), a
  ld hl, 0
.on:
  inc hl
  ldh a, ($26)
  and 2
  jr nz, .on
  ld b, b
