/* The frame clock, the joypad, and everything that is queued for the VBlank handler in crt0.s. */
#include "screen.h"
#include "sound.h"

__sfr __at(0x00) P1;
__sfr __at(0x04) DIV;
__sfr __at(0x0f) IF;
__sfr __at(0x40) LCDC;
__sfr __at(0x44) LY;
__sfr __at(0x47) BGP;
__sfr __at(0xff) IE;

#define TILES_PER_FRAME 10                      /* what fits into VBlank beside a full queue run */

__at(0xc000) uint8_t oam[160];
uint8_t vram_queue[128];
static uint8_t *queue_at;
volatile uint8_t frame_ready, frame_noise;
static uint8_t random_state;
uint8_t oam_changed, upload_tiles;
const uint8_t *upload_source;
uint8_t *upload_target;
uint8_t shadow_scx, shadow_scy, shadow_bgp, shadow_obp0, shadow_obp1, shadow_lcdc, shadow_wx, shadow_wy;
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
    sound_tick();
}

/* Eight bits from the divider register, stirred so that equal readings differ. */
uint8_t random(void) {
    random_state = (uint8_t)((random_state << 1) | (random_state >> 7)) + 0x35;
    random_state ^= frame_noise;
    return random_state;
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

/* White screen, silence, VBlank interrupt on. DIV begins anew with the first frame: chance comes
   from when buttons are pressed, and the same inputs give the same game in every emulator. */
void screen_init(uint8_t lcdc) {
    while (LY != 144) {
    }
    BGP = 0;
    shadow_wx = 7;
    shadow_wy = 144;
    shadow_lcdc = lcdc;
    LCDC = lcdc;
    frame_ready = 0;
    queue_at = vram_queue;
    sound_init();
    IF = 0;
    IE = 0x01;
    __asm__("ei");
    oam_changed = 1;
    next_frame();
    DIV = 0;
}
