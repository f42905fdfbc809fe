"""Songs as text, written as the tables of sound.h.

A line of music is tokens `C5`, `F#4/3`, `-/2`: a note (or - for a rest) and its rows, two unless
said. `[ ... ]3` plays a part three times. Drums are k (kick), s (snare) and h (hat).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .tables import c_bytes

NOTES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")
LOWEST_OCTAVE, OCTAVES = 2, 5
DRUMS = {"-": 0, "k": 1, "s": 2, "h": 3}
LENGTH, AGAIN, STOP = 0x80, 0xFF, 0xFE
DUTY = {12: 0x00, 25: 0x40, 50: 0x80, 75: 0xC0}
WAVE_VOLUME = {100: 0x20, 50: 0x40, 25: 0x60}


@dataclass(frozen=True)
class Song:
    """Four parts; `speed` is frames a row. Envelopes are the hardware's: volume, then decay."""

    name: str
    speed: int
    lead: str
    harmony: str = ""
    bass: str = ""
    drums: str = ""
    loops: bool = True
    lead_duty: int = 50
    lead_envelope: int = 0xA3
    harmony_duty: int = 25
    harmony_envelope: int = 0x62
    bass_volume: int = 50


def expand(text: str) -> list[str]:
    """Tokens with the repeats written out."""
    while match := re.search(r"\[([^\[\]]*)\](\d+)", text):
        text = text[: match.start()] + f" {match[1]} " * int(match[2]) + text[match.end() :]
    return text.split()


def number(note: str) -> int:
    """1 is C2, 60 is B6, 0 rests."""
    if note == "-":
        return 0
    octave = int(note[-1]) - LOWEST_OCTAVE
    if not 0 <= octave < OCTAVES:
        raise ValueError(f"note {note!r}: octaves are {LOWEST_OCTAVE} to 6")
    return 1 + 12 * octave + NOTES.index(note[:-1])


def stream(text: str, drums: bool, loops: bool) -> tuple[bytes, int]:
    """The bytes of one part and its length in rows."""
    data, rows, last = bytearray(), 0, 0
    for token in expand(text) or ["-/64"]:
        note, _, length = token.partition("/")
        count = int(length or 2)
        if count != last:
            data.append(LENGTH + count)
        data.append(DRUMS[note] if drums else number(note))
        rows, last = rows + count, count
    return bytes(data) + bytes((AGAIN if loops else STOP,)), rows


def song_tables(songs: list[Song]) -> str:
    """C text: streams and one song_t each, named song_NAME."""
    text = '#include "sound.h"\n'
    for song in songs:
        parts = {"lead": song.lead, "harmony": song.harmony, "bass": song.bass, "drums": song.drums}
        names, lengths = [], {}
        for part, notes in parts.items():
            data, lengths[part] = stream(notes, part == "drums", song.loops)
            names.append(f"{song.name}_{part}")
            text += c_bytes(names[-1], data)
        longest = max(lengths.values())
        if song.loops and any(longest % rows for rows in lengths.values() if rows != 64):
            raise ValueError(f"song {song.name}: parts of {lengths} rows never meet again")
        text += (
            f"const song_t song_{song.name} = {{{song.speed}, "
            f"{DUTY[song.lead_duty]}, {song.lead_envelope}, "
            f"{DUTY[song.harmony_duty]}, {song.harmony_envelope}, "
            f"{WAVE_VOLUME[song.bass_volume]}, {{{', '.join(names)}}}}};\n"
        )
    return text


@dataclass(frozen=True)
class Effect:
    """Steps of (frames, registers of channel 1, or of channel 4 where it is noise)."""

    name: str
    steps: list[tuple[int, ...]]
    is_noise: bool = False


def tone(frames: int, note: str, envelope: int = 0xA1, duty: int = 50, sweep: int = 0) -> tuple:
    """A step on channel 1."""
    clock = round(2048 - 131072 / (65.406 * 2 ** ((number(note) - 1) / 12)))
    return (frames, sweep, DUTY[duty], envelope, clock & 255, 0x80 | clock >> 8)


def noise(frames: int, envelope: int, clock: int) -> tuple:
    """A step on channel 4."""
    return (frames, 0, envelope, clock, 0x80, 0)


def effect_table(effects: list[Effect]) -> str:
    """C text: `effects`, in the order given."""
    text, rows = "", []
    for effect in effects:
        data = [value for step in effect.steps for value in step] + [0]
        text += c_bytes(f"effect_{effect.name}", data)
        rows.append(f"{{{int(effect.is_noise)}, effect_{effect.name}}}")
    return text + f"const effect_t effects[] = {{{', '.join(rows)}}};\n"
