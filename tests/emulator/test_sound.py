"""What the channels put out, M-cycle by M-cycle, and what is heard of it."""

from __future__ import annotations

import hashlib
import wave
from pathlib import Path

import numpy as np
import pytest
from micro.assembler import assemble

from emulator import Cartridge, Emulator, EmulatorError
from emulator.sound import Channels, Synthesiser, write_wav

ROM = Path(__file__).parents[2] / "assets" / "games" / "pocket_quest" / "pocket_quest.gb"
RATE = 48_000
LOG = 1 << 14
MUSIC = "c26a56083e66e92d"
"""Hash of a shipped game's outputs in 300 frames, all of which are SameBoy's too (scripts/compare_sound.py)."""
PROGRAM = """
main:
  di
  xor a
  ldh ($40), a
  ldh ($26), a
  ld a, $80
  ldh ($26), a
{writes}
.end:
  jr .end
"""


def played(folder: Path, writes: dict[int, int], frames: int = 4) -> np.ndarray:
    """uint8[M-cycles, 6] of a program that writes to sound registers and then waits."""
    text = "".join(f"  ld a, {value}\n  ldh (${register:02x}), a\n" for register, value in writes.items())
    path = folder / "tone.asm"
    path.write_text(PROGRAM.format(writes=text))
    emulator = Emulator(Cartridge.from_bytes(assemble(path).image), serial_capacity=LOG)
    return Channels(emulator).run(None, frames).numpy()[0].copy()


def lengths(column: np.ndarray) -> np.ndarray:
    """Numbers of M-cycles for which the output stays the same, without the first and the last."""
    return np.diff(np.flatnonzero(np.diff(column)))


def test_outputs_of_a_shipped_game_are_the_known_ones_and_its_state_too() -> None:
    plain, heard = Emulator(ROM), Emulator(ROM, serial_capacity=LOG)
    sound, digest = Channels(heard), hashlib.sha256()
    for frame in range(300):
        held = ("", "start", "a", "right")[frame // 16 % 4]
        plain.run(held or None)
        outputs = sound.run(held or None).numpy()[0]
        digest.update(outputs[:, :4].tobytes())
    assert (digest.hexdigest()[:16], plain.state_hash()) == (MUSIC, heard.state_hash())
    assert not sound.lost.numpy().any()


def test_samples_can_be_fewer_and_launches_longer() -> None:
    one, many = (Channels(Emulator(ROM, serial_capacity=LOG), every) for every in (1, 84))
    frames = np.concatenate([one.run().numpy()[0].copy() for _ in range(40)])
    np.testing.assert_array_equal(many.run(None, 40).numpy()[0], frames[83::84])
    assert frames[:, :4].any()


def test_a_state_that_is_loaded_again_sounds_the_same() -> None:
    emulator = Emulator(ROM, serial_capacity=LOG)
    sound = Channels(emulator)
    sound.run(None, 60)
    start = emulator.snapshot()
    sound.run(None, 10)
    heard = []
    for _ in range(2):
        emulator.restore(start)
        heard.append(sound.run(None, 10).numpy().copy())
    np.testing.assert_array_equal(*heard)


def test_a_pulse_has_its_duty_and_its_envelope(tmp_path: Path) -> None:
    column = played(tmp_path, {0x11: 0x80, 0x12: 0xF1, 0x13: 0x00, 0x14: 0x87}, 70)[:, 0]
    assert set(lengths(column[:16_000])) == {4 * 256}
    loud = [column[at : at + 2048].max() for at in range(8192, len(column) - 2048, 16_384)]
    assert loud[:16] == list(range(15, -1, -1))


def test_the_wave_channel_plays_wave_ram(tmp_path: Path) -> None:
    data = np.random.default_rng(1).integers(0, 256, 16)
    writes = {0x30 + i: int(byte) for i, byte in enumerate(data)}
    column = played(tmp_path, {**writes, 0x1A: 0x80, 0x1C: 0x40, 0x1D: 0x00, 0x1E: 0x87})[:, 2]
    nibbles = np.stack([data >> 4, data & 15], 1).ravel() >> 1
    steps = column[-128 * 32 * 2 :: 128]
    assert any(np.array_equal(np.roll(nibbles, turn), steps[:32]) for turn in range(32))
    assert np.array_equal(steps[:32], steps[32:])


def test_noise_is_the_shift_registers_bits(tmp_path: Path) -> None:
    column = played(tmp_path, {0x21: 0xF0, 0x22: 0x18, 0x23: 0x80})[:, 3]
    assert set(column) == {0, 15}
    period = 127 * 4
    assert np.array_equal(column[-2 * period : -period], column[-period:])
    assert (column[-period:] == 15).sum() == 63 * 4


@pytest.mark.parametrize(
    ("how", "words"), [({"serial_capacity": 8}, "at least 520"), ({"serial_capacity": LOG, "every": 13}, "divisor")]
)
def test_what_cannot_be_is_refused_in_a_line(how: dict[str, int], words: str) -> None:
    every = how.pop("every", 1)
    with pytest.raises(EmulatorError, match=words):
        Channels(Emulator(ROM, **how), every)


def frequency(samples: np.ndarray) -> float:
    """Hz of a periodic float[n], by its spectrum's peak, interpolated."""
    size = 8 * len(samples)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), size))
    peak = int(spectrum[10:].argmax()) + 10
    low, mid, high = np.log(spectrum[peak - 1 : peak + 2])
    return (peak + (low - high) / (2 * (low - 2 * mid + high))) * RATE / size


@pytest.mark.parametrize(("stretch", "panning", "sides"), [(1.0, 0x10, (1, 0)), (2.0, 0x01, (0, 1))])
def test_a_tone_has_its_pitch_its_side_and_its_length(stretch: float, panning: int, sides: tuple[int, int]) -> None:
    frame = np.zeros((17_556, 6), np.uint8)
    synthesiser, parts, at = Synthesiser(RATE), [], 0
    for _ in range(60):
        frame[:, 0] = 15 * ((np.arange(at, at + len(frame)) // 1192) & 1)  # 1048576 / 2384 Hz
        frame[:, 4:] = 0x77, panning
        parts.append(synthesiser.frame(frame, stretch))
        at += len(frame)
    samples = np.concatenate(parts)
    assert len(samples) == pytest.approx(stretch * RATE * at / 1_048_576, abs=2)
    assert np.ptp(samples[20_000:], axis=0) == pytest.approx(np.array(sides) / 4, abs=0.03)
    assert frequency(samples[4000:, sides.index(1)]) == pytest.approx(1_048_576 / 2384 / stretch, rel=0.001)


def test_a_wav_file_has_the_samples(tmp_path: Path) -> None:
    samples = np.array([[0.0, 0.5], [-0.5, 2.0]], np.float32)
    write_wav(tmp_path / "a.wav", samples, RATE)
    with wave.open(str(tmp_path / "a.wav")) as read:
        assert (read.getnchannels(), read.getframerate(), read.getnframes()) == (2, RATE, 2)
        found = np.frombuffer(read.readframes(2), "<i2").reshape(2, 2)
    np.testing.assert_array_equal(found, [[0, 16383], [-16383, 32767]])
