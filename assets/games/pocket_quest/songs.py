"""Music and effects of Pocket Quest. Rows of eight frames unless a song says otherwise."""

from __future__ import annotations

from kit.songs import Effect, Song, effect_table, noise, tone

TITLE = Song(
    "title",
    7,
    lead="""
    G4/4 C5/4 E5/4 D5/2 C5/2   G5/8 E5/8   A5/4 G5/4 E5/4 C5/4   D5/12 -/4
    G4/4 C5/4 E5/4 D5/2 C5/2   G5/8 A5/4 G5/4   F5/4 E5/4 D5/4 B4/4   C5/12 -/4
    """,
    harmony="""
    E4/8 G4/8   C5/8 G4/8   F4/8 E4/8   G4/12 -/4
    E4/8 G4/8   C5/8 F4/8   A4/8 F4/4 G4/4   E4/12 -/4
    """,
    bass="""
    C3/8 G2/8   C3/8 C3/8   F2/8 C3/8   G2/8 G2/8
    C3/8 G2/8   C3/8 F2/8   D3/8 G2/8   C3/8 C3/8
    """,
    drums="[k/4 h/4 s/4 h/4]8",
)

VILLAGE = Song(
    "village",
    8,
    lead="""
    E5 G5 A5 G5 E5/4 D5/4   C5 D5 E5 G5 D5/8   E5 G5 A5 C6 B5/4 A5/4   G5 E5 D5 E5 C5/8
    A4 C5 D5 E5 G5/4 E5/4   D5 E5 D5 C5 A4/8   G4 A4 C5 D5 E5/4 G5/4   E5 D5 C5 B4 C5/8
    """,
    harmony="""
    [C4 G4 E4 G4]2 [B3 G4 D4 G4]2 [A3 E4 C4 E4]2 [C4 G4 E4 G4]2
    [F4 A4 C5 A4]2 [A3 E4 C4 E4]2 [C4 G4 E4 G4]2 [D4 G4 C4 G4]2
    """,
    bass="""
    C3/8 C3/8 G2/8 G2/8 A2/8 A2/8 C3/8 C3/8 F2/8 F2/8 A2/8 A2/8 C3/8 C3/8 G2/8 C3/8
    """,
    drums="[k/4 h s h/4 s/4]8",
    harmony_envelope=0x42,
)

HOME = Song(
    "home",
    9,
    lead="""
    C5/4 E5/4 G5/6 F5/2   E5/4 D5/4 C5/8   D5/4 F5/4 A5/6 G5/2   F5/4 E5/4 D5/8
    E5/4 G5/4 C6/6 B5/2   A5/4 G5/4 E5/8   F5/4 E5/4 D5/4 G5/4   C5/12 -/4
    """,
    harmony="""
    [C4 E4 G4 E4]4 [D4 F4 A4 F4]4 [C4 E4 G4 E4]4 [D4 F4 G4 F4]2 [C4 E4 G4 E4]2
    """,
    bass="C3/16 C3/16 D3/16 G2/16 C3/16 A2/16 D3/8 G2/8 C3/16",
    lead_duty=25,
    lead_envelope=0x84,
    harmony_envelope=0x42,
)

SHOP = Song(
    "shop",
    7,
    lead="""
    G5 - G5 E5 C5 - E5 -   G5 A5 G5 F5 E5/4 -/4   F5 - F5 D5 B4 - D5 -   F5 G5 F5 E5 D5/4 -/4
    """,
    harmony="[-/2 E4 -/2 E4]4 [-/2 F4 -/2 F4]4".replace("]4", "]8"),
    bass="[C3/4 G2/4]4 [D3/4 G2/4]4".replace("]4", "]4"),
    drums="[k s h s]8",
    lead_envelope=0x91,
    harmony_envelope=0x51,
)

STUDY = Song(
    "study",
    10,
    lead="""
    A4/6 C5/2 E5/8   D5/6 C5/2 B4/8   A4/6 C5/2 F5/8   E5/12 -/4
    G5/6 F5/2 E5/8   F5/6 E5/2 D5/8   E5/4 D5/4 C5/4 B4/4   A4/12 -/4
    """,
    harmony="[A3 E4 C4 E4]2 [G3 D4 B3 D4]2 [F3 C4 A3 C4]2 [E3 B3 G#3 B3]2 "
    "[C4 G4 E4 G4]2 [D4 A4 F4 A4]2 [E4 B4 G#4 B4]2 [A3 E4 C4 E4]2",
    bass="A2/16 G2/16 F2/16 E2/16 C3/16 D3/16 E2/16 A2/16",
    lead_duty=25,
    harmony_envelope=0x42,
)

ENDING = Song(
    "ending",
    9,
    lead="""
    C5/6 D5/2 E5/8   G5/6 A5/2 G5/8   C6/6 B5/2 A5/4 G5/4   E5/12 -/4
    F5/6 G5/2 A5/8   G5/6 E5/2 C5/8   D5/4 E5/4 F5/4 D5/4   C5/12 -/4
    """,
    harmony="[C4 E4 G4 E4]2 [C4 E4 G4 C5]2 [A3 C4 E4 A4]2 [E4 G4 B4 G4]2 "
    "[F4 A4 C5 A4]2 [C4 E4 G4 E4]2 [G3 B3 D4 G4]2 [C4 E4 G4 C5]2",
    bass="C3/16 C3/16 A2/16 E2/16 F2/16 C3/16 G2/16 C3/16",
    lead_envelope=0xA5,
    harmony_envelope=0x53,
)

SONGS = [TITLE, VILLAGE, HOME, SHOP, STUDY, ENDING]

# In the order of the FX_ names of game.h
EFFECTS = [
    Effect("cursor", [tone(3, "E6", 0x81)]),
    Effect("select", [tone(3, "C6", 0x91), tone(5, "G6", 0x91)]),
    Effect("bump", [tone(6, "D3", 0xA1, sweep=0x1C)]),
    Effect("door", [noise(4, 0x91, 0x54), noise(8, 0x71, 0x43)], is_noise=True),
    Effect("item", [tone(6, "G5", 0xA2), tone(6, "C6", 0xA2), tone(6, "E6", 0xA2), tone(20, "G6", 0xA4)]),
    Effect("letter", [tone(2, "C6", 0x41, duty=12)]),
]


def effect_tables() -> str:
    return effect_table(EFFECTS)
