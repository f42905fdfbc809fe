/* Nectar Run: shared types and the few functions each file offers to the others. */
#ifndef GAME_H
#define GAME_H
#include <stdint.h>
#include "screen.h"
#include "sound.h"

enum { FX_SHOOT, FX_HIT, FX_BURST, FX_DROP, FX_HURT, FX_START };
enum { NOBODY, WASP, BEETLE, FLY };

#define JAR_CELLS   8                           /* drops of nectar that fill the jar */
#define LIVES       3
#define STAGES      3
#define SHOTS_MAX   6
#define FOES_MAX    8
#define STINGS_MAX  8
#define DROPS_MAX   4
#define BLASTS_MAX  4
#define FLOOR_Y     136                         /* the status row begins here */
#define LANE_X(n)   (24 + ((n) << 4))           /* of eight lanes, a bee wide */

/* A thing that flies, positions as OAM has them (x + 8, y + 16). */
typedef struct { uint8_t kind, x, y, timer, dx, dy, health; } flyer_t;

extern const uint8_t sprite_tiles[], sprite_tile_count, common_tiles[], common_tile_count;
extern const uint8_t title_tiles[], title_tile_count, title_map[];
extern const uint8_t sprite_bee, sprite_pale_bee, sprite_wasp, sprite_beetle, sprite_fly, sprite_blast;
extern const uint8_t sprite_hornet, sprite_shot, sprite_sting, sprite_drop;
extern const uint8_t tile_space, tile_zero, tile_life, tile_full, tile_empty;
extern const uint8_t tile_nectar, tile_hornet;
extern const uint8_t text_press_start[], text_best[], text_score[], text_ready[], text_jar[];
extern const uint8_t text_hornet[], text_clear[], text_over[], text_again[], text_won[];
extern const uint8_t text_fly_on[], text_honey[];
extern const song_t song_title, song_flight, song_hornet, song_clear, song_lost;

extern uint8_t stage, lives, jar, power, unhurt; /* unhurt: frames without harm left */
extern uint8_t score[5], best[5];               /* decimal digits, the highest first */
extern uint8_t status_changed;
extern uint8_t bee_x, bee_y;
extern flyer_t shots[SHOTS_MAX], foes[FOES_MAX], stings[STINGS_MAX];
extern flyer_t drops[DROPS_MAX], blasts[BLASTS_MAX];
extern uint8_t hornet_health, hornet_x, hornet_y, hornet_shines;
extern uint8_t hornet_cell;                     /* health that a cell of its meter shows, 0: no hornet */

/* ground.c: the garden that scrolls; its data lies in banks 2 and 3 */
void load_ground(uint8_t number);
void scroll_ground(void);

/* flight.c: the bee, its shots, drops, stings, and putting everything into OAM */
void begin_flight(void);
void move_bee(void);
void move_things(void);
uint8_t is_near(const flyer_t *thing, uint8_t x, uint8_t y, uint8_t reach);
void sting_from(uint8_t x, uint8_t y, uint8_t dx, uint8_t dy);
void burst_at(uint8_t x, uint8_t y);
void drop_at(uint8_t x, uint8_t y);
void hurt_bee(void);
void draw_everything(void);

/* foes.c and hornet.c */
void send_foes(void);
void move_foes(void);
void begin_hornet(void);
void move_hornet(void);
uint8_t *draw_hornet(uint8_t *sprite);

/* status.c: the row below, and pages of text */
void add_score(uint8_t tens);
void draw_status(void);
void open_page(void);
void write_line(uint8_t column, uint8_t line, const uint8_t *text);
void write_score(uint8_t column, uint8_t line, const uint8_t *digits);
void write_number(uint8_t column, uint8_t line, uint8_t number);
void wait_for(uint8_t keys);
void clear_sprites(void);

/* title.c */
void title_screen(void);
#endif
