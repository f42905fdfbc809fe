/* Mirror Moths: title, levels, the end; candles are the lives. */
#include "game.h"

static void play(void) {
    candles = CANDLES;
    level = 0;
    score = 0;
    while (candles && level != level_count) {
        open_level();
        if (play_level()) {
            level++;
        } else {
            candles--;
            play_effect(FX_THORN);
        }
    }
    if (score > best) {
        best = score;
    }
    if (candles) {
        last_page(text_won, text_thanks, &song_bright);
    } else {
        last_page(text_over, text_again, &song_dark);
    }
}

void main(void) {
    screen_off();
    sound_init();
    copy_tiles(0x8800, common_tiles, common_tile_count);
    copy_tiles(0x8000, sprite_tiles, sprite_tile_count);
    for (;;) {
        title_page();
        play();
    }
}
