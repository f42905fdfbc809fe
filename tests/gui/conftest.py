"""Windows on a fresh home, the echo worker and the echo player; Qt without a display."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from gui.app import create_application, create_window
from gui.bridge import release_loop
from gui.main_window import MainWindow
from tests.trainer_core.echo_runner import echo_runner
from trainer_core.service import StopLadder

ECHO_PLAYER = Path(__file__).with_name("echo_player.py")


def until(condition: Callable[[], object], timeout_s: float = 15.0) -> None:
    """Let Qt (and with it asyncio) run until the condition holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        QTest.qWait(5)


@pytest.fixture(scope="session")
def qapp() -> QApplication:
    return create_application()


@pytest.fixture
def make_window(qapp: QApplication, tmp_path: Path) -> Iterator[Callable[..., MainWindow]]:
    """Makes windows whose trainer is the echo worker with the given options."""
    made: list[MainWindow] = []

    def make(home: Path | None = None, **options: object) -> MainWindow:
        window = create_window(home or tmp_path / "home", "dark")
        window.bridge.service.ladder = StopLadder(2.0, 0.5)
        use_echo(window, **options)
        made.append(window)
        window.show()
        return window

    yield make
    for window in made:
        close(window)
    release_loop()


@pytest.fixture
def window(make_window: Callable[..., MainWindow]) -> MainWindow:
    return make_window(updates=1000, interval_s=0.01)


def use_echo(window: MainWindow, **options: object) -> None:
    window.session.runner = echo_runner(**options)
    window.session.runner_changed.emit(window.session.runner)
    window.playing.player.command = lambda folder: [sys.executable, str(ECHO_PLAYER), str(folder)]
    window.training.draft.set_values({"task": "tiny_goal"})


def close(window: MainWindow) -> None:
    window.bridge.service.ladder = StopLadder(0.2, 0.2)
    window.close_quietly()
    until(lambda: not window.isVisible() and not window.bridge.service._live)
    window.deleteLater()
    QTest.qWait(0)


def find(window: QWidget, name: str, kind: type = QWidget):  # type: ignore[no-untyped-def]
    found = window.findChild(kind, name)
    assert found is not None, f"no widget {name!r}"
    return found


def replaced(record, **fields):  # type: ignore[no-untyped-def]
    import msgspec

    if dataclasses.is_dataclass(record):
        return dataclasses.replace(record, **fields)
    return msgspec.structs.replace(record, **fields)
