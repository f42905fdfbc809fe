"""GAE against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainer_core.learn.gae import compute_gae
from trainer_core.wire.errors import FailureError


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)[:, None]


NO = torch.zeros(3, 1, dtype=torch.bool)


def test_three_steps_by_hand() -> None:
    # gamma = 0.5, lambda = 0.5: delta_t = r + 0.5 V' - V, A_t = delta_t + 0.25 A_{t+1}
    rewards, values, next_values = column(1, 2, 3), column(0.5, 1, 2), column(1, 2, 4)
    advantages, returns = compute_gae(rewards, values, next_values, NO, NO, gamma=0.5, gae_lambda=0.5)
    # deltas: 1 + 0.5 - 0.5 = 1; 2 + 1 - 1 = 2; 3 + 2 - 2 = 3
    assert advantages.flatten().tolist() == [1 + 0.25 * 2.75, 2 + 0.25 * 3, 3]
    assert torch.equal(returns, advantages + values)


@pytest.mark.parametrize(("is_done", "advantage"), [(True, 2 - 1), (False, 2 + 0.5 * 100 - 1)])
def test_an_end_does_not_carry_and_a_time_limit_alone_bootstraps(is_done: bool, advantage: float) -> None:
    ended = torch.tensor([[False], [True], [False]])
    done, trunc = (ended, NO) if is_done else (NO, ended)
    advantages, _ = compute_gae(
        column(1, 2, 3), column(0.5, 1, 2), column(1, 100, 4), done, trunc, gamma=0.5, gae_lambda=0.5
    )
    assert advantages.flatten().tolist() == [1 + 0.25 * advantage, advantage, 3]


def test_machines_do_not_mix() -> None:
    torch.manual_seed(0)
    rewards, values, following = (torch.randn(5, 4) for _ in range(3))
    done, trunc = torch.rand(5, 4) < 0.2, torch.zeros(5, 4, dtype=torch.bool)
    together, _ = compute_gae(rewards, values, following, done, trunc, gamma=0.9, gae_lambda=0.8)
    for env in range(4):
        one = np.s_[:, env : env + 1]
        alone, _ = compute_gae(
            rewards[one], values[one], following[one], done[one], trunc[one], gamma=0.9, gae_lambda=0.8
        )
        assert torch.equal(together[one], alone)


def test_a_tensor_of_another_type_or_shape_is_named() -> None:
    good = column(1, 2, 3)
    with pytest.raises(FailureError, match=r"values is float64\[3, 1\] on cpu; it must be float32\[3, 1\] on cpu"):
        compute_gae(good, good.double(), good, NO, NO, gamma=0.5, gae_lambda=0.5)
    with pytest.raises(FailureError, match=r"trunc is bool\[3\] on cpu"):
        compute_gae(good, good, good, NO, NO[:, 0], gamma=0.5, gae_lambda=0.5)
