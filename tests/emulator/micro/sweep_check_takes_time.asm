; Channel 1 triggered at a frequency that overflows: its sweep turns it off NR10's step + 3 M-cycles later. A second
; trigger before that starts the countdown anew, a step written over 0 goes on with it.
; https://gbdev.io/pandocs/Audio_details.html
; expect b=f1 c=f0 d=f1 e=f0 h=f1 l=f0
main:
  call silence
  ldh ($14), a
  ds 6, 0
  ldh a, ($26)          ; 9 M-cycles behind the trigger
  ld b, a
  call silence
  ldh ($14), a
  ds 7, 0
  ldh a, ($26)          ; 10
  ld c, a
  call silence
  ldh ($14), a
  ldh ($14), a          ; again, 3 M-cycles later
  ds 5, 0
  ldh a, ($26)          ; 11 behind the first
  ld d, a
  ldh a, ($26)          ; 14
  ld e, a
  call silence
  ldh ($14), a
  xor a
  ldh ($10), a          ; the countdown stands still
  ds 60, 0
  ldh a, ($26)
  ld h, a
  ld a, 7
  ldh ($10), a
  ds 8, 0
  ldh a, ($26)
  ld l, a
  ld b, b
silence:                ; the power off and on, volume on, step 7, frequency 7ff; a triggers
  xor a
  ldh ($26), a
  ld a, $80
  ldh ($26), a
  ldh ($12), a
  ld a, $ff
  ldh ($13), a
  ld a, 7
  ldh ($10), a
  ld a, $87
  ret
