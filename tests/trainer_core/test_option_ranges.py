"""Every option is refused before any work, in one line with its name, its value and its range."""

from __future__ import annotations

import dataclasses
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from trainer_core.cli.main import main
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_fields, limits

NUMBERS = [spec for spec in dataclasses.fields(RunConfig) if spec.type in ("int", "float")]


@pytest.mark.parametrize("spec", NUMBERS, ids=lambda spec: spec.name)
def test_every_number_of_a_run_has_a_range_and_is_held_to_it(spec: Any) -> None:
    low, high = spec.metadata["min"], spec.metadata["max"]
    assert low is not None
    assert high is not None
    wrong = [low - 1, high + 1, -(10**30), 10**30]
    if spec.type == "float":
        wrong += [float("nan"), float("inf"), -float("inf")]
    for value in wrong:
        with pytest.raises(ConfigError) as found:
            RunConfig.from_dict({spec.name: value})
        assert str(found.value).startswith(f"{spec.name} must be {low} to {high}, got ")
        assert len(str(found.value)) < 120


WRONG = {
    "train --seconds nan": "seconds must be 0 to 100000000, got nan",
    "train --gamma inf": "gamma must be 0 to 1, got inf",
    "train --learning-rate nan": "learning_rate must be 1e-07 to 1, got nan",
    "train --ent-coef nan": "ent_coef",
    "train --target-success nan": "target_success must be 0 to 1, got nan",
    "train --max-grad-norm inf": "max_grad_norm",
    "train --clip-range-vf nan": "clip_range_vf",
    "train --threads 100000": "threads must be 0 to 256, got 100000",
    f"train --seed {10**26}": "seed must be 0 to 4294967295, got 1000",
    f"train --seed {'9' * 5000}": "",
    "train --num-envs 1e9": "with base 10: '1e9'; see dmglab train --help",
    "train --gpus 0": "gpus must be 1 to 64, got 0",
    "train --gpus -1": "gpus must be 1 to 64, got -1",
    "train --gpus 65": "gpus must be 1 to 64, got 65",
    f"train --eval-episodes {10**9}": "eval_episodes must be 1 to 4096, got 1000000000",
    f"train --update-epochs {10**9}": "update_epochs must be 1 to 1000, got 1000000000",
    "train --device cudaX": "device must be cpu or cuda:N, got 'cudaX'",
    "train --device cuda:-1": "device",
    "sweep --total-env-steps 9 --device cuda:99": "cuda:99: ",
    f"eval --policy random --task tiny_goal --episodes {10**9}": "episodes must be 1 to 100000",
    "eval --policy random --task tiny_goal --seed -1": "seed must be",
    "eval --policy random --task tiny_goal --device cudaX": "device must be cpu or cuda:N",
    "export rec --out x.gif --scale 9": "scale must be 1 to 8",
    "export rec --out x.gif --speed 100": "speed must be 0.01 to 16",
    "rollout --out x --gif-every 1": "gif_every must be 2 to",
    "rollout --out x --steps -1": "steps must be 0 to",
    "play --speed nan": "speed must be 0 to 64.0, got nan",
    "play --seconds inf": "seconds must be",
    "plot log --out x.png --smoothing nan": "smoothing must be",
}


@pytest.mark.parametrize("words", WRONG, ids=lambda words: words[:60])
def test_the_command_says_so_and_leaves_nothing(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DMGLAB_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    task = ["--task", "tiny_goal"] if words.startswith("train") else []
    assert main([*words.split(), *task]) == 2
    found = json.loads(capsys.readouterr().out)
    assert WRONG[words] in found["error"]
    assert "\n" not in found["error"]
    assert not list(tmp_path.iterdir()), "nothing was begun"


COMPLAINTS = {
    "train --num-envs x": "Error parsing --num-envs: invalid literal for int() with base 10: 'x'; see dmglab train",
    "queue move run b": "Error parsing INT: invalid literal for int() with base 10: 'b'; see dmglab queue move",
    "train --nope 1 extra": "Unrecognized options: --nope, 1, extra; see dmglab train",
    "rollout": "Missing from dmglab rollout: --out PATH Folder for rollout.gif, rollout.jsonl and meta.json. "
    "(required); see dmglab rollout",
    "train --algo z": "invalid choice 'z' for argument '--algo'. Expected one of ('ppo', 'a2c'); see dmglab train",
    "export rec --out": "Missing value for argument '--out'. Expected 1 values; see dmglab export",
}
"""Every kind that tyro has, as one line; each ends with --help."""


@pytest.mark.parametrize("words", COMPLAINTS)
@pytest.mark.parametrize(("encoding", "columns"), [("utf-8", "40"), ("utf-8", "200"), ("ascii", "40")])
def test_what_is_no_option_is_one_line_whatever_the_terminal_is(
    words: str, encoding: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = io.TextIOWrapper(io.BytesIO(), encoding, write_through=True)
    monkeypatch.setattr(sys, "stdout", out)
    assert main(words.split()) == 2
    assert json.loads(out.buffer.getvalue())["error"] == f"{COMPLAINTS[words]} --help"  # type: ignore[attr-defined]


def test_texts_have_an_end() -> None:
    for task in ("a\0b", "x" * 5000):
        with pytest.raises(ConfigError, match="task must be at most"):
            RunConfig(task=task)


def test_a_number_without_a_range_still_has_to_be_one() -> None:
    @dataclasses.dataclass
    class Loose:
        rate: float = dataclasses.field(metadata=limits())

    check_fields(Loose(1e300))
    with pytest.raises(ConfigError, match="rate must be a finite number, got nan"):
        check_fields(Loose(float("nan")))
