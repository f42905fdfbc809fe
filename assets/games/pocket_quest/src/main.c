/* Pocket Quest: title, then one loop: wait for VBlank, move, draw. */
#include "game.h"

extern const uint8_t start_room, start_x, start_y, start_facing, player_picture;

#define RESTART_KEYS (KEY_A | KEY_B | KEY_SELECT | KEY_START)

/* Water and flowers: one tile of the tileset is replaced every 16 frames, in turn. */
static void animate(void) {
    const animation_t *animation = room->animations;
    uint8_t phase;
    if (!animation || (clock & 15)) {
        return;
    }
    if (clock & 16) {
        animation++;
    }
    phase = (clock >> 5) & 3;
    queue_tiles(0x9000 + ((uint16_t)animation->tile << 4),
                animation->frames + (phase << 4), 1);
}

static void begin(uint8_t goes_on) {
    actors[0].picture = player_picture;
    actors[0].palette = 0x10;
    actors[0].behaviour = WANDERS;
    if (goes_on) {
        read_diary();
        return;
    }
    story = STORY_BEGIN;
    satchel = 0;
    enter_room(start_room, start_x, start_y, start_facing);
    show_text(text_morning);
}

/* From the title to the ending, or until the player restarts. */
static void play(void) {
    begin(title_screen());
    for (;;) {
        next_frame();
        move_people();
        move_player();
        if (story == STORY_END) {
            ending_screen();
            return;
        }
        if (keys_held == RESTART_KEYS) {
            fade_out();
            actor_count = 0;
            draw_actors();
            return;
        }
        if (oam_changed) {
            draw_actors();
        }
        animate();
    }
}

void main(void) {
    screen_init(0xc7);                          /* BG 9800, tiles 8800, sprites 8x16, window 9C00 */
    load_tiles(0x8800, common_tiles, common_tile_count);
    load_tiles(0x8000, sprite_tiles, sprite_tile_count);
    close_window();
    for (;;) {
        play();
    }
}
