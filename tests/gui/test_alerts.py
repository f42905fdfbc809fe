"""Alerts: told once each, marked on curves, from live records and from logs alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from gui.app import App
from gui.features.curves.dock import TelemetryDock
from gui.kit.settings import Settings
from gui.shell import notices as desktop
from gui.state.notices import Notices
from gui.state.run_history import AlertWatch
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, replaced
from tests.support.made_records import eval_record, update_record


def test_an_entropy_that_collapses_before_success_is_told_once_until_it_recovers() -> None:
    watch = AlertWatch()
    entropies = [1.9, 1.0, 0.05, 0.04, 1.0, 0.03]
    told = [
        watch.take(replaced(update_record("r", seq, seq + 1, 0.0), entropy_mean=entropy))
        for seq, entropy in enumerate(entropies)
    ]
    assert [alert.kind if alert else "" for alert in told] == ["", "", "entropy", "", "", "entropy"]


def test_a_policy_that_has_learned_may_be_certain() -> None:
    watch = AlertWatch()
    assert watch.take(eval_record("r", 0, success_rate=0.9)) is None
    record = update_record("r", 1, 1, 0.0)
    assert watch.take(replaced(record, entropy_mean=1.9)) is None
    assert watch.take(replaced(record, entropy_mean=0.01)) is None


def test_success_that_stays_below_half_of_the_best_is_told_with_both_numbers() -> None:
    watch = AlertWatch()
    rates = [0.2, 0.05, 0.8, 0.3, 0.9, 0.2, 0.1, 0.1]
    told = [watch.take(eval_record("r", seq, success_rate=rate)) for seq, rate in enumerate(rates)]
    assert [alert.text if alert else "" for alert in told] == [
        *[""] * 6,
        "10 % on held-out starts, after 90 % before",
        "",
    ]


def test_a_live_alert_is_one_banner_and_a_mark_at_its_step(app: App) -> None:
    telemetry = app[TelemetryModel]
    told = []
    app[Notices].told.connect(told.append)
    telemetry.set_focus("r")
    for seq, entropy in enumerate([1.9, 0.01, 0.01]):
        record = update_record("r", seq, seq + 1, 0.0)
        telemetry.take("r", replaced(record, entropy_mean=entropy))
    assert [notice.title for notice in told] == [f"Entropy collapsed: {telemetry.label('r')}"]
    card = app[TelemetryDock].cards["entropy_mean"]
    card.redraw()
    assert card.canvas is not None
    marks = card.canvas.shown.marks[-1].x
    assert list(marks) == [telemetry.run("r").alerts[0].env_steps]


def test_news_reach_the_desktop_while_nobody_looks_at_the_window(
    qtbot: QtBot, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, tool = tmp_path / "said", tmp_path / "bin" / "notify-send"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nfor word; do echo "$word"; done >> {said}; echo . >> {said}\n')
    tool.chmod(0o755)
    tell, settings = app[Notices].tell, app[Settings]
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    tell("Nobody can show this", is_news=True)  # silent where there is no such tool
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    tell("Of the app only")
    settings.set(desktop.DESKTOP_SETTING, False)
    tell("Turned off", is_news=True)
    settings.set(desktop.DESKTOP_SETTING, True)
    monkeypatch.setattr(app.window, "isActiveWindow", lambda: True)
    tell("Seen in the window", is_news=True)
    monkeypatch.setattr(app.window, "isActiveWindow", lambda: False)
    tell("Training finished", "-n is no option", "good", is_news=True)
    qtbot.waitUntil(lambda: said.exists() and said.read_text().endswith(".\n"))
    words = said.read_text().splitlines()
    assert words[-4:] == ["--", "Training finished", "-n is no option", "."]
    assert words.count(".") == 1
