; For test_cli.py: counts at C000 how often it finds a direction held; it never ends.
; expect locked=1
main:
  ld hl, $c000
  xor a
  ld (hl+), a
  ld (hl-), a
  ld a, $20
  ldh ($00), a
look:
  ldh a, ($00)
  ldh a, ($00)
  cpl
  and $0f
  jr z, look
  inc (hl)
  jr nz, look
  inc l
  inc (hl)
  dec l
  jr look
