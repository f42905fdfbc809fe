"""Somebody who flies well: tries every button on copies of the game and takes the best.

It reads lives, jar and places from memory. Scripts use it to record the play-through and the ways
into later stages; policies never see any of this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from kit.game_batch import ACTIONS, CODEC, Codec, GameBatch

ROM = Path(__file__).resolve().parent / "nectar_run.gb"
TITLE_FRAMES = 130
OPENING_FRAMES = 144  # title and the page that names the stage
NEXT = ("A", "LEFT", "RIGHT", "B")  # tried after each first button
AHEAD_FRAMES = 24
FLYER_BYTES, DROPS = 7, 4
PAGE_FRAMES, CLEAR_FRAMES = 648, 144
"""At most until the hornet is there; until the page after it is."""
ARCADE = Codec(8, 8)
"""Buttons are held through: a bee that stands still for 16 of 24 frames catches little."""


def opening(codec: Codec) -> tuple[str, ...]:
    """From the title into the first garden."""
    return ("START", *["B"] * (OPENING_FRAMES // codec.frames_per_step - 1))


class Pilot:
    """Plays one game; `actions` is everything it pressed since power-on."""

    def __init__(self, wait_frames: int, before: Sequence[str] = (), codec: Codec = CODEC) -> None:
        """`before`: what is pressed first, none for `opening`."""
        self.game = GameBatch(ROM, 1, codec)
        self.trial = GameBatch(ROM, len(ACTIONS) * len(NEXT), codec)
        self.wait_frames = wait_frames
        self.actions: list[str] = []
        self.game.emulator.run(None, wait_frames)
        self.press(*(before or opening(codec)))

    def press(self, *names: str) -> None:
        self.game.press(*names)
        self.actions += names

    def value(self, name: str) -> int:
        return self.game.variable(name)

    def _rate(self, env: int) -> float:
        """How well copy `env` stands: lives, jar, the hornet; near a drop; below the hornet."""
        get = self.trial.variable
        bee = get("bee_x", env)
        worth = 4000.0 * get("lives", env) + 600 * get("jar", env) - 150 * get("hornet_health", env)
        drops = [
            (get("drops", env, FLYER_BYTES * k + 1), get("drops", env, FLYER_BYTES * k + 2))
            for k in range(DROPS)
            if get("drops", env, FLYER_BYTES * k)
        ]
        reach = [abs(x - bee) + 0.6 * abs(y - get("bee_y", env)) for x, y in drops]
        worth -= 2 * min(reach, default=abs(bee - 80))
        if get("hornet_health", env):
            worth -= abs(bee - get("hornet_x", env) - 8)
        return worth + get("score", env, 3) * 3 + get("score", env, 2) * 30

    def step(self) -> None:
        """Look two buttons ahead, the second for some 24 frames; press the better first one."""
        self.trial.load([self.game.emulator.snapshot(0)])
        self.trial.step(np.repeat(np.arange(len(ACTIONS)), len(NEXT)))
        for _ in range(AHEAD_FRAMES // self.game.codec.frames_per_step):
            self.trial.step(np.tile([ACTIONS.index(name) for name in NEXT], len(ACTIONS)))
        rates = [self._rate(env) for env in range(self.trial.num_envs)]
        best = int(np.argmax(rates)) // len(NEXT)
        self.press(ACTIONS[best] if ACTIONS[best] != "START" else "A")

    def fly_until(self, reached: Callable[[], bool], limit: int = 400) -> None:
        for _ in range(limit):
            if reached():
                return
            if not self.value("lives"):
                break
            self.step()
        raise RuntimeError(f"the pilot crashed after {len(self.actions)} actions")

    def fill_the_jar(self) -> None:
        self.fly_until(lambda: self.value("jar") == 8)

    def wait_for_the_hornet(self) -> None:
        for _ in range(PAGE_FRAMES // self.game.codec.frames_per_step):
            if self.value("hornet_health") and self.value("hornet_y"):
                return
            self.press("B")
        raise RuntimeError("no hornet came")

    def fell_the_hornet(self) -> None:
        self.fly_until(lambda: self.value("hornet_health") == 0)
        self.press(*["B"] * (CLEAR_FRAMES // self.game.codec.frames_per_step))
