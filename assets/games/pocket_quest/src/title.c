/* The two pictures that fill the screen: the title, and the evening on which the errand ends. */
#include "game.h"

extern const uint8_t title_map[], ending_map[];
extern const uint8_t title_tileset, ending_tileset;
extern const uint8_t press_start_row, press_start_column, press_start_length;
extern const uint8_t press_start_tiles[], press_start_blank[];
extern const uint8_t text_continue[], text_new_game[];

static void queue_row(uint16_t address, const uint8_t *tiles, uint8_t count) {
    queue_start(address, count);
    while (count--) {
        queue_byte(*tiles++);
    }
    queue_end();
}

/* Put a picture of 20x18 tiles on the white screen. */
static void show_picture(uint8_t tileset, const uint8_t *map) {
    uint8_t row;
    load_tileset(tileset);
    shadow_scx = shadow_scy = 0;
    for (row = 0; row != 18; row++) {
        queue_row(0x9800 + ((uint16_t)row << 5), map, 20);
        map += 20;
        if (row & 1) {
            next_frame();
        }
    }
    fade_in();
}

/* A diary was kept: ask whether to go on from it. */
static uint8_t ask_to_continue(void) {
    uint8_t taken;
    open_window(0, 96, 20, 6);
    write_text(3, 2, text_continue);
    write_text(3, 4, text_new_game);
    show_window();
    do {
        taken = choose(2, 2, 2);
    } while (taken == 0xff);
    close_window();
    return taken == 0;
}

uint8_t title_screen(void) {
    uint8_t frames = 0, goes_on = 0;
    uint16_t prompt = 0x9800 + ((uint16_t)press_start_row << 5) + press_start_column;
    play_song(&song_title);
    show_picture(title_tileset, title_map);
    do {
        if ((frames & 31) == 0) {
            queue_row(prompt, frames & 32 ? press_start_blank : press_start_tiles,
                      press_start_length);
        }
        frames++;
        next_frame();
    } while (!(keys_pressed & KEY_START));
    play_effect(FX_SELECT);
    random();
    if (diary_is_written()) {
        goes_on = ask_to_continue();
    }
    fade_out();
    return goes_on;
}

/* The last picture; START begins anew. */
void ending_screen(void) {
    fade_out();
    actor_count = 0;
    draw_actors();
    play_song(&song_ending);
    show_picture(ending_tileset, ending_map);
    do {
        next_frame();
    } while (!(keys_pressed & KEY_START));
    fade_out();
    play_song(0);
}
