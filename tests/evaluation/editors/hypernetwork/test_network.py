from __future__ import annotations

import torch

from evaluation.editors.hypernetwork.network import EditNetwork, EditNetworks, GradientPairs


def test_the_network_begins_as_a_gradient_step() -> None:
    torch.manual_seed(0)
    network = EditNetwork(5, 4, layers=2, rank=3, step=0.1, seed=1)
    pairs = GradientPairs(torch.randn(2, 6, 5), torch.randn(2, 6, 4), torch.tensor([[1.0] * 6, [1.0, 1, 0, 0, 0, 0]]))
    net = network(1, pairs)
    dense = net.left @ net.right.transpose(1, 2)
    want = -0.1 * torch.einsum("rto,rti,rt->roi", pairs.delta, pairs.u, pairs.real)
    assert torch.allclose(dense, want, atol=1e-6)
    network.fit(1, [pairs])
    z = torch.cat([pairs.u, pairs.delta], -1)[pairs.real.bool()]
    assert torch.allclose(network.mean[1], z.mean(0), atol=1e-5)  # type: ignore[index]
    assert torch.allclose(network.spread[1], z.std(0, correction=0), atol=1e-5)  # type: ignore[index]
    network(1, pairs).left.sum().backward()
    assert network.u2.grad is not None and network.u2.grad.abs().sum() > 0  # not stuck at the rectifier's corner


def test_maps_of_one_shape_share_a_network_and_others_have_their_own() -> None:
    torch.manual_seed(0)
    shapes = [(5, 4), (4, 5), (5, 4)]
    networks = EditNetworks(shapes, rank=3, step=0.1, seed=1)
    assert len(networks.networks) == 2
    alone = [
        EditNetwork(5, 4, layers=2, rank=3, step=0.1, seed=1),
        EditNetwork(4, 5, layers=1, rank=3, step=0.1, seed=2),
    ]
    for at, (network, layer) in enumerate([(0, 0), (1, 0), (0, 1)]):
        inputs, outputs = shapes[at]
        pairs = GradientPairs(torch.randn(2, 6, inputs), torch.randn(2, 6, outputs), torch.ones(2, 6))
        for one in (networks.networks[network], alone[network]):
            one.scale1.data[layer] = at + 2.0  # type: ignore[operator]
        networks.fit(at, [pairs])
        alone[network].fit(layer, [pairs])
        for a, b in zip(networks(at, pairs), alone[network](layer, pairs), strict=True):
            assert torch.equal(a, b)
    assert len(EditNetworks([(5, 4)] * 3, rank=3, step=0.1, seed=1).networks) == 1
    assert sum(name.endswith("log_step") for name, _ in networks.named_parameters()) == 2
