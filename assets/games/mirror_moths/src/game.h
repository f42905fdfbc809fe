/* Mirror Moths: shared types and the few functions each file offers to the others. */
#ifndef GAME_H
#define GAME_H
#include <stdint.h>
#include "sound.h"

#define KEY_RIGHT  0x01
#define KEY_LEFT   0x02
#define KEY_UP     0x04
#define KEY_DOWN   0x08
#define KEY_A      0x10
#define KEY_B      0x20
#define KEY_START  0x80

enum { FX_FLUTTER, FX_BUMP, FX_THORN, FX_GATE, FX_START };
enum { FLOOR, POT, THORNS, LEAF, HOLE, PLATE, GATE, GATE_OPEN, LAMP, LAMP_LIT, KINDS };

#define WIDTH       10
#define HEIGHT      8
#define HALF        5
#define LEVEL_BYTES (5 + WIDTH * HEIGHT)
#define CANDLES     3
#define THORN_COST  5                           /* of the wick */

extern const uint8_t sprite_tiles[], sprite_tile_count, common_tiles[], common_tile_count;
extern const uint8_t board_tiles[], board_tile_count, title_tiles[], title_tile_count;
extern const uint8_t title_map[], square_tiles[], levels[], level_count;
extern const uint8_t tile_space, tile_zero, tile_candle, tile_burnt;
extern const uint8_t text_press_start[], text_level[], text_wick[], text_bright[], text_press_a[];
extern const uint8_t text_score[], text_best[], text_over[], text_again[], text_won[];
extern const uint8_t text_thanks[];
extern const song_t song_title, song_night, song_bright, song_dark;

typedef struct { uint8_t x, y; } place_t;

extern uint8_t level, candles, wick;
extern uint16_t score, best;
extern uint8_t keys_held, keys_pressed, clock;
extern place_t moths[2];                        /* left, right */
extern __at(0xc000) uint8_t oam[160];

/* video.c: VRAM is written in VBlank, or while the screen is off */
void copy_oam(void);
void next_frame(void);
void screen_off(void);
void screen_on(void);
void copy_tiles(uint16_t address, const uint8_t *tiles, uint8_t count);
void put_tile(uint8_t column, uint8_t line, uint8_t tile);
void put_text(uint8_t column, uint8_t line, const uint8_t *text);
void put_number(uint8_t column, uint8_t line, uint16_t number, uint8_t digits);
void clear_screen(void);
void hide_sprites(void);

/* board.c: one level */
void open_level(void);
uint8_t play_level(void);                       /* 1: solved, 0: the wick burnt down */

/* pages.c */
void title_page(void);
void last_page(const uint8_t *heading, const uint8_t *prompt, const song_t *song);
#endif
