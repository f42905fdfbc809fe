/* Rooms: the camera, drawing squares into the background map, and entering through a warp. */
#include "game.h"

const room_t *room;
uint8_t room_number;
uint8_t camera_x, camera_y;                     /* square at the top left of the screen */
uint8_t camera_dx, camera_dy;                   /* pixels still to scroll towards it */
static uint8_t tileset_now;                     /* number + 1; 0 is none */
#define GATHERED_TILES 8                        /* divides 128 */
static uint8_t gather_buffer[16 * GATHERED_TILES];
static uint8_t upper[2 * SCREEN_COLUMNS], lower[2 * SCREEN_COLUMNS];

/* A set is runs of the pool: number of the first tile (low, high), how many. Sets share tiles, so
   runs are short: they are gathered here first, as many tiles as one VBlank can upload. The first
   128 tiles fill block 9000, the others follow the common tiles in block 8800. */
void load_tileset(uint8_t number) {
    const tileset_t *set = &tilesets[number];
    const uint8_t *run = set->runs, *tile = 0;
    uint8_t *to, i, gathered, in_run = 0, loaded = 0;
    uint16_t address = 0x9000;
    tileset_now = number + 1;
    while (loaded != set->tile_count) {
        to = gather_buffer;
        for (gathered = 0; gathered != GATHERED_TILES && loaded != set->tile_count; gathered++) {
            if (!in_run) {
                tile = tile_pool + (((uint16_t)run[1] << 8 | run[0]) << 4);
                in_run = run[2];
                run += 3;
            }
            for (i = 16; i; i--) {
                *to++ = *tile++;
            }
            in_run--;
            loaded++;
        }
        load_tiles(address, gather_buffer, gathered);
        address += (uint16_t)gathered << 4;
        if (address == 0x9800) {
            address = 0x8800 + ((uint16_t)common_tile_count << 4);
        }
    }
}

static const uint8_t *row_of(uint8_t y) {
    const uint8_t *at = room->squares;
    while (y--) {
        at += room->width;
    }
    return at;
}

uint8_t square_is_solid(uint8_t x, uint8_t y) {
    if (x >= room->width || y >= room->height) {
        return 1;                               /* -1 wraps to 255 */
    }
    return room->solid[row_of(y)[x]];
}

/* Queue `count` tiles from `tiles`, split where the 32x32 map wraps. */
static void queue_wrapped(uint8_t column, uint8_t line, const uint8_t *tiles, uint8_t count,
                          uint8_t downwards) {
    uint16_t address = 0x9800 + ((uint16_t)line << 5) + column;
    uint8_t first = 32 - (downwards ? line : column);
    uint8_t i;
    if (first > count) {
        first = count;
    }
    queue_start(address, first | downwards);
    for (i = 0; i != first; i++) {
        queue_byte(*tiles++);
    }
    if (first != count) {
        queue_start(downwards ? 0x9800 + column : address - column, (count - first) | downwards);
        for (; i != count; i++) {
            queue_byte(*tiles++);
        }
    }
    queue_end();
}

/* Queue the squares of map row y that the camera sees. */
void draw_row(uint8_t y) {
    const uint8_t *at = row_of(y) + camera_x;
    uint8_t i = 0, column = (uint8_t)(camera_x << 1) & 31, line = (uint8_t)(y << 1) & 31;
    while (i != 2 * SCREEN_COLUMNS) {
        uint8_t square = *at++;
        upper[i] = room->top_left[square];
        lower[i++] = room->bottom_left[square];
        upper[i] = room->top_right[square];
        lower[i++] = room->bottom_right[square];
    }
    queue_wrapped(column, line, upper, 2 * SCREEN_COLUMNS, 0);
    queue_wrapped(column, line + 1, lower, 2 * SCREEN_COLUMNS, 0);
}

/* Queue the squares of map column x that the camera sees. */
void draw_column(uint8_t x) {
    const uint8_t *at = row_of(camera_y) + x;
    uint8_t i = 0, column = (uint8_t)(x << 1) & 31, line = (uint8_t)(camera_y << 1) & 31;
    while (i != 2 * SCREEN_ROWS) {
        uint8_t square = *at;
        at += room->width;
        upper[i] = room->top_left[square];
        lower[i++] = room->top_right[square];
        upper[i] = room->bottom_left[square];
        lower[i++] = room->bottom_right[square];
    }
    queue_wrapped(column, line, upper, 2 * SCREEN_ROWS, 0x80);
    queue_wrapped(column + 1, line, lower, 2 * SCREEN_ROWS, 0x80);
}

static uint8_t aim(uint8_t at, uint8_t margin, uint8_t room_size, uint8_t screen_size) {
    uint8_t most = room_size - screen_size;
    at = at > margin ? at - margin : 0;
    return at > most ? most : at;
}

/* Put the camera where the player stands, clamped to the room. */
void aim_camera(void) {
    camera_x = aim(actors[0].x, 4, room->width, SCREEN_COLUMNS);
    camera_y = aim(actors[0].y, 4, room->height, SCREEN_ROWS);
}

static void place_people(void) {
    const person_t *person = room->people;
    actor_t *actor = actors + 1;
    uint8_t left;
    for (left = room->person_count; left; left--) {
        actor->x = actor->home_x = person->x;
        actor->y = actor->home_y = person->y;
        actor->facing = person->facing;
        actor->picture = person->picture;
        actor->palette = person->palette;
        actor->behaviour = person->behaviour;
        actor->talk = person->talk;
        actor->steps = 0;
        actor->timer = 16 + (random() & 63);
        actor++;
        person++;
    }
    actor_count = 1 + room->person_count;
}

/* The screen must be faded out. Draws the room and fades in. */
void enter_room(uint8_t number, uint8_t x, uint8_t y, uint8_t facing) {
    uint8_t i;
    room = &rooms[number];
    room_number = number;
    play_song(room->song);
    if (tileset_now != room->tileset + 1) {
        load_tileset(room->tileset);
    }
    actors[0].x = x;
    actors[0].y = y;
    actors[0].facing = facing;
    actors[0].steps = 0;
    place_people();
    aim_camera();
    camera_dx = camera_dy = 0;
    shadow_scx = camera_x << 4;
    shadow_scy = camera_y << 4;
    for (i = 0; i != SCREEN_ROWS; i++) {
        draw_row(camera_y + i);
        if (i & 1) {
            next_frame();
        }
    }
    draw_actors();
    fade_in();
}
