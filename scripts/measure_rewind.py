"""Time a frame back, and what keeping the history costs: Pocket Quest on one core.

python scripts/measure_rewind.py [--frames 600]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from trainer_core.envs.single_game import open_game
from trainer_core.lab.paths import HomePaths
from trainer_core.play.history import History

CHECKOUT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--frames", type=int, default=600)
    frames = parser.parse_args().frames
    rom = CHECKOUT / "assets/games/pocket_quest/pocket_quest.gb"
    game = open_game(str(rom), HomePaths(Path(tempfile.mkdtemp())))
    game.restart(0)
    history = History(game)
    history.begin(None)

    def play(keep: bool) -> float:
        begun = time.perf_counter()
        for _ in range(frames):
            game.frame(0)
            game.picture()
            if keep:
                history.add(0, None)
        return 1000 * (time.perf_counter() - begun) / frames

    play(keep=False)
    result = {"frame_ms": play(keep=False), "frame_with_history_ms": play(keep=True)}
    times = []
    for _ in range(frames // 2):
        begun = time.perf_counter()
        history.back()
        game.picture()
        times.append(1000 * (time.perf_counter() - begun))
    times.sort()
    result |= {
        "back_mean_ms": sum(times) / len(times),
        "back_median_ms": times[len(times) // 2],
        "back_worst_ms": times[-1],
    }
    print(json.dumps({name: round(value, 3) for name, value in result.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
