"""What is heard: a console in slices is the same console; each channel has its register's pitch."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from emulator import Cartridge, Emulator
from emulator.sound import Synthesiser, write_wav
from emulator.sound.register_slices import CONTROLS, REGISTERS, SLICES, Slice, SlicedConsole
from emulator.sound.waveforms import noise

GAMES = Path(__file__).parents[2] / "assets" / "games"
ROM = GAMES / "pocket_quest" / "pocket_quest.gb"
RATE = 48_000
CYCLES = 17_556 // SLICES


def untriggered_hash(emulator: Emulator) -> str:
    """As SlicedConsole's: bit 7 of NRx4 is nothing that a program sees."""
    row = emulator.batch.ram.numpy()[0]
    places = [0x7F10 + place for place in CONTROLS]
    kept = row[places].copy()
    row[places] &= 0x7F
    found = emulator.state_hash()[0]
    row[places] = kept
    return found


@pytest.mark.parametrize("name", ["pocket_quest", "nectar_run", "mirror_moths"])
def test_a_console_in_slices_is_the_same_console(name: str) -> None:
    cartridge = Cartridge.from_file(GAMES / name / f"{name}.gb")
    whole, sliced = Emulator(cartridge, 1, "cpu"), SlicedConsole(cartridge)
    buttons = np.zeros(1, np.uint8)
    triggers = 0
    for frame in range(200):
        buttons[0] = (0, 0x80, 0x10, 1, 4)[frame // 16 % 5]
        whole.run(buttons, 1)
        triggers += sum(piece.triggered > 0 for piece in sliced.frame(int(buttons[0])))
        if frame % 20 == 19:
            assert untriggered_hash(whole) == sliced.state_hash(), f"frame {frame}"
    assert triggers, "nothing was played"


def frequency(samples: np.ndarray) -> float:
    """Hz of a periodic float[n], by its spectrum's peak, interpolated."""
    size = 8 * len(samples)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), size))
    peak = int(spectrum[10:].argmax()) + 10
    low, mid, high = np.log(spectrum[peak - 1 : peak + 2])
    return (peak + (low - high) / (2 * (low - 2 * mid + high))) * RATE / size


def test_the_music_of_a_shipped_game_has_the_pitch_of_its_registers() -> None:
    sliced, synthesiser = SlicedConsole(Cartridge.from_file(ROM)), Synthesiser(RATE)
    synthesiser.channels = 0b0001
    notes: list[tuple[int, list[np.ndarray]]] = []
    for _ in range(420):
        pieces = sliced.frame(0)
        last = pieces[-1].registers
        x = last[3] | (last[4] & 7) << 8
        if not notes or notes[-1][0] != x or any(piece.triggered & 1 for piece in pieces):
            notes.append((x, []))
        notes[-1][1].append(synthesiser.frame(pieces)[:, 0])
    # The first frame of a note still has the note before in it.
    heard = [(x, np.concatenate(parts[1:])) for x, parts in notes if len(parts) > 8]
    heard = [(x, samples) for x, samples in heard if np.abs(samples).max() > 0.02]
    assert len({x for x, _ in heard}) >= 4, "too few notes"
    for x, samples in heard:
        assert frequency(samples) == pytest.approx(131072 / (2048 - x), rel=0.004)


def piece(*, on: int, triggered: int = 0, clocks: int = 0, write: dict[int, int] | None = None) -> Slice:
    """A slice with everything to both sides at full volume; `write` values by address."""
    registers = bytearray(REGISTERS)
    for address, value in {0xFF24: 0x77, 0xFF25: 0xFF, 0xFF26: 0x80, **(write or {})}.items():
        registers[address - 0xFF10] = value
    return Slice(CYCLES, bytes(registers), on, triggered, clocks)


def played(first: Slice, then: Slice, frames: int = 30) -> np.ndarray:
    """float[n] of the left side."""
    synthesiser = Synthesiser(RATE)
    parts = [synthesiser.frame([first] + [then] * (SLICES - 1))]
    parts += [synthesiser.frame([then] * SLICES) for _ in range(frames)]
    return np.concatenate(parts)[:, 0]


@pytest.mark.parametrize(
    ("on", "write", "hz"),
    [
        (0b0001, {0xFF11: 0x80, 0xFF12: 0xF0, 0xFF13: 0xD6, 0xFF14: 0x06}, 131072 / (2048 - 0x6D6)),
        (0b0010, {0xFF16: 0x40, 0xFF17: 0xF0, 0xFF18: 0x00, 0xFF19: 0x07}, 512.0),
        (0b0100, {0xFF1C: 0x20, 0xFF1D: 0x00, 0xFF1E: 0x07, **{0xFF30 + i: 0xFF for i in range(8)}}, 256.0),
    ],
)
def test_a_channel_has_the_pitch_of_its_register(on: int, write: dict[int, int], hz: float) -> None:
    samples = played(piece(on=on, triggered=on, write=write), piece(on=on, write=write))
    assert frequency(samples[4000:]) == pytest.approx(hz, rel=0.002)
    assert np.abs(played(piece(on=0, write=write), piece(on=0, write=write))).max() == 0.0


def test_noise_is_the_shift_registers_bits() -> None:
    long, short = noise(False).levels, noise(True).levels
    assert (len(long), long.sum()) == (32767, 16383)
    assert (len(short), short.sum()) == (127, 63)
    write = {0xFF21: 0xF0, 0xFF22: 0x58}  # 7 bits, clocked at 262144 / 0.5 / 32 Hz
    samples = played(piece(on=8, triggered=8, write=write), piece(on=8, write=write))[4000:]
    period = 127 * RATE / (262144 / 0.5 / 32)
    near = np.corrcoef(samples[: -round(period)], samples[round(period) :])[0, 1]
    apart = np.corrcoef(samples[: -round(period / 2)], samples[round(period / 2) :])[0, 1]
    assert near > 0.9 > 0.5 > apart


def test_an_envelope_falls_by_one_at_each_of_its_clocks() -> None:
    write = {0xFF11: 0x80, 0xFF12: 0xF1, 0xFF13: 0x00, 0xFF14: 0x06}
    synthesiser = Synthesiser(RATE)
    synthesiser.frame([piece(on=1, triggered=1, write=write)] * SLICES)
    loud = []
    for _ in range(15):
        clocked = [piece(on=1, clocks=1, write=write)] + [piece(on=1, write=write)] * (SLICES - 1)
        loud.append(np.ptp(synthesiser.frame(clocked)[200:, 0]))
    assert loud[-1] < 0.02
    assert np.all(np.diff(loud) < 0)
    assert loud[0] == pytest.approx(2 * loud[7], rel=0.1)


def test_a_frame_is_as_long_as_on_the_console_and_twice_as_long_at_half_speed() -> None:
    synthesiser, still = Synthesiser(RATE), [piece(on=0)] * SLICES
    seconds = 120 * SLICES * CYCLES / 1_048_576
    assert sum(len(synthesiser.frame(still)) for _ in range(120)) == pytest.approx(seconds * RATE, abs=2)
    assert sum(len(synthesiser.frame(still, 2.0)) for _ in range(120)) == pytest.approx(2 * seconds * RATE, abs=2)


def test_a_wav_file_has_the_samples(tmp_path: Path) -> None:
    samples = np.array([[0.0, 0.5], [-0.5, 2.0]], np.float32)
    write_wav(tmp_path / "a.wav", samples, RATE)
    with wave.open(str(tmp_path / "a.wav")) as read:
        assert (read.getnchannels(), read.getframerate(), read.getnframes()) == (2, RATE, 2)
        found = np.frombuffer(read.readframes(2), "<i2").reshape(2, 2)
    np.testing.assert_array_equal(found, [[0, 16383], [-16383, 32767]])
