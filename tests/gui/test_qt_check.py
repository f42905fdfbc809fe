"""The pair of Python and PySide6: refused when it aborts, and no reference leaks when it runs."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from PySide6.QtCore import QFile, QObject, Signal, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QWidget

from gui.kit import style_sheet
from gui.kit.theme import DARK, LIGHT
from gui.shell.qt_check import check_display, check_qt, display_fault, listens_for_x11, refusal

CHECKOUT = Path(__file__).resolve().parents[2]


def test_the_pair_that_aborts_is_refused_with_a_way_out() -> None:
    assert "pyside6-essentials<6.12" in refusal((3, 11), (6, 12))
    assert refusal((3, 12), (6, 12)) == ""
    assert refusal((3, 11), (6, 11)) == ""
    assert "too old" in refusal((3, 11), (6, 8))
    assert check_qt() == ""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="singletons are immortal from 3.12 on")
def test_signals_and_repaints_leave_the_reference_counts_of_singletons_alone(qapp) -> None:
    class Sender(QObject):
        fired = Signal(bool)

    sender, widget = Sender(), QWidget()
    sender.fired.connect(lambda value: None)
    widget.show()

    def exercise() -> None:
        for _ in range(1000):
            sender.fired.emit(True)
        for _ in range(100):
            widget.repaint()

    exercise()
    before = [sys.getrefcount(value) for value in (None, True, False)]
    exercise()
    after = [sys.getrefcount(value) for value in (None, True, False)]
    assert all(abs(b - a) < 50 for a, b in zip(before, after, strict=True)), (before, after)


def test_a_home_that_cannot_be_made_is_one_line_and_status_1(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = subprocess.run(
        [sys.executable, "-m", "gui", "--home", str(tmp_path / "file" / "home")],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "--home" in done.stderr


def test_the_window_shows_soon_and_loads_neither_torch_nor_warp(tmp_path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from gui.app import create_app, create_application
app = create_application()
window = create_app(Path(sys.argv[1])).window
window.show()
app.processEvents()
used = resource.getrusage(resource.RUSAGE_SELF)
heavy = sorted({"torch", "warp", "pyqtgraph", "emulator"} & set(sys.modules))
print(heavy, used.ru_utime + used.ru_stime, window.isVisible(), flush=True)
import os; os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        env={**__import__("os").environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    assert done.returncode == 0, done.stderr
    heavy, cpu_s, visible = done.stdout.strip().rsplit(" ", 2)
    assert (heavy, visible) == ("[]", "True")
    assert float(cpu_s) < 4.0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's displays")
@pytest.mark.parametrize(
    ("display", "said"),
    [
        ({}, "no display: DISPLAY and"),
        ({"DISPLAY": ":7777"}, "DISPLAY=:7777: no display answers"),
        ({"WAYLAND_DISPLAY": "wayland-77"}, "WAYLAND_DISPLAY=wayland-77: no display answers"),
        (
            {"WAYLAND_DISPLAY": "/dev/null", "DISPLAY": ":7777"},
            "WAYLAND_DISPLAY=/dev/null and DISPLAY=:7777: no display answers",
        ),
        ({"QT_QPA_PLATFORM": "xcb", "DISPLAY": ":7777"}, "DISPLAY=:7777: no display answers"),
    ],
)
def test_without_a_display_there_is_one_line_and_no_abort(
    display: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert check_display() == ""
    monkeypatch.delenv("QT_QPA_PLATFORM")
    for name, value in display.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run(
        [sys.executable, "-m", "gui", "--home", str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's displays")
def test_a_display_that_somebody_serves_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    # The path of a socket may have 107 letters.
    with tempfile.TemporaryDirectory(prefix="dmglab-", dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as server:
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-7")
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        assert "no display answers" in display_fault()
        server.bind(f"{folder}/wayland-7")
        server.listen()
        assert display_fault() == ""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0/tmp/.X11-unix/X7779")  # where a server listens beside its file
        server.listen()
        assert listens_for_x11(":7779.0")
        assert not listens_for_x11(":7778")


def test_a_checkout_in_any_folder_has_its_style_and_icons(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / 'my "lab" (ü) 100%;}'
    shutil.copytree(style_sheet.ASSETS / "icons", odd / "icons")
    monkeypatch.setattr(style_sheet, "ASSETS", odd)
    said: list[str] = []
    before = qInstallMessageHandler(lambda kind, context, text: said.append(text))
    try:
        widget = QWidget()
        widget.setStyleSheet(style_sheet.style_sheet((DARK, LIGHT)))
        widget.show()
        names = re.findall(r"url\((.*?)\)", widget.styleSheet())
        assert len(names) == 11
        assert all(QFile.exists(name) for name in names)
    finally:
        qInstallMessageHandler(before)
        monkeypatch.undo()
        style_sheet.style_sheet((DARK, LIGHT))  # the search path is the process's
    assert said == [], "Qt parses all of it"
