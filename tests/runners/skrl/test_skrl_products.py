"""The networks as skrl asks for them on a GPU: the same function, the same gradients."""

from __future__ import annotations

import pytest
import torch

from trainer_core.learn.policy import PixelActorCritic
from trainer_core.runners.skrl import products


def made(kind: str, samples: int) -> tuple[PixelActorCritic, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    net = PixelActorCritic(kind, (2, 72, 80), 7)
    torch.nn.init.orthogonal_(net.policy_head.weight)  # else every policy is nearly uniform
    pictures = torch.randint(0, 4, (samples, 2, 72, 80), dtype=torch.uint8)
    return net, pictures, torch.randint(0, 7, (samples, 1))


@pytest.mark.parametrize("kind", ["small", "nature"])
def test_products_are_the_network(kind: str) -> None:
    net, pictures, _ = made(kind, 3)
    assert products.can_be_products(net)
    for found, expected in zip(products.heads(net, pictures), net(pictures), strict=True):
        assert torch.allclose(found, expected, atol=1e-5)


def test_a_network_with_other_layers_stays_what_it_is() -> None:
    assert not products.can_be_products(PixelActorCritic("impala", (1, 72, 80), 7))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_replayed_minibatch_has_the_networks_results_and_gradients() -> None:
    net, pictures, actions = made("small", 64)
    net, pictures, actions = net.cuda(), pictures.cuda(), actions.cuda()
    minibatch = products.Minibatch(net, 64, pictures.device)
    for _ in range(2):  # what a replay leaves behind is not in the next one
        logs, entropies, values = minibatch(pictures, actions.float())
        (logs.mean() - 0.1 * entropies.mean() + values.square().mean()).backward()
        replayed = [parameter.grad for parameter in net.parameters()]
        net.zero_grad()
        logits, wanted = products.heads(net, pictures)
        chosen = torch.distributions.Categorical(logits=logits)
        expected = chosen.log_prob(actions.view(-1)), chosen.entropy(), wanted
        (expected[0].mean() - 0.1 * expected[1].mean() + wanted.square().mean()).backward()
        for found, right in zip((logs, entropies, values), expected, strict=True):
            assert torch.allclose(found.squeeze(-1), right, atol=1e-4)
        for found, parameter in zip(replayed, net.parameters(), strict=True):
            assert found is not None
            assert parameter.grad is not None
            assert torch.allclose(found, parameter.grad, atol=1e-4)
        net.zero_grad()
        pictures = pictures.flip(0)
