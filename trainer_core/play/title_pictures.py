"""What a game shows of itself within its first seconds: its picture in a library of games.

    python -m trainer_core.play.title_pictures ROM OUT.png [ROM OUT.png ...]

A tool of `service.job`: a line of progress after each game, and last which could not be run.
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
"""Before that there are blank screens and makers' names."""


def title_picture(rom: Path) -> np.ndarray:
    """u8[144, 160] shades: the most detailed of a picture a second, no button pressed; the later
    of two as good. Raises EmulatorError for what is no ROM."""
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
    """How many different tiles of 8 by 8 pixels `picture` u8[144, 160] has."""
    height, width = picture.shape
    tiles = picture.reshape(height // 8, 8, width // 8, 8).swapaxes(1, 2).reshape(-1, 64)
    return len(np.unique(tiles, axis=0))


def main(argv: list[str]) -> dict[str, Any]:
    """Write each picture in greys; the games that cannot be run are told, not raised."""
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
