"""Runs are found by `latest`, their names, their ids and the beginnings of both."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import dmglab
from tests.support.made_records import run_record
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.life import new_run_id
from trainer_core.runs.names import find_run
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_names import ADJECTIVES, NOUNS, run_name
from trainer_core.wire.run_record import RunState


def test_latest_is_never_the_run_that_asks(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    for age, run_id in enumerate(("asker", "newer", "older")):
        config = home.run(run_id).root / "config.json"
        config.parent.mkdir(parents=True)
        config.write_text("{}")
        os.utime(config, (1000 - age, 1000 - age))
    assert find_run("latest", home).run_id == "asker"
    assert find_run("latest", home, "asker").run_id == "newer"
    assert find_run("asker", home, "asker").run_id == "asker"
    for run_id in ("newer", "older"):
        (home.run(run_id).root / "config.json").unlink()
    with pytest.raises(LabError, match="no runs yet"):
        find_run("latest", home, "asker")


def test_a_run_is_found_by_its_name_its_id_and_the_beginning_or_end_of_one(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    registry = RunRegistry(home)
    for run_id, name in (("20261101-090000-4f2a", ""), ("20261102-090000-6e00", ""), ("20261103-090000-77aa", "mine")):
        registry.append(run_record(run_id, RunState.FINISHED, name=name))
    first = run_name("20261101-090000-4f2a")
    assert [run.name for run in registry.load().values()][::2] == [first, "mine"]
    for text in (first, first[:-1], "4f2a", "20261101"):
        assert find_run(text, home).run_id == "20261101-090000-4f2a"
    assert find_run("mine", home).run_id == "20261103-090000-77aa"
    assert [run.id for run in dmglab.runs(tmp_path, name="mi")] == ["20261103-090000-77aa"]
    with pytest.raises(LabError, match=rf"names 3 runs, write more of one: {first} \(20261101-090000-4f2a\), "):
        find_run("2026", home)
    with pytest.raises(LabError, match=r"no run 'moth'.*`dmglab runs` lists them"):
        find_run("moth", home)


def test_names_are_of_short_words_and_of_one_run_of_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_name("20261127-100000-3dc1") == "merry-dune-66", "names of old homes stay"
    for words in (ADJECTIVES, NOUNS):
        assert len(set(words)) == 100
        assert all(word.isascii() and word.islower() and 3 <= len(word) <= 8 for word in words)
    drawn = iter(("beef", "beef", "cafe"))
    monkeypatch.setattr("trainer_core.runs.life.secrets.token_hex", lambda size: next(drawn))
    monkeypatch.setattr("trainer_core.runs.life.time.strftime", lambda form: "20261127-100000")
    home = HomePaths(tmp_path)
    (home.runs / new_run_id(home)).mkdir(parents=True)
    assert new_run_id(home) == "20261127-100000-cafe", "the name was taken"
