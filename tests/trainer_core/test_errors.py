"""What is told of an error: one short printable line, whatever file or word it quotes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.made_records import run_record
from trainer_core.cli.main import main
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index import RunRegistry
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import ConfigError, LabError, in_words, shortened, visible
from trainer_core.wire.run_record import RunState

ESCAPE = "a\x1b[2J\nb\u202ec\ud800"


def test_what_a_terminal_would_obey_is_shown() -> None:
    assert visible("Zähler = ²") == "Zähler = ²"
    assert visible(ESCAPE) == r"a\x1b[2J\nb\u202ec\ud800"
    assert str(LabError(ESCAPE)).isprintable()
    assert in_words(OSError(2, "No such file", f"/{ESCAPE}")) == rf"/{visible(ESCAPE)}: No such file"


def test_a_long_error_keeps_its_beginning_and_its_way_out() -> None:
    said = str(ConfigError(f"file {'x' * 5000}: damaged; run `dmglab archive restore`"))
    assert len(said) < 300
    assert said.startswith("file xxx")
    assert said.endswith("damaged; run `dmglab archive restore`")
    assert shortened("short") == "short"


@pytest.mark.parametrize(
    "command",
    [
        ["x" * 5000],
        ["task", "x" * 5000],
        ["runs", "--" + "x" * 5000],
        ["import", "x" * 5000],
        ["train", "--num-envs", "x" * 5000],
        ["league", "x" * 5000, "--task", "tiny_goal"],
        ["archive", "restore", ESCAPE[:-1]],
    ],
    ids=lambda command: command[0][:8],
)
def test_words_that_were_typed_do_not_come_back_whole(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    for line in capsys.readouterr().err.splitlines():
        assert len(line) < 330, "with the command before it"
        assert line.isprintable()


def test_a_list_of_runs_shows_what_a_foreign_reason_would_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = run_record("r", RunState.FINISHED, reason="\x1b[2J\nr2")
    RunRegistry(HomePaths(tmp_path)).append(record)
    for command in (["runs"], ["query", "SELECT reason FROM runs"]):
        assert main([*command, "--text", "--home", str(tmp_path)]) == 0
        said = capsys.readouterr().out
        assert r"\x1b[2J\nr2" in said
        assert "\x1b" not in said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OverflowError("too large"), "too large"),
        (KeyError("name"), "it lacks 'name'"),
        (MemoryError(), "it does not fit into memory"),
        (RecursionError("x"), "nested too deep"),
        (AttributeError(), "AttributeError"),
        (OSError(21, "Is a directory", "f"), "f: Is a dir"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "can't decode"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_parser_raises_is_one_error(error: Exception, said: str) -> None:
    wanted = pytest.raises(ConfigError, match=rf"^file: .*{said}.*; do that$")
    with wanted, parsing("file", ConfigError, "; do that"):
        raise error


def test_an_error_of_ours_passes_a_parser() -> None:
    with pytest.raises(LabError, match=r"^ours$"), parsing("file", ConfigError):
        raise LabError("ours")
    with pytest.raises(KeyboardInterrupt), parsing("file"):
        raise KeyboardInterrupt


def test_only_one_function_prints_words_of_files_for_the_command_line() -> None:
    """`print` with a text of its own stands in a few places that know what they print."""
    folder = Path(sys.modules[main.__module__].__file__ or "").parent
    printing = {
        path.name: text.count("print(f") + text.count("print(text")
        for path in folder.glob("*.py")
        if "print(" in (text := path.read_text(encoding="utf-8"))
    }
    known = {"main.py", "progress.py"}
    assert {name for name, count in printing.items() if count} <= known
    assert json.dumps("\x1b") == r'"\u001b"', "results are JSON and need nothing more"
