/* The frame clock, the joypad, and what is queued for the VBlank handler in crt0.s. */
#ifndef SCREEN_H
#define SCREEN_H
#include <stdint.h>

#define KEY_RIGHT  0x01
#define KEY_LEFT   0x02
#define KEY_UP     0x04
#define KEY_DOWN   0x08
#define KEY_PAD    0x0f
#define KEY_A      0x10
#define KEY_B      0x20
#define KEY_SELECT 0x40
#define KEY_START  0x80

extern uint8_t keys_held, keys_pressed;
extern uint8_t clock;                           /* counts frames */
extern volatile uint8_t frame_ready, frame_noise; /* frame_noise: DIV as it was at VBlank */
extern uint8_t vram_queue[], oam_changed, upload_tiles;
extern const uint8_t *upload_source;
extern uint8_t *upload_target;
extern uint8_t shadow_scx, shadow_scy, shadow_bgp, shadow_obp0, shadow_obp1;
extern uint8_t shadow_lcdc, shadow_wx, shadow_wy;
extern __at(0xc000) uint8_t oam[160];           /* copied to OAM where oam_changed is set */

uint8_t random(void);
void next_frame(void);
void queue_start(uint16_t address, uint8_t count);
void queue_byte(uint8_t value);
void queue_end(void);
void queue_tiles(uint16_t address, const uint8_t *tiles, uint8_t count);
void load_tiles(uint16_t address, const uint8_t *tiles, uint8_t count);
void fade_out(void);
void fade_in(void);
void screen_init(uint8_t lcdc);
#endif
