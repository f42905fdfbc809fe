/* The title, and the page on which a game ends. */
#include "game.h"

#define PROMPT_LINE 15

static void blink(uint8_t column, uint8_t line, const uint8_t *text, uint8_t key) {
    uint8_t frames = 0, i;
    do {
        if ((frames & 31) == 0) {
            for (i = 0; text[i]; i++) {
                put_tile(column + i, line, frames & 32 ? tile_space : text[i]);
            }
        }
        frames++;
        next_frame();
    } while (!(keys_pressed & key));
    play_effect(FX_START);
}

void title_page(void) {
    uint8_t column, line;
    const uint8_t *map = title_map;
    screen_off();
    hide_sprites();
    copy_tiles(0x9000, title_tiles, title_tile_count);
    for (line = 0; line != 18; line++) {
        for (column = 0; column != 20; column++) {
            put_tile(column, line, *map++);
        }
    }
    screen_on();
    play_song(&song_title);
    blink(4, PROMPT_LINE, text_press_start, KEY_START);
}

void last_page(const uint8_t *heading, const uint8_t *prompt, const song_t *song) {
    screen_off();
    hide_sprites();
    clear_screen();
    put_text(1, 4, heading);
    put_text(4, 7, text_score);
    put_number(10, 7, score, 5);
    put_text(4, 9, text_best);
    put_number(10, 9, best, 5);
    screen_on();
    play_song(song);
    blink(1, 13, prompt, KEY_START);
}
