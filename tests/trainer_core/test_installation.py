"""How an installation is called, and what it puts into the desktop's menu."""

from __future__ import annotations

import io
import json
import shlex
import sys
from pathlib import Path

import pytest

from trainer_core.cli.demo import dmglab_command
from trainer_core.cli.desktop import install_desktop_file, remove_desktop_file
from trainer_core.cli.main import main
from trainer_core.cli.progress import tell_progress
from trainer_core.wire.environment import PROGRESS
from trainer_core.wire.errors import LabError


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `bin` with an interpreter and our two programs, in a path that needs quotes."""
    folder = tmp_path / "a 100% $clone" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "dmglab", "dmglab-app"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", "/usr/bin")
    return folder


def test_the_command_is_a_bare_word_only_where_path_leads_to_this_installation(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shlex.split(dmglab_command()) == [str(programs / "dmglab")]
    monkeypatch.setenv("PATH", str(programs))
    assert dmglab_command() == "dmglab"
    (programs / "dmglab").unlink()
    module = [str(programs / "python"), "-m", "trainer_core.cli.main"]
    assert shlex.split(dmglab_command()) == module


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="desktop files are for Linux")
def test_the_menu_entry_names_this_installation_and_has_its_icons(programs: Path, tmp_path: Path) -> None:
    entry, *icons = map(Path, install_desktop_file())
    assert entry == tmp_path / "data" / "applications" / "dmglab.desktop"
    # The string rule doubles each backslash, Exec's own rule quotes $ and doubles %.
    escaped = str(programs / "dmglab-app").replace("%", "%%").replace("$", r"\\$")
    lines = entry.read_text().splitlines()
    assert f'Exec="{escaped}"' in lines
    assert "Icon=dmglab" in lines
    assert [path.parent.parent.name for path in icons] == ["scalable", "256x256"]
    assert all(path.stat().st_size for path in icons)
    assert remove_desktop_file() == [str(entry), *map(str, icons)]
    assert remove_desktop_file() == []
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="desktop files are for Linux")
def test_without_the_program_there_is_no_menu_entry(programs: Path, tmp_path: Path) -> None:
    (programs / "dmglab-app").unlink()
    with pytest.raises(LabError, match="dmglab-app: not installed"):
        install_desktop_file()
    assert not (tmp_path / "data").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_doctor_is_a_table_on_a_terminal_and_json_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(tmp_path)]
    snapped = {"snapped": "runner snapped of toys cannot be used: ValueError: no"}
    monkeypatch.setattr("trainer_core.cli.doctor.broken_runners", lambda: snapped)
    status = main(["doctor", *home])
    found = json.loads(capsys.readouterr().out)
    assert (found["home"]["path"], found["broken_runners"]) == (str(tmp_path), snapped)
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "__stdout__", screen)
    assert main(["doctor", *home]) == status
    lines = screen.getvalue().splitlines()
    assert len(lines) > 10
    assert all(len(line) < 200 for line in lines)
    assert [line for line in lines if line.startswith("home ") and str(tmp_path) in line]
    assert [line for line in lines if line.startswith("broken runner ") and "snapped of" in line]
    assert main(["doctor", "--json", *home]) == status
    assert json.loads(screen.getvalue().splitlines()[-1])["python"]


def test_lists_are_tables_on_a_terminal_and_json_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "tasks" / "odd"
    odd.mkdir(parents=True)
    (odd / "task.toml").write_text("schema = 9\n" + 'title = "\x1b[2J"\n')
    screens = {}
    for verb in ("task", "rom", "runner"):
        words = [verb, "list", "--home", str(tmp_path)]
        assert main(words) == 0
        found = json.loads(capsys.readouterr().out)
        screen = Terminal()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", screen)
            patched.setattr(sys, "__stdout__", screen)
            assert main(words) == 0
        screens[verb] = screen.getvalue().splitlines()
        ids = [row["id"] for rows in found.values() if isinstance(rows, list) for row in rows if "id" in row]
        assert all(any(line.startswith(f"{one} ") for line in screens[verb]) for one in ids)
        assert all(line.isprintable() and len(line) < 420 for line in screens[verb])
    assert [line.split()[:2] for line in screens["task"] if str(odd) in line] == [[str(odd), "broken"]]
    assert screens["rom"][0] == "No ROMs. `dmglab rom add` registers one."


def test_progress_is_json_for_a_program_that_asks_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tell_progress(0.25)
    monkeypatch.setenv(PROGRESS, "json")
    tell_progress(0.5, "installing")
    told = capsys.readouterr()
    assert (told.out, json.loads(told.err)) == ("", {"progress": 0.5, "detail": "installing"})
