/* Everybody who walks: the player, the villagers, and their sprites. */
#include "game.h"

actor_t actors[ACTORS_MAX];
uint8_t actor_count;
static uint8_t sprites_used;

static const uint8_t step_x[4] = { 0, 0, 0xff, 1 };
static const uint8_t step_y[4] = { 1, 0xff, 0, 0 };

static uint8_t actor_stands_at(uint8_t x, uint8_t y) {
    actor_t *actor = actors;
    uint8_t left;
    for (left = actor_count; left; left--) {
        if (actor->x == x && actor->y == y) {
            return 1;
        }
        actor++;
    }
    return 0;
}

/* Face a direction and, if the square there is free, begin to walk: 16 frames, one pixel each. */
uint8_t start_step(actor_t *actor, uint8_t direction) {
    uint8_t x = actor->x + step_x[direction], y = actor->y + step_y[direction];
    if (actor->facing != direction) {
        actor->facing = direction;
        oam_changed = 1;
    }
    if (square_is_solid(x, y) || actor_stands_at(x, y)) {
        return 0;
    }
    actor->x = x;
    actor->y = y;
    actor->steps = 16;
    actor->foot ^= 1;
    return 1;
}

/* Villagers stay within two squares of home and never stand on a warp. */
static uint8_t may_wander(actor_t *actor, uint8_t direction) {
    const warp_t *warp = room->warps;
    uint8_t x = actor->x + step_x[direction], y = actor->y + step_y[direction], left;
    if ((uint8_t)(x + 2 - actor->home_x) > 4 || (uint8_t)(y + 2 - actor->home_y) > 4) {
        return 0;
    }
    for (left = room->warp_count; left; left--) {
        if (warp->x == x && (warp->y == y || warp->to_y == y)) {
            return 0;
        }
        warp++;
    }
    return 1;
}

void move_people(void) {
    actor_t *actor = actors + 1;
    uint8_t left, direction;
    for (left = actor_count - 1; left; left--) {
        if (actor->steps) {
            actor->steps--;
            oam_changed = 1;
        } else if (actor->behaviour != STILL && --actor->timer == 0) {
            direction = random() & 3;
            actor->timer = 32 + (random() & 63);
            if (actor->behaviour == WANDERS && may_wander(actor, direction)) {
                start_step(actor, direction);
            } else {
                actor->facing = direction;
                oam_changed = 1;
            }
        }
        actor++;
    }
}

static void take_warp(const warp_t *warp) {
    play_effect(FX_DOOR);
    fade_out();
    satchel = 1;                                /* it hangs at the foot of the stairs */
    enter_room(warp->room, warp->to_x, warp->to_y, warp->facing);
}

/* Take the warp of the player's square whose condition is `when`, if there is one. */
static uint8_t try_warp(uint8_t when) {
    const warp_t *warp = room->warps;
    uint8_t left;
    for (left = room->warp_count; left; left--) {
        if (warp->x == actors[0].x && warp->y == actors[0].y && warp->when == when) {
            take_warp(warp);
            return 1;
        }
        warp++;
    }
    return 0;
}

/* Talk to the person, or read the sign, in front of the player. */
static void look_ahead(void) {
    uint8_t x = actors[0].x + step_x[actors[0].facing];
    uint8_t y = actors[0].y + step_y[actors[0].facing];
    const sign_t *sign = room->signs;
    actor_t *actor = actors + 1;
    uint8_t left;
    for (left = actor_count - 1; left; left--) {
        if (actor->x == x && actor->y == y) {
            if (!actor->steps) {
                actor->facing = actors[0].facing ^ 1;
                talk_to(actor->talk);
            }
            return;
        }
        actor++;
    }
    for (left = room->sign_count; left; left--) {
        if (sign->x == x && sign->y == y) {
            talk_to(sign->talk);
            return;
        }
        sign++;
    }
}

static void walk_player(uint8_t direction) {
    uint8_t old_x = camera_x, old_y = camera_y;
    if (try_warp(direction)) {
        return;
    }
    if (!start_step(actors, direction)) {
        if (keys_pressed & KEY_PAD) {
            play_effect(FX_BUMP);
        }
        return;
    }
    aim_camera();
    if (camera_x != old_x) {
        camera_dx = 16;
        draw_column(direction == LEFT ? camera_x : camera_x + SCREEN_COLUMNS - 1);
    } else if (camera_y != old_y) {
        camera_dy = 16;
        draw_row(direction == UP ? camera_y : camera_y + SCREEN_ROWS - 1);
    }
}

static void scroll(void) {
    uint8_t facing = actors[0].facing;
    if (camera_dx) {
        camera_dx--;
        shadow_scx = (uint8_t)(camera_x << 4) + (facing == LEFT ? camera_dx : -camera_dx);
    }
    if (camera_dy) {
        camera_dy--;
        shadow_scy = (uint8_t)(camera_y << 4) + (facing == UP ? camera_dy : -camera_dy);
    }
}

void move_player(void) {
    if (actors[0].steps) {
        oam_changed = 1;
        actors[0].steps--;
        scroll();
        if (actors[0].steps || try_warp(ON_STEP)) {
            return;
        }
    }
    if (keys_held & KEY_DOWN) {
        walk_player(DOWN);
    } else if (keys_held & KEY_UP) {
        walk_player(UP);
    } else if (keys_held & KEY_LEFT) {
        walk_player(LEFT);
    } else if (keys_held & KEY_RIGHT) {
        walk_player(RIGHT);
    } else if (keys_pressed & KEY_A) {
        look_ahead();
    } else if (keys_pressed & KEY_START) {
        if (satchel) {
            show_menu();
        } else {
            play_effect(FX_BUMP);
        }
    }
}

/* The parcel is carried on the head, for everyone to see. */
static uint8_t *draw_parcel(uint8_t *sprite, uint8_t x, uint8_t y) {
    *sprite++ = y;
    *sprite++ = x;
    *sprite++ = parcel_picture;
    *sprite++ = 0;
    *sprite++ = y;
    *sprite++ = x + 8;
    *sprite++ = parcel_picture + 2;
    *sprite++ = 0;
    return sprite;
}

/* Two 8x16 sprites for one actor. Poses: down, up, side; each standing, then
   walking for those who walk. */
static uint8_t *draw_actor(const actor_t *actor, uint8_t *sprite, uint8_t x, uint8_t y) {
    uint8_t facing = actor->facing, steps = actor->steps, attributes = actor->palette, tile;
    if (steps) {
        if (facing == DOWN) {
            y -= steps;
        } else if (facing == UP) {
            y += steps;
        } else if (facing == LEFT) {
            x += steps;
        } else {
            x -= steps;
        }
    }
    if (y >= 160 || x >= 168 || y > hide_below || x > hide_right_of) {
        return sprite;
    }
    if (story == STORY_PARCEL && actor == actors) {
        sprite = draw_parcel(sprite, x, steps > 8 ? y - 12 : y - 11);
    }
    tile = actor->picture;
    if (facing != DOWN) {
        tile += facing == UP ? 4 : 8;
        if (actor->behaviour == WANDERS) {      /* those who walk have two poses a side */
            tile += facing == UP ? 4 : 8;
        }
    }
    if (facing == RIGHT) {
        attributes |= 0x20;
    }
    if (steps > 8) {
        tile += 4;
        if (facing < LEFT && actor->foot) {
            attributes |= 0x20;
        }
    }
    *sprite++ = y;
    *sprite++ = x;
    if (attributes & 0x20) {
        *sprite++ = tile + 2;
    } else {
        *sprite++ = tile;
        tile += 2;
    }
    *sprite++ = attributes;
    *sprite++ = y;
    *sprite++ = x + 8;
    *sprite++ = tile;
    *sprite++ = attributes;
    return sprite;
}

void draw_actors(void) {
    const actor_t *actor = actors;
    uint8_t *sprite = oam;
    uint8_t left, x, y, used;
    uint8_t origin_x = 8 - shadow_scx, origin_y = 12 - shadow_scy;
    for (left = actor_count; left; left--) {
        x = actor->x - camera_x + 2;
        y = actor->y - camera_y + 2;
        if (x < 14 && y < 14) {
            x = (uint8_t)(actor->x << 4) + origin_x;
            y = (uint8_t)(actor->y << 4) + origin_y;
            sprite = draw_actor(actor, sprite, x, y);
        }
        actor++;
    }
    used = (uint8_t)sprite;
    for (; (uint8_t)sprite < sprites_used; sprite += 4) {
        *sprite = 0;
    }
    sprites_used = used;
    oam_changed = 1;
}
