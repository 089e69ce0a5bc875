"""Activations run as one operation on a card equal the modules' own, forth and back; elsewhere nothing changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from transformers.activations import FastGELUActivation, NewGELUActivation

from evaluation.models.activations import fused_activations
from evaluation.models.language_model import LM
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make


def activations(lm: LM) -> list[nn.Module]:
    return [module for module in lm.model.modules() if isinstance(module, (NewGELUActivation, FastGELUActivation))]


def forth_and_back(run: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    x = x.clone().requires_grad_()
    out = run(x)
    (slope,) = torch.autograd.grad(out.square().sum(), x)
    return out.detach(), slope


@pytest.mark.parametrize("form", ["gelu_new", "gelu_fast"])
def test_equal_to_the_modules_own(form: str) -> None:
    with fake_gpu() as machine:
        lm = make("gpt2", activation_function=form)
        lm.model.to("cuda")
        modules = activations(lm)
        assert len(modules) == lm.layout.depth
        x = torch.linspace(-9, 9, 4001, device="cuda")
        machine.counts.clear()
        want = forth_and_back(modules[0], x)
        launches = machine.counts.launches.total()
        machine.counts.clear()
        with fused_activations(lm):
            assert all("forward" in module.__dict__ for module in modules)
            got = forth_and_back(modules[0], x)
        fused = machine.counts.launches.total()
        assert not any("forward" in module.__dict__ for module in modules)
    for a, b in zip(got, want, strict=True):
        assert torch.allclose(a.cpu(), b.cpu(), rtol=1e-5, atol=2e-6)
    assert 2 * fused < launches, "one each way, beside those of this test's own sum"


@pytest.mark.parametrize("broken", [RuntimeError, KeyboardInterrupt])
def test_taken_off_whatever_happens(broken: type[BaseException]) -> None:
    with fake_gpu():
        lm = make("gpt2")
        lm.model.to("cuda")
        with pytest.raises(broken), fused_activations(lm):
            raise broken
        assert not any("forward" in module.__dict__ for module in activations(lm))


def test_what_others_put_there_stays() -> None:
    def own(x: Tensor) -> Tensor:
        return x

    with fake_gpu():
        lm = make("gpt2")
        lm.model.to("cuda")
        first, *others = activations(lm)
        first.forward = own
        with fused_activations(lm):
            assert first.forward is own and all("forward" in module.__dict__ for module in others)
        assert first.forward is own


def test_a_cpu_and_narrow_types_keep_the_modules_way() -> None:
    lm = make("gpt2")
    if lm.device.type == "cpu":
        with fused_activations(lm):
            assert not any("forward" in module.__dict__ for module in activations(lm))
    with fake_gpu():
        narrow = make("gpt2", dtype=torch.bfloat16)
        narrow.model.to("cuda")
        with fused_activations(narrow):
            assert not any("forward" in module.__dict__ for module in activations(narrow))
