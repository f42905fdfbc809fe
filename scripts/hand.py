"""Act as a person's hand on the app: real clicks and keys by xdotool on a display of its own.

Where a button is, and whether the app is ready for the next press, is looked up in the app itself.
Screenshots are ImageMagick's `import` of the whole display.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from PySide6.QtWidgets import QApplication, QWidget

from gui.app import create_app
from gui.shell.shutdown import Shutdown
from gui.state.bridge import run_until_quit

CHECKOUT = Path(__file__).resolve().parents[1]

MARK = "DMGLAB_HAND"
"""Set for the script that runs again on the display that was made for it."""


class StuckError(Exception):
    """The app never showed what was waited for."""


class Hand:
    """The pointer and the keys; every screenshot gets the next number in `out`."""

    def __init__(self, app, out: Path, prefix: str = "") -> None:
        self.app, self.out, self.prefix = app, out, prefix
        self.shots = 0
        out.mkdir(parents=True, exist_ok=True)

    async def run(self, *argv: str) -> None:
        done = await asyncio.create_subprocess_exec(*argv)
        await done.wait()

    async def click(self, widget, at=None) -> None:
        point = widget.mapToGlobal(at or widget.rect().center())
        await self.run("xdotool", "mousemove", str(point.x()), str(point.y()), "click", "1")

    async def drag(self, widget, begin, end) -> None:
        a, b = widget.mapToGlobal(begin), widget.mapToGlobal(end)
        await self.run("xdotool", "mousemove", str(a.x()), str(a.y()), "mousedown", "1",
                       "mousemove", str(b.x()), str(b.y()), "mouseup", "1")  # fmt: skip

    async def key(self, *keys: str) -> None:
        await self.run("xdotool", "key", "--clearmodifiers", *keys)

    async def type(self, text: str) -> None:
        await self.run("xdotool", "type", "--delay", "5", text)

    async def hold(self, keys: str, seconds: float) -> None:
        """Hold one key, or several with spaces between them."""
        await self.run("xdotool", "keydown", *keys.split())
        await asyncio.sleep(seconds)
        await self.run("xdotool", "keyup", *keys.split())

    async def focus_window(self) -> None:
        """Focus the window as a window manager does after a dialog; Xvfb has none."""
        await self.run("xdotool", "windowfocus", str(int(self.app.window.winId())))

    async def until(self, condition: Callable[[], object], what: str, limit_s: float = 90) -> None:
        deadline = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > deadline:
                await self.shot("stuck")
                raise StuckError(f"{what} never came")
            await asyncio.sleep(0.02)

    async def shot(self, name: str) -> Path:
        await asyncio.sleep(0.15)
        self.shots += 1
        path = self.out / f"{self.prefix}{self.shots:02}_{name}.png"
        await self.run("import", "-window", "root", str(path))
        return path

    def widget(self, name: str):
        found = self.app.window.findChild(QWidget, name)
        assert found is not None, name
        return found

    async def tab_to(self, widget) -> None:
        """Press Tab until a widget has the keyboard; every press is waited for."""
        for _ in range(80):
            before = QApplication.focusWidget()
            if before is widget:
                return
            await self.key("Tab")
            await self.until(lambda before=before: QApplication.focusWidget() is not before, "the next widget")
        raise StuckError(f"Tab does not come to {widget.objectName()}")

    async def open_file(self, path: Path) -> None:
        """Type the path and Return into the file dialog that is about to come."""
        await self.until(QApplication.activeModalWidget, "the file dialog")
        await asyncio.sleep(0.4)
        await self.type(str(path))
        for _ in range(5):  # the first may only close the list of completions
            await asyncio.sleep(0.4)
            if QApplication.activeModalWidget():
                await self.key("Return")
        await self.until(lambda: not QApplication.activeModalWidget(), "the end of the dialog")
        await self.focus_window()


def on_own_display(size: str = "1280x800") -> int | None:
    """Run this script again under an Xvfb of its own and return its status. None in the one that runs there.

    The server chooses a number that is free, so several may run at once.
    """
    if os.environ.get(MARK):
        return None
    reading, writing = os.pipe()
    argv = ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{size}x24", "-nolisten", "tcp"]
    server = subprocess.Popen(argv, stderr=subprocess.DEVNULL, pass_fds=[writing])
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            display = f":{told.readline().strip()}"
        env = {**os.environ, "DISPLAY": display, MARK: "1", "QT_QPA_PLATFORM": "xcb"}
        return subprocess.run([sys.executable, *sys.argv], env=env, check=False).returncode
    finally:
        server.terminate()
        server.wait()


def use_app(play: Callable[..., object], home: Path | None = None, theme: str = "dark") -> None:
    """Make the app on a fresh home (or on `home`), await `play(app)`, then end it."""
    app = create_app(home or Path(tempfile.mkdtemp(prefix="hand-")) / "home", theme)
    app.bridge.catch_all()
    app.window.show()
    app.window.activateWindow()

    async def go() -> None:
        try:
            await play(app)  # type: ignore[misc]
        finally:
            app[Shutdown].begin()

    app.bridge.loop.create_task(go())
    run_until_quit()
