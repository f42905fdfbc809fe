/* The title screen: a picture of 20x18 tiles, the dialogue frame drawn unseen, START to go on. */
#include "game.h"

extern const uint8_t title_tileset, press_start_row, press_start_column, press_start_length;
extern const uint8_t press_start_tiles[], press_start_blank[], box_rows[3][20];

static void queue_row(uint16_t address, const uint8_t *tiles, uint8_t count) {
    queue_start(address, count);
    while (count--) {
        queue_byte(*tiles++);
    }
    queue_end();
}

/* The frame of the dialogue box never changes: draw it once into the window's map. */
static void draw_box(void) {
    uint8_t row;
    for (row = 0; row != 6; row++) {
        queue_row(0x9c00 + ((uint16_t)row << 5), box_rows[row == 0 ? 0 : row == 5 ? 2 : 1], 20);
        next_frame();
    }
}

void title_screen(void) {
    uint8_t row, frames = 0;
    uint16_t prompt = 0x9800 + ((uint16_t)press_start_row << 5) + press_start_column;
    load_tileset(title_tileset);
    for (row = 0; row != 18; row++) {
        queue_row(0x9800 + ((uint16_t)row << 5), title_map + 20 * (uint16_t)row, 20);
        if (row & 1) {
            next_frame();
        }
    }
    draw_box();
    fade_in();
    do {
        if ((frames & 31) == 0) {
            queue_row(prompt, frames & 32 ? press_start_blank : press_start_tiles,
                      press_start_length);
        }
        frames++;
        next_frame();
    } while (!(keys_pressed & KEY_START));
    random();
    fade_out();
}
