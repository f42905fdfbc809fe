"""A player's config.json: written and read as one struct, refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trainer_core.wire.errors import ConfigError
from trainer_core.wire.playing import PlayerConfig, read_player_config, write_player_config


def test_what_was_written_is_read(tmp_path: Path) -> None:
    config = PlayerConfig(task="tiny_goal", checkpoint="c", mode="sample", speed=0.0, seed=9)
    write_player_config(tmp_path / "new" / "player", config)
    assert read_player_config(tmp_path / "new" / "player") == config
    assert config.policy_mode == "sample"
    assert PlayerConfig(task="tiny_goal").policy_mode == "leave_loops", "for a policy loaded later"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mode": "dance"}, "mode must be"),
        ({"mode": "greedy"}, "needs a checkpoint"),
        ({"device": "gpu"}, "cpu or cuda:N"),
        ({"speed": -1.0}, "speed -1"),
        ({"speed": 65.0}, "speed 65"),
        ({"speed": float("nan")}, "speed nan"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_played_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PlayerConfig(task="tiny_goal", **fields)


@pytest.mark.parametrize(
    "text", ["", "{}", '{"task":"t","spede":2}', '{"task":"t","speed":99}', '{"task":"t","mode":1}']
)
def test_a_file_that_is_none_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ConfigError, match=r"config\.json: "):
        read_player_config(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_player_config(tmp_path / "nowhere")
