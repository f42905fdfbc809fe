/* The status row below the garden, pages of text, and the score. */
#include "game.h"

#define WINDOW_MAP 0x9c00
#define STATUS_WY  136

uint8_t score[5], best[5], status_changed;

/* Points are tens: the last digit is always 0. */
void add_score(uint8_t tens) {
    uint8_t i;
    while (tens >= 10) {
        tens -= 10;
        add_score(9);
        tens++;
    }
    i = 3;
    score[3] += tens;
    while (i && score[i] > 9) {
        score[i] -= 10;
        score[--i]++;
    }
    status_changed = 1;
}

static void queue_digits(const uint8_t *digits) {
    uint8_t i;
    for (i = 0; i != 5; i++) {
        queue_byte(tile_zero + digits[i]);
    }
}

/* Cells of the meter that are full: the jar's, or what is left of the hornet. */
static uint8_t full_cells(void) {
    uint8_t health, cells = 0;
    if (!hornet_cell) {
        return jar;
    }
    for (health = 0; health < hornet_health; health += hornet_cell) {
        cells++;
    }
    return cells;
}

/* Score, lives and a meter, in the window's first row. */
void draw_status(void) {
    uint8_t i, full = full_cells();
    status_changed = 0;
    queue_start(WINDOW_MAP, 20);
    queue_digits(score);
    queue_byte(tile_space);
    for (i = 0; i != LIVES; i++) {
        queue_byte(i < lives ? tile_life : tile_space);
    }
    queue_byte(tile_space);
    queue_byte(hornet_cell ? tile_hornet : tile_nectar);
    for (i = 0; i != JAR_CELLS; i++) {
        queue_byte(i < full ? tile_full : tile_empty);
    }
    queue_byte(tile_space);
    queue_end();
}

void clear_sprites(void) {
    uint8_t i;
    for (i = 0; i != 160; i += 4) {
        oam[i] = 0;
    }
    oam_changed = 1;
}

/* A page over everything, honeycomb above and below, the rest empty. */
void open_page(void) {
    uint8_t line, i;
    clear_sprites();
    fade_out();
    shadow_lcdc &= ~0x20;
    for (line = 0; line != 18; line++) {
        queue_start(WINDOW_MAP + ((uint16_t)line << 5), 20);
        for (i = 20; i; i--) {
            queue_byte(line != 0 && line != 17 ? tile_space : i & 1 ? tile_full : tile_empty);
        }
        queue_end();
        if (line & 1) {
            next_frame();
        }
    }
    shadow_wy = 0;
    shadow_lcdc |= 0x20;
}

void write_line(uint8_t column, uint8_t line, const uint8_t *text) {
    uint8_t length = 0;
    while (text[length]) {
        length++;
    }
    queue_start(WINDOW_MAP + ((uint16_t)line << 5) + column, length);
    while (*text) {
        queue_byte(*text++);
    }
    queue_end();
    next_frame();
}

void write_score(uint8_t column, uint8_t line, const uint8_t *digits) {
    queue_start(WINDOW_MAP + ((uint16_t)line << 5) + column, 5);
    queue_digits(digits);
    queue_end();
    next_frame();
}

void write_number(uint8_t column, uint8_t line, uint8_t number) {
    queue_start(WINDOW_MAP + ((uint16_t)line << 5) + column, 1);
    queue_byte(tile_zero + number);
    queue_end();
    next_frame();
}

void wait_for(uint8_t keys) {
    do {
        next_frame();
    } while (!(keys_pressed & keys));
}
