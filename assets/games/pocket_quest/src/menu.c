/* START: a panel at the right; from it the satchel and the diary, each a page of its own. */
#include "game.h"

#define PANEL_X 88
#define PANEL_WIDTH 9
#define FULL_HEIGHT 18

extern const uint8_t text_items[], text_save[], text_back[], text_here[], text_satchel[];
extern const uint8_t text_diary[], text_ask[], text_yes[], text_no[], text_saved[];

/* Wait until nothing is held, so that one press does one thing. */
static void let_go(void) {
    while (keys_held) {
        next_frame();
    }
}

static void full_page(const uint8_t *heading) {
    open_window(0, 0, 20, FULL_HEIGHT);
    write_text(2, 1, heading);
    show_window();
}

/* The things carried; A tells more about one, B goes back. */
static void show_items(void) {
    const item_t *item = items[story];
    uint8_t count = 0, taken;
    full_page(text_satchel);
    while (count != 3 && item[count].name) {
        write_text(3, 4 + (count << 1), item[count].name);
        count++;
    }
    for (;;) {
        let_go();
        taken = choose(2, 4, count);
        if (taken == 0xff) {
            return;
        }
        type_text(13, item[taken].text);
        wait_for(KEY_A | KEY_B, 18, 15);
    }
}

static void show_diary(void) {
    full_page(text_diary);
    type_text(4, text_ask);
    write_text(3, 9, text_yes);
    write_text(3, 11, text_no);
    let_go();
    if (choose(2, 9, 2) == 0) {
        write_diary();
        play_effect(FX_ITEM);
        type_text(13, text_saved);
        wait_for(KEY_A | KEY_B, 18, 15);
    }
}

void show_menu(void) {
    uint8_t taken;
    play_effect(FX_SELECT);
    do {
        open_window(PANEL_X, 0, PANEL_WIDTH, FULL_HEIGHT);
        write_text(2, 2, text_items);
        write_text(2, 4, text_save);
        write_text(2, 6, text_back);
        write_text(1, 14, text_here);
        write_text(1, 16, room->name);
        show_window();
        let_go();
        taken = choose(1, 2, 3);
        if (taken == 0) {
            show_items();
        } else if (taken == 1) {
            show_diary();
        }
    } while (taken < 2);
    close_window();
    let_go();                                   /* closing is all that this press does */
}
