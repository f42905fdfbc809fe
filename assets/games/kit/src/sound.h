/* Music on four channels and short effects over it. */
#ifndef SOUND_H
#define SOUND_H
#include <stdint.h>

/* A stream is notes (0 rests; drums: see sound.c), NOTE_LENGTH + rows before those whose length
   is another than the last one's, and NOTE_AGAIN or NOTE_STOP at its end. */
#define NOTE_LENGTH 0x80
#define NOTE_AGAIN 0xff
#define NOTE_STOP  0xfe
typedef struct {
    uint8_t speed;                              /* frames a row */
    uint8_t duty_1, envelope_1, duty_2, envelope_2, wave_volume;
    const uint8_t *streams[4];                  /* lead, harmony, bass (wave), drums (noise) */
} song_t;

/* Steps of six bytes: frames, then the five registers of its channel; frames 0 ends. */
typedef struct { uint8_t is_noise; const uint8_t *steps; } effect_t;

extern const effect_t effects[];                /* the game's */
void sound_init(void);
void play_song(const song_t *song);             /* 0 is silence; the song that plays goes on */
void play_effect(uint8_t number);
void sound_tick(void);                          /* once a frame */
#endif
