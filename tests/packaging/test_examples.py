"""docs/examples: each script runs, in small, in the order in which a person would try them."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from pathlib import Path

import pytest

from trainer_core.lab.paths import CHECKOUT

assert CHECKOUT is not None
FOLDER = CHECKOUT / "docs" / "examples"
SMALL: dict[str, tuple[tuple[str, ...], str]] = {
    "01_run_a_rom": ((), "<GameBoy: POCKET QUEST, frame 204, on cpu>"),
    "02_thousand_consoles": (("8",), r"8 x POCKET QUEST .* frames a second, \(8, 144, 160\)"),
    "03_random_agent": (("30",), r"distance to the goal now 0\.\d+, screen \(144, 160, 3\)"),
    "04_sb3": (("2048",), "success on held-out starts"),
    "05_own_training_loop": (("2",), "mean reward"),
    "06_train_and_watch": (("tiny_goal", "1"), "best checkpoint: Checkpoint"),
    "07_read_memory": ((), r"[1-9]\d* bytes changed, the first at 0xc"),
    "08_load_policy": ((), r"\d+ of \d+ episodes reached the goal"),
    "09_my_own_task": (("0.2",), "<Run .*: mine/first_door, finished"),
    "10_search_with_states": (("3",), r"\d+ pictures on the way"),
    "11_torchrl": (("10",), "reward"),
}
"""Arguments of each script, and what it prints then."""
NEEDS = {"04_sb3": "stable_baselines3", "11_torchrl": "torchrl"}
MOST_LINES = 30


@pytest.mark.warp
def test_every_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == list(SMALL)
    monkeypatch.setenv("DMGLAB_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name, (arguments, words) in SMALL.items():
        path = FOLDER / f"{name}.py"
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, name
        if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
            continue
        monkeypatch.setattr(sys, "argv", [str(path), *arguments])
        runpy.run_path(str(path), run_name="__main__")
        said = capsys.readouterr().out
        assert re.search(words, said), f"{name}: {said}"
    assert (tmp_path / "screen.png").stat().st_size > 500
