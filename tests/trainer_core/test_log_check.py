"""`dmglab validate`: every kind of damage is named, what a crash leaves is only a warning."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer_core.building import tiny_config, train_in
from trainer_core.cli.main import main
from trainer_core.log_check import check_log
from trainer_core.protocol.paths import CHECKOUT, HomePaths

Lines = list[str]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    home = tmp_path_factory.mktemp("home")
    train_in(home, tiny_config(eval_every=2))
    return HomePaths(home).run("run").train_log.read_text().splitlines()


def edit(lines: Lines, number: int, **changes: Any) -> Lines:
    """`lines` with fields of one line replaced; None drops the field."""
    record = {**json.loads(lines[number]), **changes}
    record = {name: value for name, value in record.items() if value is not None}
    return [*lines[:number], json.dumps(record), *lines[number + 1 :]]


def first_update(lines: Lines) -> int:
    return next(i for i, line in enumerate(lines) if '"type":"update"' in line)


def on_update(**changes: Any) -> Callable[[Lines], Lines]:
    return lambda lines: edit(lines, first_update(lines), **changes)


def swapped(lines: Lines) -> Lines:
    at = first_update(lines)
    return edit(edit(lines, at, env_steps=10**6), at + 1, env_steps=5)


DAMAGE: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "missing key": (on_update(reward_mean=None), "reward_mean"),
    "wrong type": (on_update(env_steps="many"), "env_steps"),
    "bool for a number": (on_update(reward_mean=True), "bool"),
    "bool for a count": (on_update(update=True), "bool"),
    "NaN": (on_update(value_mean=float("nan")), "torn or not JSON|NaN"),
    "infinity": (on_update(value_mean=float("inf")), "torn or not JSON|Infinity"),
    "counters back": (swapped, "env_steps went back"),
    "duplicate seq": (lambda s: [*s, edit(s, len(s) - 1)[-1]], "appears twice"),
    "gap in seq": (lambda s: edit(s, len(s) - 1, seq=99), "seq is 99"),
    "short histogram": (on_update(action_hist=[128, 0, 0]), "3 bins"),
    "negative histogram": (on_update(action_hist=[-1, 1, 1, 1, 1, 1, 1]), "none negative"),
    "empty histogram": (on_update(action_hist=[0] * 7), "at least one"),
    "rate above one": (on_update(done_rate=1.5), "done_rate"),
    "percentiles": (on_update(dist_p10=0.9), "out of order"),
    "no meta": (lambda s: s[1:], "0 meta"),
    "two metas": (lambda s: [s[0], *s], "2 meta"),
    "torn middle": (lambda s: [*s[:3], s[3][:20], *s[4:]], "torn"),
    "newer schema": (on_update(v=2), "newer"),
    "pipe event": (lambda s: [*s, '{"type":"heartbeat","v":1,"run_id":"run","seq":0,"time":1}'],
                   "pipe"),
    "another run": (on_update(run_id="other"), "run_id"),
    "unknown type": (on_update(type="mystery"), "mystery"),
    "empty": (lambda s: [], "0 meta"),
    "binary": (lambda s: ["\x00\x01\x02"] * 3, "not a record"),
    "deep": (lambda s: ["[" * 3000], "not a record"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_an_error_that_names_it(name: str, good: Lines, tmp_path: Path) -> None:
    damage, words = DAMAGE[name]
    log = tmp_path / "train_log.jsonl"
    log.write_text("".join(line + "\n" for line in damage(list(good))))
    report = check_log(log)
    assert any(re.search(words, error) for error in report.errors), report.errors


def test_a_whole_log_has_no_finding(good: Lines, tmp_path: Path) -> None:
    log = tmp_path / "train_log.jsonl"
    log.write_text("".join(line + "\n" for line in good))
    report = check_log(log)
    assert (report.errors, report.warnings) == ([], [])
    assert report.first_env_steps == 128
    assert report.last_env_steps == 512


def test_a_torn_tail_is_only_a_warning(good: Lines, tmp_path: Path) -> None:
    log = tmp_path / "train_log.jsonl"
    log.write_text("".join(line + "\n" for line in good) + good[-1][:30])
    report = check_log(log)
    assert report.errors == []
    assert "crash" in report.warnings[0]


def test_counters_may_go_back_only_to_a_resumed_checkpoint(good: Lines, tmp_path: Path) -> None:
    seq = len(good)
    resume = {
        "type": "resume", "v": 1, "run_id": "run", "seq": seq, "time": 1.0, "env_steps": 256,
        "update": 2, "checkpoint": "checkpoints/000000000256", "previous_seq": seq - 1,
    }  # fmt: skip
    again = json.loads(good[first_update(good) + 2])
    lines = [*good, json.dumps(resume), json.dumps({**again, "seq": seq + 1})]
    log = tmp_path / "train_log.jsonl"
    log.write_text("".join(line + "\n" for line in lines))
    assert check_log(log).errors == []


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"{}\n", b"null\n[]\n3\n"])
def test_the_command_prints_one_object_for_any_garbage(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "x.jsonl"
    log.write_bytes(content)
    assert main(["validate", str(log)]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_the_command_says_ok(
    good: Lines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train_log.jsonl").write_text("".join(line + "\n" for line in good))
    assert main(["validate", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["by_type"]["meta"] == 1
    assert main(["validate", str(tmp_path / "missing")]) == 1


def test_the_example_of_the_documentation_is_valid(tmp_path: Path) -> None:
    text = (CHECKOUT / "docs" / "rl_observability.md").read_text()
    block = re.search(r"```jsonl\n(.*?)```", text, re.DOTALL)
    assert block is not None
    log = tmp_path / "train_log.jsonl"
    log.write_text(block.group(1))
    report = check_log(log)
    assert (report.errors, report.warnings) == ([], [])
    assert {"meta", "update", "eval", "checkpoint", "resume"} <= set(report.records)
