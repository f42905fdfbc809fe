/* Nectar Run: title; then gardens, each a flight that fills the jar and a hornet. */
#include "game.h"

#define PAGE_FRAMES 100

static void pause_frames(uint8_t frames) {
    while (frames--) {
        next_frame();
    }
}

static void stage_page(void) {
    open_page();
    write_line(7, 7, text_ready);
    write_number(13, 7, stage + 1);
    fade_in();
    pause_frames(50);
    fade_out();
}

static void open_garden(void) {
    shadow_lcdc &= ~0x20;
    load_ground(stage);
    begin_flight();
    draw_status();
    next_frame();
    shadow_wy = 136;
    shadow_lcdc |= 0x20;
    draw_everything();
    fade_in();
}

static void one_frame(void) {
    next_frame();
    scroll_ground();
    move_bee();
    move_things();
}

/* What still flies goes on; the status row is there to be seen. */
static void fly_out(void) {
    uint8_t frames;
    for (frames = 30; frames; frames--) {
        next_frame();
        move_things();
        draw_everything();
    }
}

/* The flowers spill a drop, one to three lanes beside the last one: a trail to follow. */
static void spill(void) {
    static uint8_t lane;
    uint8_t chance = random(), far = 1 + (chance & 1) + ((chance >> 1) & 1);
    if (lane > 7 - far || (lane >= far && (chance & 4))) {
        lane -= far;
    } else {
        lane += far;
    }
    drop_at(LANE_X(lane), 8);
}

/* Until the jar is full, or no life is left. */
static void fill_the_jar(void) {
    jar = power = hornet_cell = 0;
    play_song(&song_flight);
    open_garden();
    while (lives && jar != JAR_CELLS) {
        one_frame();
        if ((clock & (stage ? 127 : 31)) == 0) {
            spill();
        }
        send_foes();
        move_foes();
        draw_everything();
        if (status_changed) {
            draw_status();
        }
    }
}

static void meet_the_hornet(void) {
    fly_out();
    open_page();
    write_line(2, 7, text_jar);
    write_line(2, 10, text_hornet);
    fade_in();
    play_song(&song_hornet);
    pause_frames(PAGE_FRAMES);
    fade_out();
    begin_hornet();
    open_garden();
    while (lives && hornet_health) {
        one_frame();
        move_hornet();
        draw_everything();
        if (status_changed) {
            draw_status();
        }
    }
}

/* A page that waits. */
static void show_page(const uint8_t *heading, const uint8_t *prompt, const song_t *song) {
    fly_out();
    open_page();
    play_song(song);
    write_line(3, 5, heading);
    if (!lives || stage == STAGES - 1) {
        write_line(3, 8, text_score);
        write_score(9, 8, score);
    }
    write_line(3, 12, prompt);
    fade_in();
    wait_for(KEY_START);
    play_effect(FX_START);
}

static void keep_best(void) {
    uint8_t i;
    for (i = 0; i != 5; i++) {
        if (score[i] != best[i]) {
            break;
        }
    }
    if (i == 5 || score[i] < best[i]) {
        return;
    }
    for (i = 0; i != 5; i++) {
        best[i] = score[i];
    }
}

static void play(void) {
    uint8_t i;
    for (i = 0; i != 5; i++) {
        score[i] = 0;
    }
    lives = LIVES;
    hornet_health = hornet_cell = 0;
    for (stage = 0; stage != STAGES; stage++) {
        stage_page();
        fill_the_jar();
        if (lives) {
            meet_the_hornet();
        }
        hornet_health = 0;
        if (!lives) {
            show_page(text_over, text_again, &song_lost);
            return;
        }
        show_page(stage == STAGES - 1 ? text_won : text_clear, text_fly_on, &song_clear);
    }
}

void main(void) {
    screen_init(0xc7);                          /* BG 9800, tiles 8800, sprites 8x16, window 9C00 */
    load_tiles(0x8800, common_tiles, common_tile_count);
    load_tiles(0x8000, sprite_tiles, sprite_tile_count);
    for (;;) {
        title_screen();
        play();
        keep_best();
        fade_out();
    }
}
