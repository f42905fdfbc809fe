"""Music and effects of Mirror Moths."""

from __future__ import annotations

from kit.songs import Effect, Song, effect_table, noise, tone

TITLE = Song(
    "title",
    9,
    lead="E5/4 B4/2 E5/2 G5/4 F#5/4   E5/4 D5/2 E5/2 B4/8   C5/4 G4/2 C5/2 E5/4 D5/4   B4/12 -/4",
    harmony="[E4 B3 G4 B3]4 [C4 G3 E4 G3]2 [B3 F#4 D#4 F#4]2",
    bass="E3/16 E3/16 C3/16 B2/16",
    lead_duty=25,
    harmony_envelope=0x52,
)

NIGHT = Song(
    "night",
    10,
    lead="""
    B4/6 C5/2 B4/4 G4/4   A4/6 B4/2 A4/4 E4/4   G4/6 A4/2 B4/4 D5/4   C5/4 B4/4 A4/8
    B4/6 C5/2 D5/4 E5/4   F#5/4 E5/4 D5/4 B4/4   C5/4 E5/4 D5/4 F#4/4   G4/12 -/4
    """,
    harmony="[G3 D4 B3 D4]2 [A3 E4 C4 E4]2 [G3 D4 B3 D4]2 [F#3 D4 A3 D4]2 "
    "[G3 D4 B3 D4]2 [B3 F#4 D4 F#4]2 [A3 E4 C4 E4]2 [G3 D4 B3 D4]2",
    bass="G2/16 A2/16 G2/16 D2/16 G2/16 B2/16 D3/16 G2/16",
    lead_duty=25,
    lead_envelope=0x85,
    harmony_envelope=0x42,
)

BRIGHT = Song(
    "bright",
    6,
    lead="G4 B4 D5 G5/4 F#5 G5/8 -/16",
    harmony="D4 G4 B4 D5/4 D5 B4/8 -/16",
    bass="G2/8 D3/4 G2/8 -/16",
    loops=False,
)

DARK = Song(
    "dark", 9, lead="E5 D#5 D5 C#5 C5/8 -/16", harmony="B4 A#4 A4 G#4 G4/8 -/16", bass="E2/8 C2/8 -/16", loops=False
)

SONGS = [TITLE, NIGHT, BRIGHT, DARK]

# In the order of the FX_ names of game.h
EFFECTS = [
    Effect("flutter", [noise(2, 0x41, 0x21), noise(2, 0x31, 0x11)], is_noise=True),
    Effect("bump", [tone(5, "D3", 0x91, sweep=0x1C)]),
    Effect("thorn", [tone(6, "A4", 0xB1, 50, 0x2D), tone(10, "D4", 0x92, 50, 0x2C)]),
    Effect("gate", [noise(3, 0x81, 0x35), noise(6, 0x61, 0x24)], is_noise=True),
    Effect("start", [tone(4, "E5", 0xA2), tone(4, "G5", 0xA2), tone(10, "B5", 0xA2)]),
]


def effect_tables() -> str:
    return effect_table(EFFECTS)
