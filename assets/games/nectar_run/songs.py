"""Music and effects of Nectar Run."""

from __future__ import annotations

from kit.songs import Effect, Song, effect_table, noise, tone

TITLE = Song(
    "title",
    6,
    lead="E5 G5 C6 G5 E5 G5 A5 G5   F5 A5 C6 A5 G5/4 -/4   E5 G5 C6 G5 E5 G5 A5 G5   F5 D5 B4 D5 C5/4 -/4",
    harmony="[C4 G4]4 [F4 C5]2 [C4 G4]2 [C4 G4]4 [D4 G4]2 [C4 G4]2",
    bass="C3/16 F2/8 C3/8 C3/16 G2/8 C3/8",
    drums="[k h s h]8",
    lead_envelope=0x92,
)

FLIGHT = Song(
    "flight",
    6,
    lead="""
    A4 C5 E5 A5 G5 E5 C5 E5   F5 E5 D5 C5 D5/4 B4/4   A4 C5 E5 A5 B5 A5 G5 E5   F5 G5 A5 E5 A5/4 -/4
    C6 B5 A5 E5 F5 G5 A5 F5   E5 D5 C5 E5 D5/4 G4/4   C6 B5 A5 E5 F5 A5 C6 B5   A5 E5 C5 B4 A4/4 -/4
    """,
    harmony="[[A3 E4]4 [D4 A4]2 [G3 D4]2]2 [[F3 C4]4 [C4 G4]2 [G3 D4]2]2",
    bass="[A2/2 A2/2 A3/2 A2/2]2 D3/8 G2/8 [A2/2 A2/2 A3/2 A2/2]2 D3/8 E3/8 F2/16 C3/8 G2/8 F2/16 E2/8 A2/8",
    drums="[k h s h]16",
    lead_envelope=0x92,
    harmony_envelope=0x41,
)

HORNET = Song(
    "hornet",
    5,
    lead="[E4 E4 F4 E4 G4 F4 E4 D#4]2 [A4 A4 A#4 A4 C5 A#4 A4 G#4]2",
    harmony="[E3/4 B3/4]4 [A3/4 E4/4]4",
    bass="[E2]16 [A2]16",
    drums="[k k s k]8",
    lead_duty=12,
    lead_envelope=0xA2,
)

CLEAR = Song(
    "clear",
    6,
    lead="C5 E5 G5 C6/4 A5 B5 C6/6 -/16",
    harmony="E4 G4 C5 E5/4 F5 G5 E5/6 -/16",
    bass="C3/8 F2/4 C3/8 -/16",
    drums="k k k s/4 k s k/6 -/16",
    loops=False,
)

LOST = Song(
    "lost", 8, lead="E5 D5 C5 B4 A4/8 -/16", harmony="C5 B4 A4 G4 E4/8 -/16", bass="A2/8 E2/8 -/16", loops=False
)

SONGS = [TITLE, FLIGHT, HORNET, CLEAR, LOST]

# In the order of the FX_ names of game.h
EFFECTS = [
    Effect("shoot", [tone(3, "C6", 0x71, 25, 0x19), tone(2, "G5", 0x41, 25)]),
    Effect("hit", [noise(3, 0x81, 0x33)], is_noise=True),
    Effect("burst", [noise(4, 0xC1, 0x43), noise(10, 0x92, 0x62)], is_noise=True),
    Effect("drop", [tone(3, "E6", 0x91), tone(6, "A6", 0x92)]),
    Effect("hurt", [tone(8, "A4", 0xC2, 50, 0x2D), tone(12, "D4", 0xA2, 50, 0x2C)]),
    Effect("start", [tone(4, "C5", 0xA2), tone(4, "E5", 0xA2), tone(10, "G5", 0xA2)]),
]


def effect_tables() -> str:
    return effect_table(EFFECTS)
