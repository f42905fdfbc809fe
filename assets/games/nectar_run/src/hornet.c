/* The hornet at the end of each garden: it hovers and stings, and flees from where it was hit. */
#include "game.h"

#define CELL       2                            /* health in a cell of its meter */
#define TOP_Y      36
#define ABOVE(lane) (LANE_X(lane) - 8)          /* of whoever flies in that lane */

uint8_t hornet_health, hornet_cell, hornet_x, hornet_y, hornet_shines;
static uint8_t target_x, timer, hits;

/* To one of the three lanes at the side where the bee is not. */
static void flee(void) {
    uint8_t lane = random() & 3;
    if (lane == 3) {
        lane = 1;
    }
    target_x = ABOVE(bee_x < LANE_X(4) ? 7 - lane : lane);
    hits = 0;
}

void begin_hornet(void) {
    hornet_cell = CELL + stage;
    hornet_health = hornet_cell << 3;
    hornet_x = ABOVE(random() & 7);
    hornet_y = 0;
    timer = 0;
    flee();
}

static void fly(void) {
    uint8_t left = stage ? 2 + (timer & 1) : 2;
    for (; left && hornet_x != target_x; left--) {
        hornet_x += hornet_x < target_x ? 1 : 0xff;
    }
    if ((timer & 127) == 0) {
        flee();
    }
}

static void sting(void) {
    uint8_t x = hornet_x + 12, y = hornet_y + 28;
    if (stage && (timer & 63) == 20) {
        sting_from(x, y, 0, 2);
        sting_from(x, y, 0xff, 2);
        sting_from(x, y, 1, 2);
    }
    if ((timer & 63) == 52) {                   /* one at the bee */
        sting_from(x, y, bee_x + 12 < x ? 0xff : bee_x > x + 12 ? 1 : 0, 3);
    }
}

static void meet_shots(void) {
    flyer_t *shot = shots;
    uint8_t left;
    for (left = SHOTS_MAX; left; left--, shot++) {
        if (shot->kind && is_near(shot, hornet_x + 12, hornet_y + 6, 14)) {
            shot->kind = NOBODY;
            hornet_shines = 6;
            play_effect(FX_HIT);
            add_score(1);
            if (--hornet_health == 0) {
                burst_at(hornet_x, hornet_y);
                burst_at(hornet_x + 16, hornet_y + 14);
                burst_at(hornet_x + 16, hornet_y);
                burst_at(hornet_x, hornet_y + 14);
                add_score(50);
                return;
            }
            if (++hits == hornet_cell) {
                flee();
            }
        }
    }
}

void move_hornet(void) {
    timer++;
    if (hornet_shines) {
        hornet_shines--;
    }
    if (hornet_y < TOP_Y) {
        hornet_y++;
        return;
    }
    fly();
    sting();
    meet_shots();
    if ((uint8_t)(bee_x - hornet_x + 10) < 36 && (uint8_t)(bee_y - hornet_y + 8) < 32) {
        hurt_bee();
    }
}

uint8_t *draw_hornet(uint8_t *sprite) {
    uint8_t row, column, tile = sprite_hornet;
    uint8_t palette = hornet_shines & 2 ? 0x10 : 0;
    for (row = 0; row != 32; row += 16) {
        for (column = 0; column != 32; column += 8) {
            *sprite++ = hornet_y + row;
            *sprite++ = hornet_x + column;
            *sprite++ = tile;
            *sprite++ = palette;
            tile += 2;
        }
    }
    return sprite;
}
