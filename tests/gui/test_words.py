"""Every text that the app shows goes through `tr`; German proves that it is worth something."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QPlainTextEdit, QPushButton, QTabBar, QWidget

import gui
from gui.features.games.model import RomLibrary
from gui.features.train.form import from_form, to_form
from gui.kit import words
from gui.kit.labels import count_text, size_text
from gui.kit.plot_shapes import short_number, tick_text, value_text
from gui.kit.settings import Settings
from gui.state.config_fields import field_specs
from gui.state.run_words import reason_words
from gui.state.session import Mode, Navigation, Session
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index import LOST_REASON

LEAST_SHARE = 0.85
"""Of the texts in the source that a language must have; what it lacks is English."""
SAID = re.compile(r"\u27e6[^\u27e6\u27e7]*\u27e7")
KEYS = re.compile(r"\((?:(?:Ctrl|Shift|Alt)\+)*[^()\s]+\)$")
DATA = {
    "agentCatalog",
    "taskCatalog",
    "strip_taskCatalog",
    "equivalentLine",
    "startReason",
    "commandPreview",
    "mainWindow",
    "qt_dockwidget_closebutton",
    "qt_dockwidget_floatbutton",
    "ScrollLeftButton",
    "ScrollRightButton",
    "openWandbButton",
    "speedBox",
    "headerTask",
    "nextRun",
}
"""Widgets whose text is data (tasks, libraries, commands, brands) or Qt's own."""


def keys() -> dict[str, Path]:
    """Literal texts in calls of `tr`, wherever they stand in its first argument."""
    found = {}
    for path in sorted(Path(gui.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                for part in ast.walk(node.args[0]) if node.func.id == "tr" and node.args else ():
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        found[part.value] = path
    return found


@pytest.mark.parametrize("code", [code for code in words.languages() if code != words.ENGLISH])
def test_a_language_has_the_texts_and_their_fields(code: str) -> None:
    catalogue, wanted = words.catalogue(code), keys()
    missing = [f"{path.name}: {text!r}" for text, path in wanted.items() if text not in catalogue]
    assert len(wanted) > 500
    assert len(missing) < (1 - LEAST_SHARE) * len(wanted), "\n".join(missing)
    for english, other in catalogue.items():
        fields = [sorted(re.findall(r"{[^}]*}", text)) for text in (english, other)]
        assert fields[0] == fields[1], f"{english!r}: {other!r}"


def unsaid(text: str) -> bool:
    """Whether letters are left where what went through `tr` is taken away, marks in marks first."""
    while (shorter := SAID.sub("", text)) != text:
        text = shorter
    return bool(re.search(r"[A-Za-z]{2}", KEYS.sub("", text.strip())))


def texts_of(widget: QWidget) -> Iterator[str]:
    for name in ("text", "toolTip", "accessibleName", "placeholderText", "windowTitle"):
        read = getattr(widget, name, None)
        is_typed = isinstance(widget, QLineEdit | QPlainTextEdit) and name == "text"
        if callable(read) and not is_typed:
            yield str(read())
    if isinstance(widget, QComboBox):
        yield from (widget.itemText(index) for index in range(widget.count()))
    if isinstance(widget, QTabBar):
        yield from (widget.tabText(index) for index in range(widget.count()))


def is_data(widget: QObject) -> bool:
    """Values that are typed or named by files: fields of the form, the game in the list."""
    name = widget.objectName()
    return name in DATA or name.startswith("field_") or widget.property("role") == "data"


def test_every_visible_text_of_the_window_went_through_tr(make_app, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "settings").mkdir(parents=True)
    settings = Settings(HomePaths(home))
    settings.set(words.LANGUAGE_SETTING, words.PSEUDO)
    settings.save()
    try:
        app = make_app(home)
        games = {card.title for card in app[RomLibrary].cards}
        raw = {
            (type(widget).__name__, widget.objectName(), text)
            for widget in (app.window, *app.window.findChildren(QWidget))
            if not is_data(widget)
            for text in texts_of(widget)
            if unsaid(text) and text not in games and not re.search(r"\.gbc?$", text)
        } | {
            ("action", name, text)
            for name, action in app.actions.all().items()
            for text in (action.text(), action.toolTip())
            if unsaid(text)
        }
        assert not raw, "\n".join(map(str, sorted(raw)))
        assert len(app.window.findChildren(QLabel)) > 50
    finally:
        words.choose_language(words.ENGLISH)


@pytest.fixture
def german() -> Iterator[None]:
    words.choose_language("de")
    yield
    words.choose_language(words.ENGLISH)


def german_home(folder: Path) -> Path:
    """A home in it whose language is German."""
    home = folder / "home"
    (home / "settings").mkdir(parents=True)
    settings = Settings(HomePaths(home))
    settings.set(words.LANGUAGE_SETTING, "de")
    settings.save()
    return home


def test_no_button_is_cut_off_in_a_small_german_window(german: None, make_app, tmp_path: Path) -> None:
    app = make_app(german_home(tmp_path))
    app.window.resize(1024, 700)
    app[Navigation].leave_welcome()
    cut = set()
    for mode in (Mode.HUMAN, Mode.AGENT):
        app[Session].set_mode(mode)
        for place in range(app.window.center.count()):
            app.window.center.setCurrentIndex(place)
            QApplication.processEvents()
            cut |= {
                (made.objectName(), made.text(), made.width(), made.sizeHint().width())
                for made in app.window.findChildren(QPushButton)
                if made.isVisible() and made.text() and made.width() < made.sizeHint().width()
            }
    assert not cut, "\n".join(map(str, sorted(cut)))


def test_german_is_spoken_from_the_start_on(german: None, make_app, tmp_path: Path) -> None:
    app = make_app(german_home(tmp_path))
    assert app.actions["start"].text() == "Training starten"
    assert app.window.center.tabText(2) == "Kurven"
    assert words.tr("{count} runs have the same settings.", count=3).startswith("3 Läufe")
    assert words.tr("never said") == "never said"


def test_numbers_are_written_as_in_the_language(german: None) -> None:
    seconds, target = (
        next(spec for spec in field_specs() if spec.name == name) for name in ("seconds", "target_success")
    )
    rate, size = (next(spec for spec in field_specs() if spec.name == name) for name in ("learning_rate", "num_envs"))
    said = [words.number(0.954, ".0%"), words.number(12345.5, ",.1f"), size_text(1.24e6), count_text(131072)]
    assert said == ["95 %", "12.345,5", "1,2 MB", "131.072"]
    assert [value_text(0.034, is_percent=True), tick_text(2500.0), short_number(0.034)] == ["3,4 %", "2,5k", "0,034"]
    assert words.tr("{rate:.0%} on held-out starts, {steps:,} steps", rate=0.5, steps=4096).startswith("50 % bei")
    assert words.tr("{steps:,} steps", steps=4096) == "4.096 Schritte"
    typed = {
        rate: ("0,0003", "0.0003"),
        size: ("1.024", "1024"),
        target: ("97,5", "0.975"),
        seconds: ("1.500", "90000"),
    }
    for spec, (shown, kept) in typed.items():
        assert from_form(spec, shown) == kept
        assert to_form(spec, spec.show(spec.parse(kept))) == (shown if spec is not seconds else "1500")
    assert [from_form(rate, text) for text in ("0.0003", "0.003", "3e-4")] == ["0.0003", "0.003", "3e-4"], "a point too"
    assert "1.024" in words.tr("{show} to {show2}.", show=size.words(1), show2=size.words(1024))


def test_reasons_of_the_trainers_are_told_in_the_language_of_the_app() -> None:
    reached = "validation reached 0.969 in greedy play, 1.000 leaving loops, 1.000 sampled"
    assert reason_words(reached) == "97 % on held-out starts"
    assert reason_words("disk full") == "disk full"
    known = (LOST_REASON, "time limit of 40 s", "stopped by you", "forced: killed, it ignored stop and SIGTERM")
    try:
        words.choose_language("de")
        assert all(reason_words(reason) != reason for reason in (*known, reached))
    finally:
        words.choose_language(words.ENGLISH)
