"""Presets are the documented way to start; the bare configuration must be one of them."""

from __future__ import annotations

import pytest

from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.presets import PRESETS, preset_config, suggest_preset


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_valid_configuration_with_a_source_for_what_it_tunes(name: str) -> None:
    config = preset_config(name)
    assert suggest_preset(config.device) in PRESETS
    assert {"num_envs", "num_minibatches", "learning_rate"} - set(PRESETS[name].why) <= {"num_envs"}


def test_starting_without_a_preset_learns_like_the_laptop_preset() -> None:
    bare, laptop = RunConfig(), preset_config("laptop")
    # auto is small on a CPU; marks are for our own learner, faces and guests show the screen
    tuned = PRESETS["laptop"].fields.keys() - {"policy", "obs_source"}
    assert {key: getattr(bare, key) for key in tuned} == {
        key: getattr(laptop, key) for key in tuned
    }
