; A write to FE00-FE9F, or an INC of a pair that points there, in mode 2: the slot being scanned reads OAM at that
; address, so its own object is missed and mode 3 is shorter. STAT is read at the end of mode 3.
; https://github.com/Docheinstein/docboy-test-suite: oam_scan_blocked_by_cpu_write, oam_scan_blocked_by_idu_write
; expect b=83 c=80 d=80
main:
  di
  ld hl, line_1
  ld de, $c000
.copy:
  ld a, (hl+)
  ld (de), a
  inc e
  ld a, e
  cp line_1_end - line_1
  jr nz, .copy
  call run              ; two NOPs
  ld b, a
  ld a, $70             ; LD (HL), B
  ld ($c000 + op - line_1), a
  call run
  ld c, a
  ld a, $23             ; INC HL
  ld ($c000 + op - line_1), a
  call run
  ld d, a
  ld b, b
run:
  ldh a, ($44)
  cp 144
  jr nz, run
  xor a
  ldh ($40), a
  ld hl, $fe00
.clear:
  xor a
  ld (hl+), a
  ld a, l
  cp $a0
  jr nz, .clear
  ld l, $24             ; object 9 alone, on lines 0 to 7
  ld (hl), $10
  inc l
  ld (hl), $20
  ld l, $40
  jp $c000
line_1:
  ld a, $93
  ldh ($40), a          ; line 0 begins
  ld a, 28
  dec a
  db $20, $fd            ; jr nz, to the dec
  nop
  nop
  nop
op:
  nop
  nop                   ; with LD (HL), B or INC HL before it: one M-cycle later
  ld a, 14
  dec a
  db $20, $fd            ; jr nz, to the dec
  ldh a, ($41)
  ret
line_1_end:
