/* The ground: a garden of 20x32 tiles that joins itself, so scrolling costs one register. */
#include "game.h"

#define MAP_TILES    640
#define GROUP_TILES  8                          /* copied from a bank, then uploaded */

extern const uint8_t stage_0_tiles[], stage_0_map[], stage_1_tiles[], stage_1_map[];
extern const uint8_t stage_2_tiles[], stage_2_map[];

typedef struct { uint8_t bank; const uint8_t *tiles, *map; } ground_t;

static const ground_t grounds[STAGES] = {
    { 2, stage_0_tiles, stage_0_map },
    { 2, stage_1_tiles, stage_1_map },
    { 3, stage_2_tiles, stage_2_map },
};

static uint8_t group[16 * GROUP_TILES];

/* Songs and other tables lie in bank 1: other banks are only mapped while this copies. */
static void copy_from_bank(uint8_t bank, const uint8_t *from, uint8_t count) {
    uint8_t *to = group;
    *(volatile uint8_t *)0x2000 = bank;
    while (count--) {
        *to++ = *from++;
    }
    *(volatile uint8_t *)0x2000 = 1;
}

/* The screen must be white. */
void load_ground(uint8_t number) {
    const ground_t *ground = &grounds[number];
    uint8_t i, row;
    uint16_t at = 0;
    for (i = 0; i != 128; i += GROUP_TILES) {
        copy_from_bank(ground->bank, ground->tiles + at, 16 * GROUP_TILES);
        load_tiles(0x9000 + at, group, GROUP_TILES);
        at += 16 * GROUP_TILES;
    }
    at = 0;
    for (row = 0; row != 32; row++) {
        copy_from_bank(ground->bank, ground->map + at, 20);
        queue_start(0x9800 + ((uint16_t)row << 5), 20);
        for (i = 0; i != 20; i++) {
            queue_byte(group[i]);
        }
        queue_end();
        if (row & 1) {
            next_frame();
        }
        at += 20;
    }
    shadow_scx = shadow_scy = 0;
}

/* A pixel a frame, faster in later gardens. */
void scroll_ground(void) {
    shadow_scy -= stage == 0 ? 1 : (clock & 1) + stage;
}
