"""Learning by matrix products is the same PPO: every layer, every term and every step of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
import warp as wp
from torch import Tensor, nn

from tests.trainer_core.building import (
    read_log,
    shorten_episodes,
    tiny_config,
    tiny_trainer,
    train_in,
    weights_of,
    without_clocks,
)
from trainer_core.envs.press_marks import MOST, draw
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.memory_estimate import network_bytes
from trainer_core.lab.paths import HomePaths
from trainer_core.learn import ppo
from trainer_core.learn.adam import ADAM_EPS, FlatAdam
from trainer_core.learn.gemm.adam import GemmAdam
from trainer_core.learn.gemm.columns import LANES
from trainer_core.learn.gemm.learner import GemmLearner
from trainer_core.learn.gemm.network import Buffers, GemmNetwork
from trainer_core.learn.gemm.ppo_kernels import SCALARS, Clipping, ppo_gradient
from trainer_core.learn.learner import Learner
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.ppo_loss import PPOLosses, Samples, ppo_loss
from trainer_core.learn.update import ActorLearner
from trainer_core.wire.config import RunConfig

pytestmark = pytest.mark.warp
CPU = torch.device("cpu")
BF16 = 2.0**-8
"""Spacing of bf16 numbers, relative."""


def made_policy(kind: str = "small", planes: int = 1, seed: int = 3, *, marked: bool = False) -> PixelActorCritic:
    """With biases and heads that matter, unlike a fresh one's."""
    torch.manual_seed(seed)
    policy = PixelActorCritic(kind, (planes, 72, 80), 7, marked=marked)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    return policy


def kept(x: Tensor) -> Tensor:
    """x rounded to bf16, whose gradient passes unchanged."""
    return x + (x.bfloat16().float() - x).detach()


def rounded_forward(policy: PixelActorCritic, obs: Tensor) -> tuple[Tensor, Tensor]:
    """The network in float32 on numbers rounded where products round theirs: autograd's view."""
    x = kept(obs.float() / 3)
    for module in (*policy.trunk, *policy.hidden):
        if isinstance(module, nn.Conv2d):
            weight, bias = kept(module.weight), kept(module.bias)  # type: ignore[arg-type]
            x = kept(nn.functional.conv2d(x, weight, bias, module.stride, module.padding))
        elif isinstance(module, nn.Linear):
            x = kept(nn.functional.linear(x, kept(module.weight), kept(module.bias)))
        else:
            x = module(x)
    heads = [
        kept(nn.functional.linear(x, kept(head.weight), kept(head.bias)))
        for head in (policy.policy_head, policy.value_head)
    ]
    return heads[0], heads[1].squeeze(-1)


def difference(found: Tensor, expected: Tensor) -> float:
    """Relative, by norms."""
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize(("kind", "planes"), [("small", 1), ("small", 3), ("nature", 2)])
def test_forward_and_every_layers_gradient_are_autograds(kind: str, planes: int) -> None:
    policy = made_policy(kind, planes)
    network = GemmNetwork(policy, CPU)
    obs = torch.randint(0, 4, (9, planes, 72, 80), dtype=torch.uint8)
    index = torch.tensor([7, 0, 3, 8, 3])
    buffers = Buffers(network.layers, len(index), CPU)
    buffers.add_gradients()

    heads = network.forward(obs, index, buffers).float()
    logits, values = rounded_forward(policy, obs[index])
    torch.testing.assert_close(heads[:, :7], logits, rtol=4 * BF16, atol=0.02)
    torch.testing.assert_close(heads[:, 7], values, rtol=4 * BF16, atol=0.02)

    outer = torch.randn(len(index), 8).bfloat16()
    buffers.gradients[-1].copy_(outer)
    network.backward(buffers)
    ((logits * outer[:, :7]).sum() + (values * outer[:, 7]).sum()).backward()
    found = network.spread(network.gradient.float())
    for (name, parameter), gradient in zip(policy.named_parameters(), found, strict=True):
        assert parameter.grad is not None
        assert difference(gradient, parameter.grad) < 0.02, name


def test_a_shade_is_a_third_and_no_pixel_is_out_of_place() -> None:
    network = GemmNetwork(made_policy("nature", 2), CPU)
    obs = torch.randint(0, 4, (3, 2, 72, 80), dtype=torch.uint8)
    buffers = Buffers(network.layers, 2, CPU)
    network.forward(obs, torch.tensor([2, 0]), buffers)
    expected = nn.functional.unfold(obs[[2, 0]].float() / 3, 8, stride=4).transpose(1, 2)
    first = buffers.columns[0].view(2, -1, 2 * 64 + 8)
    assert torch.equal(first[..., :128], expected.bfloat16())
    assert torch.equal(first[..., 128:], torch.tensor([1.0, *7 * [0.0]]).expand(2, 323, 8))


@pytest.mark.parametrize(("planes", "actions"), [(1, 7), (3, 21)])
def test_what_marks_take_off_is_the_policys(planes: int, actions: int) -> None:
    policy = PixelActorCritic("small", (planes, 72, 80), actions, marked=True)
    obs = torch.randint(0, 4, (6, planes, 72, 80), dtype=torch.uint8)
    draw(obs[:, -1], torch.randint(MOST + 2, (6, actions)))
    obs[5, -1, -1, 3] ^= 1  # half a mark is the game's own picture
    index = torch.tensor([5, 0, 3, 3, 5, 1])
    prior = torch.empty(len(index), actions)
    GemmNetwork(policy, CPU).prior(obs, index, prior)
    assert torch.equal(prior, policy.prior(obs[index]))
    assert prior.unique().numel() >= MOST, "marks of every height"
    learner = GemmLearner(policy, tiny_config(), CPU)
    logits = torch.cat([learner.forward(part)[0] for part in obs[index].split(4)])
    without = PixelActorCritic("small", (planes, 72, 80), actions)
    without.load_state_dict(policy.state_dict())
    bare = GemmLearner(without, tiny_config(), CPU).forward(obs[index])[0]
    torch.testing.assert_close(logits, bare + prior, rtol=0, atol=1e-6)


def clipping(config: RunConfig) -> Any:
    found = Clipping()
    for name in ("clip_range", "clip_range_vf", "vf_coef"):
        setattr(found, name, getattr(config, name))
    return found


@pytest.mark.parametrize(("clip_range_vf", "presses"), [(0.0, 0), (0.3, MOST)])
def test_loss_and_gradient_of_a_sample_are_ppos(clip_range_vf: float, presses: int) -> None:
    size, actions = 256, 7
    torch.manual_seed(5)
    heads = torch.randn(size, 16).bfloat16()
    prior = -torch.randint(presses + 1, (size, actions)).float()
    logits = (heads[:, :actions].float() + prior).requires_grad_()
    values = heads[:, actions].float().requires_grad_()
    chosen = torch.randint(actions, (size,))
    logprobs = torch.log_softmax(logits.detach(), -1).gather(1, chosen[:, None]).squeeze(1)
    samples = torch.randn(4, size)
    samples[0] = logprobs + 0.3 * samples[0]
    config = tiny_config(clip_range=0.2, clip_range_vf=clip_range_vf, vf_coef=0.5)
    told, _ = ppo_loss(logits, values, Samples(chosen, *samples), config, 0.1)
    losses = PPOLosses(*told.mean(0))
    (losses.policy_loss + 0.1 * losses.entropy_loss + 0.5 * losses.value_loss).backward()
    assert 0.2 < float(losses.clipfrac.detach()) < 0.8, "both sides of the clip are tried"

    gradient = torch.zeros(size, 16, dtype=torch.bfloat16)
    scalars = torch.zeros(size, SCALARS)
    network = GemmNetwork(made_policy(), CPU)
    inputs = [
        *map(wp.from_torch, (heads, prior, chosen, samples)),
        actions,
        clipping(config),
        wp.from_torch(torch.tensor([0.1])),
        1 / size,
        *map(wp.from_torch, (gradient, scalars)),
    ]
    network.launch(ppo_gradient, size, inputs)
    assert logits.grad is not None
    assert values.grad is not None
    torch.testing.assert_close(gradient[:, :7].float(), logits.grad, rtol=BF16, atol=1e-7)
    torch.testing.assert_close(gradient[:, 7].float(), values.grad, rtol=BF16, atol=1e-7)
    assert not gradient[:, 8:].any()
    torch.testing.assert_close(scalars.mean(0), told.mean(0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("max_grad_norm", [0.0, 0.5])
def test_adam_as_a_kernel_is_torchs_with_its_clip(max_grad_norm: float) -> None:
    policy = made_policy()
    network = GemmNetwork(policy, CPU)
    world = 2
    flat = GemmAdam(network, 1e-3, max_grad_norm=max_grad_norm, world=world)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3, eps=ADAM_EPS)
    norm = torch.zeros(1)
    for number, rate in enumerate((1e-3, 1e-3, 5e-4)):
        flat.set_rate(rate)
        optimizer.param_groups[0]["lr"] = rate
        drawn = [torch.randn_like(p).bfloat16().float() * 4.0**-number for p in policy.parameters()]
        network.fill(network.gradient, drawn)
        flat.step(number, norm)
        for parameter, gradient in zip(policy.parameters(), drawn, strict=True):
            parameter.grad = gradient / world
        limit = max_grad_norm or float("inf")
        expected = nn.utils.clip_grad_norm_(policy.parameters(), limit)
        optimizer.step()
        assert float(norm) / world == pytest.approx(float(expected), rel=1e-4)
    flat.steps += 3
    ours = torch.cat([part.flatten() for part in network.spread(network.weights)])
    theirs = torch.cat([part.detach().flatten() for part in policy.parameters()])
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    assert torch.equal(network.rounded, network.weights.bfloat16())
    for number, state in flat.state_dict()["state"].items():
        assert float(state["step"]) == 3
        for name in ("exp_avg", "exp_avg_sq"):
            expected = optimizer.state_dict()["state"][number][name]
            torch.testing.assert_close(state[name], expected, rtol=1e-4, atol=1e-8)


def trainers(**changes: Any) -> tuple[ActorLearner, ActorLearner]:
    """(by products, by autograd) with equal weights, rollouts and shuffles to come."""
    config = tiny_config(amp="bf16", num_minibatches=4, **changes)
    ours, theirs = tiny_trainer(config), tiny_trainer(config)
    marked = config.obs_source == "marked"
    ours.learner = GemmLearner(made_policy(marked=marked), config, CPU)
    theirs.learner = Learner(made_policy(marked=marked), config, CPU)
    return ours, theirs


@pytest.mark.parametrize(
    "changes", [{"obs_source": "marked"}, {"clip_range_vf": 0.1, "max_grad_norm": 0.0, "normalize_advantage": False}]
)
def test_an_update_is_autograds(changes: dict[str, Any]) -> None:
    ours, theirs = trainers(**changes)
    before = weights_of(ours)
    theirs.learner.set_learning_rate(1e-3)
    theirs._collect()
    for name, value in vars(theirs.rollout).items():
        if isinstance(value, Tensor):
            getattr(ours.rollout, name).copy_(value)
    obs, marked = theirs.rollout.obs, theirs.learner.policy.marked
    assert bool(theirs.learner.policy.prior(obs.flatten(0, 1)).any()) == marked
    found = []
    for trainer in (ours, theirs):
        losses = ppo.LossSums(PPOLosses, CPU)
        rng = torch.Generator().manual_seed(9)
        trainer.algorithm.update(trainer.learner, trainer.rollout, trainer.config, rng, losses)
        assert losses.opt_steps == 8
        found.append(losses.sums)
    torch.testing.assert_close(found[0], found[1], rtol=0.02, atol=0.01)
    moved = [weights_of(trainer) - before for trainer in (ours, theirs)]
    assert difference(*moved) < 0.15, "bf16 rounds both, and Adam's first steps magnify it"


def test_epochs_end_early_at_the_target_kl() -> None:
    ours, theirs = trainers(target_kl=1e-9, update_epochs=3)
    assert ours.run_update().opt_steps == theirs.run_update().opt_steps == 4


def test_acting_in_chunks_is_acting_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer_core.learn.gemm.learner.ACTING_CHUNK", 1)
    policy = made_policy()
    cut = GemmLearner(policy, tiny_config(num_envs=16, num_steps=1, num_minibatches=4), CPU)
    whole = GemmLearner(policy, tiny_config(num_envs=16, num_steps=1, num_minibatches=1), CPU)
    obs = torch.randint(0, 4, (10, 1, 72, 80), dtype=torch.uint8)
    for found, expected in zip(cut.forward(obs), whole.forward(obs), strict=True):
        torch.testing.assert_close(found, expected, rtol=2 * BF16, atol=0.01)
        assert found.dtype == torch.float32
    logits, values = rounded_forward(policy, obs)
    torch.testing.assert_close(cut.forward(obs)[0], logits, rtol=4 * BF16, atol=0.02)
    torch.testing.assert_close(cut.forward(obs)[1], values, rtol=4 * BF16, atol=0.02)


def test_moments_are_torchs_both_ways_to_the_bit() -> None:
    ours, theirs = trainers()
    theirs.run_update()
    state = theirs.learner.state_dict()
    ours.learner.load_weights(theirs.learner.policy.state_dict())
    ours.learner.load_state_dict(state)
    assert torch.equal(weights_of(ours), weights_of(theirs))
    back = ours.learner.state_dict()
    assert back["param_groups"] == state["param_groups"]
    for number, kept_of in state["state"].items():
        assert all(torch.equal(kept_of[name], back["state"][number][name]) for name in kept_of)
    ours.run_update()
    theirs.learner.load_weights(ours.learner.policy.state_dict())
    theirs.learner.load_state_dict(ours.learner.state_dict())
    theirs.run_update()
    assert float(theirs.learner.state_dict()["state"][0]["step"]) == 3 * 8


def by_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU's runs do, on a CPU."""
    changed = dataclasses.replace(ppo.PPO, learner=GemmLearner)
    monkeypatch.setattr(ppo, "PPO", changed)


def test_a_run_by_products_resumes_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_episodes(monkeypatch)
    by_products(monkeypatch)
    steps = 8 * 4  # of an update
    config = tiny_config(
        amp="bf16",
        checkpoint_every=2,
        eval_every=2,
        obs_source="marked",
        num_envs=8,
        num_steps=4,
        eval_episodes=2,
        total_env_steps=4 * steps,
    )
    train_in(tmp_path / "whole", config)
    train_in(tmp_path / "cut", dataclasses.replace(config, total_env_steps=2 * steps))
    train_in(tmp_path / "cut", config)
    whole, cut = (
        [without_clocks(r) for r in read_log(tmp_path / name) if r["type"] in ("update", "eval")]
        for name in ("whole", "cut")
    )
    for record in (*whole, *cut):
        record.pop("run_id", None)
    assert cut == whole
    newest = [list_checkpoints(HomePaths(tmp_path / n).run("run"))[-1] for n in ("whole", "cut")]
    weights = [(folder / "policy.safetensors").read_bytes() for folder in newest]
    assert weights[0] == weights[1]
    # Another life by autograd takes the checkpoint as its own, and a warm start its weights.
    monkeypatch.undo()
    shorten_episodes(monkeypatch)
    train_in(tmp_path / "cut", dataclasses.replace(config, total_env_steps=5 * steps))
    warm = dataclasses.replace(config, warm_start=str(newest[0]), total_env_steps=steps)
    by_products(monkeypatch)
    train_in(tmp_path / "warm", warm)
    assert read_log(tmp_path / "cut")[-1]["env_steps"] == 5 * steps
    assert read_log(tmp_path / "warm")[-1]["env_steps"] == steps


def test_adam_reads_and_writes_what_torchs_does() -> None:
    """On a flat vector: each goes on from the state of the other, to the bit."""
    torch.manual_seed(4)
    ours, theirs = (nn.Linear(16, 32) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    adam = FlatAdam(list(ours.parameters()), 1e-3)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=1e-3, eps=ADAM_EPS, fused=True)
    gradients = [[torch.randn_like(p) for p in ours.parameters()] for _ in range(6)]

    def step(number: int) -> None:
        adam.take(gradients[number])
        for parameter, gradient in zip(theirs.parameters(), gradients[number], strict=True):
            parameter.grad = gradient.clone()
        adam.step()
        optimizer.step()

    def equal() -> bool:
        pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
        return all(torch.equal(a, b) for a, b in pairs)

    step(0)
    step(1)
    assert equal()
    assert adam.state_dict()["param_groups"][0].keys() == optimizer.param_groups[0].keys()
    kept, torchs = adam.state_dict(), optimizer.state_dict()
    adam = FlatAdam(list(ours.parameters()), 1e-3)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=1.0, fused=True)
    adam.load_state_dict(torchs)
    optimizer.load_state_dict(kept)
    step(2)
    step(3)
    assert equal()


@pytest.mark.parametrize(("kind", "planes"), [("small", 1), ("small", 4), ("nature", 3)])
def test_the_memory_estimate_is_what_the_network_takes(kind: str, planes: int) -> None:
    size = 6
    buffers = Buffers(GemmNetwork(made_policy(kind, planes), CPU).layers, size, CPU)
    buffers.add_gradients()
    tensors = [*buffers.columns, *buffers.values, *buffers.gradients, *buffers.column_gradients]
    found = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in tensors}
    config = RunConfig(device="cuda:0", policy=kind, stack_k=planes)  # type: ignore[arg-type]
    assert sum(storage.nbytes() for storage in found.values()) == network_bytes(config, size, size)


def test_threads_move_whole_words() -> None:
    for kind in ("small", "nature"):
        for layer in GemmNetwork(made_policy(kind), CPU).layers:
            assert layer.window.words * LANES == layer.rows
