"""Click and type at random in the app; what must never happen ends it with status 1.

    python scripts/monkey_app.py [--steps 200] [--seeds 10]     2,000 steps; one JSON object

Each seed is a fresh home and an app of its own, at 1280x800 or 1024x700, at scale 1 or 2 (the odd
seeds), offscreen. Its trainer and player are the echo processes of the tests. Looked for: an
exception anywhere, a turn of the event loop that takes more than 200 ms of CPU, a process that
outlives the app. Files and folders that a person would pick are picked in the home.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import psutil
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QDesktopServices, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QSlider,
    QTabBar,
    QWidget,
)

from gui.app import create_app, create_application
from gui.features.curves.dock import TelemetryDock
from gui.shell.shutdown import Shutdown
from tests.gui.conftest import QtBot, use_echo
from trainer_core.service import StopLadder
from trainer_core.wire.errors import LabError

SIZES = ((1280, 800), (1024, 700))
HANG_S = 0.2
GRACE_S = 3.0
"""As long as a child may take to end after the app."""
NEVER = {"quit"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=-1, help="only this one, in this process")
    options = parser.parse_args()
    if options.seed >= 0:
        print(json.dumps(Monkey(options.seed).play(options.steps)))
        sys.stdout.flush()
        os._exit(0)
    results = [_in_process(seed, options.steps) for seed in range(options.seeds)]
    bad = [found for found in results if found["errors"] or found["hangs"] or found["orphans"]]
    steps = sum(found["steps"] for found in results)
    print(
        json.dumps(
            {
                "ok": not bad,
                "steps": steps,
                "seeds": options.seeds,
                "longest_ms": max((found["longest_ms"] for found in results), default=0.0),
                "bad": bad,
            }
        )
    )
    return 1 if bad else 0


def _in_process(seed: int, steps: int) -> dict:
    """Run one seed in a process of its own: a Qt process has one scale."""
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": str(1 + seed % 2)}
    argv = [sys.executable, __file__, "--seed", str(seed), "--steps", str(steps)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    print(f"seed {seed}: status {done.returncode}", file=sys.stderr)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {
            "seed": seed,
            "steps": 0,
            "errors": [done.stderr[-2000:]],
            "hangs": [],
            "orphans": [],
            "longest_ms": 0.0,
        }


class Monkey:
    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        self.errors: list[str] = []
        self.hangs: list[str] = []
        self.longest, self.steps = 0.0, Counter()
        self.home = Path(tempfile.mkdtemp(prefix="dmglab-monkey-"))
        QDesktopServices.openUrl = lambda url: True
        # A file dialog waits for its answer: every one of the app's gets it at once.
        QFileDialog.getExistingDirectory = lambda *args: str(self.home)  # type: ignore[method-assign]
        QFileDialog.getSaveFileName = lambda *args: (str(self.home / "made"), "")  # type: ignore[method-assign]
        QFileDialog.getOpenFileName = lambda *args: (str(self.home / "none.gb"), "")  # type: ignore[method-assign]
        self.application = create_application()
        self.app = create_app(self.home, "dark")
        self.app.bridge.service.ladder = StopLadder(0.5, 0.5)
        self.app.bridge.catch_all()
        use_echo(self.app, updates=200, interval_s=0.02)
        tell = self.app.bridge.tell_unexpected
        self.app.bridge.tell_unexpected = lambda error: (self._note(error), tell(error))  # type: ignore[method-assign]
        sys.excepthook = lambda kind, error, trace: self._note(error)
        self.app.window.resize(*SIZES[seed // 2 % 2])
        self.app.window.show()
        self._turn("start", lambda: None)
        self.hangs.clear()  # the first layout of a window is no hang

    def _note(self, error: BaseException) -> None:
        if not isinstance(error, LabError | OSError):  # those are told in words, as they should be
            self.errors.append("".join(traceback.format_exception(error))[-1500:])

    # -- one step ---------------------------------------------------------------------------

    def play(self, steps: int) -> dict:
        for _ in range(steps):
            name, act = self.random.choices(
                (self._click, self._key, self._trigger, self._type, self._wait), weights=(10, 3, 5, 2, 1)
            )[0]()
            self._turn(name, act)
        self._end_kept()
        children = self._children()
        self.app[Shutdown].begin()
        QtBot().waitUntil(lambda: self.app[Shutdown].has_ended)
        self._wait_for_ends(children)
        orphans = [f"{pid} {name}" for pid, name in children.items() if self._is_alive(pid)]
        return {
            "seed": self.seed,
            "steps": self.steps.total(),
            "longest_ms": round(self.longest * 1e3),
            "errors": self.errors,
            "hangs": self.hangs,
            "orphans": orphans,
        }

    def _turn(self, name: str, act) -> None:
        """Do it and let the loop run dry; CPU time, since the computer may be busy elsewhere."""
        begun = time.process_time()
        QTimer.singleShot(30, self._close_popup)
        act()
        self.application.processEvents()
        spent = time.process_time() - begun
        self.longest = max(self.longest, spent)
        self.steps[name.split()[0]] += 1
        if spent > HANG_S:
            self.hangs.append(f"{name}: {spent * 1000:.0f} ms")
        QTest.qWait(5)

    def _close_popup(self) -> None:
        popup = self.application.activePopupWidget()
        if popup is not None:
            popup.close()

    def _widgets(self) -> list:
        top = self.application.activeModalWidget() or self.app.window
        kinds = (QAbstractButton, QComboBox, QTabBar, QAbstractItemView, QSlider)
        found = [
            widget
            for widget in top.findChildren(QWidget)
            if isinstance(widget, kinds) and widget.isVisible() and widget.isEnabled()
        ]
        return found + [card.canvas for card in self.app[TelemetryDock].visible_cards() if card.isVisible()]

    def _click(self):
        widget = self.random.choice(self._widgets())
        at = QPoint(self.random.randrange(max(1, widget.width())), self.random.randrange(max(1, widget.height())))
        where = getattr(widget, "viewport", lambda: widget)()
        button = Qt.MouseButton.LeftButton
        click = QTest.mouseDClick if self.random.random() < 0.1 else QTest.mouseClick
        words = f"click {type(widget).__name__} {widget.objectName() or widget.accessibleName()}"
        return words, lambda: click(where, button, Qt.KeyboardModifier.NoModifier, at)

    def _key(self):
        keys = (
            Qt.Key.Key_Tab,
            Qt.Key.Key_Space,
            Qt.Key.Key_Return,
            Qt.Key.Key_Escape,
            Qt.Key.Key_Left,
            Qt.Key.Key_Down,
            Qt.Key.Key_Z,
            Qt.Key.Key_Home,
        )
        key = self.random.choice(keys)
        target = self.application.focusWidget() or self.app.window
        return f"key {key.name}", lambda: QTest.keyClick(target, key)

    def _trigger(self):
        possible = [
            (name, action)
            for name, action in self.app.actions.all().items()
            if name not in NEVER and action.isEnabled() and action.isVisible()
        ]
        name, action = self.random.choice(possible)
        return f"command {name}", action.trigger

    def _type(self):
        top = self.application.activeModalWidget() or self.app.window
        boxes = [box for box in top.findChildren(QLineEdit) if box.isVisible() and box.isEnabled()]
        if not boxes:
            return "type nothing", lambda: None
        box = self.random.choice(boxes)
        text = self.random.choice(("", "0", "-1", "1e9", "nan", "64", "\u00e4\u4e2d", "a" * 300))

        def act() -> None:
            box.selectAll()
            typed = QInputMethodEvent()  # QTest types ASCII only
            typed.setCommitString(text)
            self.application.sendEvent(box, typed)

        return f"type {text[:8]!r} into {box.objectName()}", act

    def _wait(self):
        return "wait", lambda: QTest.qWait(self.random.randrange(150))

    # -- what is left -----------------------------------------------------------------------

    @staticmethod
    def _children() -> dict[int, str]:
        return {child.pid: " ".join(child.cmdline()[1:6]) for child in psutil.Process().children(recursive=True)}

    @staticmethod
    def _end_kept() -> None:
        """Kill runs that were begun with *Keep running*: they outlive the app because they should."""
        for child in psutil.Process().children():
            if "trainer_core.service.detached_host" in child.cmdline():
                family = [child, *child.children(recursive=True)]
                for member in family:
                    member.kill()
                psutil.wait_procs(family, GRACE_S)

    def _wait_for_ends(self, children: dict[int, str]) -> None:
        """Wait a moment, which a killed process takes to go; what ends later outlives the app."""
        deadline = time.monotonic() + GRACE_S
        while any(map(self._is_alive, children)) and time.monotonic() < deadline:
            QTest.qWait(20)

    @staticmethod
    def _is_alive(pid: int) -> bool:
        return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


if __name__ == "__main__":
    sys.exit(main())
