/* A small player: a row every few frames, notes with lengths, effects that borrow a channel. */
#include "sound.h"

__sfr __at(0x10) NR10;
__sfr __at(0x11) NR11;
__sfr __at(0x12) NR12;
__sfr __at(0x13) NR13;
__sfr __at(0x14) NR14;
__sfr __at(0x16) NR21;
__sfr __at(0x17) NR22;
__sfr __at(0x18) NR23;
__sfr __at(0x19) NR24;
__sfr __at(0x1a) NR30;
__sfr __at(0x1c) NR32;
__sfr __at(0x1d) NR33;
__sfr __at(0x1e) NR34;
__sfr __at(0x20) NR41;
__sfr __at(0x21) NR42;
__sfr __at(0x22) NR43;
__sfr __at(0x23) NR44;
__sfr __at(0x24) NR50;
__sfr __at(0x25) NR51;
__sfr __at(0x26) NR52;

#define SILENT 0x08                             /* volume 0, the converter stays on */

/* C2 to B6 as 2048 - 131072 / frequency */
static const uint16_t pitch[] = {
    44, 157, 263, 363, 457, 547, 631, 711, 786, 856, 923, 986,
    1046, 1102, 1155, 1205, 1253, 1297, 1339, 1379, 1417, 1452, 1486, 1517,
    1547, 1575, 1602, 1627, 1650, 1673, 1694, 1714, 1732, 1750, 1767, 1783,
    1798, 1812, 1825, 1837, 1849, 1860, 1871, 1881, 1890, 1899, 1907, 1915,
    1923, 1930, 1936, 1943, 1949, 1954, 1959, 1964, 1969, 1974, 1978, 1982,
};

/* A soft bass: a rounded triangle of 32 samples. */
static const uint8_t wave[16] = {
    0x02, 0x46, 0x8a, 0xcd, 0xee, 0xff, 0xff, 0xee, 0xdc, 0xa8, 0x64, 0x32, 0x11, 0x00, 0x00, 0x01,
};

/* Drums: kick, snare, hat; envelope and noise clock. */
static const uint8_t drum_envelope[4] = { SILENT, 0xb1, 0x91, 0x41 };
static const uint8_t drum_clock[4] = { 0, 0x63, 0x42, 0x10 };

static const song_t *song;
static const uint8_t *streams[4];
static uint8_t note_rows[4], rows_left[4], frames_left;
static const uint8_t *effect;
static uint8_t effect_left, effect_is_noise;

void sound_init(void) {
    uint8_t i;
    volatile uint8_t *wave_ram = (volatile uint8_t *)0xff30;
    NR52 = 0x80;
    NR51 = 0xff;
    NR50 = 0x55;
    NR30 = 0;
    for (i = 0; i != 16; i++) {
        wave_ram[i] = wave[i];
    }
    NR30 = 0x80;
}

static void sound_note(uint8_t channel, uint8_t note) {
    uint16_t value;
    if (channel == 3) {
        if (!(effect && effect_is_noise)) {
            NR42 = drum_envelope[note];
            NR43 = drum_clock[note];
            NR44 = 0x80;
        }
        return;
    }
    value = note ? pitch[note - 1] : 0;
    if (channel == 0) {
        if (!effect || effect_is_noise) {
            NR10 = 0;
            NR11 = song->duty_1;
            NR12 = note ? song->envelope_1 : SILENT;
            NR13 = (uint8_t)value;
            NR14 = 0x80 | (value >> 8);
        }
    } else if (channel == 1) {
        NR21 = song->duty_2;
        NR22 = note ? song->envelope_2 : SILENT;
        NR23 = (uint8_t)value;
        NR24 = 0x80 | (value >> 8);
    } else {
        NR32 = note ? song->wave_volume : 0;
        NR33 = (uint8_t)value;
        NR34 = 0x80 | (value >> 8);
    }
}

static void next_note(uint8_t channel) {
    const uint8_t *at = streams[channel];
    if (*at == NOTE_AGAIN) {
        at = song->streams[channel];
    }
    if (*at == NOTE_STOP) {
        sound_note(channel, 0);
        rows_left[channel] = 255;
        return;
    }
    if (*at >= NOTE_LENGTH) {
        note_rows[channel] = *at++ - NOTE_LENGTH;
    }
    sound_note(channel, *at++);
    rows_left[channel] = note_rows[channel];
    streams[channel] = at;
}

void play_song(const song_t *wanted) {
    uint8_t i;
    if (wanted == song) {
        return;
    }
    song = wanted;
    frames_left = 1;
    for (i = 0; i != 4; i++) {
        if (song) {
            streams[i] = song->streams[i];
        }
        rows_left[i] = 1;
    }
    if (!song) {
        NR12 = NR22 = NR42 = SILENT;
        NR14 = NR24 = NR44 = 0x80;
        NR32 = 0;
    }
}

void play_effect(uint8_t number) {
    effect_is_noise = effects[number].is_noise;
    effect = effects[number].steps;
    effect_left = 1;
}

static void effect_step(void) {
    effect_left = *effect;
    if (!effect_left) {
        effect = 0;
        if (effect_is_noise) {
            NR42 = SILENT;
            NR44 = 0x80;
        } else {
            NR12 = SILENT;
            NR14 = 0x80;
        }
        return;
    }
    if (effect_is_noise) {
        NR41 = effect[1];
        NR42 = effect[2];
        NR43 = effect[3];
        NR44 = effect[4];
    } else {
        NR10 = effect[1];
        NR11 = effect[2];
        NR12 = effect[3];
        NR13 = effect[4];
        NR14 = effect[5];
    }
    effect += 6;
}

void sound_tick(void) {
    uint8_t i;
    if (effect && --effect_left == 0) {
        effect_step();
    }
    if (!song || --frames_left) {
        return;
    }
    frames_left = song->speed;
    for (i = 0; i != 4; i++) {
        if (--rows_left[i] == 0) {
            next_note(i);
        }
    }
}
