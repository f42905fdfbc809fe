/* The window layer: framed boxes at the right or below, letters typed into them, and choices. */
#include "game.h"

#define WINDOW_MAP 0x9c00
#define ROWS_PER_FRAME 4                        /* rows of 20 tiles that fit into one VBlank */

enum { TEXT_END, TEXT_LINE, TEXT_PAGE };        /* codes below the first tile number of the font */

uint8_t dialogue_open, hide_right_of, hide_below;

static uint16_t window_at(uint8_t column, uint8_t line) {
    return WINDOW_MAP + ((uint16_t)line << 5) + column;
}

static void draw_frame_row(uint8_t line, const uint8_t *parts, uint8_t width) {
    uint8_t i;
    queue_start(window_at(0, line), width);
    queue_byte(parts[0]);
    for (i = width - 2; i; i--) {
        queue_byte(parts[1]);
    }
    queue_byte(parts[2]);
    queue_end();
}

/* Draw an empty frame unseen; show_window() puts it on the screen with its corner at (x, y). */
void open_window(uint8_t x, uint8_t y, uint8_t width, uint8_t height) {
    uint8_t line;
    dialogue_open = 1;
    shadow_lcdc &= ~0x20;
    shadow_wx = x + 7;
    shadow_wy = y;
    hide_right_of = x ? x - 8 : 0xff;
    hide_below = y ? y : 0xff;
    for (line = 0; line != height; line++) {
        if (line && (line & (ROWS_PER_FRAME - 1)) == 0) {
            next_frame();
        }
        draw_frame_row(line, box_parts[line == 0 ? 0 : line == height - 1 ? 2 : 1], width);
    }
    draw_actors();
    next_frame();
}

void show_window(void) {
    shadow_lcdc |= 0x20;
    if (shadow_wx == 7 && shadow_wy == 0) {
        shadow_lcdc &= ~0x02;                   /* nobody walks over a full page */
    } else {
        shadow_lcdc |= 0x02;
    }
}

void close_window(void) {
    dialogue_open = 0;
    hide_right_of = hide_below = 0xff;
    shadow_lcdc &= ~0x20;
    shadow_lcdc |= 0x02;
    draw_actors();
}

static void put(uint8_t column, uint8_t line, uint8_t tile) {
    queue_start(window_at(column, line), 1);
    queue_byte(tile);
    queue_end();
}

/* One line at once. */
void write_text(uint8_t column, uint8_t line, const uint8_t *text) {
    while (*text > TEXT_PAGE) {
        put(column++, line, *text++);
    }
    next_frame();
}

/* Clear two lines and type a page there, a letter a frame, three while A or B is held. Returns
   the code that ended the page. */
const uint8_t *type_text(uint8_t line, const uint8_t *text) {
    uint8_t column, letters = 0;
    for (column = 0; column != 4; column += 2) {
        draw_frame_row(line + column, box_parts[1], 20);
    }
    next_frame();
    for (column = 1; *text > TEXT_PAGE || *text == TEXT_LINE; text++) {
        if (*text == TEXT_LINE) {
            line += 2;
            column = 1;
            continue;
        }
        put(column++, line, *text);
        letters++;
        if (!(keys_held & (KEY_A | KEY_B))) {
            letters = 0;
        } else if (letters != 3) {
            continue;
        }
        letters = 0;
        if ((clock & 3) == 0) {
            play_effect(FX_LETTER);
        }
        next_frame();
    }
    next_frame();
    return text;
}

/* Wait for one of `keys`, a mark blinking at the place. */
void wait_for(uint8_t keys, uint8_t column, uint8_t line) {
    uint8_t frames = 0;
    do {
        if ((frames & 15) == 0) {
            put(column, line, frames & 16 ? tile_space : tile_more);
        }
        frames++;
        next_frame();
    } while (!(keys_pressed & keys));
    put(column, line, tile_space);
}

/* Move a cursor over every second line; the number taken with A, or 255 for B, START or LEFT. */
uint8_t choose(uint8_t column, uint8_t line, uint8_t count) {
    uint8_t at = 0;
    for (;;) {
        put(column, line + (at << 1), tile_cursor);
        next_frame();
        if (keys_pressed & (KEY_B | KEY_START | KEY_LEFT)) {
            return 0xff;
        }
        if (keys_pressed & KEY_A) {
            play_effect(FX_SELECT);
            return at;
        }
        if (keys_pressed & (KEY_UP | KEY_DOWN)) {
            put(column, line + (at << 1), tile_space);
            play_effect(FX_CURSOR);
            if (keys_pressed & KEY_DOWN) {
                at = at + 1 == count ? 0 : at + 1;
            } else {
                at = at ? at - 1 : count - 1;
            }
        }
    }
}
