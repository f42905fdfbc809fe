/* Pocket Quest: title, then one loop: wait for VBlank, move, draw. */
#include "game.h"

extern const uint8_t start_room, start_x, start_y, start_facing, player_picture;

#define ANIMATION_BYTES 16

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

void main(void) {
    screen_init();
    title_screen();
    actors[0].picture = player_picture;
    actors[0].palette = 0x10;
    enter_room(start_room, start_x, start_y, start_facing);
    show_text(text_morning);
    for (;;) {
        next_frame();
        move_people();
        move_player();
        if (oam_changed) {
            draw_actors();
        }
        animate();
    }
}
