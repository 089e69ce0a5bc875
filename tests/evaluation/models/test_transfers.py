"""Numbers sent to a device: the same values, no wait."""

from __future__ import annotations

import torch

from evaluation.models.transfers import send
from tests.support.fake_device import fake_gpu


def test_values_and_type() -> None:
    tensor = send([[1, 2], [3, 4]], torch.device("cpu"))
    assert tensor.dtype == torch.long and tensor.tolist() == [[1, 2], [3, 4]]
    assert send(torch.tensor([0.5]), torch.device("cpu")).dtype == torch.float32
    assert send([], torch.device("cpu")).shape == (0,)


def test_the_host_does_not_wait() -> None:
    with fake_gpu() as machine:
        tensor = send([1, 2], torch.device("cuda:0"))
        assert tensor.is_cuda and machine.counts.to_device.total() == 1
        assert machine.counts.waits == machine.counts.stalls.total() == 0
        torch.tensor([1, 2], device="cuda:0")
        assert machine.counts.stalls.total() == 1, "the usual way waits"
        assert tensor.tolist() == [1, 2]
