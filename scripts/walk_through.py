"""The app used by hand: from a ROM that it never saw to a training run on a goal in it.

    python scripts/walk_through.py --by keyboard --out /tmp/walk     or --by mouse
    python scripts/walk_through.py --game nectar_run
    python scripts/walk_through.py --rom my_game.gb --seconds-to-title 20

Real processes under Xvfb; every click and key is xdotool's. Only where a button is, and whether the
app is ready for the next one, is looked up in the app itself. Screenshots are taken with
ImageMagick's `import`. Prints the seconds of every step as one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
DISPLAY = ":97"
TITLE = b"NEVER SEEN\0"


def never_seen(folder: Path, game: str) -> Path:
    """A game of ours under another title, and so of a hash that the lab does not know."""
    data = bytearray((CHECKOUT / "assets/games" / game / f"{game}.gb").read_bytes())
    data[0x134 : 0x134 + len(TITLE)] = TITLE
    data[0x14D] = (-sum(data[0x134:0x14D]) - 0x19) & 0xFF
    path = folder / "never_seen.gb"
    path.write_bytes(data)
    return path


class Hand:
    """A person's hand: the pointer and the keys of the display."""

    async def run(self, *argv: str) -> None:
        done = await asyncio.create_subprocess_exec(*argv)
        await done.wait()

    async def click(self, widget, at=None) -> None:  # type: ignore[no-untyped-def]
        point = widget.mapToGlobal(at or widget.rect().center())
        await self.run("xdotool", "mousemove", str(point.x()), str(point.y()), "click", "1")

    async def drag(self, widget, begin, end) -> None:  # type: ignore[no-untyped-def]
        a, b = widget.mapToGlobal(begin), widget.mapToGlobal(end)
        await self.run("xdotool", "mousemove", str(a.x()), str(a.y()), "mousedown", "1",
                       "mousemove", str(b.x()), str(b.y()), "mouseup", "1")  # fmt: skip

    async def key(self, *keys: str) -> None:
        await self.run("xdotool", "key", "--clearmodifiers", *keys)

    async def type(self, text: str) -> None:
        await self.run("xdotool", "type", "--delay", "5", text)

    async def hold(self, key: str, seconds: float) -> None:
        await self.run("xdotool", "keydown", key)
        await asyncio.sleep(seconds)
        await self.run("xdotool", "keyup", key)
        await asyncio.sleep(0.25)


class Walk:
    """The steps in order; each waits until the app shows what it should."""

    def __init__(self, app, rom: Path, out: Path, by: str, to_title_s: float) -> None:  # type: ignore[no-untyped-def]
        self.app, self.rom, self.out, self.by = app, rom, out, by
        self.to_title_s = to_title_s
        self.hand = Hand()
        self.shots = 0
        self.times: dict[str, float] = {}

    async def until(self, condition: Callable[[], object], what: str, limit_s: float = 90) -> None:
        deadline = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > deadline:
                await self.shot("stuck")
                raise SystemExit(f"walk_through: {what} never came")
            await asyncio.sleep(0.02)

    async def shot(self, name: str) -> None:
        await asyncio.sleep(0.15)
        self.shots += 1
        path = self.out / f"{self.by}_{self.shots:02}_{name}.png"
        await self.hand.run("import", "-window", "root", str(path))

    def mark(self, name: str) -> None:
        self.times[name] = round(time.monotonic() - self.begun, 2)
        print(f"{self.times[name]:7.2f} s  {name}", file=sys.stderr, flush=True)

    def widget(self, name: str):  # type: ignore[no-untyped-def]
        from PySide6.QtWidgets import QWidget

        found = self.app.window.findChild(QWidget, name)
        assert found is not None, name
        return found

    async def press(self, button: str, keys: str) -> None:
        """A click, or the shortcut of the same command."""
        if self.by == "mouse":
            await self.hand.click(self.widget(button))
        else:
            await self.hand.key(keys)

    async def tab_to(self, widget) -> None:  # type: ignore[no-untyped-def]
        """Press Tab until a widget has the keyboard; every press is waited for."""
        from PySide6.QtWidgets import QApplication

        for _ in range(80):
            before = QApplication.focusWidget()
            if before is widget:
                return
            await self.hand.key("Tab")
            await self.until(
                lambda before=before: QApplication.focusWidget() is not before, "the next widget"
            )
        raise SystemExit(f"walk_through: Tab does not come to {widget.objectName()}")

    # -- the steps --------------------------------------------------------------------------

    async def go(self) -> dict[str, float]:
        await asyncio.sleep(1.0)
        await self.shot("welcome")
        self.begun = time.monotonic()
        await self.open_rom()
        await self.play_to_start()
        await self.capture()
        await self.make()
        await self.train()
        return self.times

    async def open_rom(self) -> None:
        from PySide6.QtWidgets import QApplication

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
        live = self.app.center.live
        await self.until(lambda: live.screen_view.has_picture, "the game's first picture")
        self.mark("first picture of the ROM")
        await self.focus_window()
        await asyncio.sleep(0.3)
        await self.shot("game")

    async def focus_window(self) -> None:
        """What a window manager does after a dialog; Xvfb has none."""
        await self.hand.run("xdotool", "windowfocus", str(int(self.app.window.winId())))

    async def choose_file(self, dialog) -> None:  # type: ignore[no-untyped-def]
        from PySide6.QtWidgets import QAbstractItemView, QDialogButtonBox

        views = [dialog.findChild(QAbstractItemView, name) for name in ("treeView", "listView")]
        view = next(found for found in views if found.isVisible())
        await asyncio.sleep(1.5)  # the list is read in a thread of its own
        model = view.model()
        row = next(
            model.index(row, 0, view.rootIndex())
            for row in range(model.rowCount(view.rootIndex()))
            if model.index(row, 0, view.rootIndex()).data() == self.rom.name
        )
        await self.hand.click(view.viewport(), view.visualRect(row).center())
        await asyncio.sleep(0.2)
        await self.shot("file_dialog")
        buttons = dialog.findChild(QDialogButtonBox)
        await self.hand.click(buttons.button(QDialogButtonBox.StandardButton.Open))

    async def play_to_start(self) -> None:
        """Through the title to where the hero can walk, at four times the speed."""
        live, playing = self.app.center.live, self.app.controllers.playing
        if self.by == "mouse":
            await self.hand.click(live.screen_view)
        await self.until(live.screen_view.hasFocus, "the keyboard of the game")
        await asyncio.sleep(self.to_title_s)
        for key in ("Return", "Up", "Up", "z", "z"):
            await self.hand.hold(key, 0.12)
        await asyncio.sleep(0.5)
        await self.hand.hold("Right", 0.3)
        assert playing.is_active

    async def capture(self) -> None:
        draft, live = self.app.models.task_draft, self.app.center.live
        await self.press("saveStateButton", "F7")
        await self.until(lambda: draft.starts, "the start state")
        self.mark("start state saved")
        await self.shot("start_state")
        if self.by == "mouse":
            await self.hand.click(live.screen_view)
        await self.until(live.screen_view.hasFocus, "the keyboard of the game")
        await self.hand.hold("Right", 1.6)
        await self.hand.hold("Down", 0.9)
        await asyncio.sleep(0.3)
        await self.press("captureGoalButton", "F8")
        await self.until(lambda: draft.goal, "the goal")
        self.mark("goal captured")
        await self.until(lambda: draft.probe or draft.error, "the probe")
        self.mark("tau suggested")
        await self.shot("goal")
        await self.paint()

    async def paint(self) -> None:
        """A region: the tiles around the hero, who stands in the middle of the screen."""
        from PySide6.QtCore import QPoint

        draft, painter = self.app.models.task_draft, self.widget("goalMask")
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

    async def make(self) -> None:
        draft = self.app.models.task_draft
        if self.by == "mouse":
            await self.hand.click(self.widget("makeTaskButton"))
        else:
            await self.tab_to(self.widget("taskName"))
            await self.hand.type("across the room")
            await self.hand.key("Return")
        await self.until(lambda: draft.made or draft.error, "the task")
        if draft.error:
            raise SystemExit(f"walk_through: {draft.error}")
        self.mark("task made")
        await self.shot("task_made")

    async def train(self) -> None:
        from PySide6.QtCore import QPoint

        from trainer_core.protocol.runs import RunState

        training = self.app.controllers.training
        await self.press("trainTaskButton", "ctrl+shift+n")
        await self.until(lambda: training.plan is not None, "the plan of the run")
        await self.until(lambda: not training.checking, "the preflight")
        await self.shot("form")
        consent = self.widget("consentCheck")
        if self.by == "mouse":
            await self.hand.click(consent, QPoint(8, consent.height() // 2))
        else:
            await self.tab_to(consent)
            await self.hand.key("space")
        await self.until(lambda: not training.reason(), "a run that can be started")
        await self.press("startTrainingButton", "ctrl+Return")
        await self.until(lambda: training.state is RunState.RUNNING, "the training")
        self.mark("training runs")
        telemetry = self.app.models.telemetry
        await self.until(lambda: telemetry.focus, "the curves")
        await asyncio.sleep(6)
        await self.shot("training")
        audit = self.app.models.task_draft
        await self.until(lambda: audit.audit or audit.error, "the audit")
        self.mark("audit")


def main() -> int:
    options = parse()
    if os.environ.get("WALK_DISPLAY") != DISPLAY:
        return under_xvfb()
    sys.path.insert(0, str(CHECKOUT))
    from gui.app import create_app
    from gui.bridge import run_until_quit

    options.out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="walk-"))
    rom = options.rom.absolute() if options.rom else never_seen(folder, options.game)
    os.chdir(rom.parent)
    app = create_app(folder / "home", "dark")
    app.bridge.catch_all()
    app.window.show()
    app.window.activateWindow()
    walk = Walk(app, rom, options.out, options.by, options.seconds_to_title)
    result: dict[str, object] = {"ok": False}

    async def go() -> None:
        try:
            result.update(ok=True, by=options.by, seconds=await walk.go())
        except SystemExit as error:
            result["error"] = str(error)
        finally:
            app.controllers.shutdown.begin()

    app.bridge.loop.create_task(go())
    run_until_quit()
    print(json.dumps(result))
    return 0 if result["ok"] else 1


def under_xvfb() -> int:
    """The same again on a display of its own."""
    screen = ["Xvfb", DISPLAY, "-screen", "0", "1280x800x24", "-nolisten", "tcp"]
    server = subprocess.Popen(screen, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        env = {**os.environ, "DISPLAY": DISPLAY, "WALK_DISPLAY": DISPLAY, "QT_QPA_PLATFORM": "xcb"}
        return subprocess.run([sys.executable, *sys.argv], env=env, check=False).returncode
    finally:
        server.terminate()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--by", choices=("mouse", "keyboard"), default="keyboard")
    parser.add_argument("--rom", type=Path, help="a ROM of your own")
    parser.add_argument(
        "--game", default="pocket_quest",
        choices=("pocket_quest", "nectar_run", "mirror_moths"),
        help="without --rom: this one under another title",
    )  # fmt: skip
    parser.add_argument("--seconds-to-title", type=float, default=3.5)
    parser.add_argument("--out", type=Path, default=Path("/tmp/walk"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
