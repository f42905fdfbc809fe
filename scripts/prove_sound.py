"""Play a known tone by a real player through a real sound server: its pitch, its gaps, at each speed.

    python scripts/prove_sound.py [--seconds 8]

Needs PulseAudio (Debian: pulseaudio, pulseaudio-utils) and PySDL2. A server of its own, with a sink
that nobody hears and a clock of 48,000 samples a second; `parec` writes down what the sink plays.
The ROM is made here: pulse channel 1, half of each period high, 131072 / (2048 - 1750) = 439.84 Hz.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import numpy as np

from emulator.rom.cartridge import Cartridge
from trainer_core.wire import commands
from trainer_core.wire.playing import PlayerConfig, write_player_config

RATE, PERIOD = 48_000, 1750
TONE_HZ = 131072 / (2048 - PERIOD)
SILENT_S = 0.002
"""A gap: longer than a period of the tone can be low at speed 1."""


def tone_rom(path: Path) -> Path:
    """Write a ROM that plays one tone for ever, at full volume on both sides (Pan Docs, "Audio registers")."""
    data = bytearray(32768)
    program = b""
    for register, value in (
        (0x26, 0x80),
        (0x25, 0xFF),
        (0x24, 0x77),
        (0x10, 0x00),
        (0x11, 0x80),
        (0x12, 0xF0),
        (0x13, PERIOD & 0xFF),
        (0x14, 0x80 | PERIOD >> 8),
    ):
        program += bytes((0x3E, value, 0xE0, register))  # LD A, value; LDH (register), A
    data[0x100:0x104] = b"\x00\xc3\x50\x01"  # NOP; JP 0x0150
    data[0x150 : 0x150 + len(program) + 2] = program + b"\x18\xfe"  # JR to itself
    data[0x134:0x138] = b"TONE"
    data[0x14D] = (-sum(data[0x134:0x14D]) - 0x19) & 0xFF
    path.write_bytes(data)
    Cartridge.from_file(path)
    return path


def measure(samples: np.ndarray) -> dict[str, float]:
    """Return, of int16[n], one side, what is heard from the first sound to the last."""
    loud = np.flatnonzero(np.abs(samples.astype(int)) > 200)
    if not len(loud):
        return {"seconds": 0.0}
    heard = samples[loud[0] : loud[-1] + 1].astype(float)
    gaps = np.diff(loud)
    rises = np.flatnonzero((heard[:-1] <= 0) & (heard[1:] > 0))
    periods = np.diff(rises) / RATE
    return {
        "seconds": round(len(heard) / RATE, 2),
        "pitch_hz": round(1 / float(np.median(periods)), 2),
        "mean_hz": round(len(periods) / (rises[-1] - rises[0]) * RATE, 2),
        "gaps": int((gaps > SILENT_S * RATE).sum()),
        "longest_gap_ms": round(float(gaps.max()) / RATE * 1000, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=8.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory(prefix="dmglab-sound-") as place, contextlib.ExitStack() as end:
        folder = Path(place)
        env = {
            **os.environ,
            "PULSE_SERVER": f"unix:{folder}/server",
            "XDG_RUNTIME_DIR": place,
            "SDL_AUDIODRIVER": "pulseaudio",
        }

        def run(*argv: str, stdin: int | None = None, stdout: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
            made = subprocess.Popen(argv, env=env, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL)
            end.callback(made.wait)
            end.callback(made.terminate)
            return made

        run(
            "pulseaudio",
            "-n",
            "--exit-idle-time=-1",
            "--daemonize=no",
            f"--load=module-native-protocol-unix socket={folder}/server auth-anonymous=1",
            f"--load=module-null-sink rate={RATE} sink_name=none",
        )
        while not (folder / "server").exists():
            time.sleep(0.05)
        rom, player_folder = tone_rom(folder / "tone.gb"), folder / "players" / "one"
        write_player_config(player_folder, PlayerConfig(task=str(rom)))
        player = run(
            sys.executable,
            "-m",
            "trainer_core.player",
            str(player_folder),
            stdin=subprocess.PIPE,
            stdout=(folder / "events").open("wb"),
        )
        assert player.stdin is not None
        found: dict[str, object] = {"tone_hz": round(TONE_HZ, 2), "load": os.getloadavg()[0]}
        player.stdin.write(commands.encode(commands.SetSound(id=1, volume=0.8)))
        player.stdin.flush()
        while b'"sound"' not in (folder / "events").read_bytes():
            time.sleep(0.1)
        time.sleep(2.0)
        for number, speed in enumerate((1.0, 0.5, 0.25, 2.0, 4.0, 8.0, 0.0)):
            player.stdin.write(commands.encode(commands.SetSpeed(id=2 + number, value=speed)))
            player.stdin.flush()
            time.sleep(1.0)
            tape = folder / f"tape{number}"
            recorder = run(
                "parec",
                "-d",
                "none.monitor",
                f"--rate={RATE}",
                "--format=s16le",
                "--channels=2",
                "--raw",
                stdout=tape.open("wb"),
            )
            time.sleep(seconds)
            recorder.terminate()
            recorder.wait()
            samples = np.frombuffer(tape.read_bytes()[: tape.stat().st_size // 4 * 4], "<i2")
            found[f"speed {speed:g}"] = measure(samples[::2])
        player.stdin.close()
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
