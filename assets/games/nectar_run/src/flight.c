/* The bee, what it shoots and gathers, what hurts it; and everything's place in OAM. */
#include "game.h"

#define BEE_SPEED    2
#define SHOT_SPEED   5
#define SHOT_PAUSE   7                          /* frames between shots while A is held */
#define UNHURT_AFTER 90

uint8_t bee_x, bee_y, stage, lives, jar, power, unhurt;
static uint8_t shot_pause;
flyer_t shots[SHOTS_MAX], foes[FOES_MAX], stings[STINGS_MAX], drops[DROPS_MAX], blasts[BLASTS_MAX];

static void clear(flyer_t *things, uint8_t count) {
    while (count--) {
        things->kind = NOBODY;
        things++;
    }
}

void begin_flight(void) {
    clear(shots, SHOTS_MAX);
    clear(foes, FOES_MAX);
    clear(stings, STINGS_MAX);
    clear(drops, DROPS_MAX);
    clear(blasts, BLASTS_MAX);
    bee_x = LANE_X(3);
    bee_y = 112;
    shot_pause = 0;
    unhurt = UNHURT_AFTER;
}

static flyer_t *free_of(flyer_t *things, uint8_t count) {
    while (count--) {
        if (things->kind == NOBODY) {
            return things;
        }
        things++;
    }
    return 0;
}

static void shoot(uint8_t x) {
    flyer_t *shot = free_of(shots, SHOTS_MAX);
    if (shot) {
        shot->kind = 1;
        shot->x = x;
        shot->y = bee_y - 8;
        shot_pause = SHOT_PAUSE;
        play_effect(FX_SHOOT);
    }
}

void move_bee(void) {
    if ((keys_held & KEY_LEFT) && bee_x > LANE_X(0)) {
        bee_x -= BEE_SPEED;
    }
    if ((keys_held & KEY_RIGHT) && bee_x < LANE_X(7)) {
        bee_x += BEE_SPEED;
    }
    if ((keys_held & KEY_UP) && bee_y > 48) {
        bee_y -= BEE_SPEED;
    }
    if ((keys_held & KEY_DOWN) && bee_y < 128) {
        bee_y += BEE_SPEED;
    }
    if (unhurt) {
        unhurt--;
    }
    if (shot_pause) {
        shot_pause--;
    } else if (keys_held & KEY_A) {
        if (power < 4) {
            shoot(bee_x + 4);
        } else {
            shoot(bee_x);
            shoot(bee_x + 8);
        }
    }
}

uint8_t is_near(const flyer_t *thing, uint8_t x, uint8_t y, uint8_t reach) {
    return (uint8_t)(thing->x - x + reach) < (uint8_t)(reach << 1)
        && (uint8_t)(thing->y - y + reach) < (uint8_t)(reach << 1);
}

void sting_from(uint8_t x, uint8_t y, uint8_t dx, uint8_t dy) {
    flyer_t *sting = free_of(stings, STINGS_MAX);
    if (sting) {
        sting->kind = 1;
        sting->x = x;
        sting->y = y;
        sting->dx = dx;
        sting->dy = dy;
    }
}

void burst_at(uint8_t x, uint8_t y) {
    flyer_t *blast = free_of(blasts, BLASTS_MAX);
    play_effect(FX_BURST);
    if (blast) {
        blast->kind = 1;
        blast->x = x;
        blast->y = y;
        blast->timer = 18;
    }
}

void drop_at(uint8_t x, uint8_t y) {
    flyer_t *drop = free_of(drops, DROPS_MAX);
    if (drop) {
        drop->kind = 1;
        drop->x = x;
        drop->y = y;
        drop->dx = random() & 1 ? 1 : 0xff;
    }
}

void hurt_bee(void) {
    if (unhurt) {
        return;
    }
    burst_at(bee_x, bee_y);
    play_effect(FX_HURT);
    lives--;
    power = power < 4 ? 0 : power - 4;
    unhurt = UNHURT_AFTER;
    status_changed = 1;
}

static void gather(flyer_t *drop) {
    drop->kind = NOBODY;
    play_effect(FX_DROP);
    add_score(5);
    if (jar != JAR_CELLS) {
        jar++;
    }
    if (power != 8) {
        power++;
    }
    status_changed = 1;
}

void move_things(void) {
    flyer_t *thing;
    uint8_t left;
    for (thing = shots, left = SHOTS_MAX; left; left--, thing++) {
        if (thing->kind) {
            thing->y -= SHOT_SPEED;
            if (thing->y < 8 || thing->y > 170) {
                thing->kind = NOBODY;
            }
        }
    }
    for (thing = stings, left = STINGS_MAX; left; left--, thing++) {
        if (thing->kind) {
            thing->x += thing->dx;
            thing->y += thing->dy;
            if (thing->y > FLOOR_Y + 8 || thing->x < 4 || thing->x > 166) {
                thing->kind = NOBODY;
            } else if (is_near(thing, bee_x + 4, bee_y, 6)) {
                thing->kind = NOBODY;
                hurt_bee();
            }
        }
    }
    for (thing = drops, left = DROPS_MAX; left; left--, thing++) {
        if (thing->kind) {
            thing->y += stage ? 1 : 2;
            if (stage && (clock & 1)) {         /* in later gardens the wind carries it */
                thing->x += thing->dx;
            }
            if (thing->x < 18 || thing->x > 142) {
                thing->dx = -thing->dx;
                thing->x += thing->dx;
            }
            if (thing->y > FLOOR_Y + 8) {
                thing->kind = NOBODY;
            } else if (is_near(thing, bee_x, bee_y, 12)) {
                gather(thing);
            }
        }
    }
    for (thing = blasts, left = BLASTS_MAX; left; left--, thing++) {
        if (thing->kind && --thing->timer == 0) {
            thing->kind = NOBODY;
        }
    }
}

static uint8_t *put(uint8_t *sprite, uint8_t x, uint8_t y, uint8_t tile) {
    *sprite++ = y;
    *sprite++ = x;
    *sprite++ = tile;
    *sprite++ = 0;
    return sprite;
}

static uint8_t *put_pair(uint8_t *sprite, uint8_t x, uint8_t y, uint8_t tile) {
    return put(put(sprite, x, y, tile), x + 8, y, tile + 2);
}

void draw_everything(void) {
    uint8_t *sprite = oam;
    const flyer_t *thing;
    uint8_t left, flap = (clock & 4) ? 4 : 0;
    sprite = put_pair(sprite, bee_x, bee_y, (unhurt & 4 ? sprite_pale_bee : sprite_bee) + flap);
    if (unhurt & 4) {
        oam[3] = oam[7] = 0x10;                 /* its grey is dark in the other palette */
    }
    for (thing = drops, left = DROPS_MAX; left; left--, thing++) {
        if (thing->kind) {
            sprite = put_pair(sprite, thing->x, thing->y, sprite_drop + ((clock & 8) ? 4 : 0));
        }
    }
    for (thing = stings, left = STINGS_MAX; left; left--, thing++) {
        if (thing->kind) {
            sprite = put(sprite, thing->x, thing->y, sprite_sting);
        }
    }
    if (hornet_health) {
        sprite = draw_hornet(sprite);
    }
    for (thing = foes, left = FOES_MAX; left; left--, thing++) {
        if (thing->kind) {
            uint8_t tile = thing->kind == WASP ? sprite_wasp
                         : thing->kind == BEETLE ? sprite_beetle : sprite_fly;
            sprite = put_pair(sprite, thing->x, thing->y, tile + flap);
        }
    }
    for (thing = shots, left = SHOTS_MAX; left; left--, thing++) {
        if (thing->kind) {
            sprite = put(sprite, thing->x, thing->y, sprite_shot);
        }
    }
    for (thing = blasts, left = BLASTS_MAX; left && sprite <= oam + 152; left--, thing++) {
        if (thing->kind) {
            sprite = put_pair(sprite, thing->x, thing->y,
                              sprite_blast + (thing->timer > 12 ? 0 : thing->timer > 6 ? 4 : 8));
        }
    }
    while (sprite != oam + 160) {
        *sprite = 0;
        sprite += 4;
    }
    oam_changed = 1;
}
