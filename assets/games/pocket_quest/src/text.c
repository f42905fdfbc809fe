/* The dialogue box (the window layer), signs and talk, and the bag menu. */
#include "game.h"

#define BOX 0x9c00
#define LINE_1 (BOX + 2 * 32 + 1)
#define LINE_2 (BOX + 4 * 32 + 1)
#define MARK (BOX + 4 * 32 + 18)
#define LINE_LENGTH 18

enum { TEXT_END, TEXT_LINE, TEXT_PAGE };        /* codes below the first tile number of the font */

uint8_t dialogue_open, story;
extern const uint8_t tile_space, tile_more;

static void clear_line(uint16_t address) {
    uint8_t i;
    queue_start(address, LINE_LENGTH);
    for (i = LINE_LENGTH; i; i--) {
        queue_byte(tile_space);
    }
    queue_end();
}

static void open_box(void) {
    dialogue_open = 1;
    clear_line(LINE_1);
    clear_line(LINE_2);
    draw_actors();
    next_frame();
    shadow_lcdc |= 0x20;
}

static void close_box(void) {
    dialogue_open = 0;
    shadow_lcdc &= ~0x20;
    draw_actors();
}

/* Type until the end of the page, two letters a frame; returns the code that ended it. */
static const uint8_t *type_page(const uint8_t *text) {
    uint16_t address = LINE_1;
    uint8_t parity = 0;
    for (; *text > TEXT_PAGE || *text == TEXT_LINE; text++) {
        if (*text == TEXT_LINE) {
            address = LINE_2;
            continue;
        }
        queue_start(address++, 1);
        queue_byte(*text);
        queue_end();
        parity ^= 1;
        if (!parity) {
            next_frame();
        }
    }
    next_frame();
    return text;
}

static void draw_mark(uint8_t tile) {
    queue_start(MARK, 1);
    queue_byte(tile);
    queue_end();
}

/* Wait for one of `keys`, the mark blinking. */
static void wait_for(uint8_t keys) {
    uint8_t frames = 0;
    do {
        if ((frames & 15) == 0) {
            draw_mark(frames & 16 ? tile_space : tile_more);
        }
        frames++;
        next_frame();
    } while (!(keys_pressed & keys));
    draw_mark(tile_space);
}

/* Show all pages; A (or B) turns a page and closes the last. Everybody else stands still meanwhile. */
void show_text(const uint8_t *text) {
    open_box();
    for (;;) {
        text = type_page(text);
        wait_for(KEY_A | KEY_B);
        if (*text == TEXT_END) {
            break;
        }
        text++;
        clear_line(LINE_1);
        clear_line(LINE_2);
        next_frame();
    }
    close_box();
}

void talk_to(uint8_t talk) {
    const line_t *line = talks[talk];
    while (line->stage != ANY_STAGE && line->stage != story) {
        line++;
    }
    show_text(line->text);
    if (line->next_stage != ANY_STAGE) {
        story = line->next_stage;
    }
}

/* START: where am I, and what is in the bag. Any button closes it. */
void show_menu(void) {
    const uint8_t *text = room->name;
    uint16_t address = LINE_1;
    open_box();
    for (; *text; text++) {
        queue_start(address++, 1);
        queue_byte(*text);
    }
    queue_end();
    next_frame();
    address = LINE_2;
    for (text = bag_texts[story]; *text; text++) {
        queue_start(address++, 1);
        queue_byte(*text);
    }
    queue_end();
    do {
        next_frame();
    } while (!keys_pressed);
    while (keys_held) {                         /* closing is all that this press does */
        next_frame();
    }
    close_box();
}
