; HuC3: its microcontroller keeps nibbles, sets its clock from six of them and copies it back; RAM is written in mode 0a
; only; ROM bank 0 can lie at 4000.
; https://gbdev.io/pandocs/HuC3.html
; cartridge type=fe rom=01 ram=03
; expect b=93 c=95 d=a1 e=5a h=c0 l=01
main:
  ld a, $0b
  ld ($0000), a
  ld hl, setting
.set:                   ; nibbles 3, 5, 0 (minute 53h), then day 7
  ld a, (hl+)
  or a
  jr z, .copied
  call command
  jr .set
.copied:
  ld a, $40             ; back to address 0
  call command
  ld a, $10
  call answer
  ld b, a               ; bit 7, the command, 3
  ld a, $10
  call answer
  ld c, a
  ld a, $62             ; "are you there"
  call answer
  and $af
  or $20
  ld d, a
  ld a, $0a
  ld ($0000), a
  ld a, $5a
  ld ($a000), a
  xor a
  ld ($0000), a
  ld ($a000), a         ; read only
  ld a, ($a000)
  ld e, a
  ld a, $0e
  ld ($0000), a
  ld a, ($a000)
  ld h, a
  ld a, $0d
  ld ($0000), a
  ld a, ($a000)
  ld l, a
  ld b, b
setting:
  db $40, $50, $33, $35, $30, $37, $30, $30, $61, $40, $50, $30, $30, $60, 0
command:                ; a: command and argument, executed
  push af
  ld a, $0b
  ld ($0000), a
  pop af
  ld ($a000), a
  ld a, $0d
  ld ($0000), a
  ld a, $fe
  ld ($a000), a
  ret
answer:
  call command
  ld a, $0c
  ld ($0000), a
  ld a, ($a000)
  ret
