"""Title pictures: a game's most detailed screen in its first seconds, for the library of games.

    python -m trainer_core.play.title_pictures ROM OUT.png [ROM OUT.png ...]

A tool of `service.job`: prints a line of progress after each game, and finally the games that could not be run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from emulator import Cartridge, Emulator, EmulatorError
from trainer_core.wire.shades import GREY_LEVELS

SECONDS = 12
FRAMES_A_SECOND = 60
LOGOS_S = 2
"""Seconds at the start that are skipped: blank screens and makers' names."""


def title_picture(rom: Path) -> np.ndarray:
    """Return the most detailed screen of a game's first seconds, shades u8[144, 160].

    The game runs without input; one screen per second is compared, and the later of two equal ones is taken. Raises
    EmulatorError for an invalid ROM.
    """
    emulator = Emulator(Cartridge.from_file(rom), 1, "cpu")
    nothing = np.zeros(1, np.uint8)
    best, most = emulator.screens.numpy()[0].copy(), -1
    for second in range(1, SECONDS + 1):
        emulator.run(nothing, FRAMES_A_SECOND)
        picture = emulator.screens.numpy()[0]
        if second > LOGOS_S and (found := detail(picture)) >= most:
            best, most = picture.copy(), found
    return best


def detail(picture: np.ndarray) -> int:
    """Return the number of different 8 by 8 tiles in `picture` u8[144, 160]."""
    height, width = picture.shape
    tiles = picture.reshape(height // 8, 8, width // 8, 8).swapaxes(1, 2).reshape(-1, 64)
    return len(np.unique(tiles, axis=0))


def main(argv: list[str]) -> dict[str, Any]:
    """Write the title picture of each ROM as a grey PNG; return the games that cannot be run, with reasons."""
    pairs = list(zip(argv[::2], argv[1::2], strict=True))
    failed: dict[str, str] = {}
    for number, (rom, out) in enumerate(pairs, 1):
        try:
            picture = title_picture(Path(rom))
            place = Path(out)
            place.parent.mkdir(parents=True, exist_ok=True)
            partial = place.with_suffix(".part")
            Image.fromarray(np.array(GREY_LEVELS, np.uint8)[picture]).save(partial, "PNG")
            partial.replace(place)
        except (EmulatorError, OSError) as error:
            failed[rom] = str(error)
        print(json.dumps({"progress": number / len(pairs)}), flush=True)
    return {"ok": True, "made": len(pairs) - len(failed), "failed": failed}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
