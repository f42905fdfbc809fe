/* The frame clock, the joypad, and everything that is queued for the VBlank handler in crt0.s. */
#include "game.h"

__sfr __at(0x00) P1;
__sfr __at(0x0f) IF;
__sfr __at(0x40) LCDC;
__sfr __at(0x44) LY;
__sfr __at(0x47) BGP;
__sfr __at(0x4a) WY;
__sfr __at(0x4b) WX;
__sfr __at(0xff) IE;

#define TILES_PER_FRAME 10                      /* what fits into VBlank beside a full queue run */

uint8_t vram_queue[128];
static uint8_t *queue_at;
volatile uint8_t frame_ready;
uint8_t oam_changed, upload_tiles;
const uint8_t *upload_source;
uint8_t *upload_target;
uint8_t shadow_scx, shadow_scy, shadow_bgp, shadow_obp0, shadow_obp1, shadow_lcdc;
uint8_t keys_held, keys_pressed, clock;

static const uint8_t fade_bgp[4] = { 0xe4, 0x90, 0x40, 0x00 };
static const uint8_t fade_obp0[4] = { 0xd0, 0x80, 0x40, 0x00 };
static const uint8_t fade_obp1[4] = { 0xe0, 0x90, 0x40, 0x00 };

/* Hand the prepared frame over, sleep until it is on the screen, read the buttons. */
void next_frame(void) {
    uint8_t now;
    queue_at = vram_queue;
    frame_ready = 1;
    while (frame_ready) {
        __asm__("halt\nnop");
    }
    clock++;
    P1 = 0x20;
    now = P1;
    now = P1;
    now = ~now & 0x0f;
    P1 = 0x10;
    keys_pressed = P1;
    keys_pressed = P1;
    now |= (uint8_t)(~keys_pressed << 4);
    P1 = 0x30;
    keys_pressed = now & ~keys_held;
    keys_held = now;
}

/* Begin a run of `count` tile numbers at a VRAM address; count + 0x80 runs downwards. */
void queue_start(uint16_t address, uint8_t count) {
    *queue_at++ = address >> 8;
    *queue_at++ = (uint8_t)address;
    *queue_at++ = count;
}

void queue_byte(uint8_t value) {
    *queue_at++ = value;
}

/* Close the queue; further runs may still be added and close it again. */
void queue_end(void) {
    *queue_at = 0;
}

void queue_tiles(uint16_t address, const uint8_t *tiles, uint8_t count) {
    upload_source = tiles;
    upload_target = (uint8_t *)address;
    upload_tiles = count;
}

/* Upload any number of tiles, a few per VBlank; returns when all are in VRAM. */
void load_tiles(uint16_t address, const uint8_t *tiles, uint8_t count) {
    queue_tiles(address, tiles, 0);
    while (count) {
        upload_tiles = count < TILES_PER_FRAME ? count : TILES_PER_FRAME;
        count -= upload_tiles;
        next_frame();
    }
}

/* A set has block 9000 (128 tiles) to itself and goes on behind the common tiles. */
void load_tileset(uint8_t number) {
    const tileset_t *set = &tilesets[number];
    uint8_t first = set->tile_count < 128 ? set->tile_count : 128;
    load_tiles(0x9000, set->tiles, first);
    load_tiles(0x8800 + ((uint16_t)common_tile_count << 4), set->tiles + 2048,
               set->tile_count - first);
}

static void set_fade(uint8_t level) {
    shadow_bgp = fade_bgp[level];
    shadow_obp0 = fade_obp0[level];
    shadow_obp1 = fade_obp1[level];
    next_frame();
}

void fade_out(void) {
    set_fade(1);
    next_frame();
    set_fade(2);
    next_frame();
    set_fade(3);
}

void fade_in(void) {
    set_fade(2);
    next_frame();
    set_fade(1);
    next_frame();
    set_fade(0);
}

/* White screen, common tiles and sprites in VRAM, VBlank interrupt on. */
void screen_init(void) {
    while (LY != 144) {
    }
    BGP = 0;
    WX = 7;
    WY = 96;
    shadow_lcdc = 0x87;                         /* BG 9800, tiles 8800, sprites 8x16, window 9C00 */
    shadow_lcdc |= 0x40;
    LCDC = shadow_lcdc;
    frame_ready = 0;
    queue_at = vram_queue;
    IF = 0;
    IE = 0x01;
    __asm__("ei");
    oam_changed = 1;
    next_frame();
    load_tiles(0x8800, common_tiles, common_tile_count);
    load_tiles(0x8000, sprite_tiles, sprite_tile_count);
}
