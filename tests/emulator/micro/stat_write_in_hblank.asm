; DMG: FF, which a write to STAT is for one dot, sees HBlank one dot after STAT does. With SCX = 3 mode 0 begins in the
; dot of the write: no request. One M-cycle later IF bit 1 is set.
; https://github.com/Docheinstein/docboy-test-suite: stat_write_bug_hblank_scx3
; expect b=00 c=02
main:
  di
  ld a, 3
  ldh ($43), a
  xor a
  ldh ($41), a
.early:
  ldh a, ($44)
  cp 144
  jr nz, .early
  xor a
  ldh ($40), a
  ld a, $91
  ldh ($40), a          ; line 0 begins
  ld a, 28
.line_1:
  dec a
  jr nz, .line_1
  nop
  nop
  nop
  xor a
  ldh ($0f), a
  ld a, 13
.mode_0:
  dec a
  jr nz, .mode_0
  nop
  ldh ($41), a
  ldh a, ($0f)
  and 2
  ld b, a
.late:
  ldh a, ($44)
  cp 144
  jr nz, .late
  xor a
  ldh ($40), a
  ld a, $91
  ldh ($40), a
  ld a, 28
.line_1b:
  dec a
  jr nz, .line_1b
  nop
  nop
  nop
  xor a
  ldh ($0f), a
  ld a, 13
.mode_0b:
  dec a
  jr nz, .mode_0b
  nop
  nop
  ldh ($41), a
  ldh a, ($0f)
  and 2
  ld c, a
  ld b, b
