/* A level: ten by eight squares below a row of text, a mirror down the middle, two moths. */
#include "game.h"

#define TOP        2                            /* lines of text above the board */
#define STEP       2                            /* pixels a frame while flying */

uint8_t level, candles, wick;
uint16_t score, best;
place_t moths[2];
static uint8_t squares[WIDTH * HEIGHT];
static place_t from[2];
static uint8_t full_wick, gates_open;

static uint8_t *square_at(uint8_t x, uint8_t y) {
    return squares + (uint8_t)(y * WIDTH) + x;
}

static void draw_square(uint8_t x, uint8_t y) {
    uint8_t column = x << 1, line = (y << 1) + TOP;
    uint16_t kind = *square_at(x, y);
    const uint8_t *tiles;
    if (x == HALF - 1) {
        kind += KINDS;
    } else if (x == HALF) {
        kind += 2 * KINDS;
    }
    tiles = square_tiles + (kind << 2);
    put_tile(column, line, tiles[0]);
    put_tile(column + 1, line, tiles[1]);
    put_tile(column, line + 1, tiles[2]);
    put_tile(column + 1, line + 1, tiles[3]);
}

static void draw_status(void) {
    uint8_t i;
    put_text(0, 0, text_level);
    put_number(6, 0, level + 1, 2);
    put_text(9, 0, text_wick);
    put_number(14, 0, wick, 2);
    for (i = 0; i != CANDLES; i++) {
        put_tile(17 + i, 0, i < candles ? tile_candle : tile_burnt);
    }
}

static uint8_t *put_moth(uint8_t *sprite, uint8_t x, uint8_t y, uint8_t palette) {
    uint8_t tile = clock & 8 ? 4 : 0;
    *sprite++ = y;
    *sprite++ = x;
    *sprite++ = tile;
    *sprite++ = palette;
    *sprite++ = y;
    *sprite++ = x + 8;
    *sprite++ = tile + 2;
    *sprite++ = palette;
    return sprite;
}

/* Between where the moths were and where they are, `left` pixels to go. */
static void draw_moths(uint8_t left) {
    uint8_t i, x, y, *sprite = oam;
    for (i = 0; i != 2; i++) {
        x = (moths[i].x << 4) + 8;
        y = (moths[i].y << 4) + 16 + 8 * TOP;
        if (moths[i].x > from[i].x) {
            x -= left;
        } else if (moths[i].x < from[i].x) {
            x += left;
        }
        if (moths[i].y > from[i].y) {
            y -= left;
        } else if (moths[i].y < from[i].y) {
            y += left;
        }
        sprite = put_moth(sprite, x, y, i ? 0x10 : 0);
    }
}

/* Put the moths and the leaves back; the wick stays as it is. */
static void set_out(void) {
    const uint8_t *data = levels + level * (uint16_t)LEVEL_BYTES;
    uint8_t i;
    for (i = 0; i != 2; i++) {
        moths[i].x = data[1 + (i << 1)];
        moths[i].y = data[2 + (i << 1)];
        from[i] = moths[i];
    }
    for (i = 0; i != WIDTH * HEIGHT; i++) {
        squares[i] = data[5 + i];
    }
    gates_open = 0;
    full_wick = data[0];
}

static void draw_board(void) {
    uint8_t x, y;
    for (y = 0; y != HEIGHT; y++) {
        for (x = 0; x != WIDTH; x++) {
            draw_square(x, y);
        }
    }
}

void open_level(void) {
    screen_off();
    copy_tiles(0x9000, board_tiles, board_tile_count);
    clear_screen();
    set_out();
    wick = full_wick;
    draw_board();
    draw_status();
    hide_sprites();
    draw_moths(0);
    screen_on();
}

static void set_gates(uint8_t is_open) {
    uint8_t x, y, *square = squares;
    if (is_open == gates_open) {
        return;
    }
    gates_open = is_open;
    play_effect(FX_GATE);
    for (y = 0; y != HEIGHT; y++) {
        for (x = 0; x != WIDTH; x++) {
            if (*square == GATE || *square == GATE_OPEN) {
                *square = is_open ? GATE_OPEN : GATE;
                draw_square(x, y);
            }
            square++;
        }
    }
}

/* Where moth `i` may fly: one square on if nothing is in its way. */
static uint8_t fly(uint8_t i, uint8_t dx, uint8_t dy) {
    uint8_t x = moths[i].x + dx, y = moths[i].y + dy, kind;
    if (y >= HEIGHT || (i ? x < HALF || x >= WIDTH : x >= HALF)) {
        return 0;
    }
    kind = *square_at(x, y);
    if (kind == POT || kind == HOLE || kind == GATE) {
        return 0;
    }
    moths[i].x = x;
    moths[i].y = y;
    return 1;
}

static uint8_t kind_below(uint8_t i) {
    return *square_at(moths[i].x, moths[i].y);
}

static void fall_behind(uint8_t i) {
    uint8_t *square = square_at(from[i].x, from[i].y);
    if (*square == LEAF && (from[i].x != moths[i].x || from[i].y != moths[i].y)) {
        *square = HOLE;
        draw_square(from[i].x, from[i].y);
    }
}

static void pay(uint8_t moves) {
    wick = wick > moves ? wick - moves : 0;
    put_number(14, 0, wick, 2);
}

/* Both moths fly, the right one mirrored. */
static void fly_both(uint8_t dx, uint8_t dy) {
    uint8_t left, moved;
    from[0] = moths[0];
    from[1] = moths[1];
    moved = fly(0, dx, dy);
    moved |= fly(1, -dx, dy);
    if (!moved) {
        play_effect(FX_BUMP);
        return;
    }
    play_effect(FX_FLUTTER);
    for (left = 16; left; left -= STEP) {
        draw_moths(left - STEP);
        next_frame();
    }
    pay(1);
    fall_behind(0);
    fall_behind(1);
    from[0] = moths[0];
    from[1] = moths[1];
    if (kind_below(0) == THORNS || kind_below(1) == THORNS) {
        play_effect(FX_THORN);
        for (left = 24; left; left--) {
            next_frame();
        }
        pay(THORN_COST);
        set_out();
        draw_board();
    }
    set_gates(kind_below(0) == PLATE || kind_below(1) == PLATE);
}

static uint8_t is_solved(void) {
    return kind_below(0) == LAMP && kind_below(1) == LAMP;
}

/* Both lamps burn; the row above says so until A is pressed. */
static void shine(void) {
    uint8_t i;
    for (i = 0; i != 2; i++) {
        *square_at(moths[i].x, moths[i].y) = LAMP_LIT;
        draw_square(moths[i].x, moths[i].y);
    }
    hide_sprites();
    play_song(&song_bright);
    for (i = 0; i != 20; i++) {
        put_tile(i, 0, tile_space);
    }
    put_text(1, 0, text_bright);
    put_text(12, 0, text_press_a);
    do {
        next_frame();
    } while (!(keys_pressed & KEY_A));
}

uint8_t play_level(void) {
    play_song(&song_night);
    while (wick) {
        next_frame();
        draw_moths(0);
        if (keys_held & KEY_LEFT) {
            fly_both(0xff, 0);
        } else if (keys_held & KEY_RIGHT) {
            fly_both(1, 0);
        } else if (keys_held & KEY_UP) {
            fly_both(0, 0xff);
        } else if (keys_held & KEY_DOWN) {
            fly_both(0, 1);
        } else if (keys_pressed & KEY_START) {
            set_out();
            draw_board();
        }
        if (is_solved()) {
            score += 100 + 10 * (uint16_t)wick;
            shine();
            return 1;
        }
    }
    return 0;
}
