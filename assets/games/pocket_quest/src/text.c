/* What people and signs say, in a box below. */
#include "game.h"

#define BOX_Y 96
#define FIRST_LINE 2

uint8_t story, satchel;

/* Show all pages; A (or B) turns a page and closes the last. Everybody stands still meanwhile. */
void show_text(const uint8_t *text) {
    open_window(0, BOX_Y, 20, 6);
    show_window();
    for (;;) {
        text = type_text(FIRST_LINE, text);
        wait_for(KEY_A | KEY_B, 18, FIRST_LINE + 2);
        if (!*text) {
            break;
        }
        text++;
    }
    close_window();
}

void talk_to(uint8_t talk) {
    const line_t *line = talks[talk];
    while (line->stage != ANY_STAGE && line->stage != story) {
        line++;
    }
    show_text(line->text);
    if (line->next_stage != ANY_STAGE) {
        story = line->next_stage;
        play_effect(FX_ITEM);
        draw_actors();
    }
}
