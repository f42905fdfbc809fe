/* The diary: where the player stood, kept in work RAM that a restart does not clear. The cartridge
   has no battery, so it lasts until the power goes off (A+B+SELECT+START restarts). */
#include "game.h"

#define DIARY_BYTES 7
#define SEAL 0x5a

__at(0xde00) static uint8_t diary[DIARY_BYTES];

static uint8_t seal(void) {
    uint8_t i, sum = SEAL;
    for (i = 0; i != DIARY_BYTES - 1; i++) {
        sum = (uint8_t)(sum << 1 | sum >> 7) ^ diary[i];
    }
    return sum;
}

uint8_t diary_is_written(void) {
    return diary[0] == 0x50 && diary[DIARY_BYTES - 1] == seal();
}

void write_diary(void) {
    diary[0] = 0x50;
    diary[1] = story;
    diary[2] = room_number;
    diary[3] = actors[0].x;
    diary[4] = actors[0].y;
    diary[5] = actors[0].facing;
    diary[DIARY_BYTES - 1] = seal();
}

void read_diary(void) {
    story = diary[1];
    satchel = 1;                                /* the diary is kept in it */
    enter_room(diary[2], diary[3], diary[4], diary[5]);
}
