"""Losses of PPO and A2C: frozen numbers, hand-checked corners, gradients, moving weights."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

import pytest
import torch
from torch import Tensor

from tests.trainer_core.building import tiny_config, tiny_trainer, weights_of
from trainer_core.learn import parts, tiles
from trainer_core.learn.a2c import a2c_losses
from trainer_core.learn.gae import normalized
from trainer_core.learn.learner import Learner
from trainer_core.learn.ppo import ppo_learner
from trainer_core.learn.ppo_loss import PPOLosses, Samples, ppo_loss

PPO = tiny_config(clip_range=0.2, clip_range_vf=0.0, vf_coef=0.5, normalize_advantage=True)
ENT_COEF = 0.01


def batch(size: int = 32) -> tuple[Tensor, Tensor, Samples]:
    """Logits f32[B, 7] and values f32[B] that a network could say of samples, and these."""
    rng = torch.Generator().manual_seed(7)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng)

    logits, actions = normal(size, 7), torch.randint(7, (size,), generator=rng)
    logprobs = torch.log_softmax(logits, -1).gather(1, actions[:, None]).squeeze(1)
    new_values = normal(size)
    return logits, new_values, Samples(actions, logprobs + 0.3 * normal(size), *(normal(size) for _ in range(3)))


def means(losses: Tensor) -> PPOLosses:
    return PPOLosses(*losses.mean(0))


def test_ppo_losses_are_the_frozen_ones() -> None:
    """The numbers were computed once with NumPy in float64, from the papers' formulas."""
    logits, values, samples = batch()
    losses = means(ppo_loss(logits, values, samples.minibatch(torch.arange(32), PPO), PPO, ENT_COEF)[0])
    expected = {
        "policy_loss": 0.0498,
        "value_loss": 1.3502,
        "entropy_loss": -1.6268,
        "approx_kl": 0.0296,
        "clipfrac": 0.4375,
        "vf_clipfrac": 0.0,
    }
    assert {name: round(float(value), 4) for name, value in losses._asdict().items()} == expected


def test_value_clipping_is_the_worse_of_both_errors() -> None:
    logits, _, samples = batch(1)
    one = samples._replace(values=torch.tensor([0.0]), returns=torch.tensor([1.5]))
    config = dataclasses.replace(PPO, clip_range_vf=0.2)
    losses = means(ppo_loss(logits, torch.tensor([2.0]), one, config, ENT_COEF)[0])
    # clipped value 0.2: (0.2 - 1.5)^2 = 1.69 against (2 - 1.5)^2 = 0.25
    assert float(losses.value_loss) == pytest.approx(0.5 * 1.69)
    assert float(losses.vf_clipfrac) == 1.0


def test_an_unchanged_policy_has_no_kl_and_no_clipping() -> None:
    logits, values, samples = batch()
    same = torch.log_softmax(logits, -1).gather(1, samples.actions[:, None]).squeeze(1)
    samples = samples._replace(logprobs=same, advantages=normalized(samples.advantages))
    losses = means(ppo_loss(logits, values, samples, PPO, ENT_COEF)[0])
    assert float(losses.approx_kl) == 0.0
    assert float(losses.clipfrac) == 0.0
    assert float(losses.policy_loss) == pytest.approx(0.0, abs=1e-6)


def test_a2c_losses_are_the_frozen_ones() -> None:
    logits, values, samples = batch()
    losses = a2c_losses(logits, values, samples.actions, samples.advantages, samples.returns)
    expected = {"policy_loss": -0.2928, "value_loss": 1.3502, "entropy_loss": -1.6268}
    assert {name: round(float(value), 4) for name, value in losses._asdict().items()} == expected


def test_a_uniform_policy_has_the_greatest_entropy() -> None:
    _, values, samples = batch()
    losses = means(ppo_loss(torch.zeros(32, 7), values, samples, PPO, ENT_COEF)[0])
    assert float(losses.entropy_loss) == pytest.approx(-math.log(7), rel=1e-6)


@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_one_update_moves_the_weights_by_finite_gradients(algo: str) -> None:
    trainer = tiny_trainer(tiny_config(algo=algo))
    before = weights_of(trainer)
    losses = trainer.run_update()
    after = weights_of(trainer)
    assert torch.isfinite(losses.sums).all()
    assert torch.isfinite(after).all()
    assert not torch.equal(before, after)
    assert losses.opt_steps == {"ppo": 4, "a2c": 1}[algo]


def test_a2c_slices_give_the_gradient_of_the_whole_rollout() -> None:
    found = []
    for pieces in (1, 4, 3):  # three of 43, 43 and 42 samples
        trainer = tiny_trainer(tiny_config(algo="a2c", num_minibatches=pieces))
        trainer.run_update()
        found.append(weights_of(trainer))
    assert torch.allclose(found[0], found[1], atol=1e-6)
    assert torch.allclose(found[0], found[2], atol=1e-6)


def test_a2c_takes_fewer_slices_where_there_are_fewer_samples() -> None:
    found = []
    for pieces in (1, 8):
        config = tiny_config(algo="a2c", num_envs=1, num_steps=4, num_minibatches=pieces)
        trainer = tiny_trainer(config)
        losses = trainer.run_update()
        found.append((weights_of(trainer), losses.sums))
    assert torch.allclose(found[0][0], found[1][0], atol=1e-6)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-5)


def test_the_kl_limit_stops_the_epochs() -> None:
    free = tiny_trainer(tiny_config(update_epochs=6, learning_rate=0.01)).run_update()
    stopped = tiny_trainer(tiny_config(update_epochs=6, learning_rate=0.01, target_kl=1e-6)).run_update()
    assert free.opt_steps == 12
    assert stopped.opt_steps < 12


def test_the_linear_schedule_ends_at_zero() -> None:
    trainer = tiny_trainer(tiny_config(lr_schedule="linear", learning_rate=1e-3))
    rates = []
    for _ in range(4):
        rates.append(trainer.learning_rate)
        trainer.run_update()
    assert rates == pytest.approx([1e-3, 7.5e-4, 5e-4, 2.5e-4])
    assert trainer.learning_rate == 0.0


def test_the_entropy_bonus_falls_as_training_succeeds_to_a_tenth() -> None:
    trainer = tiny_trainer(tiny_config(ent_coef=0.02))
    seen = []
    for trainer.training_success in (0.0, 0.5, 1.0, 0.25):
        trainer.run_update()
        seen.append(round(float(trainer.learner.ent_coef), 5))
    assert seen == [0.02, 0.01, 0.002, 0.015]
    constant = tiny_trainer(tiny_config(ent_coef=0.02, ent_schedule="constant"))
    constant.training_success = 1.0
    constant.run_update()
    assert float(constant.learner.ent_coef) == pytest.approx(0.02)


@pytest.mark.parametrize("clip_range_vf", [0.0, 0.2])
def test_the_gradient_by_hand_is_autograd_s(clip_range_vf: float) -> None:
    logits, values, samples = batch(64)
    # a ratio of one, as in the first minibatch
    samples.logprobs[:8] = torch.log_softmax(logits, -1)[torch.arange(8), samples.actions[:8]]
    samples.advantages[3] = 0.0
    samples.values[16:] = values[16:] + 0.1 * samples.returns[16:]
    config = dataclasses.replace(PPO, clip_range_vf=clip_range_vf)
    said = (logits.requires_grad_(), values.requires_grad_())
    told, found = ppo_loss(*said, samples, config, 0.3)
    losses = PPOLosses(*told.unbind(1))
    total = losses.policy_loss + 0.3 * losses.entropy_loss + config.vf_coef * losses.value_loss
    expected = torch.autograd.grad(total.sum(), said)
    assert torch.allclose(found[:, :-1], expected[0], atol=1e-5)
    assert torch.allclose(found[:, -1], expected[1], atol=1e-5)
    assert not found.requires_grad


@pytest.mark.parametrize(
    ("most_patches", "source"), [(tiles.MOST_PATCHES, "screen"), (tiles.MOST_PATCHES, "marked"), (0, "marked")]
)
def test_different_pictures_on_tiles_and_in_parts_teach_what_the_minibatch_teaches(
    monkeypatch: pytest.MonkeyPatch, most_patches: int, source: Literal["screen", "marked"]
) -> None:
    """The same weights and losses but for the order of sums; the same bits when it is repeated."""
    monkeypatch.setattr(tiles, "MOST_PATCHES", most_patches)
    monkeypatch.setattr(parts, "LEAST_LEARNING", 4)
    found = []
    config = tiny_config(threads=3, clip_range_vf=0.2, ent_coef=1.0, obs_source=source)
    for learner_of in (Learner, ppo_learner, ppo_learner):
        trainer = tiny_trainer(config)
        trainer.training_success = 0.6
        trainer.learner = learner_of(trainer.learner.policy, config, torch.device("cpu"))
        losses = trainer.run_update()
        found.append((weights_of(trainer), losses.sums, losses.opt_steps))
        trainer.learner.close()
    whole, few, again = found
    assert torch.allclose(whole[0], few[0], atol=2e-5)
    assert torch.allclose(whole[1], few[1], rtol=1e-3, atol=1e-4)
    assert whole[2] == few[2]
    assert torch.equal(few[0], again[0])
    assert torch.equal(few[1], again[1])
