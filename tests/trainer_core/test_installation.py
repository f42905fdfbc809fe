"""How an installation is called, and what it puts into the desktop's menu."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from trainer_core.cli.desktop import install_desktop_file
from trainer_core.cli.invocation import dmglab_command
from trainer_core.protocol.errors import LabError


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
def test_the_menu_entry_names_this_installation_and_has_its_icons(
    programs: Path, tmp_path: Path
) -> None:
    entry, *icons = map(Path, install_desktop_file())
    assert entry == tmp_path / "data" / "applications" / "dmglab.desktop"
    # The string rule doubles each backslash, Exec's own rule quotes $ and doubles %.
    escaped = str(programs / "dmglab-app").replace("%", "%%").replace("$", r"\\$")
    lines = entry.read_text().splitlines()
    assert f'Exec="{escaped}"' in lines
    assert "Icon=dmglab" in lines
    assert [path.parent.parent.name for path in icons] == ["scalable", "256x256"]
    assert all(path.stat().st_size for path in icons)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="desktop files are for Linux")
def test_without_the_program_there_is_no_menu_entry(programs: Path, tmp_path: Path) -> None:
    (programs / "dmglab-app").unlink()
    with pytest.raises(LabError, match="dmglab-app: not installed"):
        install_desktop_file()
    assert not (tmp_path / "data").exists()


def test_a_reader_that_stops_early_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "trainer_core.cli.main", "--help"],
        stdout=write, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
