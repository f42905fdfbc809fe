"""Draw every scene of a shipped game on one sheet, at four times its size, from its play-through.

    python scripts/game_scenes.py --out /tmp/scenes            # all three games
    python scripts/game_scenes.py --game nectar_run --scenes 40

The inputs of `assets/games/<game>/playthrough.json` are played from power-on. Of each of `--scenes`
equal stretches of play the picture is kept that differs most from all kept before, which finds
titles, rooms, dialogues and endings without a list of them; each stands under its frame's number.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from PIL import Image, ImageDraw

from emulator import Cartridge, Emulator
from emulator.tools.input_script import InputScript
from trainer_core.formats.gif import GREENS, shades_image
from trainer_core.wire.buttons import ACTION_MASKS, ACTIONS

GAMES = Path(__file__).resolve().parents[1] / "assets" / "games"
NAMES = ("pocket_quest", "nectar_run", "mirror_moths")
SCALE, COLUMNS, HEAD = 4, 4, 20


def pictures_of(game: str, every: int) -> tuple[list[int], np.ndarray]:
    """Return frames, and the screens u8[P, 144, 160] then, of one picture every `every` frames."""
    folder = GAMES / game
    told = json.loads((folder / "playthrough.json").read_text())
    masks = [ACTION_MASKS[ACTIONS.index(name)] for name in told["actions"].split()]
    script = InputScript(told["wait_frames"], tuple(masks), 24, 8)
    emulator = Emulator(Cartridge.from_file(folder / f"{game}.gb"))
    frames, screens = [], []
    for frame in range(script.frames):
        emulator.run(np.array([script.held(frame)], np.uint8), 1)
        if frame % every == 0:
            frames.append(frame)
            screens.append(emulator.screens.numpy()[0].copy())
    return frames, np.stack(screens)


def most_different(screens: np.ndarray, count: int) -> list[int]:
    """Return indices of `count` of `screens` u8[P, 144, 160]: of each of `count` stretches of play the
    one that is farthest from all chosen before."""
    small = screens.reshape(len(screens), 36, 4, 40, 4).mean((2, 4)).reshape(len(screens), -1)
    small = small.astype(np.float32)
    nearest = np.full(len(screens), np.inf, np.float32)
    chosen = []
    for stretch in np.array_split(np.arange(len(screens)), min(count, len(screens))):
        found = int(stretch[nearest[stretch].argmax()])
        chosen.append(found)
        nearest = np.minimum(nearest, np.abs(small - small[found]).mean(1))
    return chosen


def sheet(frames: list[int], screens: np.ndarray) -> Image.Image:
    """Return all of them on one sheet, each below its frame's number."""
    width, height = 160 * SCALE, 144 * SCALE + HEAD
    rows = -(-len(screens) // COLUMNS)
    whole = Image.new("RGB", (COLUMNS * width, rows * height), "white")
    draw = ImageDraw.Draw(whole)
    for number, (frame, shades) in enumerate(zip(frames, screens, strict=True)):
        x, y = number % COLUMNS * width, number // COLUMNS * height
        picture = shades_image(shades, GREENS).convert("RGB")
        large = picture.resize((width - 4, height - HEAD), Image.Resampling.NEAREST)
        whole.paste(large, (x, y + HEAD))
        draw.text((x + 4, y + 4), f"frame {frame}", fill="black")
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", action="append", choices=NAMES, default=[])
    parser.add_argument("--out", type=Path, default=Path("/tmp/scenes"))
    parser.add_argument("--scenes", type=int, default=48)
    parser.add_argument("--every", type=int, default=12, help="frames between pictures looked at")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for game in options.game or NAMES:
        frames, screens = pictures_of(game, options.every)
        chosen = most_different(screens, options.scenes)
        path = options.out / f"{game}.png"
        sheet([frames[each] for each in chosen], screens[chosen]).save(path)
        print(f"{path}: {len(chosen)} scenes of {frames[-1]} frames ({frames[-1] / 59.7:.0f} s)")


if __name__ == "__main__":
    main()
