/* Wasps that weave, beetles that bear much, flies that dive; they come faster in later gardens. */
#include "game.h"

#define FIRST_PAUSE 90                          /* frames between the first garden's waves */

static uint8_t pause, wave_kind, wave_left, wave_x, felled;

static const uint8_t weave[16] = {
    1, 1, 2, 2, 2, 2, 1, 1, 0xff, 0xff, 0xfe, 0xfe, 0xfe, 0xfe, 0xff, 0xff,
};

static void begin_wave(void) {
    uint8_t chance = random();
    wave_x = LANE_X(chance & 7);
    chance = random() & 7;
    if (chance < 4 || (!stage && chance < 6)) {
        wave_kind = WASP;
        wave_left = 2 + (stage > 0);
    } else if (chance < 6) {
        wave_kind = FLY;
        wave_left = 2 + stage;
    } else {
        wave_kind = BEETLE;
        wave_left = 1 + (stage > 1);
    }
}

/* Let the next foe of a wave in, at the top. */
void send_foes(void) {
    flyer_t *foe = foes;
    uint8_t left;
    if (pause) {
        pause--;
        return;
    }
    if (!wave_left) {
        begin_wave();
        pause = stage ? 50 - (stage << 3) : FIRST_PAUSE;
        return;
    }
    for (left = FOES_MAX; left; left--, foe++) {
        if (foe->kind == NOBODY) {
            foe->kind = wave_kind;
            foe->x = wave_kind == FLY ? 20 + (random() & 127) : wave_x;
            foe->y = 2;
            foe->timer = 0;
            foe->health = wave_kind == BEETLE ? 4 : 1;
            foe->dy = 0;
            wave_left--;
            break;
        }
    }
    pause = wave_kind == WASP ? 14 : 30;
}

static void move_foe(flyer_t *foe) {
    foe->timer++;
    if (foe->kind == WASP) {
        foe->y += 1;
        if (stage) {
            foe->x += weave[(foe->timer >> 2) & 15];
        }
        if (stage && foe->timer == 48 && !(random() & 1)) {
            sting_from(foe->x + 4, foe->y + 8, 0, 2);
        }
    } else if (foe->kind == BEETLE) {
        foe->y += foe->timer & 1;
        if ((foe->timer & 63) == 40) {
            sting_from(foe->x, foe->y + 8, 0xff, 2);
            sting_from(foe->x + 8, foe->y + 8, 1, 2);
        }
    } else if (foe->timer < 40) {               /* a fly hovers and aims, then dives */
        if (foe->y < 36) {
            foe->y += 2;
        }
        foe->x += foe->x < bee_x ? 1 : foe->x > bee_x ? 0xff : 0;
    } else {
        foe->y += 3;
    }
    if (foe->y > FLOOR_Y + 8) {
        foe->kind = NOBODY;
    }
}

static void fell(flyer_t *foe) {
    burst_at(foe->x, foe->y);
    add_score(foe->kind == BEETLE ? 3 : 1);
    if (foe->kind == BEETLE || ++felled == 2) {
        felled = 0;
        drop_at(foe->x, foe->y);
    }
    foe->kind = NOBODY;
}

static void meet_shots(flyer_t *foe) {
    flyer_t *shot = shots;
    uint8_t left, x = foe->x + 4, y = foe->y;
    for (left = SHOTS_MAX; left; left--, shot++) {
        if (shot->kind && is_near(shot, x, y, 10)) {
            shot->kind = NOBODY;
            if (--foe->health == 0) {
                fell(foe);
                return;
            }
            play_effect(FX_HIT);
        }
    }
}

void move_foes(void) {
    flyer_t *foe = foes;
    uint8_t left;
    for (left = FOES_MAX; left; left--, foe++) {
        if (!foe->kind) {
            continue;
        }
        move_foe(foe);
        if ((left ^ clock) & 1) {               /* half of them each frame */
            meet_shots(foe);
            if (foe->kind && is_near(foe, bee_x, bee_y, 10)) {
                hurt_bee();
                fell(foe);
            }
        }
    }
}
