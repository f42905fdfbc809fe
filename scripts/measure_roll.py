"""Time a seek in an edited recording, through the real player's process and pipe.

    python scripts/measure_roll.py [--frames 3600] [--seeks 100] [--keep FOLDER]

Records random steps of Pocket Quest, opens the piano roll's player on them, waits until it has
played all, then asks for random frames; then changes a button and asks for a frame a second on.
One JSON object: milliseconds from the command to its answer, when the picture is in frames.bin.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import open_game
from trainer_core.lab.paths import HomePaths
from trainer_core.service import PlayerService
from trainer_core.wire import commands, records
from trainer_core.wire.playing import PlayerConfig

TASK = "pocket_quest/leave_bedroom"


def record(folder: Path, frames: int, home: HomePaths) -> None:
    """Record random steps; the episode's end is no reason to stop."""
    game = open_game(TASK, home)
    game.restart(0)
    writer = RecordingWriter(folder, game, mode="script", checkpoint="", checkpoint_sha256="")
    chance = random.Random(1)
    while writer.frames < frames:
        begun = writer.frames
        mask = 1 << chance.randrange(8)
        while writer.frames < min(frames, begun + 24):
            held = mask if writer.frames - begun < 8 else 0
            game.frame(held)
            writer.add_frame(game.picture(), held)
    writer.finish()


async def measure(folder: Path, home: HomePaths, frames: int, seeks: int) -> dict[str, object]:
    player, known, chance = PlayerService(home), [0], random.Random(2)

    def note(event: records.Event) -> None:
        if isinstance(event, records.RollEvent):
            known[0] = event.known

    player.on_event = note
    began = time.monotonic()
    await player.start(PlayerConfig(task=TASK, mode="edit", recording=str(folder)))
    opened = time.monotonic() - began
    while known[0] < frames:
        await asyncio.sleep(0.02)
    played = time.monotonic() - began - opened

    async def timed(kind: type[commands.Command], **fields: object) -> float:
        at = time.perf_counter()
        ack = await player.request(kind, timeout_s=60.0, **fields)
        assert ack.ok, ack.detail
        return 1000 * (time.perf_counter() - at)

    found = sorted([await timed(commands.Seek, frame=chance.randrange(frames)) for _ in range(seeks)])
    edits = []
    for _ in range(20):
        at = chance.randrange(frames - 60)
        while known[0] < frames:
            await asyncio.sleep(0.02)
        known[0] = 0  # before the change: what follows it may be known again with its answer
        spliced = await timed(commands.Splice, first=at, removed=1, masks="10")
        edits.append(spliced + await timed(commands.Seek, frame=at + 59))
    await player.stop()
    return {
        "frames": frames,
        "open_s": round(opened, 2),
        "played_s": round(played, 2),
        "seek_ms": {
            "median": round(statistics.median(found), 1),
            "p99": round(found[int(0.99 * (seeks - 1))], 1),
            "max": round(found[-1], 1),
        },
        "edit_and_a_second_on_ms": {"median": round(statistics.median(edits), 1), "max": round(max(edits), 1)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--frames", type=int, default=3600)
    parser.add_argument("--seeks", type=int, default=100)
    parser.add_argument("--keep", type=Path, help="leave the recording here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home = HomePaths(Path(name))
        folder = options.keep or home.root / "recording"
        record(folder, options.frames, home)
        print(json.dumps(asyncio.run(measure(folder, home, options.frames, options.seeks))))


if __name__ == "__main__":
    main()
