/* Pocket Quest: shared types and the few functions each file offers to the others. */
#ifndef GAME_H
#define GAME_H
#include <stdint.h>
#include "screen.h"
#include "sound.h"

enum { DOWN, UP, LEFT, RIGHT };
enum { ON_STEP = 0xff };                        /* a warp taken by standing on it */
enum { STILL, TURNS, WANDERS };                 /* how an actor behaves */
enum { FX_CURSOR, FX_SELECT, FX_BUMP, FX_DOOR, FX_ITEM, FX_LETTER };

#define SCREEN_COLUMNS 10                       /* squares of 16x16 pixels */
#define SCREEN_ROWS    9
#define ACTORS_MAX     6

/* ---- tables written by generate.py from world.py and art/ ---- */
typedef struct { const uint8_t *runs; uint8_t tile_count; } tileset_t;
typedef struct { uint8_t x, y, when, room, to_x, to_y, facing; } warp_t;
typedef struct { uint8_t x, y, talk; } sign_t;
typedef struct { uint8_t x, y, facing, picture, palette, behaviour, talk; } person_t;
/* The first line whose `stage` is the story's (or ANY_STAGE) is spoken; then the story moves on. */
typedef struct { uint8_t stage; const uint8_t *text; uint8_t next_stage; } line_t;
#define ANY_STAGE 0xff
typedef struct { const uint8_t *name, *text; } item_t;
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
    const song_t *song;
} room_t;

extern const tileset_t tilesets[];
extern const room_t rooms[];
extern const line_t *const talks[];
extern const item_t items[][3];                 /* by story stage; a name of 0 is an empty place */
extern const uint8_t tile_pool[], common_tiles[], sprite_tiles[];
extern const uint8_t common_tile_count, sprite_tile_count;
extern const uint8_t text_morning[], parcel_picture;
extern const uint8_t tile_space, tile_more, tile_cursor, box_parts[3][3];
extern const song_t song_title, song_ending;

/* How far the errand is; tables say what follows. */
enum { STORY_BEGIN, STORY_PARCEL, STORY_END };

/* ---- actors ---- */
typedef struct {
    uint8_t x, y, facing, steps;                /* steps: pixels left to walk to (x, y) */
    uint8_t picture, palette, foot, behaviour, timer, home_x, home_y, talk;
} actor_t;

extern actor_t actors[ACTORS_MAX];              /* actor 0 is the player */
extern uint8_t actor_count;
extern const room_t *room;
extern uint8_t room_number;
extern uint8_t camera_x, camera_y, camera_dx, camera_dy;
extern uint8_t story;
extern uint8_t satchel;                         /* 0 in bed: START has nothing to open yet */
extern uint8_t dialogue_open;                   /* a box or a menu is on the screen */
extern uint8_t hide_right_of, hide_below;       /* no sprites over the window: OAM x and y */

/* room.c */
void load_tileset(uint8_t number);
void draw_row(uint8_t y);
void draw_column(uint8_t x);
void aim_camera(void);
uint8_t square_is_solid(uint8_t x, uint8_t y);
void enter_room(uint8_t number, uint8_t x, uint8_t y, uint8_t facing);

/* actor.c */
uint8_t start_step(actor_t *actor, uint8_t direction);
void move_people(void);
void move_player(void);
void draw_actors(void);

/* window.c */
void open_window(uint8_t x, uint8_t y, uint8_t width, uint8_t height);
void show_window(void);
void close_window(void);
void write_text(uint8_t column, uint8_t line, const uint8_t *text);
const uint8_t *type_text(uint8_t line, const uint8_t *text);
void wait_for(uint8_t keys, uint8_t column, uint8_t line);
uint8_t choose(uint8_t column, uint8_t line, uint8_t count);

/* text.c, menu.c, diary.c, title.c */
void talk_to(uint8_t talk);
void show_text(const uint8_t *text);
void show_menu(void);
uint8_t diary_is_written(void);
void write_diary(void);
void read_diary(void);
uint8_t title_screen(void);                     /* 1: go on from the diary */
void ending_screen(void);
#endif
