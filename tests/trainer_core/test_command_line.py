"""One voice: text on a terminal, one JSON object elsewhere, the same exit statuses for every command."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from trainer_core.cli.command_table import COMMANDS, RENAMED, planned
from trainer_core.cli.completion import _options, completions
from trainer_core.cli.main import main
from trainer_core.cli.output import Result, fields, table
from trainer_core.lab.paths import CHECKOUT

LAB = (sys.executable, "-m", "trainer_core.cli.main")
LISTS = {
    "runs": "No runs. `dmglab train` starts one.",
    "queue list": "No waiting runs. `dmglab queue add` adds one.",
    "rom list": "No ROMs. `dmglab rom add` registers one.",
    "task list": "task                        title",
    "runner list": "trainer    title",
}


def piped(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with pipes."""
    environment = {**os.environ, "DMGLAB_HOME": str(home)}
    return subprocess.run([*LAB, *words], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)


def on_terminal(home: Path, *command: str) -> tuple[int, str]:
    """Run a program on a terminal of its own; return its exit status and all that it wrote."""
    mine, its = pty.openpty()
    environment = {**os.environ, "DMGLAB_HOME": str(home), "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        written = b""
        with contextlib.suppress(OSError):  # Linux reports the closed other side as an error
            while block := os.read(mine, 1 << 16):
                written += block
        os.close(mine)
    return process.returncode, written.decode().replace("\r\n", "\n")


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("words", LISTS)
def test_lists_are_text_on_a_terminal_and_json_elsewhere(words: str, tmp_path: Path) -> None:
    status, shown = on_terminal(tmp_path, *LAB, *words.split())
    assert (status, shown.startswith(LISTS[words])) == (0, True), shown
    done = piped(tmp_path, *words.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["ok"] is True
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.usefixtures("warm")
def test_either_form_can_be_asked_for(tmp_path: Path) -> None:
    assert json.loads(on_terminal(tmp_path, *LAB, "runs", "--json")[1]) == {"ok": True, "runs": []}
    assert piped(tmp_path, "runs", "--text").stdout == f"{LISTS['runs']}\n"
    both = piped(tmp_path, "runs", "--text", "--json")
    assert (both.returncode, both.stderr) == (2, "dmglab runs: give one of --json and --text\n")


@pytest.mark.usefixtures("warm")
def test_progress_is_the_last_line_of_a_terminal_and_leaves_none(tmp_path: Path) -> None:
    until_shown = "    while 'half' not in shown._shown: pass\n"
    code = (
        "import sys; from trainer_core.cli import progress; progress.PATIENCE_S, progress.TICK_S = 0, 0.001\n"
        "with progress.progress_line('work'):\n"
        "    progress.tell_progress(0.5, 'half')\n"
        "    shown = sys.stderr\n"
        f"{until_shown}"
        "    print('a message', file=sys.stderr)\n"
    )
    status, written = on_terminal(tmp_path, sys.executable, "-c", code)
    assert status == 0
    assert re.search(r"\rwork  \[#{12}-{12}\]  50%  \d+ s  half\x1b\[K\r\x1b\[Ka message\n", written), written
    assert written.endswith(("a message\n", "\r\x1b[K"))
    command = [sys.executable, "-c", code.replace(until_shown, "")]
    without = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert (without.stdout, without.stderr) == ("", "a message\n")


@pytest.mark.parametrize("command", [name for name, row in COMMANDS.items() if row.function])
def test_rubbish_is_one_line_and_status_2(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DMGLAB_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for rubbish in ("--no-such-option", "--home=/dev/null/x\0" if command != "completion" else "tcsh"):
        assert main([*command.split(), rubbish]) == 2, rubbish
        told = capsys.readouterr()
        assert json.loads(told.out)["error"], "one JSON object"
        assert re.fullmatch(r"dmglab [\w-]+: [^\n]+\n", told.err), told.err
        assert not list(tmp_path.iterdir()), "nothing was begun"


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("frobnicate", 2, "dmglab: unknown command 'frobnicate': `dmglab --help` lists the commands"),
        ("trian", 2, "dmglab: unknown command 'trian': did you mean `dmglab train`?"),
        (
            "bench frobnicate",
            2,
            "dmglab bench: unknown verb 'frobnicate': train, env, load, curve, cycles, peers; "
            "`dmglab bench --help` describes them",
        ),
        ("validate LOG", 1, ""),
        ("--version", 0, ""),
    ],
)
def test_statuses_and_their_words(words: str, status: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("rubbish\n")
    done = piped(tmp_path, *words.replace("LOG", str(tmp_path / "log.jsonl")).split())
    assert (done.returncode, done.stderr.strip()) == (status, said)


def test_options_of_the_plans_are_taken() -> None:
    assert planned(["plot", "--log", "a", "--out", "b", "--log=c"]) == ["plot", "a", "c", "--out", "b"]
    assert planned(["train", "--resume", "run", "--seconds", "5"]) == ["resume", "run", "--seconds", "5"]
    assert planned(["validate", "--log"]) == ["validate"]
    assert planned(["runs", "--log", "a"]) == ["runs", "--log", "a"]


@pytest.mark.parametrize("old", RENAMED)
def test_a_former_command_does_the_same_and_names_the_new_one(
    old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(tmp_path / "nothing"), "--home", str(tmp_path)] if old != "disk" else ["--state", "nothing"]
    answers = []
    for command in ([old], RENAMED[old]):
        assert main([*command, *words]) == 2
        answers.append(capsys.readouterr())
    assert answers[0].out == answers[1].out
    assert answers[0].err == f"`dmglab {old}` is now `dmglab {' '.join(RENAMED[old])}`\n{answers[1].err}"


def test_every_command_has_two_examples_whose_options_exist() -> None:
    for row in COMMANDS.values():
        assert len(row.examples) == 2, row.name
        for example in row.examples:
            words = shlex.split(example, comments=True)
            command = COMMANDS.get(" ".join(words[:2])) or COMMANDS[words[0]]
            assert f"{command.name} ".startswith(f"{row.name} "), example
            used = {word for word in words if word.startswith("--")} - {"--json", "--vary"}
            assert used <= set(_options(command)) if used else True, (example, used)


def test_words_are_completed_by_place(tmp_path: Path) -> None:
    assert completions(["tr"]) == ["train"]
    assert completions(["queue", "re"]) == ["release", "remove"]
    assert completions(["eval", "--mode", ""]) == ["greedy", "sample", "leave_loops"]
    assert completions(["eval", "--check"]) == ["--checkpoint"]
    assert completions(["train", "--task", "pocket_quest/leave_b"]) == ["pocket_quest/leave_bedroom"]
    assert completions(["runner", "check", "sb"]) == ["sb3"]
    assert completions(["resume", "--home", str(tmp_path), "l"]) == ["latest"]
    assert completions(["validate", "a"]) == [], "a file"
    assert completions(["frobnicate", ""]) == []


@pytest.mark.parametrize("begun", ["train --task pocket_quest/leave_b", "rom remove $(touch"])
def test_bash_completes_and_runs_nothing_of_a_name(begun: str, tmp_path: Path) -> None:
    program = tmp_path / "dmglab"
    names = "pocket_quest/leave_bedroom\n$(touch broken)"
    program.write_text(
        f"#!/bin/sh\nif [ $2 = words ]; then printf '%s\\n' '{names}'; else exec {shlex.join(LAB)} \"$@\"; fi\n"
    )
    program.chmod(0o755)
    code = (
        f'eval "$(dmglab completion bash)"; COMP_WORDS=(dmglab {begun.replace("$(", chr(92) + "$" + chr(92) + "(")}); '
        'COMP_CWORD=3; _dmglab; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        ["bash", "-c", code], cwd=tmp_path, env=os.environ | path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["pocket_quest/leave_bedroom", r"\$\(touch\ broken\)"], done.stderr
    assert not (tmp_path / "broken").exists()


def test_tables_align_numbers_and_leave_empty_columns_out() -> None:
    rows = [("a", 1234, None, True), ("bcd", 5.0, "", False)]
    assert table(("name", "steps", "note", "held"), rows).splitlines() == [
        "name  steps  held",
        "a     1,234  yes",
        "bcd       5  no",
    ]
    assert table(("name",), [], "Nothing.") == "Nothing."
    found = {"ok": True, "task": "t", "goal": {"tau": 0.25}, "rows": [{"a": 1}], "none": ""}
    assert fields(Result(found)) == "task      t\ngoal tau  0.25\n\nrows\na\n1"


@pytest.mark.parametrize("library", ["warp", "torch"])
def test_a_library_that_is_not_installed_is_named_with_its_extra(library: str, tmp_path: Path) -> None:
    """What a bare `pip install dmglab` meets."""
    blocked = f"import sys; sys.modules[{library!r}] = None; from trainer_core.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", blocked, "train", "--task", "tiny_goal", "--home", str(tmp_path)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert f"needs {library}, which is not installed: pip install 'dmglab[" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
