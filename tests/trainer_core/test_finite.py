"""What a run refuses to go on with: numbers that are none, and numbers without bound."""

from __future__ import annotations

import math

import pytest
import torch

from trainer_core.learn.finite import NonFiniteLossError, check_finite, check_weights


@pytest.mark.parametrize("name", ["policy_loss", "value_loss", "grad_norm"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_loss_that_exploded_is_named_with_its_update(name: str, sign: int) -> None:
    check_finite({"metrics": {name: sign * 0.99e8}}, 7)
    with pytest.raises(NonFiniteLossError, match=rf"{name} grew to -?1\.01e\+08 at update 7"):
        check_finite({"metrics": {name: sign * 1.01e8}}, 7)


def test_only_losses_and_the_gradient_have_a_bound() -> None:
    check_finite({"sps": 1e12, "metrics": {"reward_mean": -1e12}}, 0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_scalar_may_be_none_or_infinite(value: float) -> None:
    for scalars in ({"sps": value, "metrics": {}}, {"metrics": {"sps": value}}):
        with pytest.raises(NonFiniteLossError, match=r"sps is .* at update 3"):
            check_finite(scalars, 3)


def test_broken_weights_are_not_kept() -> None:
    check_weights([torch.ones(2)], 1)
    with pytest.raises(NonFiniteLossError, match="update 1"):
        check_weights([torch.ones(2), torch.tensor([1.0, math.nan])], 1)
