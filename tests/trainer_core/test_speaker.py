"""The player's sound: to a real SDL device, along jumps, and not at all where there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from trainer_core.cli.main import main
from trainer_core.envs.single_game import ConsoleGame, open_game
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.recording import FRAMES_PER_SECOND
from trainer_core.play.pacer import SPEED_WINDOW, Pacer
from trainer_core.play.sdl_output import why_no_device
from trainer_core.play.sound import FASTEST, REFILL, TARGET_S, GameSound, Speaker
from trainer_core.wire import commands, records
from trainer_core.wire.playing import PlayerConfig, write_player_config

ROM = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"


class Tape:
    """An output that keeps what it is given; as much waits as it is told."""

    rate = 48_000

    def __init__(self) -> None:
        self.data = b""
        self.waiting_s: float | None = 0.05

    def play(self, data: bytes) -> None:
        self.data += data

    def close(self) -> None:
        self.data = b""


@pytest.fixture
def game(tmp_path: Path) -> ConsoleGame:
    game = open_game(str(ROM), HomePaths(tmp_path))
    assert isinstance(game, ConsoleGame)
    return game


def test_what_is_heard_follows_the_game_through_jumps_and_leaves_it_alone(game: ConsoleGame, tmp_path: Path) -> None:
    alone = open_game(str(ROM), HomePaths(tmp_path))
    assert isinstance(alone, ConsoleGame)
    assert game.cartridge is not None
    sound = GameSound(game.cartridge)
    shadow, state = sound._console, game.snapshot()
    for frame in range(90):
        mask = 0x80 if frame % 40 < 8 else 0
        if frame == 50:
            state = game.snapshot()
        if frame == 70:
            game.restore(state)
            alone.restore(state)
            sound.lose()
        sound.frame(game, mask)
        game.frame(mask)
        alone.frame(mask)
    assert game._emulator.state_hash() == alone._emulator.state_hash() == shadow.state_hash()


def test_a_speaker_is_silent_when_it_should_be(game: ConsoleGame) -> None:
    assert game.cartridge is not None
    tape = Tape()
    speaker = Speaker(game.cartridge, lambda: tape)

    def grown(speed: float = 1.0, kept: float = 0.0) -> int:
        before = len(tape.data)
        speaker.frame(game, 0, speed, kept or speed)
        game.frame(0)
        return len(tape.data) - before

    assert grown() == 0, "nobody listens yet"
    speaker.set(0.5, 15)
    assert grown() == pytest.approx(4 * 803, abs=40)
    assert grown(0.5) == pytest.approx(8 * 803, abs=80)
    assert grown(2.0, kept=1.0) == pytest.approx(4 * 803, abs=40), "a late game sounds lower"
    assert grown(0.0) == grown(2 * FASTEST) == grown(2 * FASTEST, kept=1.0) == 0
    tape.waiting_s = 1.0
    assert grown() == 0, "too much waits"
    tape.waiting_s = None
    assert grown() == 0, "no device"
    tape.waiting_s = 0.0
    assert grown() == pytest.approx(4 * (48_000 * TARGET_S + 803), abs=80), "some in hand first"
    assert grown() == pytest.approx(4 * 803 * (1 + REFILL), abs=80), "it ran dry: a short step"
    speaker.set(0.0, 15)
    assert grown() == 0


class Card(Tape):
    """Takes 43 ms at once from what waits, by a clock that only sleepers move."""

    piece = 4 * 2048

    def __init__(self) -> None:
        super().__init__()
        self.now, self.heard = 0.0, b""

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        while len(self.heard) < 4 * self.rate * self.now:
            taken, self.data = self.data[: self.piece], self.data[self.piece :]
            self.heard += taken.ljust(self.piece, b"\0")
        self.waiting_s = len(self.data) / 4 / self.rate

    def longest_gap_s(self) -> float:
        """From the first sound to the last."""
        loud = np.flatnonzero(np.frombuffer(self.heard, "<i2")[::2])
        return float(np.diff(loud).max()) / self.rate


class Tone:
    """Sound without a game."""

    def frame(self, game: object, buttons: int, stretch: float) -> np.ndarray:
        return np.full((round(48_000 / FRAMES_PER_SECOND * stretch), 2), 0.5, np.float32)

    def lose(self) -> None:
        """It has no state."""


@pytest.mark.parametrize("speed", [0.25, 0.5, 1.0, 2.0])
def test_a_late_frame_is_heard_for_about_as_long_as_it_is_late(
    game: ConsoleGame, monkeypatch: pytest.MonkeyPatch, speed: float
) -> None:
    assert game.cartridge is not None
    card, late_s = Card(), 0.22
    monkeypatch.setattr("trainer_core.play.pacer.time", card)
    speaker, pacer = Speaker(game.cartridge, lambda: card), Pacer(speed)
    speaker.set(1.0, 15)
    monkeypatch.setattr(speaker, "_sound", Tone())
    for number in range(int(8 * FRAMES_PER_SECOND * speed)):
        pacer.wait()
        speaker.frame(game, 0, pacer.speed, pacer.kept)
        card.sleep(late_s if number % 80 == 79 else 0.003)
    step_s = REFILL / FRAMES_PER_SECOND / speed
    assert 0.02 < card.longest_gap_s() < late_s - TARGET_S + step_s + 0.043


@pytest.mark.parametrize(("speed", "measured"), [(0.25, 0.25), (1.0, 1.0), (4.0, 4.0), (0.0, 5.6)])
def test_frames_come_at_the_speed_asked_for_and_the_real_one_is_told(
    monkeypatch: pytest.MonkeyPatch, speed: float, measured: float
) -> None:
    clock = Card()
    monkeypatch.setattr("trainer_core.play.pacer.time", clock)
    pacer = Pacer(speed)
    for _ in range(2 * SPEED_WINDOW):
        pacer.wait()
        clock.sleep(0.003)  # what a frame takes: at full speed 333 a second are possible
    assert pacer.measured == pytest.approx(measured, rel=0.1)


@pytest.mark.usefixtures("warm")
def test_a_player_plays_to_a_real_device_and_says_so(tmp_path: Path) -> None:
    pytest.importorskip("sdl2")
    folder, tape = tmp_path / "players" / "one", tmp_path / "tape.raw"
    write_player_config(folder, PlayerConfig(task=str(ROM)))
    environment = {**os.environ, "SDL_AUDIODRIVER": "disk", "SDL_DISKAUDIOFILE": str(tape)}
    with subprocess.Popen(
        [sys.executable, "-m", "trainer_core.player", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as player:
        assert player.stdin is not None
        assert player.stdout is not None
        player.stdin.write(commands.encode(commands.SetSound(id=1, volume=1.0)))
        player.stdin.flush()
        said: list[records.SoundEvent] = []
        deadline = time.monotonic() + 60
        for line in player.stdout:
            event = records.decode(line)
            if isinstance(event, records.SoundEvent):
                said.append(event)
            heard = tape.exists() and np.any(np.frombuffer(tape.read_bytes()[:4_000_000], "u1"))
            if heard or time.monotonic() > deadline:
                break
        player.stdin.close()
        player.stdout.read()
    assert [(event.device, event.reason) for event in said] == [("disk", "")]
    samples = np.frombuffer(tape.read_bytes(), "<i2")
    assert np.abs(samples).max() > 500


def test_a_computer_without_sound_is_known_before_it_is_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SDL_AUDIODRIVER", "PULSE_SERVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    if not Path("/dev/snd").exists():
        assert why_no_device() == "this computer has no sound"
    (tmp_path / "pulse").mkdir()
    (tmp_path / "pulse" / "native").touch()
    assert why_no_device() == ""


def test_a_game_becomes_a_wav_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.wav"
    assert main(["sound", str(ROM), "--frames", "60", "--out", str(out), "--channels", "13"]) == 0
    assert json.loads(capsys.readouterr().out)["seconds"] == pytest.approx(60 / 59.73, abs=0.01)
    assert out.stat().st_size > 190_000
    assert main(["sound", "tiny_goal", "--out", str(out)]) == 2
    assert "makes no sound" in capsys.readouterr().err
    assert main(["sound", str(ROM), "--out", str(out), "--channels", "9"]) == 2
    assert "give some of 1234" in capsys.readouterr().err
