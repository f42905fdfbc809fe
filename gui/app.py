"""Composition: makes the models, gives them to each other and to the window. Knows everyone."""

from __future__ import annotations

import signal
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from gui import theme
from gui.bridge import Bridge, run_until_quit
from gui.main_window import MainWindow
from gui.models.checkpoints import CheckpointList
from gui.models.log_buffer import LogBuffer
from gui.models.run_list import RunList
from gui.models.run_telemetry import TelemetryModel
from gui.models.session import Session
from gui.playing import PlayController
from gui.screen import Palette
from gui.settings import Settings
from gui.training import TrainingController
from trainer_core.protocol.paths import HomePaths


def create_window(home: Path, theme_name: str = "") -> MainWindow:
    """The whole app on one home, without starting a loop."""
    app = create_application()
    paths = HomePaths(Path(home))
    settings = Settings(paths)
    theme.apply_theme(app, theme_name or settings.text("view/theme") or theme.system_theme())
    bridge = Bridge(paths)
    session = Session(paths, settings)
    window = MainWindow(
        settings=settings,
        bridge=bridge,
        session=session,
        training=TrainingController(bridge, session),
        playing=PlayController(bridge, session),
        telemetry=TelemetryModel(),
        runs=RunList(),
        checkpoints=CheckpointList(),
        log=LogBuffer(),
        palette=Palette(),
    )
    window.open_home()
    return window


def create_application() -> QApplication:
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        app = QApplication([])
    app.setApplicationName("DMG Lab")
    app.setApplicationDisplayName("DMG Lab")
    app.setDesktopFileName("dmglab")
    app.setQuitOnLastWindowClosed(False)  # the window quits once its processes have ended
    return app


def run_app(home: Path, theme_name: str = "") -> int:
    """Open the app and stay in it. Returns the exit status."""
    app = create_application()
    window = create_window(home, theme_name)
    window.show()
    # Python handles signals between bytecodes only; a timer gives it some while Qt sleeps.
    signal.signal(signal.SIGINT, lambda *_: window.close_quietly())
    signal.signal(signal.SIGTERM, lambda *_: window.close_quietly())
    heartbeat = QTimer(app, interval=200)
    heartbeat.timeout.connect(lambda: None)
    heartbeat.start()
    return run_until_quit()
