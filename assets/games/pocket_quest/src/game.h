/* Pocket Quest: shared types and the few functions each file offers to the others. */
#ifndef GAME_H
#define GAME_H
#include <stdint.h>

enum { DOWN, UP, LEFT, RIGHT };
enum { ON_STEP = 0xff };                        /* a warp taken by standing on it */
enum { STILL, TURNS, WANDERS };                 /* how an actor behaves */

#define KEY_RIGHT 0x01
#define KEY_LEFT  0x02
#define KEY_UP    0x04
#define KEY_DOWN  0x08
#define KEY_PAD   0x0f
#define KEY_A     0x10
#define KEY_B     0x20
#define KEY_START 0x80

#define SCREEN_COLUMNS 10                       /* squares of 16x16 pixels */
#define SCREEN_ROWS    9
#define ACTORS_MAX     6

/* ---- tables written by generate.py from world.py and art/ ---- */
typedef struct { const uint8_t *tiles; uint8_t tile_count; } tileset_t;
typedef struct { uint8_t x, y, when, room, to_x, to_y, facing; } warp_t;
typedef struct { uint8_t x, y, talk; } sign_t;
typedef struct { uint8_t x, y, facing, picture, palette, behaviour, talk; } person_t;
/* The first line whose `stage` is the story's (or ANY_STAGE) is spoken; then the story moves on. */
typedef struct { uint8_t stage; const uint8_t *text; uint8_t next_stage; } line_t;
#define ANY_STAGE 0xff
typedef struct { uint8_t tile; const uint8_t *frames; } animation_t;
typedef struct {
    uint8_t width, height;                      /* squares */
    uint8_t tileset;
    const uint8_t *squares;                     /* width*height indices into the four planes */
    const uint8_t *top_left, *top_right, *bottom_left, *bottom_right, *solid;
    const warp_t *warps;
    const sign_t *signs;
    const person_t *people;
    uint8_t warp_count, sign_count, person_count;
    const animation_t *animations;              /* [2], or 0 */
    const uint8_t *name;
} room_t;

extern const tileset_t tilesets[];
extern const room_t rooms[];
extern const line_t *const talks[];
extern const uint8_t *const bag_texts[];        /* by story stage */
extern const uint8_t common_tiles[], sprite_tiles[], title_map[];
extern const uint8_t common_tile_count, sprite_tile_count;
extern const uint8_t text_morning[], text_press_start[];

/* ---- actors ---- */
typedef struct {
    uint8_t x, y, facing, steps;                /* steps: pixels left to walk to (x, y) */
    uint8_t picture, palette, foot, behaviour, timer, home_x, home_y, talk;
} actor_t;

extern actor_t actors[ACTORS_MAX];              /* actor 0 is the player */
extern uint8_t actor_count;
extern const room_t *room;
extern uint8_t camera_x, camera_y, camera_dx, camera_dy;
extern uint8_t story;
extern uint8_t keys_held, keys_pressed;
extern uint8_t clock;                           /* counts frames */
extern uint8_t dialogue_open;

/* crt0.s and screen.c */
extern volatile uint8_t frame_ready;
extern uint8_t vram_queue[], oam_changed, upload_tiles;
extern const uint8_t *upload_source;
extern uint8_t *upload_target;
extern uint8_t shadow_scx, shadow_scy, shadow_bgp, shadow_obp0, shadow_obp1, shadow_lcdc;

void next_frame(void);
void queue_start(uint16_t address, uint8_t count);
void queue_byte(uint8_t value);
void queue_end(void);
void queue_tiles(uint16_t address, const uint8_t *tiles, uint8_t count);
void load_tiles(uint16_t address, const uint8_t *tiles, uint8_t count);
void load_tileset(uint8_t number);
void fade_out(void);
void fade_in(void);
void screen_init(void);

void draw_row(uint8_t y);
void draw_column(uint8_t x);
void aim_camera(void);
uint8_t square_is_solid(uint8_t x, uint8_t y);
void enter_room(uint8_t number, uint8_t x, uint8_t y, uint8_t facing);

uint8_t random(void);
uint8_t start_step(actor_t *actor, uint8_t direction);
void move_people(void);
void move_player(void);
void draw_actors(void);

void talk_to(uint8_t talk);
void show_text(const uint8_t *text);
void show_menu(void);
void title_screen(void);
#endif
