"""Take every picture of the app that README and guide show, anew: one command, about two minutes.

    python scripts/shoot_pictures.py [--out docs/images]

Trains for real under an Xvfb of its own, in a temporary home, so that every curve and every game on
the pictures is one. Needs Xvfb and ImageMagick's `import`. Prints the files that it wrote.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hand import CHECKOUT, Hand, on_own_display, use_app

from gui.app import App
from gui.features.curves.dock import TelemetryDock
from gui.features.play.controller import PlayController
from gui.features.replay.controller import ReplayController
from gui.features.roll.controller import RollController
from gui.features.runs.controller import RunsController
from gui.features.train.controller import TrainingController
from gui.state.checkpoints import CheckpointList
from gui.state.session import Mode, Navigation, Place, Session
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.run_record import RunState

SIZE = "1280x800"
TASK = "pocket_quest/leave_bedroom"
SEEDS, SEED_S = (1, 2), 20
"""Of further runs, for the picture of several curves."""


def command(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "trainer_core.cli.main", *words, "--home", str(home)]


class Photographer(Hand):
    """Brings the app into one state after another and takes a picture of each."""

    app: App

    async def take(self, name: str, settle_s: float = 0.5) -> None:
        await asyncio.sleep(settle_s)
        path = self.out / f"{name}.png"
        await self.run("import", "-window", str(int(self.app.window.winId())), str(path))
        print(path)

    def show(self, place: Place) -> None:
        self.app[Navigation].leave_welcome()
        self.app[Navigation].show(place)

    async def work(self) -> None:
        await self.take("app-welcome")
        await self.train()
        await self.play()
        await self.replay()
        await self.make_a_task()

    async def train(self) -> None:
        training = self.app[TrainingController]
        training.prepare_demo()
        await self.until(lambda: training.plan is not None, "the plan of the demo")
        training.start_demo()
        await self.until(lambda: training.record and training.record.env_steps > 20_000, "20,000 steps")
        self.show(Place.WALL)
        self.app[TelemetryDock].raise_()
        await self.take("app-training", 1.5)
        await self.until(lambda: training.state.is_end, "the end of the training")
        assert training.state is RunState.FINISHED, training.state
        for seed in SEEDS:
            words = ("train", "--task", TASK, "--device", "cpu", "--seed", str(seed), "--seconds", str(SEED_S))
            await self.run(*command(self.app.bridge.home.root, *words))
        self.app[RunsController].show_all([run_id for run_id in self.app.bridge.service.runs])
        self.show(Place.CURVES)
        await self.until(lambda: len(self.app[TelemetryModel].runs) > len(SEEDS), "the curves of every run")
        await self.take("app-curves", 1.5)

    async def play(self) -> None:
        playing, cards = self.app[PlayController], self.app[CheckpointList]
        await self.until(lambda: cards.selected is not None and cards.selected.is_usable, "a checkpoint")
        self.app.actions["deploy"].trigger()
        await self.until(lambda: playing.state.frame > 40, "the agent at play")
        self.app.actions["record"].trigger()
        await self.take("app-play", 3.0)
        await self.until(lambda: playing.state.recorded_frames > 240 or playing.state.frame > 900, "a recording")
        self.app.actions["record"].trigger()
        await self.until(lambda: not playing.recording, "the end of the recording")

    async def replay(self) -> None:
        replay = self.app[ReplayController]
        self.show(Place.REPLAY)
        await self.until(lambda: replay.replay is not None or replay.folders, "a recording")
        if replay.replay is None:
            replay.load(replay.folders[0])
        await self.until(lambda: replay.replay is not None, "the recording")
        await self.take("app-replay", 1.0)
        if self.app.actions["rollOpen"].isEnabled():
            self.app.actions["rollOpen"].trigger()
            await self.until(lambda: self.app[RollController].known > 0, "the roll")
            await self.take("app-roll", 1.0)
            self.app.actions["rollOpen"].trigger()

    async def make_a_task(self) -> None:
        self.app[Session].set_mode(Mode.HUMAN)
        playing = self.app[PlayController]
        playing.play_human()
        await self.until(lambda: playing.is_human and playing.state.frame > 60, "the game")
        self.show(Place.LIVE)
        self.app.actions["saveStart"].trigger()
        await self.take("app-task", 1.5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=CHECKOUT / "docs" / "images")
    options = parser.parse_args()
    if (status := on_own_display(SIZE)) is not None:
        return status
    home = Path(tempfile.mkdtemp(prefix="pictures-")) / "home"
    use_app(lambda app: Photographer(app, options.out).work(), home, "light")
    subprocess.run(command(home, "rollout", "--out", str(home / "rollout")), check=True, stdout=subprocess.DEVNULL)
    moving = options.out / "leave-bedroom.gif"
    shutil.copyfile(home / "rollout" / "rollout.gif", moving)
    print(moving)
    return 0


if __name__ == "__main__":
    sys.exit(main())
