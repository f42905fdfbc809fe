"""What takes minutes on a fresh or busy computer says so: compiling, preparing consoles."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainer_core.cli import local_run
from trainer_core.cli.local_run import Narrator
from trainer_core.envs import compile_progress
from trainer_core.envs.build import make_env
from trainer_core.envs.preparing import Preparing
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.life import RunLife
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

PART = f"{records.COMPILING}: part 1, launch.native"


class Timers:
    """Stands in for threading.Timer: those that wait, by seconds, are called by hand."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, Callable[[], Any]]] = []

    def __call__(self, seconds: float, act: Callable[..., Any], values: tuple[Any, ...]) -> Any:
        timers, daemon = self, False

        class One:
            def start(self) -> None:
                timers.waiting.append((seconds, lambda: act(*values)))

        One.daemon = daemon  # type: ignore[attr-defined]
        return One()

    def fire(self) -> float:
        seconds, act = self.waiting.pop(0)
        act()
        return seconds


def test_who_listens_to_nothing_reads_that_kernels_compile(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    timers = Timers()
    monkeypatch.setattr(threading, "Timer", timers)
    story = compile_progress._Story()
    story.on_part(1, "launch.native", -1.0)
    assert capsys.readouterr().err == "", "what is over within two seconds is not worth a line"
    assert timers.fire() == compile_progress.LINE_AFTER_S
    said = capsys.readouterr().err
    assert said.startswith(f"{PART.replace(': part', ' for this computer, once: part')}: ")
    assert said.endswith(" s so far, usually 10 to 60 s\n")
    assert timers.fire() == compile_progress.LINE_EVERY_S
    assert capsys.readouterr().err.count("\n") == 1, "that it goes on is said too"
    story.on_part(1, "launch.native", 3.0)
    timers.fire()
    assert capsys.readouterr().err == ""
    assert not timers.waiting


def test_a_shell_reads_on_while_a_run_prepares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_run, "STARTING_S", 0.001)
    monkeypatch.setattr(local_run, "PROGRESS_S", 0.0)
    spec = RunSpec.of(RunConfig(task="tiny_goal"))
    life = RunLife.begin(HomePaths(tmp_path), "run", spec, algo="ppo")
    said, again = list[str](), threading.Event()

    class Heard(Narrator):
        def _say(self, text: str) -> None:
            said.append(text)
            if len(said) > 2:
                again.set()

    narrator = Heard(life)

    def hear(state: str, detail: str) -> None:
        narrator(records.encode(records.StateEvent(run_id="run", seq=0, time=0.0, state=state, detail=detail)))

    hear("starting", "preparing 32 consoles: core 1 of 2")
    assert again.wait(30)
    assert said[0] == "preparing 32 consoles: core 1 of 2"
    assert all(one.startswith(said[0]) and one.endswith(" s so far") for one in said[1:])
    hear("running", "")
    for thread in threading.enumerate():
        if getattr(thread, "_target", None) == narrator._keep_telling:
            thread.join(30)
            assert not thread.is_alive()
    assert life.record.state is RunState.RUNNING
    life.end(RunState.STOPPED, "")


@pytest.mark.warp
def test_what_is_done_for_an_environment_is_told(tmp_path: Path) -> None:
    told = list[str]()
    config = RunConfig(task="pocket_quest/leave_bedroom", num_envs=2, num_minibatches=1)
    tell = Preparing(told.append, every_s=0.0)
    make_env(config, HomePaths(tmp_path), demo_share=0.5, tell=tell).close()
    assert any(words.startswith("preparing walks from the starts: ") for words in told)
    assert any("demonstrations: " in words for words in told)
