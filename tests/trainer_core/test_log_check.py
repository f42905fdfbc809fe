"""`dmglab validate`: every kind of damage is named, what a crash leaves is only a warning."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.imports import CHECKOUT
from tests.trainer_core.building import tiny_config, train_in
from trainer_core.cli.main import main
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_check import check_log

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


def last_of(lines: Lines, kind: str) -> int:
    return max(i for i, line in enumerate(lines) if f'"type":"{kind}"' in line)


def on(kind: str, **changes: Any) -> Callable[[Lines], Lines]:
    return lambda lines: edit(lines, last_of(lines, kind), **changes)


def on_eval(which: str, **changes: Any) -> Callable[[Lines], Lines]:
    def damage(lines: Lines) -> Lines:
        at = next(i for i, line in enumerate(lines) if f'"mode":"{which}","episodes"' in line)
        return edit(lines, at, **changes)

    return damage


def on_metric(**changes: Any) -> Callable[[Lines], Lines]:
    def damage(lines: Lines) -> Lines:
        at = first_update(lines)
        return edit(lines, at, metrics=json.loads(lines[at])["metrics"] | changes)

    return damage


def text(old: str, new: str) -> Callable[[Lines], Lines]:
    """The first update's line with one text replaced; other lines stay as they are."""

    def damage(lines: Lines) -> Lines:
        at = first_update(lines)
        assert old in lines[at]
        return [*lines[:at], lines[at].replace(old, new, 1), *lines[at + 1 :]]

    return damage


def resumed(**changes: Any) -> Callable[[Lines], Lines]:
    """A resume from the newest announced checkpoint, with some fields wrong."""

    def damage(lines: Lines) -> Lines:
        saved = json.loads(lines[last_of(lines, "checkpoint")])
        record = {
            "type": "resume",
            "v": 2,
            "run_id": "run",
            "seq": len(lines),
            "time": 1.0,
            "env_steps": saved["env_steps"],
            "update": saved["env_steps"] // 128,
            "checkpoint": saved["path"],
            "previous_seq": len(lines) - 1,
        }
        return [*lines, json.dumps(record | changes)]

    return damage


def renumbered(lines: Lines) -> Lines:
    return [edit(lines, number, seq=number)[number] for number in range(len(lines))]


def after_an_error(lines: Lines) -> Lines:
    error = json.dumps(
        {
            "type": "error",
            "v": 2,
            "run_id": "run",
            "seq": 0,
            "time": 1.0,
            "kind": "DiskError",
            "message": "full",
            "env_steps": 128,
        }
    )
    at = first_update(lines) + 1
    return renumbered([*lines[:at], error, *lines[at:]])


def swapped(lines: Lines) -> Lines:
    at = first_update(lines)
    return edit(edit(lines, at, env_steps=10**6), at + 1, env_steps=5)


def on_config(**changes: Any) -> Callable[[Lines], Lines]:
    """The configuration that the meta record tells, with other values."""

    def damage(lines: Lines) -> Lines:
        at = last_of(lines, "meta")
        return edit(lines, at, config=json.loads(lines[at])["config"] | changes)

    return damage


DAMAGE: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "missing key": (on_update(reward_mean=None), "reward_mean"),
    "wrong type": (on_update(env_steps="many"), "env_steps"),
    "bool for a number": (on_update(reward_mean=True), "bool"),
    "bool for a count": (on_update(update=True), "bool"),
    "a rate that no run may have": (on_update(learning_rate=100.0), "learning_rate is 100"),
    "a stack that no run may have": (on("meta", stack_k=99), "stack_k is 99, expected"),
    "steps of an hour": (on("meta", frames_per_step=216_000), "frames_per_step is 216000"),
    "released after the step": (on("meta", release_after_frames=25), "release_after_frames is 25"),
    "an impossible configuration": (on_config(gamma=5.0, eval_every="x"), "gamma must be 0 to 1"),
    "text for a number": (on_config(eval_every="x"), "eval_every is no int"),
    "NaN": (on_update(value_mean=float("nan")), "torn or not JSON|NaN"),
    "infinity": (on_update(value_mean=float("inf")), "torn or not JSON|Infinity"),
    "duplicate seq": (lambda s: [*s, edit(s, len(s) - 1)[-1]], "appears twice"),
    "gap in seq": (lambda s: edit(s, len(s) - 1, seq=99), "seq is 99"),
    "torn middle": (lambda s: [*s[:3], s[3][:20], *s[4:]], "torn"),
    "pipe event": (lambda s: [*s, '{"type":"heartbeat","v":1,"run_id":"run","seq":0,"time":1}'], "pipe"),
    "unknown type": (on_update(type="mystery"), "mystery"),
    "empty": (lambda s: [], "0 meta"),
    "binary": (lambda s: ["\x00\x01\x02"] * 3, "not a record"),
    # the line
    "list in list": (lambda s: ["[" * 3000], "not a record"),
    "50,000 deep": (lambda s: [s[0], '{"a":' * 50_000], "bytes, a line has at most|recursion"),
    "deep and short": (lambda s: [s[0], '{"a":' * 12_000], "recursion"),
    "1 MB": (lambda s: edit(s, first_update(s), note="x" * 2**20), "a line has at most 65536"),
    "a little too long": (lambda s: edit(s, first_update(s), note="x" * 2**16), "at most 65536"),
    "CRLF": (lambda s: [line + "\r" for line in s], "without \\\\r"),
    "blanks": (lambda s: [" " + s[0], *s[1:]], "blanks"),
    "doubled key": (text('"v":2', '"v":2,"sps":1.0'), "sps stands there twice"),
    "doubled inner key": (text('"emulate":', '"emulate":0.0,"emulate":'), "emulate stands"),
    # the envelope
    "newer schema": (on_update(v=99), "newer"),
    "version 0": (on_update(v=0), "version 0"),
    "version -1": (on_update(v=-1), "v"),
    "no version": (on_update(v=None), "lacks v"),
    "another run": (on_update(run_id="other"), "run_id"),
    "negative time": (on_update(time=-1.0), "time is -1"),
    "negative seq": (on_update(seq=-1), "seq"),
    # meta
    "no meta": (lambda s: s[1:], "0 meta"),
    "two metas": (lambda s: [s[0], *s], "2 meta"),
    "meta without device": (lambda s: edit(s, 0, device=""), "lacks device"),
    "meta without argv": (lambda s: edit(s, 0, argv=[]), "lacks argv"),
    "another seed": (lambda s: edit(s, 0, seed=77), "seed is 77"),
    "other consoles": (lambda s: edit(s, 0, num_envs=17), "num_envs is 17"),
    # counters
    "counters back": (swapped, "env_steps went back"),
    "negative first": (on_update(env_steps=-128), "env_steps"),
    "huge": (on_update(opt_steps=10**30), "opt_steps"),
    "too large for a float": (on_update(opt_steps=10**400), "opt_steps"),
    "half an update": (on_update(env_steps=129), "no multiple of 128"),
    "too many steps": (on_update(env_steps=256), "1 updates are 128"),
    "update twice": (lambda s: edit(s, first_update(s) + 1, update=1), "update is 1, expected 2"),
    "a record left out": (lambda s: renumbered([*s[: first_update(s)], *s[first_update(s) + 1 :]]), "expected 1"),
    "wall time back": (on("update", wall_time_s=0.0), "wall_time_s went back"),
    "optimizer back": (on("update", opt_steps=0), "opt_steps went back"),
    "after an error": (after_an_error, "nothing but a resume"),
    "after the end": (
        lambda s: renumbered([*on("checkpoint", reason="final")(s), s[last_of(s, "update")]]),
        "nothing but a resume may follow the final",
    ),
    # one update
    "wrong trace": (on_update(trace_id="run-99"), "trace_id is 'run-99'"),
    "no trace": (on_update(trace_id=""), "lacks trace_id"),
    "a checkpoint's trace": (on("checkpoint", trace_id="run-7"), "trace_id is 'run-7', expected 'run-\\d'"),
    "an episode without trace": (on("episode", trace_id=""), "lacks trace_id"),
    "rewards out of order": (on_update(reward_p10=9.0), "reward_p90 are out of order"),
    "short histogram": (on_update(action_hist=[128, 0, 0]), "3 bins"),
    "negative histogram": (on_update(action_hist=[-1, 1, 1, 1, 1, 1, 1]), "action_hist"),
    "empty histogram": (on_update(action_hist=[0] * 7), "at least one"),
    "wrong sum": (on_update(action_hist=[1] * 7), "sums to 7, the record has 128"),
    "missing loss": (on("update", value_loss=None), "lacks value_loss"),
    "below its bound": (on_update(grad_norm=-1.0), "grad_norm is -1, expected at least 0"),
    "above its bound": (on_metric(explained_variance=2.0), "at most 1"),
    "rate above one": (on_update(done_rate=1.5), "done_rate"),
    "success 7": (on_update(success_rate=7.0), "success_rate is 7"),
    "success of nothing": (on_update(success_rate=0.5, episodes=0), "success_rate|episodes"),
    "resets do not add up": (on_update(reset_rate=0.5), "reset_rate is 0.5"),
    "episodes do not add up": (on_update(episodes=90), "episodes is 90"),
    "negative episodes": (on_update(episodes=-1), "episodes"),
    "negative speed": (on_update(sps=-1.0), "sps is -1"),
    "negative wall": (on_update(wall_time_s=-1.0), "wall_time_s"),
    "percentiles": (on_update(dist_p10=0.9), "out of order"),
    "negative distance": (on_update(dist_p10=-0.1), "dist_p10 is -0.1"),
    "distance above one": (on_update(dist_p90=1.5), "dist_p90 is 1.5"),
    "entropy 100": (on_update(entropy_mean=100.0), "entropy_mean is 100"),
    "entropy above ln 7": (on_update(entropy_mean=2.0), "entropy_mean is 2"),
    "negative entropy": (on_update(entropy_mean=-0.5), "entropy_mean"),
    "negative KL": (on_update(approx_kl=-1.0), "approx_kl"),
    "mean above the greatest": (on_metric(reward_max=-9.0), "reward_max are out of order"),
    "two value means": (on_metric(vpred_mean=9.0), "vpred_mean"),
    "negative section": (on_update(time_split=dict.fromkeys("efl", -1.0)), "negative seconds"),
    "unknown section": (on_update(time_split={"dream": 1.0}), "dream"),
    # validation
    "eval back": (on_eval("greedy", env_steps=0), "env_steps went back"),
    "eval ahead": (on_eval("greedy", env_steps=128 * 9), "the update record at 384 is missing"),
    "negative eval": (on_eval("greedy", env_steps=-1), "env_steps"),
    "eval above one": (on_eval("sample", success_rate=7.0), "success_rate is 7"),
    "pass differs": (on_eval("sample", pass_at_1=0.5), "pass_at_1 is 0.5"),
    "n of fewer starts": (on_eval("sample", distinct_starts=3), "n is|no share"),
    "no starts": (on_eval("sample", distinct_starts=0), "0 starts"),
    "no share": (
        on_eval("sample", success_rate=0.501, pass_at_1=0.501, pass_at_n=1.0, median_steps_to_goal=3.0),
        "no share of",
    ),
    "median of nothing": (
        on_eval("greedy", success_rate=0.0, pass_at_1=0.0, pass_at_n=0.0, median_steps_to_goal=9.0),
        "median",
    ),
    "unknown mode": (on_eval("greedy", mode="lucky"), "mode is 'lucky'"),
    "another task": (on_eval("greedy", task="other"), "task is 'other'"),
    "negative eval time": (on_eval("greedy", wall_time_s=-1.0), "wall_time_s is -1"),
    "an episode's button 7": (on("episode", actions=[7] * 32, steps=32), "beyond 6"),
    "an episode too short": (on("episode", actions=[1]), "1 actions of"),
    "a gif elsewhere": (on("episode", gif="../../x.gif"), "inside the run"),
    # checkpoints
    "negative checkpoint": (on("checkpoint", env_steps=-1), "env_steps"),
    "checkpoint elsewhere": (on("checkpoint", path="/etc/passwd"), "inside the run"),
    "checkpoint of other steps": (on("checkpoint", path="checkpoints/000000000001"), "path is"),
    "no hash": (on("checkpoint", sha256="abc"), "sha256"),
    "unknown reason": (on("checkpoint", reason="mood"), "reason is 'mood'"),
    "checkpoint of success 7": (on("checkpoint", success_rate=7.0), "success_rate is 7"),
    "leaving loops of success 7": (on("checkpoint", leaving_success_rate=7.0), "leaving_success_rate is 7"),
    "rates of weights to come": (on("checkpoint", validated_env_steps=10**6), "rates are of"),
    "rates that no validation found": (on("checkpoint", leaving_success_rate=0.123), "leave_loops success is 0.123"),
    "a late import": (on("checkpoint", reason="imported"), "comes second"),
    "twice the same": (lambda s: renumbered([*s[:-1], s[-1].replace('"final"', '"best"'), s[-1]]), "announced before"),
    # resumes
    "negative resume": (resumed(env_steps=-128, update=-1), "env_steps"),
    "wrong previous line": (resumed(previous_seq=3), "previous_seq is 3"),
    "unannounced": (resumed(env_steps=256, update=2, checkpoint="checkpoints/000000000999"), "no record"),
    "never reached": (resumed(env_steps=128 * 90, update=90, checkpoint="checkpoints/000000011520"), "no record"),
    "other counters": (resumed(update=1), "and update 1"),
    "from nothing": (resumed(checkpoint=""), "without a checkpoint"),
    "other steps than its checkpoint's": (resumed(env_steps=128, update=1), "has 512"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_an_error_that_names_it(name: str, good: Lines, tmp_path: Path) -> None:
    damage, words = DAMAGE[name]
    log = tmp_path / "train_log.jsonl"
    log.write_text("".join(line + "\n" for line in damage(list(good))), newline="")
    report = check_log(log)
    assert any(re.search(words, error) for error in report.errors), report.errors


def test_a_whole_log_has_no_finding(good: Lines, tmp_path: Path) -> None:
    log = tmp_path / "train_log.jsonl"
    log.write_text("".join(line + "\n" for line in good))
    report = check_log(log)
    assert (report.errors, report.warnings) == ([], [])
    assert report.first_env_steps == 128
    assert report.last_env_steps == 512


def test_another_trainer_owes_three_numbers_and_keeps_the_rest_of_the_promises(tmp_path: Path) -> None:
    log = tmp_path / "train_log.jsonl"

    def findings(**changes: Any) -> list[str]:
        head = {"v": 2, "run_id": "run", "time": 1.0}
        update = {
            "type": "update",
            "env_steps": 10,
            "wall_time_s": 1.0,
            "sps": 10.0,
            "metrics": {"charts/episodic_return": 21.0},
            **changes,
        }
        lines = [{"type": "meta", "runner": "cleanrl"}, update]
        log.write_text("".join(json.dumps({**line, **head, "seq": seq}) + "\n" for seq, line in enumerate(lines)))
        return check_log(log).errors

    assert findings() == []
    assert findings(success_rate=0.5, update=3, action_hist=[4, 1, 1, 1, 1, 1, 1]) == []
    assert "sums to 7" in findings(action_hist=[1] * 7)[0]
    assert "success_rate is 1.5" in findings(success_rate=1.5)[0]
    assert "2 bins" in findings(action_hist=[1, 2])[0]
    assert "sps is -1" in findings(sps=-1.0)[0]


def test_a_clock_that_jumps_a_day_is_no_damage(good: Lines, tmp_path: Path) -> None:
    log, day = tmp_path / "train_log.jsonl", 86_400.0
    now = json.loads(good[0])["time"]
    times = [now + (day if number % 2 else -day) for number in range(len(good))]
    assert times != sorted(times)
    lines = [json.dumps(json.loads(line) | {"time": t}) for line, t in zip(good, times, strict=True)]
    log.write_text("".join(line + "\n" for line in lines))
    assert check_log(log).errors == []


def test_a_torn_tail_is_only_a_warning(good: Lines, tmp_path: Path) -> None:
    log = tmp_path / "train_log.jsonl"
    log.write_text("".join(line + "\n" for line in good) + good[-1][:30])
    report = check_log(log)
    assert report.errors == []
    assert "crash" in report.warnings[0]


def test_a_run_of_another_name_is_noticed(good: Lines, tmp_path: Path) -> None:
    """In a run's directory the log is that run's; elsewhere a log may lie under any name."""
    folder = tmp_path / "20261122-000000-beef"
    folder.mkdir()
    (folder / "train_log.jsonl").write_text("".join(line + "\n" for line in good))
    assert check_log(folder / "train_log.jsonl").errors == []
    (folder / "config.json").write_text("{}")
    assert "run_id 'run' differs from '20261122" in check_log(folder / "train_log.jsonl").errors[0]


def test_only_regular_files_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "train_log.jsonl")  # nobody ever writes into it
    for name in (tmp_path / "train_log.jsonl", Path("/dev/zero")):
        assert main(["validate", str(name)]) == 2
        assert "not a regular file" in json.loads(capsys.readouterr().out)["error"]
    (tmp_path / "loop").symlink_to("loop")
    assert main(["validate", str(tmp_path / "loop")]) == 2
    said = json.loads(capsys.readouterr().out)["error"]
    # pathlib's words before Python 3.13, and the system's from there on
    assert "Symlink loop" in said or "Too many levels of symbolic links" in said


def test_a_long_log_costs_no_memory(good: Lines, tmp_path: Path) -> None:
    log = tmp_path / "train_log.jsonl"
    with log.open("wb") as file:
        file.write(good[0].encode() + b"\n" + b"x" * (24 << 20))
        for _ in range(100):
            file.write(b"y" * (1 << 18) + b"\n")
    tracemalloc.start()
    report = check_log(log)
    assert tracemalloc.get_traced_memory()[1] < 2 << 20
    tracemalloc.stop()
    assert len(report.errors) == 50, "and the findings are cut off"


def test_counters_may_go_back_only_to_a_resumed_checkpoint(good: Lines, tmp_path: Path) -> None:
    seq = len(good)
    resume = {
        "type": "resume",
        "v": 1,
        "run_id": "run",
        "seq": seq,
        "time": 1.0,
        "env_steps": 256,
        "update": 2,
        "checkpoint": "checkpoints/000000000256",
        "previous_seq": seq - 1,
        "trace_id": "run-2",
    }
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


def test_the_command_says_ok(good: Lines, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train_log.jsonl").write_text("".join(line + "\n" for line in good))
    assert main(["validate", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["by_type"]["meta"] == 1
    assert main(["validate", str(tmp_path / "missing")]) == 2


def test_the_example_of_the_documentation_is_valid(tmp_path: Path) -> None:
    text = (CHECKOUT / "docs" / "reference" / "records.md").read_text()
    block = re.search(r"```jsonl\n(.*?)```", text, re.DOTALL)
    assert block is not None
    log = tmp_path / "train_log.jsonl"
    log.write_text(block.group(1))
    report = check_log(log)
    assert (report.errors, report.warnings) == ([], [])
    assert {"meta", "update", "eval", "checkpoint", "resume"} <= set(report.records)
