; Start of the ROM. No interrupt is ever enabled: the game polls LY and STAT.
; https://gbdev.io/pandocs/The_Cartridge_Header.html (bytes 0x104-0x14F are filled in by pack_rom.py)
	.module crt0
	.globl _main
	.globl _copy_oam

	.area _HEADER (ABS)
	.org 0x0040
	reti
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
	cp a, #0xe0
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
	jr hang

_copy_oam::
	jp 0xff80

dma_routine:
	ld a, #0xc0             ; shadow OAM is C000-C09F
	ldh (0x46), a
	ld a, #40               ; 160 M-cycles
dma_wait:
	dec a
	jr nz, dma_wait
	ret
dma_end:

	.area _CODE
	.area _DATA
