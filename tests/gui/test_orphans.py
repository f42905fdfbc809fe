"""The app and its own open no port; kill -9 leaves no trainer, no player, nothing of theirs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.extras import extra_library
from tests.support.processes import group_of
from tests.support.sockets import listening

CHECKOUT = Path(__file__).resolve().parents[2]
APP = """
import sys
from pathlib import Path
from gui.app import create_app
from gui.features.play.controller import PlayController
from gui.features.train.controller import TrainingController
from gui.state.bridge import run_until_quit
from PySide6.QtCore import QTimer
from tests.gui.conftest import use_echo
app = create_app(Path(sys.argv[1]))
use_echo(app, updates=1000, child=True)
app.window.show()
app[TrainingController].set_consent(True)
app[TrainingController].start()
app[PlayController].play_human()
def tell():
    run = app[TrainingController].record
    if run is not None and run.env_steps and app[PlayController].is_active:
        print(run.pid, app[PlayController].player._child.pid, flush=True)
        timer.stop()
timer = QTimer(interval=50)
timer.timeout.connect(tell)
timer.start()
run_until_quit()
"""


def test_the_app_opens_no_port_and_killing_it_leaves_no_process(tmp_path: Path) -> None:
    app = subprocess.Popen(
        [sys.executable, "-c", APP, str(tmp_path)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    try:
        assert app.stdout is not None
        trainer, player = (int(word) for word in app.stdout.readline().split())
        assert len(group_of(trainer)) == 2
        assert len(group_of(player)) == 1
        family = (*group_of(trainer), *group_of(player))
        assert listening([app.pid, *(process.pid for process in family)]) == []
    finally:
        app.send_signal(signal.SIGKILL)
        app.wait()
    deadline = time.monotonic() + 30  # 3 s on a quiet computer; tests/proofs/kills.py measures that
    while (group_of(trainer) or group_of(player)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not group_of(trainer)
    assert not group_of(player)


REAL = """
import sys
from pathlib import Path
from gui.app import create_app
from gui.features.curves.dashboards import Dashboards
from gui.features.play.controller import PlayController
from gui.features.train.controller import TrainingController
from gui.state.bridge import run_until_quit
from PySide6.QtCore import QTimer
from PySide6.QtGui import QDesktopServices
QDesktopServices.openUrl = lambda url: True
app = create_app(Path(sys.argv[1]))
app.window.show()
app[TrainingController].draft.set_values({"task": "tiny_goal", "num_envs": 8, "threads": 1})
app[TrainingController].set_consent(True)
app[TrainingController].start()
app[PlayController].play_human()
def tell():
    run = app[TrainingController].record
    if run is not None and run.env_steps and app[PlayController].is_active:
        print(run.pid, app[PlayController].player._child.pid, flush=True)
        timer.stop()
        sys.stdin.readline()
        app[Dashboards].open_tensorboard()
timer = QTimer(interval=50)
timer.timeout.connect(tell)
timer.start()
run_until_quit()
"""


@pytest.mark.slow
def test_the_app_with_its_real_trainer_opens_no_port_but_tensorboards_own(tmp_path: Path) -> None:
    extra_library("tensorboard")
    app = subprocess.Popen(
        [sys.executable, "-c", REAL, str(tmp_path)],
        cwd=CHECKOUT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    try:
        assert app.stdout is not None
        assert app.stdin is not None
        trainer, player = (int(word) for word in app.stdout.readline().split())
        assert psutil.Process(trainer).cmdline()[2] == "trainer_core.worker"
        everybody = [process.pid for process in psutil.Process(app.pid).children(recursive=True)]
        assert {trainer, player} <= set(everybody)
        assert listening([app.pid, *everybody]) == []
        app.stdin.write("\n")
        app.stdin.flush()
        deadline, found = time.monotonic() + 120, []
        while not found and time.monotonic() < deadline:
            time.sleep(0.1)
            below = psutil.Process(app.pid).children(recursive=True)
            found = listening([app.pid, *(process.pid for process in below)])
        (server,) = {(pid, address) for pid, address, _ in found}
        tensorboard = psutil.Process(server[0])
        assert "tensorboard" in " ".join(psutil.Process(server[0]).cmdline())
        assert server[1] == "127.0.0.1"
    finally:
        app.send_signal(signal.SIGKILL)
        app.wait()
    tensorboard.wait(30)
