"""Use the app by hand: from a ROM that it never saw to a training run on a goal in it.

    python scripts/walk_through.py --by keyboard --out /tmp/walk     or --by mouse
    python scripts/walk_through.py --game nectar_run
    python scripts/walk_through.py --rom my_game.gb

Real processes under Xvfb; every click and key is xdotool's (scripts/hand.py). Where to walk is not
scripted: the hand presses buttons and looks at the screen, as a person does who never saw the
game, until the arrows move something that is no menu. Prints the seconds of every step as one JSON
object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from hand import CHECKOUT, Hand, StuckError, on_own_display, use_app
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QAbstractItemView, QApplication, QDialogButtonBox

from gui.features.play.controller import PlayController
from gui.features.play.live import LiveView
from gui.features.tasks.model import DraftModel, observe
from gui.features.train.controller import TrainingController
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.run_record import RunState

TITLE = b"NEVER SEEN\0"
WAYS = ("Right", "Down", "Left", "Up")
MOVED = 12
"""Pixels that another picture differs in, at least, for something to have moved."""
FAR = 0.004
"""Distance from the start states that a goal is worth being captured at."""
TRIES = 14
"""Of getting through titles and menus."""
WALKS = 4
"""Goals that are tried, each further away, before a game is given up."""


def never_seen(folder: Path, game: str) -> Path:
    """Return a game of ours under another title, and so of a hash that the lab does not know."""
    data = bytearray((CHECKOUT / "assets/games" / game / f"{game}.gb").read_bytes())
    data[0x134 : 0x134 + len(TITLE)] = TITLE
    data[0x14D] = (-sum(data[0x134:0x14D]) - 0x19) & 0xFF
    path = folder / "never_seen.gb"
    path.write_bytes(data)
    return path


class Person(Hand):
    """Looks at the game and finds out what its buttons do."""

    def __init__(self, app, out: Path, by: str) -> None:
        super().__init__(app, out, f"{by}_")
        self.by = by

    def seen(self) -> np.ndarray:
        return self.app[PlayController].picture.copy()

    async def settled(self, most_s: float = 1.2) -> np.ndarray:
        """Return the picture once nothing moves by itself, or after `most_s`."""
        before, end = self.seen(), time.monotonic() + most_s
        while time.monotonic() < end:
            await asyncio.sleep(0.12)
            now = self.seen()
            if changed(before, now) < MOVED:
                return now
            before = now
        return before

    async def arrows_that_move(self) -> list[str]:
        """Return which arrows change more of the picture than waiting does."""
        found = []
        for way in WAYS:
            before = await self.settled(0.5)
            await asyncio.sleep(0.25)
            idle = changed(before, self.seen())
            before = self.seen()
            await self.hold(way, 0.25)
            await asyncio.sleep(0.15)
            if changed(before, self.seen()) > max(MOVED, 2 * idle):
                found.append(way)
        return found

    async def find_the_game(self) -> None:
        """Go through titles, texts and menus, until arrows lead to many pictures.

        Where it is as it was, what was played is taken back: R is held, with Shift at full speed,
        as a person would in a dead end, and the arrows are pressed in another order.
        """
        same, before = 0, (0, 0)
        for number in range(TRIES):
            moving = await self.arrows_that_move()
            found = await self.places(moving, number) if len(moving) >= 2 else 0
            if found >= 4:
                return
            same = same + 1 if found and (len(moving), found) == before else 0
            before = (len(moving), found)
            if same and len(moving) > 2 and found > 2:
                return  # a small room: a menu moves by two arrows
            if same:
                await self.hold("shift r", 1.5)
                continue
            await self.hold(("Return", "z", "z")[number % 3], 0.12)
            await asyncio.sleep(0.5)
        await self.shot("no_game_found")
        raise StuckError("a game that the arrows move")

    async def places(self, ways: list[str], order: int) -> int:
        """Count the pictures that differ after some presses: a menu has few of them."""
        found: list[np.ndarray] = []
        presses = [way for way in ways for _ in range(2)]
        if order:
            random.Random(order).shuffle(presses)
        for way in presses:
            await self.hold(way, 0.3)
            now = await self.settled(0.3)
            if all(changed(now, other) >= MOVED for other in found):
                found.append(now)
        return len(found)

    async def walk_away(self, legs: int) -> None:
        """Walk some legs in directions that still move something."""
        way = 0
        for _ in range(legs):
            before = self.seen()
            await self.hold(WAYS[way % 4], 0.7)
            if changed(before, self.seen()) < MOVED:
                way += 1
                await self.hold(WAYS[way % 4], 0.7)
            way += 1 if legs > 3 else 0


def changed(before: np.ndarray, now: np.ndarray) -> int:
    """Return how many pixels differ."""
    return int((before != now).sum())


class Walk:
    """The steps in order; each waits until the app shows what it should."""

    def __init__(self, app, rom: Path, out: Path, by: str) -> None:
        self.app, self.rom, self.by = app, rom, by
        self.hand = Person(app, out, by)
        self.until, self.shot = self.hand.until, self.hand.shot
        self.widget, self.tab_to = self.hand.widget, self.hand.tab_to
        self.times: dict[str, float] = {}
        self.begun = time.monotonic()

    def mark(self, name: str) -> None:
        self.times[name] = round(time.monotonic() - self.begun, 2)
        print(f"{self.times[name]:7.2f} s  {name}", file=sys.stderr, flush=True)

    async def press(self, button: str, keys: str) -> None:
        """Click, or press the shortcut of the same command."""
        if self.by == "mouse":
            await self.hand.click(self.widget(button))
        else:
            await self.hand.key(keys)

    # -- the steps --------------------------------------------------------------------------

    async def go(self) -> None:
        await asyncio.sleep(1.0)
        await self.shot("welcome")
        self.begun = time.monotonic()
        await self.open_rom()
        await self.play_to_start()
        is_painted = False
        for number in range(1, WALKS + 1):
            await self.capture(3 * number)
            if not self.refused():
                if not is_painted:
                    await self.paint()
                    is_painted = True
                if await self.make():
                    break
            print(f"walk_through: {self.refused()}; further away", file=sys.stderr)
        else:
            raise StuckError(f"a goal that can be one: {self.refused()}")
        await self.train()

    def refused(self) -> str:
        return self.app[DraftModel].error

    async def open_rom(self) -> None:
        await self.press("openOwnRomButton", "ctrl+shift+o")
        await self.until(QApplication.activeModalWidget, "the file dialog")
        dialog = QApplication.activeModalWidget()
        await asyncio.sleep(0.4)
        if self.by == "mouse":
            await self.choose_file(dialog)
        else:
            await self.hand.type(str(self.rom))
            await self.shot("file_dialog")
            await self.hand.key("Return")
        live = self.app[LiveView]
        await self.until(lambda: live.screen_view.has_picture, "the game's first picture")
        self.mark("first picture of the ROM")
        await self.hand.focus_window()
        await asyncio.sleep(0.3)
        await self.shot("game")

    async def choose_file(self, dialog) -> None:
        views = [dialog.findChild(QAbstractItemView, name) for name in ("treeView", "listView")]
        view = next(found for found in views if found.isVisible())
        await asyncio.sleep(1.5)  # the list is read in a thread of its own
        model = view.model()
        row = next(
            model.index(row, 0, view.rootIndex())
            for row in range(model.rowCount(view.rootIndex()))
            if model.index(row, 0, view.rootIndex()).data() == self.rom.name
        )
        view.scrollTo(row)  # as the wheel would
        await asyncio.sleep(0.2)
        await self.hand.click(view.viewport(), view.visualRect(row).center())
        await asyncio.sleep(0.2)
        await self.shot("file_dialog")
        buttons = dialog.findChild(QDialogButtonBox)
        await self.hand.click(buttons.button(QDialogButtonBox.StandardButton.Open))

    async def play_to_start(self) -> None:
        live = self.app[LiveView]
        if self.by == "mouse":
            await self.hand.click(live.screen_view)
        await self.until(live.screen_view.hasFocus, "the keyboard of the game")
        await self.hand.find_the_game()
        self.mark("through title and menus")
        await self.press("saveStateButton", "F7")
        await self.until(lambda: self.app[DraftModel].starts, "the start state")
        self.mark("start state saved")
        await self.shot("start_state")

    async def capture(self, legs: int) -> None:
        """Walk on, then take what is seen as the goal."""
        draft, live = self.app[DraftModel], self.app[LiveView]
        before = draft.goal
        if self.by == "mouse":
            await self.hand.click(live.screen_view)
        else:
            live.screen_view.setFocus()
        await self.until(live.screen_view.hasFocus, "the keyboard of the game")
        if self.app[PlayController].paused:
            await self.hand.key("space")
            await self.until(lambda: not self.app[PlayController].paused, "the game going on")
        await self.hand.walk_away(legs)
        # The dock says how far the picture is; it should be more than something that blinks.
        for way in (*WAYS, *(f"z {way}" for way in WAYS)):  # Z is A: some games jump with it
            if draft.nearest_start(observe(self.hand.seen()))[1] >= FAR:
                break
            await self.hand.hold(way, 0.7)
        await asyncio.sleep(0.3)
        await self.press("captureGoalButton", "F8")
        await self.until(lambda: draft.goal is not before, "the goal")
        self.mark("goal captured")
        await self.until(lambda: draft.probe or draft.error, "the probe")
        self.mark("tau suggested")
        await self.shot("goal")

    async def paint(self) -> None:
        """Paint a region: the tiles around the hero, who stands in the middle of the screen."""
        draft, painter = self.app[DraftModel], self.widget("goalMask")
        before = draft.mask.sum()
        if self.by == "mouse":
            await self.hand.drag(painter, QPoint(20, 20), QPoint(220, 200))
        else:
            await self.hand.key("Escape")
            await self.tab_to(painter)
            await self.shot("painter_focus")
            await self.hand.key("Right", "Right", "Down")
            for _ in range(12):
                await self.hand.key("space", "Right")
        await self.until(lambda: draft.mask.sum() != before, "the region")
        await self.shot("region")
        if self.by == "keyboard":  # too small a region to be a goal: all counts again
            await self.tab_to(self.widget("clearMaskButton"))
            await self.hand.key("space")
        await self.until(lambda: draft.probe or draft.error, "the probe of the region")
        self.mark("region measured")

    async def make(self) -> bool:
        """Return whether it became a task; else the dock says why not."""
        draft = self.app[DraftModel]
        if draft.error:
            return False
        if self.by == "mouse":
            await self.hand.click(self.widget("makeTaskButton"))
        else:
            await self.tab_to(self.widget("taskName"))
            await self.hand.key("ctrl+a")
            await self.hand.type("across the room")
            await self.hand.key("Return")
        await self.until(lambda: draft.made or (draft.error and not draft.working), "the task")
        if draft.error:
            await self.shot("refused")
            return False
        self.mark("task made")
        await self.shot("task_made")
        return True

    async def train(self) -> None:
        training = self.app[TrainingController]
        await self.press("trainTaskButton", "ctrl+shift+n")
        await self.until(lambda: training.plan is not None, "the plan of the run")
        self.mark("form on show")
        await self.until(lambda: not training.checking, "the preflight")
        self.mark("preflight")
        await self.shot("form")
        consent = self.widget("consentCheck")
        if self.by == "mouse":
            await self.hand.click(consent, QPoint(8, consent.height() // 2))
        else:
            await self.tab_to(consent)
            await self.hand.key("space")
        await self.until(lambda: not training.reason(), "a run that can be started")
        await self.press("startTrainingButton", "ctrl+Return")
        self.mark("agreed")
        await self.until(lambda: training.state is RunState.RUNNING, "the training")
        self.mark("training runs")
        telemetry = self.app[TelemetryModel]
        await self.until(lambda: telemetry.focus, "the curves")
        await self.shot("training")
        audit = self.app[DraftModel]
        await self.until(lambda: audit.audit or audit.error, "the audit", 240)
        self.mark("audit")


def main() -> int:
    options = parse()
    if (status := on_own_display()) is not None:
        return status
    folder = Path(tempfile.mkdtemp(prefix="walk-"))
    rom = options.rom.absolute() if options.rom else never_seen(folder, options.game)
    if rom.read_bytes()[0x143:0x144] == b"\xc0":
        print(f"walk_through: {rom.name}: made for the Game Boy Color only; choose another ROM")
        return 2
    os.chdir(rom.parent)
    result: dict[str, object] = {"ok": False, "rom": rom.name, "by": options.by}

    async def play(app) -> None:
        walk = Walk(app, rom, options.out, options.by)
        try:
            await walk.go()
            result["ok"] = True
        except StuckError as error:
            result["error"] = str(error)
        result["load"] = round(os.getloadavg()[0], 1)
        result["seconds"] = walk.times

    use_app(play, folder / "home")
    print(json.dumps(result))
    return 0 if result["ok"] else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--by", choices=("mouse", "keyboard"), default="keyboard")
    parser.add_argument("--rom", type=Path, help="a ROM of your own")
    parser.add_argument(
        "--game",
        default="pocket_quest",
        choices=("pocket_quest", "nectar_run", "mirror_moths"),
        help="without --rom: this one under another title",
    )
    parser.add_argument("--out", type=Path, default=Path("/tmp/walk"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
