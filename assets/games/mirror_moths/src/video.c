/* The screen and the buttons, by polling: no interrupt, no HALT. */
#include "game.h"

__sfr __at(0x00) P1;
__sfr __at(0x40) LCDC;
__sfr __at(0x41) STAT;
__sfr __at(0x44) LY;
__sfr __at(0x47) BGP;
__sfr __at(0x48) OBP0;
__sfr __at(0x49) OBP1;

__at(0xc000) uint8_t oam[160];
uint8_t keys_held, keys_pressed, clock;

static void read_keys(void) {
    uint8_t now, low;
    P1 = 0x20;
    now = P1;
    now = P1;
    P1 = 0x10;
    low = P1;
    low = P1;
    P1 = 0x30;
    now = (~now & 0x0f) | (uint8_t)(~low << 4);
    keys_pressed = now & ~keys_held;
    keys_held = now;
}

/* Poll until the next VBlank begins; sprites and sound are brought up to date in it. */
void next_frame(void) {
    while (LY == 144) {
    }
    while (LY != 144) {
    }
    copy_oam();
    clock++;
    read_keys();
    sound_tick();
}

void screen_off(void) {
    while ((LCDC & 0x80) && LY != 144) {
    }
    LCDC = 0x06;
}

void screen_on(void) {
    BGP = 0xe4;
    OBP0 = 0xd0;
    OBP1 = 0xe4;
    LCDC = 0x87;                                /* BG 9800, tiles 8800, sprites 8x16 */
}

/* Only while the screen is off. */
void copy_tiles(uint16_t address, const uint8_t *tiles, uint8_t count) {
    uint8_t *to = (uint8_t *)address;
    uint16_t left = (uint16_t)count << 4;
    while (left--) {
        *to++ = *tiles++;
    }
}

/* At any time: VRAM can be written while STAT says that no line is being drawn. */
void put_tile(uint8_t column, uint8_t line, uint8_t tile) {
    uint8_t *to = (uint8_t *)(0x9800 + ((uint16_t)line << 5) + column);
    do {
        while (STAT & 2) {
        }
        *to = tile;
        while (STAT & 2) {
        }
    } while (*to != tile);
}

void put_text(uint8_t column, uint8_t line, const uint8_t *text) {
    while (*text) {
        put_tile(column++, line, *text++);
    }
}

void put_number(uint8_t column, uint8_t line, uint16_t number, uint8_t digits) {
    while (digits--) {
        put_tile(column + digits, line, tile_zero + (uint8_t)(number % 10));
        number /= 10;
    }
}

void clear_screen(void) {
    uint8_t column, line;
    for (line = 0; line != 18; line++) {
        for (column = 0; column != 20; column++) {
            put_tile(column, line, tile_space);
        }
    }
}

void hide_sprites(void) {
    uint8_t i;
    for (i = 0; i != 160; i += 4) {
        oam[i] = 0;
    }
}
