"""What the app remembers lies in a home that may be somebody else's: texts and bytes, no more."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QSettings

import gui
from gui.app import App
from gui.features.checkpoints.dock import CheckpointsDock
from gui.features.curves.dock import TelemetryDock
from gui.features.curves.plots import PlotChoices
from gui.features.curves.saved_views import SavedViews, View
from gui.features.log.dock import LogDock
from gui.features.memory.dock import MemoryDock
from gui.features.runners.dock import AgentDock
from gui.features.runs.columns import RunColumns, RunConfigs
from gui.features.runs.dock import RunsDock
from gui.features.tasks.dock import TaskDock
from gui.features.train.dock import TrainingDock
from gui.kit.settings import DAMAGED, LAYOUT_VERSION, LONGEST_TEXT, MOST_BYTES, Settings, read_ini
from gui.shell.layout_state import is_sound_geometry, is_sound_state
from gui.state.session import Session
from gui.state.telemetry import TelemetryModel, ViewMemory
from tests.gui.conftest import QtBot
from trainer_core.lab.paths import HomePaths


class Attack:
    """Runs a shell command where something unpickles it."""

    def __init__(self, command: str) -> None:
        self._command = command

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (self._command,)


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    home = HomePaths(tmp_path / "home")
    home.settings.mkdir(parents=True)
    return home


OPEN_APP = """
import sys
from pathlib import Path
from gui.app import create_app
from gui.kit.settings import Settings
from gui.state.appearance import Appearance
app = create_app(Path(sys.argv[1]))
print(app[Settings].text("view/screen"), app[Appearance].screen)
app.window.show()
app[Settings].save()
sys.stdout.flush()
import os
os._exit(0)
"""


def test_a_home_of_somebody_else_runs_nothing(home: HomePaths, tmp_path: Path) -> None:
    sign, ini = tmp_path / "PWNED", home.settings / "app.ini"
    old = QSettings(str(ini), QSettings.Format.IniFormat)
    for key in ("view/theme", "view/language", "layout/state", "play/key/a", "x"):
        old.setValue(key, Attack(f"touch {sign}"))
    old.setValue("view/screen", "grey")
    old.sync()
    before = ini.read_bytes()
    assert b"PyObjectWrapper" in before
    child = subprocess.run(
        [sys.executable, "-c", OPEN_APP, str(home.root)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.split() == ["grey", "grey"]
    assert not sign.exists()
    assert ini.read_bytes() == before
    assert b"grey" in (home.settings / "app.json").read_bytes()


def test_no_part_of_the_app_has_qt_read_settings() -> None:
    sources = Path(gui.__file__).parent.rglob("*.py")
    users = [
        path.name
        for path in sources
        if any("QSettings" in line and "import" in line for line in path.read_text().splitlines())
    ]
    assert users == []


def test_an_old_file_is_read_as_qt_wrote_it(tmp_path: Path) -> None:
    path, chance = tmp_path / "app.ini", random.Random(3)
    letters = "abc 0129xAF,;=\"'\\@%/[](){}\n\r\t\x01\u00fc\u6f22\U0001f600#?:"
    values, blobs = {}, {}
    for number in range(120):
        group = chance.choice(["", "view/", "play/key/", "General/", "a b/\u00fc=", "a/b/"])
        text = "".join(chance.choice(letters) for _ in range(chance.randrange(30)))
        values[f"{group}k%{number};"] = text
        blobs[f"blob/{number}"] = chance.randbytes(chance.randrange(80))
    old = QSettings(str(path), QSettings.Format.IniFormat)
    for key, text in values.items():
        old.setValue(key, text)
    for key, data in blobs.items():
        old.setValue(key, QByteArray(data))
    old.setValue("nothing", None)
    old.setValue("list", ["a", "b"])
    old.sync()
    assert read_ini(path.read_bytes().decode()) == (values, blobs)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\\",
        '"',
        "[",
        "[view",
        "=",
        "a",
        "a=\\",
        'a="',
        "a=\\x",
        "a=\\xffffffffffffffff",
        "%UD800=\\xd800",
        "[%General]\na=@ByteArray(",
        ";x",
        "a=@Variant(\\0\\0)",
        "\\\n" * 9999,
        'a="' + "\\" * 9999,
    ],
)
def test_an_old_file_may_hold_anything(text: str) -> None:
    values, blobs = read_ini(text)
    for found in (*values, *values.values(), *blobs):
        found.encode()


def test_values_come_back_after_a_kill(qtbot: QtBot, home: HomePaths, qapp: object) -> None:
    first = Settings(home)
    first.set("a", "\u00fc\n\x00")
    first.set("b", 0.25)
    first.set("c", True)
    first.set_blob("d", QByteArray(bytes(range(256))))
    first.set("gone", "x")
    first.remove("gone")
    qtbot.waitUntil(lambda: (home.settings / "app.json").exists())  # nobody calls save
    qtbot.waitUntil(lambda: Settings(home).flag("c", False))
    again = Settings(home)
    assert again.text("a") == "\u00fc\n\x00"
    assert again.number("b", 0.0) == 0.25
    assert again.blob("d").data() == bytes(range(256))
    assert again.text("gone", "-") == "-"


def test_two_apps_keep_each_others_values(home: HomePaths) -> None:
    first, second = Settings(home), Settings(home)
    first.set("a", 1)
    second.set("b", 2)
    first.save()
    second.save()
    again = Settings(home)
    assert (again.text("a"), again.text("b")) == ("1", "2")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"v":2}',
        b'{"values":{"a":1}}',
        b'{"values":[]}',
        b"\xff\xfe",
        b'{"blobs":{"a":"%%"}}',
        b'{"values":{"a":"\\ud800"}}',
        b" " * (MOST_BYTES + 1),
        b'{"values":{"a":"' + b"x" * (LONGEST_TEXT + 1) + b'"}}',
        "pipe",
        "folder",
    ],
    ids="",
)
def test_a_damaged_file_reads_as_the_defaults_and_is_kept_aside(home: HomePaths, data: bytes | str) -> None:
    path = home.settings / "app.json"
    if data == "pipe":
        os.mkfifo(path)
    elif data == "folder":
        path.mkdir()
    else:
        assert isinstance(data, bytes)
        path.write_bytes(data)
    settings = Settings(home)
    assert settings.text("a", "-") == "-"
    assert str(path) in settings.problem
    assert len(settings.problem) < 300 + len(str(path))
    aside = home.settings / DAMAGED
    assert aside.exists()
    assert not isinstance(data, bytes) or aside.read_bytes() == data
    settings.set("a", "b")
    settings.save()
    assert Settings(home).text("a") == "b"


def test_a_link_in_the_way_is_not_followed(home: HomePaths, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (home.settings / "app.json.tmp").symlink_to(precious)
    settings = Settings(home)
    settings.set("a", "b")
    settings.save()
    assert precious.read_text() == "mine"
    assert Settings(home).text("a") == "b"


def test_a_full_disk_keeps_what_was_there(home: HomePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(home)
    settings.set("a", "old")
    settings.save()

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "write", full)
        settings.set("a", "new")
        settings.save()
    assert Settings(home).text("a") == "old"
    settings.save()
    assert Settings(home).text("a") == "new"
    assert threading.active_count() < 20


RUBBISH = [
    "[" * 50_000, "9" * 5000, "1e999", '"\\ud800"', "[1e999]", '{"a": 1e999}', "nan", "{",
    '{"fields": 1}', '{"widths": {"a": 1' + "0" * 400 + "}}", '{"sort": [1]}', '{"a": [[]]}',
    '{"a": {"smoothing": 1' + "0" * 400 + ', "pinned": "x"}}', "null", "[null]", "-1",
]  # fmt: skip


@pytest.mark.parametrize("rubbish", RUBBISH, ids=lambda text: text[:12])
def test_rubbish_under_any_key_is_the_default(home: HomePaths, rubbish: str, qapp: object) -> None:
    settings = Settings(home)
    keys = (
        "runs/columns",
        "curves/views",
        "curves/pinned",
        "curves/colors",
        "curves/order",
        "curves/smoothing",
        "curves/x_axis",
        "session/mode",
        "session/task",
        "session/runner",
        "sound/channels",
    )
    for key in keys:
        settings.set(key, rubbish)
    RunColumns(settings, RunConfigs(home))
    PlotChoices(settings)
    views = SavedViews(settings)
    for name in views.names():
        assert (views[name].smoothing or 0.5) < 1
    model = TelemetryModel(str)
    ViewMemory(model, settings).pinned()
    assert 0 <= model.smoothing < 1
    assert Session(home, settings).task
    assert int(settings.number("sound/channels", 15)) & 15 <= 15


def test_one_damaged_view_takes_no_other_with_it(home: HomePaths) -> None:
    settings = Settings(home)
    settings.set("curves/views", '{"bad": {"pinned": 3}, "good": {"axis": "updates"}}')
    views = SavedViews(settings)
    assert views.names() == ["good"]
    assert views["good"] == View(axis="updates")


def test_layouts_that_qt_saved_are_sound_and_no_others(app: App) -> None:
    window = app.window
    docks = [
        app[AgentDock],
        app[TrainingDock],
        app[TaskDock],
        app[TelemetryDock],
        app[CheckpointsDock],
        app[RunsDock],
        app[LogDock],
        app[MemoryDock],
    ]
    names = [dock.objectName() for dock in docks]
    app[LogDock].setFloating(True)
    app[RunsDock].close()
    state = bytes(window.saveState(LAYOUT_VERSION).data())
    geometry = bytes(window.saveGeometry().data())
    assert is_sound_state(state, LAYOUT_VERSION, names)
    assert is_sound_geometry(geometry)
    assert not is_sound_state(state, LAYOUT_VERSION + 1, names)
    assert not is_sound_state(state, LAYOUT_VERSION, names[1:])
    assert not is_sound_state(state + b"\0", LAYOUT_VERSION, names)
    first, other = ("agentDock".encode("utf-16-be"), "runsDock".encode("utf-16-be"))
    assert first in state
    assert other in state
    twice = state.replace("telemetryDock".encode("utf-16-be"), "checkpointsDoc".encode("utf-16-be"))
    assert not is_sound_state(twice, LAYOUT_VERSION, names)
    for cut in range(len(state)):
        assert not is_sound_state(state[:cut], LAYOUT_VERSION, names)
    assert not is_sound_geometry(geometry[:-1])
    assert not is_sound_geometry(b"\0" * 66)


def test_a_layout_that_would_end_the_process_is_not_given_to_qt(make_app) -> None:
    first: App = make_app()
    settings = first[Settings]
    state = bytearray(first.window.saveState(LAYOUT_VERSION).data())
    state[-12:-8] = b"\x7f\xff\xff\xff"
    chance = random.Random(1)
    for _ in range(20):
        place = chance.randrange(12, len(state) - 4)
        state[place : place + 4] = b"\x7f\xff\xff\xff"
        settings.set_blob("layout/state", QByteArray(bytes(state)))
        settings.set_blob("layout/geometry", QByteArray(b"\x7f" * 66))
        assert not first.window.layouts.restore()  # Qt itself would have ended the process here
