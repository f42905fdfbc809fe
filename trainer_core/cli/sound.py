"""`dmglab sound GAME`: write the sound of a game as a WAV file, from power-on or with recorded buttons."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result
from trainer_core.cli.progress import tell_progress
from trainer_core.lab.tasks import Codec
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.fields import limits
from trainer_core.wire.regular_files import check_target

CHANNELS = "1234"


@dataclass(frozen=True)
class Options:
    game: Annotated[str, tyro.conf.Positional]
    """ROM file, task id or task folder."""
    out: Path = Path("sound.wav")
    """The WAV file: 16 bits, two channels."""
    inputs: Path | None = None
    """Pressed buttons: an input script, or the folder of a recording; default none."""
    frames: int = field(default=1800, metadata=limits(1, 10**6))
    """Length in frames; 60 last one second."""
    channels: str = CHANNELS
    """Audible channels: 1 and 2 pulse, 3 wave, 4 noise."""
    rate: int = field(default=48_000, metadata=limits(8_000, 192_000))
    """Samples per second."""
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "sound", argv)
    if not options.channels or set(options.channels) - set(CHANNELS):
        raise ConfigError(f"channels {options.channels!r}: give some of {CHANNELS}, such as 12")
    check_target(options.out)
    from emulator.sound import write_wav

    samples = render(options)
    partial = options.out.with_name(f"{options.out.name}.tmp")
    try:
        write_wav(partial, samples, options.rate)
        partial.replace(options.out)
    except OSError as error:
        raise LabError(f"{options.out}: cannot be written: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    found = {
        "ok": True,
        "out": str(options.out),
        "frames": options.frames,
        "seconds": round(len(samples) / options.rate, 3),
        "rate": options.rate,
        "loudest": round(float(np.abs(samples).max(initial=0.0)), 4),
    }
    return Result(found, f"Wrote {options.out}: {found['seconds']:g} s of sound.")


def render(options: Options) -> np.ndarray:
    """Return the sound, float32[n, 2]. Raises LabError for an unknown game, or one without sound."""
    from trainer_core.author.inputs import read_inputs
    from trainer_core.envs.single_game import ConsoleGame, open_game
    from trainer_core.play.sound import GameSound

    game = open_game(options.game, home_paths(options.home))
    if not isinstance(game, ConsoleGame):
        raise ConfigError(f"{options.game} makes no sound: it is no Game Boy game")
    game.restart(0)
    masks: list[int] = []
    if options.inputs is not None:
        inputs = read_inputs(options.inputs, Codec())[0]
        masks = inputs.masks.tolist()
        if inputs.start is not None:
            game.restore(inputs.start)
    assert game.cartridge is not None
    sound = GameSound(game.cartridge, options.rate)
    sound.synthesiser.channels = sum(1 << CHANNELS.index(one) for one in set(options.channels))
    heard = []
    for frame in range(options.frames):
        heard.append(sound.frame(game, masks[frame] if frame < len(masks) else 0))
        if frame % 60 == 0:
            tell_progress(frame / options.frames)
    return np.concatenate(heard)
