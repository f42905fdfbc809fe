/* The title. */
#include "game.h"

#define PROMPT (0x9800 + 13 * 32 + 4)
#define BEST   (0x9800 + 15 * 32 + 5)

static void queue_text(uint16_t address, const uint8_t *text, uint8_t shown) {
    uint8_t length = 0;
    while (text[length]) {
        length++;
    }
    queue_start(address, length);
    while (*text) {
        queue_byte(shown ? *text : tile_space);
        text++;
    }
    queue_end();
}

void title_screen(void) {
    uint8_t row, i, frames = 0;
    const uint8_t *map = title_map;
    shadow_lcdc &= ~0x20;
    shadow_scx = shadow_scy = 0;
    load_tiles(0x9000, title_tiles, title_tile_count);
    for (row = 0; row != 18; row++) {
        queue_start(0x9800 + ((uint16_t)row << 5), 20);
        for (i = 20; i; i--) {
            queue_byte(*map++);
        }
        queue_end();
        if (row & 1) {
            next_frame();
        }
    }
    queue_text(BEST, text_best, 1);
    queue_start(BEST + 5, 5);
    for (i = 0; i != 5; i++) {
        queue_byte(tile_zero + best[i]);
    }
    queue_end();
    play_song(&song_title);
    fade_in();
    do {
        if ((frames & 31) == 0) {
            queue_text(PROMPT, text_press_start, !(frames & 32));
        }
        frames++;
        next_frame();
    } while (!(keys_pressed & KEY_START));
    play_effect(FX_START);
    random();
    fade_out();
}
