; Start of the ROM: vectors, VBlank handler, OAM DMA routine, and nothing else in assembly.
; POLLED, which build_rom.sh sets: 1 for a game that enables no interrupt and polls LY and STAT, else 0.
; https://gbdev.io/pandocs/The_Cartridge_Header.html (bytes 0x104-0x14F are filled in by pack_rom.py)
	.module crt0
	.globl _main
	.if POLLED
	.globl _copy_oam
	.else
	.globl _vram_queue, _frame_ready, _oam_changed
	.globl _upload_tiles, _upload_source, _upload_target
	.globl _shadow_scx, _shadow_scy, _shadow_bgp, _shadow_obp0, _shadow_obp1, _shadow_lcdc, _shadow_wx, _shadow_wy, _frame_noise
	.endif

	rSCY  = 0x42
	rLCDC = 0x40
	rSCX  = 0x43
	rBGP  = 0x47
	rOBP0 = 0x48
	rOBP1 = 0x49
	rWY   = 0x4a
	rWX   = 0x4b

	.area _HEADER (ABS)
	.org 0x0040
	.if POLLED
	reti
	.else
	jp vblank
	.org 0x0048
	reti
	.org 0x0050
	reti
	.org 0x0058
	reti
	.org 0x0060
	reti
	.endif
	.org 0x0100
	nop
	jp start

	.org 0x0150
start:
	di
	ld sp, #0xe000
	ld hl, #0xc000          ; clear work RAM: DMG memory holds noise at power-on
clear:
	xor a
	ld (hl+), a
	ld a, h
	.if POLLED
	cp a, #0xe0
	.else
	cp a, #0xde             ; DE00-DEFF survives a restart: a game may keep a diary there
	.endif
	jr nz, clear
	ld hl, #dma_routine     ; only high RAM is readable while OAM DMA runs
	ld de, #0xff80
	ld b, #(dma_end - dma_routine)
copy_dma:
	ld a, (hl+)
	ld (de), a
	inc e
	dec b
	jr nz, copy_dma
	call _main
hang:
	.ifeq POLLED
	halt
	nop
	.endif
	jr hang

	.if POLLED
_copy_oam::
	jp 0xff80

	.endif
dma_routine:
	ld a, #0xc0             ; shadow OAM is C000-C09F
	ldh (0x46), a
	ld a, #40               ; 160 M-cycles
dma_wait:
	dec a
	jr nz, dma_wait
	ret
dma_end:

	.ifeq POLLED
; Everything that touches VRAM, OAM or the scroll registers happens here, and only when the main
; loop has finished preparing a frame (frame_ready), so that no half-made picture is ever shown.
;
; Chance comes from DIV, read here and nowhere else: at a fixed distance from VBlank, so that no
; reading falls on the very cycle on which DIV counts, where emulators disagree.
vblank:
	push af
	ldh a, (0x04)
	ld (_frame_noise), a
	ld a, (_frame_ready)
	or a, a
	jr nz, frame_is_ready
	pop af
	reti
frame_is_ready:
	push bc
	push de
	push hl
	; queue of runs: address high, low, count (+0x80: downwards, 32 bytes apart), data; high 0 ends
	ld hl, #_vram_queue
	ld a, (hl)
	or a, a
	jr z, queue_empty
next_run:
	ld a, (hl+)
	or a, a
	jr z, queue_done
	ld d, a
	ld a, (hl+)
	ld e, a
	ld a, (hl+)
	bit 7, a
	jr nz, column_run
	ld b, a
row_byte:
	ld a, (hl+)
	ld (de), a
	inc e                   ; a row of the tile map never crosses a page
	dec b
	jr nz, row_byte
	jr next_run
column_run:
	and a, #0x7f
	ld b, a
column_byte:
	ld a, (hl+)
	ld (de), a
	ld a, e
	add a, #32
	ld e, a
	jr nc, column_same_page
	inc d
column_same_page:
	dec b
	jr nz, column_byte
	jr next_run
queue_done:
	ld (_vram_queue), a
queue_empty:
	; whole tiles from ROM, 16 bytes each
	ld a, (_upload_tiles)
	or a, a
	jr z, no_upload
	ld b, a
	ld hl, #_upload_target
	ld a, (hl+)
	ld e, a
	ld a, (hl)
	ld d, a
	ld hl, #_upload_source
	ld a, (hl+)
	ld h, (hl)
	ld l, a
upload_tile:
	.rept 15
	ld a, (hl+)
	ld (de), a
	inc e                   ; a tile in VRAM never crosses a page
	.endm
	ld a, (hl+)
	ld (de), a
	inc de
	dec b
	jr nz, upload_tile
	xor a, a
	ld (_upload_tiles), a
	ld a, l                 ; the next upload goes on where this one stopped
	ld (_upload_source), a
	ld a, h
	ld (_upload_source + 1), a
	ld a, e
	ld (_upload_target), a
	ld a, d
	ld (_upload_target + 1), a
no_upload:
	ld a, (_oam_changed)
	or a, a
	jr z, no_dma
	xor a, a
	ld (_oam_changed), a
	call 0xff80
no_dma:
	ld a, (_shadow_scx)
	ldh (rSCX), a
	ld a, (_shadow_scy)
	ldh (rSCY), a
	ld a, (_shadow_bgp)
	ldh (rBGP), a
	ld a, (_shadow_obp0)
	ldh (rOBP0), a
	ld a, (_shadow_obp1)
	ldh (rOBP1), a
	ld a, (_shadow_wx)
	ldh (rWX), a
	ld a, (_shadow_wy)
	ldh (rWY), a
	ld a, (_shadow_lcdc)
	ldh (rLCDC), a
	xor a, a
	ld (_frame_ready), a
	pop hl
	pop de
	pop bc
	pop af
	reti

	.endif
	.area _CODE
	.area _DATA
